"""Spaces: how large the whole tensor is of which each program holds one tile.

    let i = program_id(0) * 64 +: 64;      a tile of 64; over all programs 64 * grid, but x has only N elements:
    let v = x[i];                          Axis(extent 64, by {grid 0}, limit N)

Each axis of a tile knows what moves it along (axes of the grid, loops) and where it ends. Axes of extent 1
that the tile does not have, such as the row of `x[row, cols]`, are kept as `outer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

Symbol = str
"""What makes values differ between programs and trips: `grid.0`, or a loop's index."""


@dataclass(frozen=True)
class Axis:
    """`extent` elements in one tile, repeated for each value of the symbols in `by`, clipped to `limit`."""

    extent: int = 1
    by: frozenset[Symbol] = frozenset()
    limit: float | None = None

    def count(self, sizes: Mapping[Symbol, float]) -> float:
        total = self.extent * prod(sizes[symbol] for symbol in self.by)
        return total if self.limit is None else min(total, self.limit)


@dataclass(frozen=True)
class Space:
    """The axes of a tile, and the outer ones."""

    axes: tuple[Axis, ...] = ()
    outer: frozenset[Axis] = frozenset()

    @property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset().union(*(axis.by for axis in (*self.axes, *self.outer)))

    def count(self, sizes: Mapping[Symbol, float]) -> float:
        """Elements over all programs and trips.

        Two axes may be moved by one symbol (a matmul that numbers its tiles by one axis of the grid); then the
        product of the axes is right if both have limits, and elements times programs otherwise.
        """
        boxes = (*self.axes, *self.outer)
        by_axis = prod(axis.count(sizes) for axis in boxes)
        by_tile = prod(axis.extent for axis in boxes) * prod(sizes[symbol] for symbol in self.symbols)
        return min(by_axis, by_tile)

    def without(self, symbol: Symbol) -> Space:
        """The space of one trip of a loop."""
        return Space(tuple(Axis(a.extent, a.by - {symbol}, a.limit) for a in self.axes),
                     frozenset(Axis(1, a.by - {symbol}, a.limit) for a in self.outer if a.by - {symbol}))

    def moved_by(self, symbol: Symbol) -> Space:
        """The space if a loop makes a new one each trip."""
        return normal(self.axes, (*self.outer, Axis(1, frozenset((symbol,)))))


def normal(axes: Iterable[Axis], outer: Iterable[Axis]) -> Space:
    """A space without outer axes that say what the others say already."""
    axes = tuple(axes)
    tied = frozenset().union(*(axis.by for axis in axes))
    kept: dict[frozenset[Symbol], Axis] = {}
    for axis in outer:
        if axis.by - tied:
            known = kept.get(axis.by)
            kept[axis.by] = axis if known is None else joined(axis, known)
    return Space(axes, frozenset(kept.values()))


def joined(a: Axis, b: Axis) -> Axis:
    """The axis of an elementwise result: it moves with both operands, and ends where the shorter one does."""
    limits = [axis.limit for axis in (a, b) if axis.limit is not None]
    return Axis(max(a.extent, b.extent), a.by | b.by, min(limits, default=None))


def merged(spaces: Iterable[Space], rank: int) -> Space:
    """The space of an elementwise op: axes aligned on the right, as NumPy broadcasts."""
    axes = [Axis()] * rank
    outer: list[Axis] = []
    for space in spaces:
        outer += space.outer
        for place, axis in enumerate(space.axes, rank - len(space.axes)):
            axes[place] = joined(axes[place], axis)
    return normal(axes, outer)


def reduced(space: Space, axes: Iterable[int]) -> Space:
    """Without these axes. What moved them still makes results differ: each program has its own partial sum."""
    gone = set(axes)
    kept = [axis for place, axis in enumerate(space.axes) if place not in gone]
    outer = [Axis(1, axis.by) for place, axis in enumerate(space.axes) if place in gone]
    return normal(kept, (*space.outer, *outer))


def reshaped(space: Space, shape: tuple[int, ...], sizes: Mapping[Symbol, float]) -> Space:
    """The same elements in other axes. New axes of extent 1 keep what the others know; else the total is kept."""
    old = [axis for axis in space.axes if axis.extent != 1]
    if [axis.extent for axis in old] == [extent for extent in shape if extent != 1]:
        rest = iter(old)
        ones = [axis for axis in space.axes if axis.extent == 1]
        return normal((Axis() if extent == 1 else next(rest) for extent in shape), (*space.outer, *ones))
    total = space.count(sizes)
    whole = Axis(1, space.symbols, total / prod(shape))
    return Space(tuple(Axis(extent) for extent in shape), frozenset((whole,) if whole.by else ()))
