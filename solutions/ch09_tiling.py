"""Chapter 9, Tiling: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.splits import Split


# tilelang/tiling/layout.py
def linearize(coordinates: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The row-major number of the element at `coordinates`."""
    number = 0
    for coordinate, extent in zip(coordinates, shape, strict=True):
        number = number * extent + coordinate
    return number


# tilelang/tiling/layout.py
def delinearize(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinates of element `number`; the inverse of `linearize`."""
    found = []
    for extent in reversed(shape):
        number, coordinate = divmod(number, extent)
        found.append(coordinate)
    return tuple(reversed(found))


# tilelang/tiling/layout.py
def place(self: LinearLayout, coordinates: tuple[int, ...]) -> tuple[int, int]:
    """The (thread, register) that holds the element at `coordinates`."""
    number = linearize(coordinates, self.shape)
    run, within = divmod(number, self.vector)
    return run % self.threads, run // self.threads * self.vector + within


# tilelang/tiling/layout.py
def coordinates(self: LinearLayout, thread: int, register: int) -> tuple[int, ...] | None:
    """The element at a place, or None for padding."""
    run, within = divmod(register, self.vector)
    number = (run * self.threads + thread) * self.vector + within
    return delinearize(number, self.shape) if number < self.size else None


# tilelang/tiling/splits.py
def split(shape: Sequence[int], axes: Sequence[int], threads: int, vector: int = 1) -> Split | None:
    """The split of a reduction along `axes`; None if they are not neighbours."""
    if list(axes) != list(range(axes[0], axes[-1] + 1)):
        return None
    first, last = axes[0], axes[-1] + 1
    return Split(prod(shape[:first]), prod(shape[first:last]) // vector, prod(shape[last:]), threads, vector)


# course/extra.py
def blocked_place(
    coordinates: tuple[int, ...], per_thread: tuple[int, ...], lanes: tuple[int, ...], warps: tuple[int, ...]
) -> tuple[int, int, int]:
    """The (warp, lane, register) that holds an element in a blocked layout, which covers the tile exactly once.

    Along each axis a thread holds `per_thread` neighbouring elements, `lanes` neighbouring threads make a warp's
    part, and `warps` warps stand side by side. Warps, lanes and registers are numbered in row-major order.
    """
    warp = lane = register = 0
    for coordinate, held, side_by_side, count in zip(coordinates, per_thread, lanes, warps, strict=True):
        coordinate, inside = divmod(coordinate, held)
        place, thread = divmod(coordinate, side_by_side)
        warp, lane, register = warp * count + place, lane * side_by_side + thread, register * held + inside
    return warp, lane, register
