"""`shared.copy_async`, `async.commit` and `async.wait` for all lanes at once.

A copy counts as a write when it is issued, against those who still read the old values, and again when it has been
waited for, against those who read the new ones without a barrier after the wait. In between its place is in flight, and
reading it is a mistake of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilelang.ir.attrs import int_attr
from tilelang.machine import traffic
from tilelang.machine.batch import Batch
from tilelang.machine.lanes import Lanes
from tilelang.machine.operations import acting_lanes, log_access
from tilelang.machine.plan import Step
from tilelang.machine.report import Problem
from tilelang.machine.traffic import CHUNK


def copy_async(step: Step, lanes: Lanes, batch: Batch) -> None:
    array, index, tensor, from_, size = step.op.operands
    target, source = batch.cells[array.name], batch.cells[tensor.name]
    first, start, count = batch.get(index), batch.get(from_) + source.origin, batch.get(size)
    if not _aligned(step, first, start, lanes, batch):
        return
    each = CHUNK // target.data.itemsize
    element = np.arange(each)[:, None, None]
    wide = Lanes((each, *lanes.shape[1:]), lanes.mask)
    wanted = wide.where(element < count)
    read = np.broadcast_to(start + element, wide.shape)
    position = np.broadcast_to(first.astype(np.int64) + element, wide.shape)
    writing = acting_lanes(step, position, target.inside(position), wide, batch)
    if wanted is not None:
        wanted = acting_lanes(step, read - source.origin, source.inside(read) | ~wanted.everywhere, wanted, batch)
    if writing is None:
        return
    values = np.zeros(wide.shape, target.data.dtype)
    if wanted is not None:
        log_access(step, source, read, wanted, batch)
        chosen = wanted.everywhere
        values[chosen] = source.data[read[chosen]]
    log_access(step, target, position, writing, batch, writes=True)
    batch.copies.issue(step, target, position, values, writing.everywhere)
    _count(step, first, start, count, lanes, batch)


def _count(step: Step, first: np.ndarray, start: np.ndarray, count: np.ndarray, lanes: Lanes, batch: Batch) -> None:
    counts, item = batch.counts(step.number), batch.cells[step.op.operands[0].name].data.itemsize
    counts.bytes += lanes.count * CHUNK
    wavefronts, conflicts = traffic.wavefronts(first // (CHUNK // item), CHUNK, lanes)
    counts.wavefronts += wavefronts
    counts.conflicts += conflicts
    reading = lanes.where(np.broadcast_to(count > 0, lanes.shape))
    if reading is not None:
        counts.sectors += traffic.sectors(np.broadcast_to(start, lanes.shape), item, reading)


def _aligned(step: Step, first: np.ndarray, start: np.ndarray, lanes: Lanes, batch: Batch) -> bool:
    each = CHUNK // batch.cells[step.op.operands[0].name].data.itemsize
    crooked = lanes.among((first % each != 0) | (start % each != 0))
    if crooked.any():
        batch.found(Problem.MISALIGNED, step.op, step.number, crooked, lanes, first)
    return not crooked.any()


def commit(step: Step, lanes: Lanes, batch: Batch) -> None:
    batch.copies.commit(lanes)


def wait(step: Step, lanes: Lanes, batch: Batch) -> None:
    for copy, landed in batch.copies.arrive(int_attr(step.op, "pending"), lanes):
        log_access(copy.step, copy.cells, copy.position, landed, batch, writes=True)


def is_aligned(step: Step, lanes: Lanes, batch: Batch) -> None:
    """A tensor's memory begins at a multiple of 16 bytes in this model; its first element may be further on."""
    cells = batch.cells[step.op.operands[0].name]
    batch.define(step.op.result, np.full((1, 1, 1), cells.origin * cells.data.itemsize % CHUNK == 0))


COPY_OPERATIONS: dict[str, Callable[[Step, Lanes, Batch], None]] = {
    "shared.copy_async": copy_async, "async.commit": commit, "async.wait": wait, "is_aligned": is_aligned,
}
