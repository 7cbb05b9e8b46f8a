"""How the lines of a tile along one axis lie in the registers of threads: what a scan has to know.

Two ways need no step through shared memory for each doubling of the distance:

    own     each line is in the registers of one thread           f32[64, 128] along axis 0, 128 threads
    shared  lines are rows; a row is in neighbouring lanes of a   f32[64, 16] or f32[1024] along the last axis
            warp, or in whole warps, one after another

Any other tile is in neither (`lines` gives None): one whose size the threads do not divide, columns that several
threads share, rows that end in the middle of a warp, more than a warp of pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilelang.ir.thread_rules import WARP


@dataclass(frozen=True)
class OwnLines:
    """A line's elements are in one thread, `apart` registers from each other; a slice of `extent * apart` registers
    holds `apart` lines."""

    extent: int
    apart: int


@dataclass(frozen=True)
class SharedLines:
    """Rows over threads. A thread has `width` neighbours in a row, a piece of a row is in `lanes` threads of one warp,
    and a row has `pieces` of them. The whole tile has `all_pieces`, if rows have several: one for each run of each
    warp."""

    width: int
    lanes: int
    pieces: int
    all_pieces: int


def lines(shape: tuple[int, ...], axis: int, threads: int, width: int) -> OwnLines | SharedLines | None:
    """The lines along `axis` of a tile of `shape`, in the layout of `threads` with `width` neighbours in a row."""
    extent, inner, size = shape[axis], prod(shape[axis + 1:]), prod(shape)
    if inner % (threads * width) == 0:
        return OwnLines(extent, inner // threads)
    warp = WARP * width
    if inner > 1 or size % (threads * width) or extent % width:
        return None
    if warp % extent == 0:
        return SharedLines(width, extent // width, 1, 1)
    if extent % warp == 0 and size // warp <= WARP:
        return SharedLines(width, WARP, extent // warp, size // warp)
    return None
