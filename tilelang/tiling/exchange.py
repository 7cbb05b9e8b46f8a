"""How a slab of a tile lies in shared memory, on its way from a dot's layout to the linear one or back.

    fragments of tensor cores: two neighbours of a row      in shared memory, rows of 64 halves: chunks of 16 bytes
                                                            change places, so that both ways meet all banks
    row 0   lane 0: 0 1, 8 9, ...   lane 1: 2 3, ...        row 0   | 0 1 2 3 4 5 6 7 |
    row 1   lane 4: 0 1, 8 9, ...   lane 5: 2 3, ...   ->   row 1   | 1 0 3 2 5 4 7 6 |     a thread stores pairs,
    ...                                                     row 2   | 2 3 0 1 6 7 4 5 |     and loads whole chunks

Three orders, each a one-to-one map from (row, column) to a place: `Chunked`, for elements of 16 and 32 bits on tensor
cores, `Scattered` for others there, element by element, and `Plain` for patches, whose warps have rows anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.dtypes import DType
from tilelang.tiling.held import DotLayout
from tilelang.tiling.mma import AccumulatorLayout, Swizzle
from tilelang.tiling.numbers import AnyNumber

VECTOR = 16
"""Bytes that a thread moves at once, at most."""
WORD = 4
"""Bytes that it moves at once, at least, if not element by element."""
BLOCK = 32
"""Columns of f32 that fill all banks once."""


@dataclass(frozen=True)
class Plain:
    """Row by row."""

    columns: int
    pairs = False

    def position(self, row: AnyNumber, column: AnyNumber) -> AnyNumber:
        return row * self.columns + column

    def run(self, width: int, dtype: DType) -> int:
        """How many of `width` neighbours of a row can be moved at once; 1 if that is not worth an instruction."""
        fitting = min(width, VECTOR // dtype.bytes)
        return fitting if fitting * dtype.bytes >= WORD and not dtype.is_bool else 1


@dataclass(frozen=True)
class Chunked(Plain):
    """Chunks of 16 bytes change places, as numbers that are exclusive-ored; inside, elements keep theirs.

    Of halves, 8 rows of 4 pairs that a warp stores at once fill the banks as those that `ldmatrix` reads do. Of f32 it
    stores 4 rows of 4 pairs, then 4 more: each takes two neighbouring chunks. `columns` is a power of two, 16 or more.
    """

    chunk: int = 8
    pairs = True

    def position(self, row: AnyNumber, column: AnyNumber) -> AnyNumber:
        at = column // self.chunk ^ self._turn(row)
        return row * self.columns + at * self.chunk + column % self.chunk

    def _turn(self, row: AnyNumber) -> AnyNumber:
        if self.chunk * WORD > VECTOR:
            return Swizzle(self.columns, chunk=self.chunk).turn(row)
        return row % 4 * 2 if self.columns >= BLOCK else row // 2 % 2 * 2


@dataclass(frozen=True)
class Scattered(Plain):
    """Rows keep their elements, and blocks of 32 columns too; within a block the place is exclusive-ored with a number
    made of the row's and the block's.

    A warp that stores one register of each lane, 8 rows of 4 columns with gaps of one, or three where columns are
    woven, meets each bank once (of woven rows two lanes meet); and so does one whose lanes each read a run of 1, 2, 4
    or 8 neighbours, element by element (in rows of 32, 64 or 128 f32; in others at most 2 lanes meet). `columns` is a
    power of two, 16 or more.
    """

    def position(self, row: AnyNumber, column: AnyNumber) -> AnyNumber:
        if self.columns < BLOCK:
            return row * self.columns + (column ^ (row % 4 // 2 * 10 + row // 4 % 2))
        far, farther = column // BLOCK, column // (2 * BLOCK)
        second = row // 2 if self.columns == BLOCK else far  # what tells apart those that a warp reads in runs of 4
        turn = (row ^ row // 4 ^ far ^ farther) % 2 + (second ^ row // 4) % 2 * 2 + (farther ^ row // 2) % 2 * 4
        return row * self.columns + (column ^ (row % 4 * 8 + turn))

    def run(self, width: int, dtype: DType) -> int:
        return 1


def order_of(layout: DotLayout, dtype: DType) -> Plain:
    """The order for tiles with this layout and element type."""
    columns = layout.shape[1]
    if not isinstance(layout, AccumulatorLayout):
        return Plain(columns)
    if dtype.bits in (16, 32) and not any(layout.woven):
        return Chunked(columns, VECTOR // dtype.bytes)
    return Scattered(columns)
