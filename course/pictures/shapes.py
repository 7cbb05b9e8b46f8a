"""Two tiles and what they are together: NumPy's broadcasting, drawn."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.notebook import svg

CELL, GAP = 30.0, 46.0

Shape = tuple[int, ...]


def draw_broadcast(a: Shape, b: Shape, result: Shape, sign: str = "+") -> svg.Picture:
    """Tiles of rank 2 at most, aligned on the right. What an extent of 1 is stretched to is drawn faint."""
    parts: list[str] = []
    rows, columns = _matrix(result)
    x = 16.0
    for place, (shape, mark) in enumerate(((a, sign), (b, "="), (result, ""))):
        parts += _tile(shape, (rows, columns), x, 44, place)
        parts.append(svg.text(x, 28, f"[{', '.join(map(str, shape))}]", size=13, mono=True, bold=True))
        x += CELL * columns
        parts.append(svg.text(x + GAP / 2, 44 + CELL * rows / 2 + 6, mark, size=18, anchor="middle"))
        x += GAP
    return svg.Picture(max(x - GAP + 16, 300), 60 + CELL * rows, tuple(parts), f"{a} {sign} {b} gives {result}")


def _matrix(shape: Sequence[int]) -> tuple[int, int]:
    rows, columns = (1, 1, *shape)[-2:]
    return rows, columns


def _tile(shape: Shape, whole: tuple[int, int], x: float, y: float, shade: int) -> list[str]:
    rows, columns = _matrix(shape)
    fill, stroke = svg.colour(shade)
    cells = []
    for row in range(whole[0]):
        for column in range(whole[1]):
            own = row < rows and column < columns
            words = f"{row % rows},{column % columns}" if len(shape) > 1 else str(column % columns)
            at = (x + CELL * column, y + CELL * row)
            cells.append(svg.rect(*at, CELL - 2, CELL - 2, fill, stroke, opacity=1 if own else 0.3))
            ink = svg.INK if own else svg.FAINT
            cells.append(svg.text(at[0] + CELL / 2 - 1, at[1] + 18, words, size=9.5, fill=ink, anchor="middle"))
    return cells
