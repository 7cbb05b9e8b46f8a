"""Chapter 9, Tiling: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch09
    tilec course hint ch09 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.splits import Split


# --- warm-up: linearize -------------------------------------------------------------------------------------
def linearize(coordinates: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The row-major number of the element at `coordinates`.

    >>> linearize((1, 2), (3, 4))
    6
    """
    raise NotImplementedError


# --- warm-up: delinearize -----------------------------------------------------------------------------------
def delinearize(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinates of element `number`; the inverse of `linearize`.

    >>> delinearize(6, (3, 4))
    (1, 2)
    """
    raise NotImplementedError


# --- core: place --------------------------------------------------------------------------------------------
def place(self: LinearLayout, coordinates: tuple[int, ...]) -> tuple[int, int]:
    """The (thread, register) that holds the element at `coordinates`.

    The class says which thread and which register that is. `self.vector` is 1 unless runs of that many
    neighbours stay together.

    >>> place(LinearLayout((3, 4), 4), (1, 2))
    (2, 1)
    """
    raise NotImplementedError


# --- core: coordinates --------------------------------------------------------------------------------------
def coordinates(self: LinearLayout, thread: int, register: int) -> tuple[int, ...] | None:
    """The element at a place, or None for padding.

    The inverse of `place`. With 10 elements on 4 threads, the third register of the threads 2 and 3 holds
    nothing.

    >>> coordinates(LinearLayout((10,), 4), 1, 2), coordinates(LinearLayout((10,), 4), 2, 2)
    ((9,), None)
    """
    raise NotImplementedError


# --- core: split --------------------------------------------------------------------------------------------
def split(shape: Sequence[int], axes: Sequence[int], threads: int, vector: int = 1) -> Split | None:
    """The split of a reduction along `axes`; None if they are not neighbours.

    A reduction along neighbouring axes sees a tile of any rank as one of rank 3: the axes in front of the
    reduced ones, those themselves, and those behind. The three numbers of a `Split` are how many elements
    these have. `axes` is sorted and not empty. With a `vector` above 1 the length counts runs of that many.

    >>> split((2, 3, 4, 5), (1, 2), 32)
    Split(outer=2, length=12, inner=5, threads=32, vector=1)
    >>> split((2, 3, 4), (0, 2), 32) is None
    True
    """
    raise NotImplementedError


# --- hard: blocked_place ------------------------------------------------------------------------------------
def blocked_place(
    coordinates: tuple[int, ...], per_thread: tuple[int, ...], lanes: tuple[int, ...], warps: tuple[int, ...]
) -> tuple[int, int, int]:
    """The (warp, lane, register) that holds an element in a blocked layout, which covers the tile exactly once.

    Along each axis a thread holds `per_thread` neighbouring elements, `lanes` neighbouring threads make a warp's
    part, and `warps` warps stand side by side. Warps, lanes and registers are numbered in row-major order.

    The layout of Triton, and of most compilers for GPUs, in its simplest form. Along one axis with
    `per_thread` 2, `lanes` 4 and `warps` 2 the elements 0 to 15 are in the threads 0 0 1 1 2 2 3 3 of warp
    0, and then in those of warp 1. `coordinates` lie inside of the tile, whose extent along each axis is
    the product of the three.

    >>> blocked_place((5,), (2,), (4,), (2,))
    (0, 2, 1)
    >>> blocked_place((3, 5), (1, 2), (2, 2), (2, 2))
    (3, 2, 1)
    """
    raise NotImplementedError
