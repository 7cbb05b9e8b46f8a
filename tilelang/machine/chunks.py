"""Chunks of 16 bytes between memory and four registers: `global.load_chunk` and `shared.store_chunk`, for all lanes.

The bytes stay what they are: a register has two halves, or four small integers, the first in its lowest bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilelang.machine.batch import Batch
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import Cells
from tilelang.machine.plan import Step
from tilelang.machine.tensor_cores import put_registers, take_registers
from tilelang.machine.traffic import CHUNK
from tilelang.machine.vectors import touch_run

REGISTERS = 4


def load_chunk(step: Step, lanes: Lanes, batch: Batch) -> None:
    tensor, offset, inside, registers, index = step.op.operands
    cells, wanted = batch.cells[tensor.name], np.broadcast_to(batch.get(inside), lanes.shape)
    elements = np.zeros((_each(cells), *lanes.shape[1:]), cells.data.dtype)
    there = lanes.where(wanted)
    moved = None if there is None else touch_run(
        step, cells, batch.get(offset), _each(cells), there, batch, writes=False)
    if moved is not None:
        _, position, acting = moved
        values, _ = cells.load(position, cells.inside(position), lanes.shape[1])
        elements = np.where(acting.everywhere, np.broadcast_to(values, elements.shape), elements)
    put_registers(step, _words(elements), registers, batch.get(index), lanes, batch)


def store_chunk(step: Step, lanes: Lanes, batch: Batch) -> None:
    array, index, registers, at = step.op.operands
    cells = batch.cells[array.name]
    words = take_registers(step, registers, at, REGISTERS, lanes, batch)
    moved = touch_run(step, cells, batch.get(index), _each(cells), lanes, batch, writes=True)
    if moved is not None:
        _, position, acting = moved
        cells.store(position, _elements(words, cells.data.dtype), acting)


def _each(cells: Cells) -> int:
    """Elements of a chunk."""
    return CHUNK // cells.data.itemsize


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
