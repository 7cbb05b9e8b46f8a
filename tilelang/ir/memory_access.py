"""The meaning of `load`, `store` and `atomic` on NumPy arrays, for many programs at once.

Every array here may have one leading axis more than the accessed shape: the programs. Programs come in order,
and NumPy assigns in order, so where programs or elements meet at one address the last one stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilelang.diagnostics import InternalError


@dataclass(frozen=True)
class Place:
    """The elements an access touches: one in-range index array for each tensor axis, and which are touched.

    All broadcast together, to (programs, *accessed shape) or, if no index and no mask differs between
    programs, to the accessed shape.
    """

    indexes: tuple[np.ndarray, ...]
    valid: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.valid.shape, *(index.shape for index in self.indexes))


def locate(tensor: np.ndarray, indexes: tuple[np.ndarray, ...], mask: np.ndarray | None,
           checked: tuple[bool, ...], trusting: bool = False) -> Place:
    """Test the indexes against the tensor's extents. They broadcast together, and with the mask.

    Raises:
        InternalError: an index is outside along an axis that the compiler promised not to need a test; if
            `trusting`, such an element is merely not touched.
    """
    valid = np.asarray(True) if mask is None else mask
    safe, promises = [], []
    for axis, (index, extent) in enumerate(zip(indexes, tensor.shape, strict=True)):
        signed = index.astype(np.int64)  # a u64 beyond 2^63 turns negative: outside either way
        inside = (signed >= 0) & (signed < extent)
        if checked[axis] or trusting:
            valid = valid & inside
        else:
            promises.append((axis, inside))
        safe.append(np.where(inside, signed, 0))
    for axis, inside in promises:
        if np.any(valid & ~inside):
            raise InternalError("interpreter", f"an index of axis {axis} is outside; its test was dropped")
    return Place(tuple(safe), valid)


def load(tensor: np.ndarray, place: Place, other: np.ndarray | None) -> np.ndarray:
    """The elements, and `other` (0 if None) where nothing is touched. Always a copy, never a view."""
    shape = place.shape
    background = np.zeros((), tensor.dtype) if other is None else other
    if tensor.size == 0:
        return np.array(np.broadcast_to(background, np.broadcast_shapes(shape, background.shape)))
    values = tensor[place.indexes] if place.indexes else tensor[()]
    if place.valid.all():
        return np.broadcast_to(values, shape)
    return np.where(place.valid, values, background)


def store(tensor: np.ndarray, place: Place, value: np.ndarray) -> None:
    """Write `value` where the access touches, in order of programs and then of elements."""
    shape = np.broadcast_shapes(place.shape, value.shape)
    touched = np.broadcast_to(place.valid, shape)
    if not touched.any():
        return
    at = tuple(np.broadcast_to(index, shape)[touched] for index in place.indexes)
    written = np.broadcast_to(value, shape)[touched]
    if at:
        tensor[at] = written
    else:
        tensor[()] = written[-1]


# ------------------------------------------------------------------------------------ atomics

LONG_SEGMENT = 32
"""From this many operations on one address they are done as one accumulation, not one round each."""


def atomic(kind: str, tensor: np.ndarray, place: Place, operands: list[np.ndarray],
           shape: tuple[int, ...]) -> np.ndarray:
    """One atomic for each element of `shape`, as if one after another; the old values, of `shape`.

    `operands` are the value and, for `cas`, the expected value.
    Elements that touch nothing give 0. Different addresses do not interact, so the operations are sorted by
    address and only those on one address follow each other.
    """
    old = np.zeros(shape, tensor.dtype)
    touched = np.broadcast_to(place.valid, shape)
    if not touched.any():
        return old
    at = tuple(np.broadcast_to(index, shape)[touched] for index in place.indexes)
    address = np.ravel_multi_index(at, tensor.shape) if at else np.zeros(int(touched.sum()), np.int64)
    operands = [np.broadcast_to(operand, shape)[touched] for operand in operands]
    order = np.argsort(address, kind="stable")
    addresses, starts, counts = np.unique(address[order], return_index=True, return_counts=True)
    cells = np.unravel_index(addresses, tensor.shape) if at else ()
    memory = np.atleast_1d(tensor[cells])
    sorted_old = np.empty(len(address), tensor.dtype)
    with np.errstate(all="ignore"):
        _run_segments(kind, memory, starts, counts, [o[order] for o in operands], sorted_old)
    results = np.empty_like(sorted_old)
    results[order] = sorted_old
    tensor[cells] = memory if at else memory[0]
    old[touched] = results
    return old


def _run_segments(kind: str, memory: np.ndarray, starts: np.ndarray, counts: np.ndarray,
                  operands: list[np.ndarray], old: np.ndarray) -> None:
    """`memory[i]` meets operands `starts[i]` to `starts[i] + counts[i]`; fills `old`, updates `memory`."""
    short = counts < LONG_SEGMENT
    for turn in range(int(counts[short].max(initial=0))):  # the turn-th operation of every short segment
        cells = np.flatnonzero(short & (counts > turn))
        at = starts[cells] + turn
        old[at] = memory[cells]
        memory[cells] = COMBINE[kind](memory[cells], *(o[at] for o in operands))
    for cell in np.flatnonzero(~short):
        run = slice(starts[cell], starts[cell] + counts[cell])
        history = _accumulate(kind, memory[cell], [o[run] for o in operands])
        old[run] = history[:-1]
        memory[cell] = history[-1]


def _accumulate(kind: str, start: np.generic, operands: list[np.ndarray]) -> np.ndarray:
    """What one memory cell holds before the first, and after each operation."""
    values = operands[0]
    line = np.concatenate([np.asarray([start], values.dtype), values])
    if kind in ACCUMULATE:
        return ACCUMULATE[kind](line)
    for i in range(1, len(line)):
        line[i:i + 1] = COMBINE[kind](line[i - 1:i], *(o[i - 1:i] for o in operands))
    return line


def _compare_and_swap(memory: np.ndarray, value: np.ndarray, expected: np.ndarray) -> np.ndarray:
    bits = f"u{memory.dtype.itemsize}"
    return np.where(memory.view(bits) == expected.view(bits), value, memory)


Combine = Callable[..., np.ndarray]

COMBINE: dict[str, Combine] = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "xchg": lambda memory, value: value,
    "cas": _compare_and_swap,
}
"""(memory, value[, expected]) -> the new memory."""

ACCUMULATE: dict[str, Combine] = {
    "add": lambda line: np.add.accumulate(line, dtype=line.dtype),
    "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
    "xchg": lambda line: line,
}
