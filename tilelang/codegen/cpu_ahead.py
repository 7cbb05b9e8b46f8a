"""Rows that the next program will read, asked for while this one still computes.

    for i in range(stop):                      program `row` reads its row of x for the first time
        v = load(x, row * x_s0 + i * x_s1)
        ...
    prefetch_row(x, (row + 1) * x_s0, x_s1, stop)
    for i in range(stop): ...                  and goes on with what it has by now in the cache

The processor's own prefetcher sees one row end and no reason to go on. A program that passes over its row several
times computes meanwhile, and with the row asked for, the memory works at the same time (softmax 4096 x 1024: 6.2 to
5.2 ms on one thread). A program with one loop leaves no time for that, and has nothing written.
"""

from __future__ import annotations

from tilelang.codegen.cpu_coords import ZERO, Coord, offset_text
from tilelang.codegen.cpu_elements import Coords, index_coords
from tilelang.codegen.cpu_translation import Translation
from tilelang.ir.access import Access, access
from tilelang.ir.core import Op


class Ahead:
    """Collects what each row loop of a program reads, and asks for it in front of the following loop."""

    def __init__(self, translation: Translation):
        self.translation = translation
        self._seen: set[str] = set()
        self._waiting: list[str] = []
        self.asked = False
        """Has the program asked for rows?"""

    def write(self) -> None:
        """In front of a loop: what earlier loops have noted."""
        for statement in self._waiting:
            self.translation.lines.add(statement)
            self.asked = True
        self._waiting.clear()

    def note(self, loads: list[tuple[Op, Coords]], stop: str) -> None:
        """Behind a loop over 0 <= i < stop with these loads."""
        for op, coords in loads:
            statement = self._next_row(access(op), coords, stop)
            if statement is not None and statement not in self._seen:
                self._seen.add(statement)
                self._waiting.append(statement)

    def _next_row(self, parts: Access, coords: Coords, stop: str) -> str | None:
        """The statement that asks for the row at which the next program has this load; None if that is not known."""
        translation, places, moving, moves = self.translation, [], [], False
        for axis, (index, at) in enumerate(index_coords(parts, coords)):
            affine = translation.affine.read(index, at)
            if affine is None:
                return None
            if affine.coord is not None and affine.coord.axis is not None:
                moving.append(axis)
            step = translation.steps.get(affine.base, 0)
            moves = moves or step > 0
            places.append(Coord(f"{affine.base64} + {step}" if step else affine.base64, 0))
        if len(moving) != 1 or not moves or parts.pointwise:
            return None
        strides = [translation.stride(parts.tensor, axis) for axis in range(len(places))]
        offset = offset_text([ZERO if p.text == "0" else p for p in places], strides)
        return f"prefetch_row({translation.tensor(parts.tensor)}, {offset}, {strides[moving[0]]}, {stop})"
