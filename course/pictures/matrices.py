"""A small matrix of numbers between 0 and 1 as shades: the larger, the darker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilelang.notebook import svg

CELL = 24.0
LIGHT, DARK = (252, 252, 250), (47, 111, 176)


def draw_matrices(titles: Sequence[str], matrices: Sequence[np.ndarray], *, rows: Sequence[str] = (),
                  columns: Sequence[str] = (), cell: float = CELL) -> svg.Picture:  # fmt: skip
    """Matrices side by side, each with a title; `rows` and `columns` name the lines of every one. NaN is left white."""
    label = 14 + 8.0 * max(map(len, rows), default=0)
    parts: list[str] = []
    x, height = 0.0, 0.0
    for title, matrix in zip(titles, matrices, strict=True):
        parts.append(svg.text(x + 14, 24, title, size=13, bold=True))
        top = 40.0 + (16 if columns else 0)
        for n, name in enumerate(columns[: matrix.shape[1]]):
            parts.append(svg.text(x + label + cell * (n + 0.5), top - 6, name, size=10.5, anchor="middle"))
        for n, name in enumerate(rows[: len(matrix)]):
            parts.append(svg.text(x + label - 6, top + cell * n + cell / 2 + 4, name, size=11.5, anchor="end"))
        for (i, j), value in np.ndenumerate(matrix):
            says = f"row {i}, column {j}: {value:.3g}"
            parts.append(svg.rect(x + label + cell * j, top + cell * i, cell - 1, cell - 1, _shade(float(value)),
                                  svg.RULE, radius=1, says=says))  # fmt: skip
        height = max(height, top + cell * len(matrix))
        x += max(label + cell * matrix.shape[1] + 20, 30 + 7.6 * len(title))
    return svg.Picture(x, height + 14, tuple(parts), "matrices as shades: " + ", ".join(titles))


def _shade(value: float) -> str:
    if np.isnan(value):
        return "#ffffff"
    part = min(max(value, 0.0), 1.0)
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(LIGHT, DARK, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"
