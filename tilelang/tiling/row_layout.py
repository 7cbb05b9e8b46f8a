"""One number for each row of a tile: the layout of row maxima, row sums, and what is computed from them.

    tile, 16 rows of a warp         registers of a thread, g = lane // 4
    row g       c0 c1  c0 c1 ...    r0: a number of row g
    row g + 8   c2 c3  c2 c3 ...    r1: a number of row g + 8

A warp has whole rows of the tile, which is in an `AccumulatorLayout`; four neighbouring lanes share each row, and all
four hold its number. So a number is where its row's elements are, and nothing has to move before it meets them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.tiling.mma import WARP, AccumulatorLayout
from tilelang.tiling.numbers import AnyNumber

QUAD = 4
"""Neighbouring lanes that share a row."""


@dataclass(frozen=True)
class RowLayout:
    """Numbers for `rows` rows, dealt to `warps` warps; 16 times the number of warps divides them."""

    rows: int
    warps: int

    @property
    def registers(self) -> int:
        """Registers in each thread."""
        return self.rows // self.warps // 8

    def row(self, thread: AnyNumber, register: AnyNumber) -> AnyNumber:
        """The row whose number is at a place."""
        return thread // WARP * (self.rows // self.warps) + register * 8 + thread % WARP // QUAD


def rows_of(layout: AccumulatorLayout) -> RowLayout:
    """The layout of numbers for the rows of a tile whose warps have whole rows."""
    return RowLayout(layout.shape[0], layout.warps[0])


def row_register(layout: AccumulatorLayout, register: AnyNumber) -> AnyNumber:
    """The register of the row that the element in a register of the tile belongs to."""
    return register // (4 * layout.pieces[1]) * 2 + register % 4 // 2
