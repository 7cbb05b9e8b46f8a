"""Chunks of 16 bytes between memory and four registers: `global.load_chunk` and `shared.store_chunk`, for all lanes.

The bytes stay what they are: a register has two halves, or four small integers, the first in its lowest bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilelang.machine import traffic
from tilelang.machine.batch import Batch
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import Cells
from tilelang.machine.operations import acting_lanes, log_access
from tilelang.machine.plan import Step
from tilelang.machine.report import Problem
from tilelang.machine.tensor_cores import put_registers, take_registers

CHUNK = 16
"""Bytes of a chunk."""
REGISTERS = 4


def load_chunk(step: Step, lanes: Lanes, batch: Batch) -> None:
    tensor, offset, inside, registers, index = step.op.operands
    cells, wanted = batch.cells[tensor.name], np.broadcast_to(batch.get(inside), lanes.shape)
    elements = np.zeros((CHUNK // cells.data.itemsize, *lanes.shape[1:]), cells.data.dtype)
    there = lanes.where(wanted)
    touched = None if there is None else _touch(step, cells, batch.get(offset), there, batch)
    if touched is not None:
        position, acting = touched
        values, _ = cells.load(position, cells.inside(position), lanes.shape[1])
        elements = np.where(_mask(acting), np.broadcast_to(values, elements.shape), elements)
    put_registers(step, _words(elements), registers, batch.get(index), lanes, batch)


def store_chunk(step: Step, lanes: Lanes, batch: Batch) -> None:
    array, index, registers, at = step.op.operands
    cells = batch.cells[array.name]
    words = take_registers(step, registers, at, REGISTERS, lanes, batch)
    touched = _touch(step, cells, batch.get(index), lanes, batch, writes=True)
    if touched is not None:
        cells.store(touched[0], _elements(words, cells.data.dtype), touched[1])


def _touch(step: Step, cells: Cells, first: np.ndarray, lanes: Lanes, batch: Batch, *,
           writes: bool = False) -> tuple[np.ndarray, Lanes] | None:
    """The positions of a chunk's elements, (elements, programs, threads), and the lanes that may go there."""
    item = cells.data.itemsize
    each = CHUNK // item
    start = first.astype(np.int64) + cells.origin
    crooked = lanes.among(start % each != 0)
    if crooked.any():
        batch.found(Problem.MISALIGNED, step.op, step.number, crooked, lanes, first)
        return None
    position = np.broadcast_to(start + np.arange(each)[:, None, None], (each, *lanes.shape[1:]))
    wide = Lanes(position.shape, lanes.mask)
    acting = acting_lanes(step, position - cells.origin, cells.inside(position), wide, batch)
    if acting is None:
        return None
    counts = batch.counts(step.number)
    counts.bytes += lanes.count * CHUNK
    if cells.private:
        wavefronts, conflicts = traffic.wavefronts(start // each, CHUNK, lanes)
        counts.wavefronts += wavefronts
        counts.conflicts += conflicts
    else:
        counts.sectors += traffic.sectors(start // each, CHUNK, lanes)
    log_access(step, cells, position, acting, batch, writes=writes)
    return position, acting


def _mask(lanes: Lanes) -> np.ndarray:
    return np.broadcast_to(np.asarray(True) if lanes.mask is None else lanes.mask, lanes.shape)


def _words(elements: np.ndarray) -> np.ndarray:
    """(elements, programs, threads) -> u32 (4, programs, threads)."""
    last = np.ascontiguousarray(elements.transpose(1, 2, 0))
    return last.view(np.uint8).view("<u4").transpose(2, 0, 1)


def _elements(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The way back."""
    last = np.ascontiguousarray(words.transpose(1, 2, 0)).astype("<u4")
    return last.view(np.uint8).view(dtype).transpose(2, 0, 1)


CHUNK_OPERATIONS: dict[str, Callable[[Step, Lanes, Batch], None]] = {
    "global.load_chunk": load_chunk, "shared.store_chunk": store_chunk,
}
