"""The few shapes that the pictures are drawn with. A picture is SVG text: it stays when a notebook is saved.

All measures are pixels. A picture brings its own light ground, so that it can be read on a dark page too. Nothing in it
has an id, because a page holds many pictures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

MONO = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
SANS = "'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif"

INK, FAINT, RULE, GROUND = "#1f2933", "#667788", "#c9d1da", "#fcfcfa"
FILLS = ("#cfe3f7", "#fbdcc4", "#d3ecd0", "#ead7f2", "#fbeab0", "#f7cfd6", "#cdeceb", "#e2ddd2")
STROKES = ("#2f6fb0", "#c05f1c", "#3c8a34", "#7e3fa3", "#a07d08", "#b8324a", "#20807d", "#77694c")
"""Colours that go together, a light one for grounds and a strong one for lines of each; chosen to differ in
lightness too, for readers who do not see all colours."""


@dataclass(frozen=True)
class Picture:
    """A drawing with its size; `says` is what it shows, in words, for those who do not see it."""

    width: float
    height: float
    parts: tuple[str, ...]
    says: str

    def _repr_svg_(self) -> str:
        ground = rect(0, 0, self.width, self.height, GROUND, radius=6)
        inside = "\n".join((f"<title>{escape(self.says)}</title>", ground, *self.parts))
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        box = f'viewBox="0 0 {number(self.width)} {number(self.height)}"'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" '
                f'style="max-width:100%;height:auto">\n{inside}\n</svg>')

    def __repr__(self) -> str:
        return f"<picture: {self.says}>"


def number(value: float) -> str:
    """`12`, `12.5`: at most one digit behind the point, so that pictures differ only where they really do."""
    return f"{value:.1f}".removesuffix(".0")


def colour(key: int) -> tuple[str, str]:
    """(ground, line) number `key`, round and round."""
    return FILLS[key % len(FILLS)], STROKES[key % len(STROKES)]


def rect(x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", *, radius: float = 2,
         opacity: float = 1, says: str = "") -> str:
    """A rectangle; `says` is shown where the pointer rests on it."""
    tip = f"<title>{escape(says)}</title>" if says else ""
    faint = f' opacity="{opacity:.2f}"' if opacity < 1 else ""
    return (f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(width, 0))}" height="{number(max(height, 0))}" '
            f'rx="{number(radius)}" fill="{fill}" stroke="{stroke}"{faint}>{tip}</rect>')


def text(x: float, y: float, words: str, *, size: float = 13, fill: str = INK, mono: bool = False, bold: bool = False,
         anchor: str = "start") -> str:
    """Words on the base line `y`. `anchor` is the point of the text at `x`: start, middle or end.

    Monospaced text is stretched to the width that its columns should have, whatever font the reader has.
    """
    face = MONO if mono else SANS
    weight = ' font-weight="bold"' if bold else ""
    fit = f' textLength="{number(columns(len(words), size))}" lengthAdjust="spacingAndGlyphs"' if mono and words else ""
    return (f'<text x="{number(x)}" y="{number(y)}" font-family="{face}" font-size="{number(size)}" fill="{fill}" '
            f'text-anchor="{anchor}"{weight}{fit} style="white-space:pre" xml:space="preserve">{escape(words)}</text>')


def columns(count: int, size: float) -> float:
    """The width of `count` monospaced characters."""
    return count * size * 0.602


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = INK, width: float = 1) -> str:
    return (f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{stroke}" '
            f'stroke-width="{number(width)}"/>')


def arrow(x1: float, y1: float, x2: float, y2: float, stroke: str = FAINT, width: float = 1.5) -> str:
    """A line with a head at its end."""
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    back_x, back_y = x2 - 8 * dx, y2 - 8 * dy
    head = polygon([(x2, y2), (back_x - 4 * dy, back_y + 4 * dx), (back_x + 4 * dy, back_y - 4 * dx)], stroke)
    return line(x1, y1, back_x, back_y, stroke, width) + head


def polygon(points: Iterable[tuple[float, float]], fill: str, *, opacity: float = 1) -> str:
    corners = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    faint = f' opacity="{opacity:.2f}"' if opacity < 1 else ""
    return f'<polygon points="{corners}" fill="{fill}"{faint}/>'
