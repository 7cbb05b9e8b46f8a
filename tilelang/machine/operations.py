"""The meaning of each thread op that is neither elementwise nor control flow, for all lanes at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilelang.ir import memory_access
from tilelang.ir.attrs import int_attr, number_attr, str_attr
from tilelang.ir.host_types import scalar
from tilelang.machine import traffic
from tilelang.machine.batch import Batch
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import Cells, Registers, shared_cells
from tilelang.machine.plan import Step
from tilelang.machine.races import Access
from tilelang.machine.report import Finding, Problem
from tilelang.machine.separable import Known, Separable, whole
from tilelang.machine.traffic import SECTOR

YES = np.ones((1, 1, 1), np.bool_)

# ------------------------------------------------------------------------------------ who and where


def const(step: Step, lanes: Lanes, batch: Batch) -> None:
    op = step.op
    batch.define(op.result, scalar(number_attr(op, "value"), op.result.dtype).reshape(1, 1, 1))


def thread_id(step: Step, lanes: Lanes, batch: Batch) -> None:
    batch.define(step.op.result, np.arange(lanes.shape[2], dtype=np.int32)[None, None, :])


def program_id(step: Step, lanes: Lanes, batch: Batch) -> None:
    batch.define(step.op.result, batch.program_ids(int_attr(step.op, "axis")))


def num_programs(step: Step, lanes: Lanes, batch: Batch) -> None:
    grid, axis = batch.launch.grid, int_attr(step.op, "axis")
    batch.define(step.op.result, np.full((1, 1, 1), grid[axis] if axis < len(grid) else 1, np.int64))


def stride(step: Step, lanes: Lanes, batch: Batch) -> None:
    array = batch.launch.arrays[step.op.operands[0].name]
    elements = array.strides[int_attr(step.op, "axis")] // array.itemsize
    batch.define(step.op.result, np.full((1, 1, 1), elements, np.int64))


# ------------------------------------------------------------------------------------ registers


def local(step: Step, lanes: Lanes, batch: Batch) -> None:
    batch.registers[step.op.result.name] = Registers(step.op.result, *lanes.shape[1:])


def local_load(step: Step, lanes: Lanes, batch: Batch) -> None:
    registers, index = batch.registers[step.op.operands[0].name], batch.get(step.op.operands[1])
    inside = registers.inside(index)
    acting = acting_lanes(step, index, inside, lanes, batch)
    value, written = registers.load(index)
    check_written(step, written, index, acting, batch)
    check_settled(step, registers, index, acting, batch)
    batch.define(step.op.result, value if acting is lanes else np.where(inside, value, value.dtype.type(0)))


def local_store(step: Step, lanes: Lanes, batch: Batch) -> None:
    registers = batch.registers[step.op.operands[0].name]
    index, value = batch.all(step.op.operands[1:])
    acting = acting_lanes(step, index, registers.inside(index), lanes, batch)
    if acting is not None:
        registers.store(index, value, acting)


# ------------------------------------------------------------------------------------ shared and global memory


def shared(step: Step, lanes: Lanes, batch: Batch) -> None:
    """One array for each block, however often the op is come by."""
    if step.op.result.name in batch.cells:
        return
    name = step.op.result.name
    cells = shared_cells(step.op.result, lanes.shape[1], multiplied=name in batch.launch.multiplied)
    batch.cells[name] = cells
    batch.keep_log(cells)


def load(step: Step, lanes: Lanes, batch: Batch) -> None:
    touch = _touch(step, lanes, batch)
    if touch.cells.in_flight is not None:
        check_arrived(step, touch.cells, whole(touch.place), touch.lanes, batch)
    value, written = touch.cells.load(touch.place, touch.inside, lanes.shape[1])
    if written is not None:
        check_written(step, written, batch.get(step.op.operands[1]), touch.lanes, batch)
    batch.define(step.op.result, value if touch.lanes is lanes else np.where(touch.inside, value, value.dtype.type(0)))


def store(step: Step, lanes: Lanes, batch: Batch) -> None:
    touch = _touch(step, lanes, batch)
    if touch.lanes is not None:
        touch.cells.store(touch.place, batch.get(step.op.operands[2]), touch.lanes)


def atomic(step: Step, lanes: Lanes, batch: Batch) -> None:
    """As if one after another, in order of programs and threads."""
    op, touch = step.op, _touch(step, lanes, batch)
    if touch.lanes is None:
        batch.define(op.result, np.zeros((1, 1, 1), touch.cells.data.dtype))
        return
    mask = np.asarray(True) if touch.lanes.mask is None else touch.lanes.mask
    place = memory_access.Place((whole(touch.place),), mask)
    operands = list(batch.all(op.operands[2:]))
    old = memory_access.atomic(str_attr(op, "kind"), touch.cells.data, place, operands, lanes.shape)
    batch.define(op.result, old)


@dataclass(frozen=True)
class _Touch:
    """An op's access: which cells, who is `inside` the array, and the active lanes among those (None: not one)."""

    cells: Cells
    place: Known
    inside: np.ndarray
    lanes: Lanes | None


def _touch(step: Step, lanes: Lanes, batch: Batch) -> _Touch:
    """Where an op touches memory. Counts and logs the access, and reports lanes that are outside."""
    op = step.op
    cells, index = batch.cells[op.operands[0].name], batch.values[op.operands[1].name]
    if isinstance(index, Separable) and cells.surely_inside(index.plus(cells.origin)):
        return _touched(step, _Touch(cells, index.plus(cells.origin), YES, lanes), batch)
    number = _once(whole(index))
    position = number + cells.origin if cells.origin else number
    inside = cells.inside(position)
    acting = acting_lanes(step, number, inside, lanes, batch)
    return _touched(step, _Touch(cells, position, inside, acting), batch)


def _touched(step: Step, touch: _Touch, batch: Batch) -> _Touch:
    """Count and log an access."""
    if touch.lanes is not None:
        _count(step, touch.cells, touch.place, touch.lanes, batch)
        log_access(step, touch.cells, touch.place, touch.lanes, batch)
    return touch


def _once(index: np.ndarray) -> np.ndarray:
    """Without the axis of trips if all trips have the same, as a column of one factor of a product."""
    alike = index.shape[0] > 1 and index.shape[1] == 1 and (index[1:] == index[:1]).all()
    return index[:1] if alike else index


def log_access(step: Step, cells: Cells, place: Known, lanes: Lanes, batch: Batch, *, writes: bool = False) -> None:
    """`writes`: of ops that do more than their name says."""
    log, watch = batch.logs.get(cells.array.name), batch.launch.watch
    if log is None and watch is None:
        return
    atomic = step.op.name == "global.atomic"
    writes = writes or atomic or step.op.name.endswith(".store")
    access = Access(step.number, writes, atomic, place, lanes)
    if log is not None:
        log.record(access)
    if watch is not None:
        watch(cells, access)


def _count(step: Step, cells: Cells, place: Known, acting: Lanes, batch: Batch) -> None:
    counts, item = batch.counts(step.number), cells.data.itemsize
    counts.bytes += acting.count * item
    if cells.private:
        wavefronts, conflicts = traffic.wavefronts(whole(place), item, acting)
        counts.wavefronts += wavefronts
        counts.conflicts += conflicts
    else:
        counts.sectors += sectors_of(place, item, acting)


def sectors_of(place: Known, item: int, lanes: Lanes) -> int:
    """The sectors of an access. Programs that differ by whole sectors move as many: one is counted for all of them."""
    alike = lanes.mask is None or lanes.mask.shape[1] == 1
    if not isinstance(place, Separable) or not alike or SECTOR % item:
        return traffic.sectors(whole(place), item, lanes)
    each, (trips, _, threads) = SECTOR // item, lanes.shape
    shifts, programs = np.unique(place.program % each, return_counts=True)
    one = Lanes((trips, 1, threads), lanes.mask)
    return sum(int(many) * traffic.sectors(place.lane + shift, item, one)
               for shift, many in zip(shifts, programs, strict=True))


def acting_lanes(step: Step, index: np.ndarray, inside: np.ndarray, lanes: Lanes, batch: Batch) -> Lanes | None:
    """The lanes whose element is inside the array; the others are reported."""
    if inside.all():
        return lanes
    outside = lanes.among(~inside)
    if outside.any():
        batch.found(Problem.OUT_OF_BOUNDS, step.op, step.number, outside, lanes, index)
    return lanes.where(inside)


def check_written(step: Step, written: np.ndarray, index: np.ndarray, lanes: Lanes | None, batch: Batch) -> None:
    if lanes is None or written.all():
        return
    unwritten = lanes.among(~written)
    if unwritten.any():
        batch.found(Problem.UNINITIALISED, step.op, step.number, unwritten, lanes, index)


def check_settled(step: Step, registers: Registers, index: np.ndarray, lanes: Lanes | None, batch: Batch) -> None:
    """Nobody reads the accumulators of a product that is under way."""
    if registers.in_flight is None or lanes is None:
        return
    early = lanes.among(registers.is_in_flight(index))
    if early.any():
        batch.found(Problem.IN_FLIGHT, step.op, step.number, early, lanes, index)


def check_arrived(step: Step, cells: Cells, position: np.ndarray, lanes: Lanes | None, batch: Batch) -> None:
    """Nobody reads where an asynchronous copy is under way to."""
    if cells.in_flight is None or lanes is None:
        return
    early = lanes.among(cells.in_flight[np.where(cells.inside(position), cells.cell(position, lanes.shape[1]), 0)])
    if early.any():
        batch.found(Problem.IN_FLIGHT, step.op, step.number, early, lanes, position - cells.origin)


# ------------------------------------------------------------------------------------ barriers and effects


def barrier(step: Step, lanes: Lanes, batch: Batch) -> None:
    programs = lanes.programs()
    if lanes.mask is not None and lanes.mask.shape[2] > 1:
        came = np.broadcast_to(lanes.mask.any(axis=0), (lanes.shape[1], lanes.shape[2]))
        partly = programs & ~came.all(axis=1)
        if partly.any():
            position = int(partly.argmax())
            pair = int(came[position].argmax()), int((~came[position]).argmax())
            batch.launch.report.add(
                Finding(Problem.DIVERGENT_BARRIER, step.op, batch.program(position), pair,
                        times=int(np.count_nonzero(partly))), step.number)
    batch.close_logs(None if programs.all() else programs)


def assertion(step: Step, lanes: Lanes, batch: Batch) -> None:
    failed = lanes.where(~batch.get(step.op.operands[0]))
    if failed is not None:
        batch.fail(failed.programs(), step.op)


def printing(step: Step, lanes: Lanes, batch: Batch) -> None:
    op, operands = step.op, batch.all(step.op.operands)
    programs = lanes.program_numbers()
    elements = lanes.spread(operands[0]) if operands else np.zeros(len(programs), np.int64)
    values = lanes.spread(operands[1]) if operands else None
    alive = None if batch.alive is None else batch.alive[0, :, 0]
    for lane, program in enumerate(programs.tolist()):
        if alive is None or alive[program]:
            value = None if values is None else values[lane]
            batch.prints.add(op, program, int(elements[lane]), value)


OPERATIONS: dict[str, Callable[[Step, Lanes, Batch], None]] = {
    "const": const, "thread_id": thread_id, "program_id": program_id, "num_programs": num_programs, "stride": stride,
    "local": local, "local.load": local_load, "local.store": local_store,
    "shared": shared, "shared.load": load, "shared.store": store,
    "global.load": load, "global.store": store, "global.atomic": atomic,
    "barrier": barrier, "assert": assertion, "print": printing,
}
