"""Layouts: which thread holds which element of a tile, and in which of its registers.

A layout is plain data: a one-to-one map between the elements of a tile and places (thread, register). Lowering asks
it two questions, how many registers a thread needs and which element a place holds, and never assumes more.

The first layout is the simplest one that lets neighbouring threads touch neighbouring elements. Twelve elements
over four threads:

    element    0  1  2  3  4  5  6  7  8  9 10 11
    thread     0  1  2  3  0  1  2  3  0  1  2  3
    register   0  0  0  0  1  1  1  1  2  2  2  2
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class LinearLayout:
    """Element `e`, counted in row-major order, is in register `e // threads` of thread `e % threads`.

    With a `vector` width above 1 that holds for runs of so many neighbours instead of elements: a thread has all of a
    run, in neighbouring registers (`tilelang.tiling.vectors`). Then `threads * vector` divides the number of elements.

    Where `threads` does not divide the number of elements, the last register of the last threads is padding: it
    holds no element.
    """

    shape: tuple[int, ...]
    threads: int
    vector: int = 1

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def registers(self) -> int:
        """Registers in each thread."""
        return -(-self.size // self.threads)

    @property
    def padded(self) -> bool:
        """True if some place holds no element, so that code for all places needs a guard."""
        return self.registers * self.threads != self.size

    def place(self, coordinates: tuple[int, ...]) -> tuple[int, int]:
        """The (thread, register) that holds the element at `coordinates`."""
        number = linearize(coordinates, self.shape)
        run, within = divmod(number, self.vector)
        return run % self.threads, run // self.threads * self.vector + within

    def coordinates(self, thread: int, register: int) -> tuple[int, ...] | None:
        """The element at a place, or None for padding."""
        run, within = divmod(register, self.vector)
        number = (run * self.threads + thread) * self.vector + within
        return delinearize(number, self.shape) if number < self.size else None


def linearize(coordinates: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The row-major number of the element at `coordinates`."""
    number = 0
    for coordinate, extent in zip(coordinates, shape, strict=True):
        number = number * extent + coordinate
    return number


def delinearize(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinates of element `number`; the inverse of `linearize`."""
    found = []
    for extent in reversed(shape):
        number, coordinate = divmod(number, extent)
        found.append(coordinate)
    return tuple(reversed(found))
