"""Bars, one under another, for a handful of numbers that are to be compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilelang.notebook import svg


@dataclass(frozen=True)
class Bar:
    """`parts` are put end to end, each with a colour of its own; `words` stand behind the bar."""

    name: str
    parts: tuple[float, ...]
    words: str

    @property
    def total(self) -> float:
        return sum(self.parts)


def draw_bars(
    title: str,
    bars: Sequence[Bar],
    *,
    legend: Sequence[str] = (),
    logarithmic: bool = False,
    label: float = 190,
    width: float = 860,
) -> svg.Picture:
    """Bars from the same left edge. `legend` names the parts. `logarithmic`: each grid line is ten times the last."""
    room = width - label - 200
    scale = _logarithmic(bars, room) if logarithmic else _linear(bars, room)
    parts = [svg.text(14, 26, title, size=14, bold=True)]
    y = 44.0
    for place, name in enumerate(legend):
        fill, stroke = svg.colour(place)
        parts += [
            svg.rect(14 + 170 * place, y - 4, 14, 14, fill, stroke),
            svg.text(34 + 170 * place, y + 8, name, size=12),
        ]
    y += 24 if legend else 0
    for number, bar in enumerate(bars):
        parts += _bar(bar, number, y, label, scale, bool(legend))
        y += 30
    if logarithmic:
        parts.append(svg.text(14, y + 14, "Each step of the scale is a factor of ten.", size=11, fill=svg.FAINT))
        y += 20
    return svg.Picture(width, y + 8, tuple(parts), f"{title}: " + "; ".join(f"{b.name} {b.words}" for b in bars))


def _bar(bar: Bar, number: int, y: float, label: float, scale, stacked: bool) -> list[str]:  # type: ignore[no-untyped-def]
    drawn = [svg.text(label - 8, y + 16, bar.name, size=12.5, anchor="end")]
    x = label
    for place, part in enumerate(bar.parts):
        fill, stroke = svg.colour(place if stacked else number)
        long = scale(part)
        if part or not stacked:
            drawn.append(svg.rect(x, y, max(long, 1.5), 22, fill, stroke))
        x += long
    return [*drawn, svg.text(x + 8, y + 16, bar.words, size=12.5)]


def _linear(bars: Sequence[Bar], room: float):  # type: ignore[no-untyped-def]
    largest = max(bar.total for bar in bars) or 1
    return lambda value: room * value / largest


def _logarithmic(bars: Sequence[Bar], room: float):  # type: ignore[no-untyped-def]
    least = 10 ** math.floor(math.log10(min(bar.total for bar in bars)) - 0.01)
    span = math.log10(max(bar.total for bar in bars) / least)
    return lambda value: room * math.log10(value / least) / span
