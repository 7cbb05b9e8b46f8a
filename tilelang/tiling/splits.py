"""How the elements of a reduction fall to threads and registers in the linear layout.

A reduction along neighbouring axes sees its tile as [outer, length, inner] in row-major order and makes
[outer, inner] of it. Three threads' worth of pictures, for 4 threads; each row of the tile one line, and in each
place the thread:

    inner >= threads         a slice fills threads      several slices to a round of the threads
    [1, 3, 8]: 0 1 2 3 0 1 2 3    [2, 8, 1]: 0 1 2 3 0 1 2 3    [4, 2, 1]: 0 1
               0 1 2 3 0 1 2 3               0 1 2 3 0 1 2 3               2 3
               0 1 2 3 0 1 2 3                                             0 1
    a thread owns columns    every thread has a part    the parts are single elements                2 3

In all three a thread first combines what its own registers hold of a result (`part_of` says which registers go
together); then, but in the first picture, threads `inner` apart combine their parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Split:
    """A tile [outer, length, inner] over `threads` (a power of two) in the linear layout.

    With a `vector` width above 1 `length` and registers count runs of so many elements; `inner` is 1 then.
    """

    outer: int
    length: int
    inner: int
    threads: int
    vector: int = 1

    @property
    def size(self) -> int:
        return self.outer * self.length * self.inner

    @property
    def owns_columns(self) -> bool:
        """A thread has all elements of each of its results."""
        return self.inner % self.threads == 0

    @property
    def regular(self) -> bool:
        """One of the three pictures above; for others the tile has to go to shared memory as a whole."""
        slice_size = self.length * self.inner
        fits = slice_size % self.threads == 0 or self.threads % slice_size == 0
        return self.owns_columns or (self.threads % self.inner == 0 and fits) or self.outer * self.inner == 1

    @property
    def registers_per_part(self) -> int:
        """Registers of one thread that go into one part (not for `owns_columns`)."""
        return -(-self.length * self.inner // self.threads)

    @property
    def parts(self) -> int:
        """Partial results in each thread."""
        if self.owns_columns:
            return self.outer * self.inner // self.threads
        return -(-self.size // self.threads) // self.registers_per_part

    @property
    def group(self) -> int:
        """Neighbouring threads that hold parts of the same slice, a power of two."""
        group = 1
        while group < min(self.threads, self.length * self.inner):
            group *= 2
        return group

    @property
    def lanes(self) -> int:
        """Threads that hold parts of one result; they are `inner` apart."""
        return self.group // self.inner


def split(shape: Sequence[int], axes: Sequence[int], threads: int, vector: int = 1) -> Split | None:
    """The split of a reduction along `axes`; None if they are not neighbours."""
    if list(axes) != list(range(axes[0], axes[-1] + 1)):
        return None
    first, last = axes[0], axes[-1] + 1
    return Split(prod(shape[:first]), prod(shape[first:last]) // vector, prod(shape[last:]), threads, vector)
