"""Boxes one behind the other: who hands what to whom."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.notebook import svg

BOX, HIGH, GAP, ROW = 132.0, 50.0, 70.0, 78.0


def draw_chain(title: str, rows: Sequence[Sequence[str]]) -> svg.Picture:
    """Each row is box, arrow, box, arrow, box, ...; an arrow's words stand above it, a box may have two lines."""
    parts = [svg.text(14, 26, title, size=14, bold=True)]
    for number, row in enumerate(rows):
        y = 50 + ROW * number
        for place, words in enumerate(row):
            x = 14 + (BOX + GAP) * (place // 2)
            if place % 2:
                parts += _arrow(words, x + BOX, y)
            else:
                parts += _box(words, x, y, number)
    most = max(len(row) // 2 + 1 for row in rows)
    says = "; ".join(" ".join(words.replace("\n", " ") for words in row) for row in rows)
    return svg.Picture(28 + (BOX + GAP) * most - GAP, 50 + ROW * len(rows) - 12, tuple(parts), f"{title}: {says}")


def _box(words: str, x: float, y: float, shade: int) -> list[str]:
    fill, stroke = svg.colour(shade)
    lines = words.split("\n")
    first = y + HIGH / 2 + 5 - 8 * (len(lines) - 1)
    return [svg.rect(x, y, BOX, HIGH, fill, stroke, radius=8),
            *(svg.text(x + BOX / 2, first + 16 * n, line, size=12.5, anchor="middle") for n, line in enumerate(lines))]


def _arrow(words: str, x: float, y: float) -> list[str]:
    return [svg.arrow(x + 2, y + HIGH / 2, x + GAP - 2, y + HIGH / 2),
            svg.text(x + GAP / 2 - 2, y + HIGH / 2 - 7, words, size=11, anchor="middle", fill=svg.FAINT)]
