"""Scratch memory of a kernel: which tile lives at which offset, and when its place may be used again.

Only tiles that outlive the loop computing them get scratch. All of it is one allocation, made once for a chunk of
programs. A *slot* is one region of it. Slots never overlap, so LLVM may be told that they do not (see
`tilelang.runtime.cpu_memory`); a slot freed by one tile is taken by the next of the same size.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tilelang.dtypes import DType

ALIGNMENT = 64
MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class Scratch:
    """A tile in scratch memory, row-major: the pointer's name in the source, its slot, the elements' type."""

    pointer: str
    slot: int
    shape: tuple[int, ...]
    dtype: DType

    @property
    def strides(self) -> tuple[int, ...]:
        """Row-major, in elements."""
        steps, step = [], 1
        for extent in reversed(self.shape):
            steps.append(step)
            step *= extent
        return tuple(reversed(steps))

    @property
    def size(self) -> int:
        total = 1
        for extent in self.shape:
            total *= extent
        return total


class ScratchMemory:
    """Hands out slots."""

    def __init__(self) -> None:
        self.bytes = 0
        self.offsets: list[int] = []
        self._sizes: list[int] = []
        self._free: defaultdict[int, list[int]] = defaultdict(list)

    def take(self, elements: int, dtype: DType) -> int:
        """The number of a slot for that many elements."""
        size = -(-elements * dtype.bytes // ALIGNMENT) * ALIGNMENT
        if self._free[size]:
            return self._free[size].pop()
        self.offsets.append(self.bytes)
        self._sizes.append(size)
        self.bytes += size
        return len(self.offsets) - 1

    def give_back(self, slot: int) -> None:
        self._free[self._sizes[slot]].append(slot)
