"""Loads and stores of several neighbouring elements of global or shared memory at once.

A thread's elements are taken as trips side by side, so that one NumPy op moves them all; the traffic is that of the
whole vector, counted once. Whether it starts at a multiple of its length is tested.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilelang.ir.attrs import int_attr
from tilelang.machine import traffic
from tilelang.machine.batch import Batch
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import Cells
from tilelang.machine.operations import acting_lanes, check_arrived, check_settled, check_written, log_access
from tilelang.machine.plan import Step
from tilelang.machine.report import Problem

Moved = tuple[Cells, np.ndarray, Lanes]


def load_vector(step: Step, lanes: Lanes, batch: Batch) -> None:
    moved = _moved(step, lanes, batch, writes=False)
    if moved is None:
        return
    cells, position, acting = moved
    check_arrived(step, cells, position, acting, batch)
    values, written = cells.load(position, cells.inside(position), lanes.shape[1])
    if written is not None:
        check_written(step, written, position - cells.origin, acting, batch)
    registers, first = batch.registers[step.op.operands[2].name], batch.get(step.op.operands[3])
    for number, value in enumerate(np.broadcast_to(values, acting.shape)):
        index = first + np.int32(number)
        there = acting_lanes(step, index, registers.inside(index), lanes, batch)
        if there is not None:
            registers.store(index, value[None], there)


def store_vector(step: Step, lanes: Lanes, batch: Batch) -> None:
    registers, first = batch.registers[step.op.operands[2].name], batch.get(step.op.operands[3])
    values = []
    for number in range(int_attr(step.op, "width")):
        index = first + np.int32(number)
        there = acting_lanes(step, index, registers.inside(index), lanes, batch)
        value, written = registers.load(index)
        check_written(step, written, index, there, batch)
        check_settled(step, registers, index, there, batch)
        values.append(np.broadcast_to(value, lanes.shape)[0])
    moved = _moved(step, lanes, batch, writes=True)
    if moved is not None:
        cells, position, acting = moved
        cells.store(position, np.stack(values), acting)


def _moved(step: Step, lanes: Lanes, batch: Batch, *, writes: bool) -> Moved | None:
    cells, first = batch.cells[step.op.operands[0].name], batch.get(step.op.operands[1])
    return touch_run(step, cells, first, int_attr(step.op, "width"), lanes, batch, writes=writes)


def touch_run(step: Step, cells: Cells, first: np.ndarray, width: int, lanes: Lanes, batch: Batch, *,
              writes: bool) -> Moved | None:
    """Count and log an access of each lane to `width` neighbours from `first` on: the memory, the positions of all
    elements, one trip for each, and the lanes that may go there. None if there are none."""
    crooked = lanes.among(first % width != 0)
    if crooked.any():
        batch.found(Problem.MISALIGNED, step.op, step.number, crooked, lanes, first)
    start = first.astype(np.int64) + cells.origin
    position = start + np.arange(width)[:, None, None]
    acting = acting_lanes(step, position - cells.origin, cells.inside(position),
                          Lanes((width, *lanes.shape[1:]), lanes.mask), batch)
    if acting is None:
        return None
    item, counts = cells.data.itemsize * width, batch.counts(step.number)
    counts.bytes += lanes.count * item
    if cells.private:
        wavefronts, conflicts = traffic.wavefronts(start // width, item, lanes)
        counts.wavefronts += wavefronts
        counts.conflicts += conflicts
    else:
        counts.sectors += traffic.sectors(start // width, item, lanes)
    log_access(step, cells, position, acting, batch, writes=writes)
    return cells, position, acting


VECTOR_OPERATIONS: dict[str, Callable[[Step, Lanes, Batch], None]] = {
    "global.load_vector": load_vector, "global.store_vector": store_vector,
    "shared.load_vector": load_vector, "shared.store_vector": store_vector,
}
