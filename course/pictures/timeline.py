"""What happens when: bars along a common axis of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilelang.notebook import svg

ROW, LEFT, WIDTH = 30.0, 150.0, 980.0


@dataclass(frozen=True)
class Span:
    """Something that takes from `start` to `end`; `shade` is the number of its colour."""

    start: float
    end: float
    words: str
    shade: int = 0


def draw_timeline(title: str, rows: Sequence[tuple[str, Sequence[Span]]], unit: str, end: float = 0) -> svg.Picture:
    """`rows`: (name, spans). All on one scale up to `end`, or as far as the last span goes."""
    last = max([end, *(span.end for _, spans in rows for span in spans)])
    scale = (WIDTH - LEFT - 20) / last
    parts = [svg.text(14, 26, title, size=14, bold=True)]
    bottom = 44 + ROW * len(rows)
    for place, (name, spans) in enumerate(rows):
        y = 42 + ROW * place
        parts += [svg.text(14, y + 17, name, size=12), svg.line(LEFT, y + ROW - 3, WIDTH - 20, y + ROW - 3, svg.RULE)]
        for span in spans:
            parts += _span(span, y, scale)
    step = _nice(last)
    for number in range(int(last / step) + 1):
        x = LEFT + number * step * scale
        parts += [svg.line(x, bottom, x, bottom + 5, svg.FAINT),
                  svg.text(x, bottom + 18, f"{number * step:g}", size=10.5, anchor="middle", fill=svg.FAINT)]
    parts.append(svg.text(14, bottom + 18, unit, size=11, fill=svg.FAINT))
    return svg.Picture(WIDTH, bottom + 28, tuple(parts), f"{title}: {last:g} {unit}")


def _span(span: Span, y: float, scale: float) -> list[str]:
    fill, stroke = svg.colour(span.shade)
    x, long = LEFT + span.start * scale, (span.end - span.start) * scale
    parts = [svg.rect(x, y, long - 1, ROW - 6, fill, stroke, says=f"{span.words}: {span.start:g} to {span.end:g}")]
    if long > 7 * len(span.words):
        parts.append(svg.text(x + long / 2, y + 16, span.words, size=10.5, anchor="middle"))
    return parts


def _nice(last: float) -> float:
    """A round distance between marks, so that there are five to twelve of them."""
    step = 1.0
    while last / step > 12:
        step *= 5 if f"{step:g}"[0] == "1" else 2
    return step
