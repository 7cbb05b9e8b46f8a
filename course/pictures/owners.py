"""Which thread holds which element: maps of tiles, for any layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tilelang.notebook import svg

WARP = 32
SMALL = 9.0
"""Pixels of an element in a map that shows where a warp's part is."""


class Layout(Protocol):
    """What a map needs to know of a layout."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def place(self, coordinates: tuple[int, int], /) -> tuple[int, int]: ...


@dataclass(frozen=True)
class Cell:
    """One element of a map: the number of its colour, the words in it, and those under the pointer."""

    shade: int
    words: str = ""
    says: str = ""
    faint: bool = False


def draw_cells(
    shape: tuple[int, int], cell: Callable[[int, int], Cell], title: str, *, below: str = "", size: float = 30
) -> svg.Picture:
    """A tile of (rows, columns), one square for each element, `size` pixels wide."""
    rows, columns = shape
    parts = [svg.text(12, 22, title, size=13)]
    for row in range(rows):
        for column in range(columns):
            parts += _square(12 + size * column, 34 + size * row, size, cell(row, column))
    height = 34 + size * rows + 12
    if below:
        parts.append(svg.text(12, height + 6, below, size=12, fill=svg.FAINT))
        height += 18
    width = max(24 + size * columns, 24 + 7.3 * len(title), 24 + 6.7 * len(below))
    return svg.Picture(width, height, tuple(parts), title)


def _square(x: float, y: float, size: float, cell: Cell) -> list[str]:
    fill, stroke = svg.colour(cell.shade)
    parts = [svg.rect(x, y, size - 2, size - 2, fill, stroke, opacity=0.35 if cell.faint else 1, says=cell.says)]
    if cell.words:
        parts.append(svg.text(x + size / 2 - 1, y + size / 2 + 3, cell.words, size=min(10, size / 3), mono=True,
                              anchor="middle"))
    return parts


def draw_holdings(layout: Layout, thread: int, title: str = "", *, size: float = SMALL) -> svg.Picture:
    """A tile of two axes: the colour is the warp's; dark is what its lane 0, ..., 31 hold in register 0, and black
    what one thread holds in all its registers."""
    rows, columns = layout.shape
    parts = [svg.text(12, 22, title or f"a tile of {rows} x {columns}", size=13)]
    warps: set[int] = set()
    held = 0
    for row in range(rows):
        for column in range(columns):
            owner, register = layout.place((row, column))
            warps.add(owner // WARP)
            held += owner == thread
            fill, stroke = svg.colour(owner // WARP)
            own = svg.INK if owner == thread else stroke if register == 0 else fill
            parts.append(svg.rect(12 + size * column, 34 + size * row, size - 1, size - 1, own, radius=1,
                                  says=f"thread {owner}, register {register}"))
    y = 34 + size * rows + 18
    x = 12.0
    for warp in sorted(warps):
        parts += [svg.rect(x, y - 10, 12, 12, svg.colour(warp)[0], svg.colour(warp)[1]),
                  svg.text(x + 17, y, f"warp {warp}", size=12)]
        x += 74
    parts.append(svg.text(12, y + 20, f"strong: register 0 of all threads; black: thread {thread} with its {held} "
                                      f"element{'s' * (held != 1)}", size=12, fill=svg.FAINT))
    width = max(24 + size * columns, x + 12, 500, 24 + 7.3 * len(title))
    return svg.Picture(width, y + 32, tuple(parts), title or f"who holds what in a tile of {rows} x {columns}")
