"""Where the elements of a tile lie in shared memory, so that several ways of going through it meet all banks.

    8 x 8 words, 8 banks; each cell is the bank of an element. Rows are written, columns are read.

    plain             padded: a gap after every 8       folded: bank bits ^ row bits
    0 1 2 3 4 5 6 7   0 1 2 3 4 5 6 7                   0 1 2 3 4 5 6 7
    0 1 2 3 4 5 6 7   1 2 3 4 5 6 7 0                   1 0 3 2 5 4 7 6
    0 1 2 3 4 5 6 7   2 3 4 5 6 7 0 1                   2 3 0 1 6 7 4 5

Both are maps from an element's number in row-major order to its place, one-to-one, whatever the tile's extents.
Padding takes room. Folding takes none: it exchanges elements within the 128 bytes that fill all banks once.

Source: the exclusive or over a matrix of bits is that of Frailong, Jalby and Lenfant, "XOR-schemes: a flexible data
organization in parallel memories", ICPP 1985.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.tiling.numbers import AnyNumber, Bits


@dataclass(frozen=True)
class Padded:
    """After every `every` elements follow `gap` places that nobody uses."""

    every: int
    gap: int

    def position(self, number: AnyNumber) -> AnyNumber:
        """Where element `number` is in the shared array."""
        return number + number // self.every * self.gap

    def room(self, size: int) -> int:
        """Places for a tile of `size` elements."""
        return self.position(size - 1) + 1


@dataclass(frozen=True)
class Folded:
    """Bit `high` of an element's number is exclusive-ored into bit `low`, for each pair in `folds`.

    Every `high` is above every `low`, so that the high bits can be read off the place, and the map undone.
    """

    folds: tuple[tuple[int, int], ...]

    def position(self, number: Bits) -> Bits:
        """Where element `number` is in the shared array, of as many places as the tile has elements."""
        turned = number
        for high, low, bits in self.runs:
            turned = turned ^ number // (1 << high) % (1 << bits) * (1 << low)
        return turned

    def room(self, size: int) -> int:
        """Places for a tile of `size` elements: as many, a power of two that no bit of `folds` is above."""
        return size

    @property
    def runs(self) -> tuple[tuple[int, int, int], ...]:
        """The pairs, those of neighbouring bits at one distance together: (lowest high, lowest low, how many)."""
        found: list[tuple[int, int, int]] = []
        for high, low in sorted(self.folds, key=lambda fold: (fold[0] - fold[1], fold)):
            if found and (high, low) == (found[-1][0] + found[-1][2], found[-1][1] + found[-1][2]):
                found[-1] = (*found[-1][:2], found[-1][2] + 1)
            else:
                found.append((high, low, 1))
        return tuple(found)


BankLayout = Padded | Folded
