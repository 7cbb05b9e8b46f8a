"""Tensor-core layouts of words of 32 bits: `mma.m16n8k8` on tf32.

    A (row g or g + 8)      B (column g)         g = lane // 4, p = lane % 4; the accumulator is that of all `mma`s
        k = p   k = p + 4
    g     a0      a2        k = p       b0
    g+8   a1      a3        k = p + 4   b1

A tf32 is an f32 with 10 bits of fraction. Lanes fetch their elements one by one: what `ldmatrix` would transpose are
halves of words.

Source: NVIDIA, "Parallel Thread Execution ISA", section "Matrix Fragments for mma.m16n8k8".
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.tiling.numbers import AnyNumber

DEPTH = 8
"""How many words one instruction goes along k."""


def a_word(lane: AnyNumber, register: int) -> tuple[AnyNumber, AnyNumber]:
    """The (row, word along k) in 16 x 8 that is in register 0 to 3 of A's fragment."""
    return lane // 4 + 8 * (register % 2), lane % 4 + 4 * (register // 2)


def b_word(lane: AnyNumber, register: int) -> tuple[AnyNumber, AnyNumber]:
    """The (word along k, column) in 8 x 8 that is in register 0 or 1 of B's fragment."""
    return lane % 4 + 4 * register, lane // 4


@dataclass(frozen=True)
class WordSwizzle:
    """A tile of 32-bit elements in shared memory, rows of `columns`, a power of two, whose elements change places.

    A warp fetches 8 x 4 elements at a time. Where rows run along k that is 8 rows of 4 neighbours: groups of 4 change
    places, by the row's number. Otherwise it is 4 rows of 8: groups of 8 do. So the 32 lie in 32 banks, if a row
    is as long as that.
    """

    columns: int
    k_last: bool

    def position(self, row: AnyNumber, column: AnyNumber) -> AnyNumber:
        """Where the element is in the shared array."""
        turn = row % 8 * 4 if self.k_last else row % 4 * 8
        return row * self.columns + (column ^ turn % self.columns)
