"""The layout of register blocking: every thread has some rows and some columns of a tile, far apart.

             column  t      t + 32
    row  w          r0       r1            thread t of warp w, of W warps; the tile is 2 W x 64
    row  w + W      r2       r3

A warp has one row at a time and 32 neighbouring columns, so it reads one element of a dot's left operand together, and
32 banks of the right one's row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilelang.tiling.numbers import AnyNumber

WARP = 32
LARGEST_SLAB = 4096
"""Elements that go through shared memory at a time, on the way to another layout."""


@dataclass(frozen=True)
class PatchLayout:
    """A tile of this shape over `warps` warps: extents are multiples of `warps` and of 32."""

    shape: tuple[int, int]
    warps: int

    @property
    def patch(self) -> tuple[int, int]:
        """Rows and columns of one thread."""
        return self.shape[0] // self.warps, self.shape[1] // WARP

    @property
    def threads(self) -> int:
        """Threads that hold elements: all."""
        return self.warps * WARP

    @property
    def registers(self) -> int:
        """Registers in each thread."""
        return self.patch[0] * self.patch[1]

    def row(self, thread: AnyNumber, number: AnyNumber) -> AnyNumber:
        """A thread's rows, from number 0 on."""
        return thread // WARP + number * self.warps

    def column(self, thread: AnyNumber, number: AnyNumber) -> AnyNumber:
        """A thread's columns."""
        return thread % WARP + number * WARP

    def element(self, thread: AnyNumber, register: AnyNumber) -> tuple[AnyNumber, AnyNumber]:
        """The (row, column) at a place: the patch is in the registers row by row."""
        return self.row(thread, register // self.patch[1]), self.column(thread, register % self.patch[1])

    def place(self, coordinates: tuple[int, int]) -> tuple[int, int]:
        """The (thread, register) that holds the element at `coordinates`."""
        (row, column) = coordinates
        return (row % self.warps * WARP + column % WARP,
                row // self.warps * self.patch[1] + column // WARP)

    def coordinates(self, thread: int, register: int) -> tuple[int, int]:
        """The element at a place: all hold one."""
        return self.element(thread, register)

    # ---------------------------------------------------------------- slabs: neighbouring rows

    @property
    def _rows_of_a_thread(self) -> int:
        """How many of a thread's rows are in one slab."""
        fitting = max(LARGEST_SLAB // (self.warps * self.shape[1]), 1)
        return next(rows for rows in range(min(fitting, self.patch[0]), 0, -1) if self.patch[0] % rows == 0)

    @property
    def slabs(self) -> int:
        return self.patch[0] // self._rows_of_a_thread

    @property
    def slab_size(self) -> int:
        """Elements of one slab."""
        return self.shape[0] * self.shape[1] // self.slabs

    @property
    def slab_registers(self) -> int:
        """Registers of each thread in one slab, one after another."""
        return self.registers // self.slabs

    def slab_element(self, thread: AnyNumber, register: AnyNumber) -> tuple[AnyNumber, AnyNumber]:
        """Which (row, column) of its slab an element is; `register` counts those of the slab."""
        return self.element(thread, register)

    def slab_register(self, slab: int, register: AnyNumber) -> AnyNumber:
        """The register that is the slab's of this number."""
        return register + slab * self.slab_registers

    def slab_ranges(self, slab: int) -> Iterator[tuple[int, int, int]]:
        """(first, end, start): the elements of the tile from number `first` to `end` are, row by row, the slab's from
        number `start` on."""
        yield slab * self.slab_size, (slab + 1) * self.slab_size, 0
