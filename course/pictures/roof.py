"""The roofline: how fast a kernel can be for the bytes that it moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilelang.notebook import svg

LEFT, TOP, WIDE, HIGH = 74.0, 44.0, 560.0, 300.0


@dataclass(frozen=True)
class Point:
    """A kernel: `intensity` in operations for each byte from HBM, `rate` in operations a second."""

    name: str
    intensity: float
    rate: float


def draw_roofline(title: str, memory_rate: float, peaks: Sequence[tuple[str, float]],
                  points: Sequence[Point]) -> svg.Picture:
    """Both axes are logarithmic. `peaks`: (name, operations a second).

    The points are numbered, and named beside; one that would cover another stands to the right of it.
    """
    xs = [p.intensity for p in points] + [rate / memory_rate for _, rate in peaks]
    ys = [p.rate for p in points] + [rate for _, rate in peaks]
    left, right = math.floor(math.log10(min(xs)) - 0.1), math.ceil(math.log10(max(xs)) + 0.3)
    low, high = math.floor(math.log10(min(ys)) - 0.1), math.ceil(math.log10(max(ys)) + 0.01)

    def at(x: float, y: float) -> tuple[float, float]:
        return (LEFT + WIDE * (math.log10(x) - left) / (right - left),
                TOP + HIGH * (high - math.log10(y)) / (high - low))

    parts = [svg.text(14, 26, title, size=14, bold=True), *_grid(left, right, low, high)]
    top = max(rate for _, rate in peaks)
    start = max(10.0**left, 10.0**low / memory_rate)
    parts.append(svg.line(*at(start, start * memory_rate), *at(top / memory_rate, top), svg.INK, 1.8))
    for name, rate in peaks:
        parts += [svg.line(*at(rate / memory_rate, rate), *at(10.0**right, rate), svg.INK, 1.8),
                  svg.text(LEFT + WIDE - 4, at(1, rate)[1] - 5, name, size=11, anchor="end")]
    drawn: list[tuple[float, float]] = []
    for number, point in enumerate(points):
        x, y = _beside(at(point.intensity, point.rate), drawn)
        drawn.append((x, y))
        fill, stroke = svg.colour(number)
        parts += [svg.rect(x - 8, y - 8, 16, 16, fill, stroke, radius=8, says=point.name),
                  svg.text(x, y + 4, str(number + 1), size=10, anchor="middle")]
        parts += [svg.rect(LEFT + WIDE + 24, TOP + 4 + 24 * number, 16, 16, fill, stroke, radius=8),
                  svg.text(LEFT + WIDE + 32, TOP + 16 + 24 * number, str(number + 1), size=10, anchor="middle"),
                  svg.text(LEFT + WIDE + 48, TOP + 17 + 24 * number, point.name, size=12)]
    longest = max((len(point.name) for point in points), default=0)
    height = max(TOP + HIGH + 46, TOP + 24 * len(points) + 20)
    return svg.Picture(LEFT + WIDE + 64 + 7.2 * longest, height, tuple(parts), title)


def _beside(place: tuple[float, float], drawn: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The place, or the nearest to the right of it where no other point is."""
    x, y = place
    while any(abs(x - other) < 16 and abs(y - height) < 16 for other, height in drawn):
        x += 17
    return x, y


def _grid(left: int, right: int, low: int, high: int) -> list[str]:
    """A line for each power of ten."""
    parts = [svg.rect(LEFT, TOP, WIDE, HIGH, "#ffffff", svg.RULE)]
    for power in range(left, right + 1):
        x = LEFT + WIDE * (power - left) / (right - left)
        parts += [svg.line(x, TOP, x, TOP + HIGH, svg.RULE, 0.7),
                  svg.text(x, TOP + HIGH + 16, f"{10.0**power:g}", size=11, anchor="middle", fill=svg.FAINT)]
    for power in range(low, high + 1):
        y = TOP + HIGH * (high - power) / (high - low)
        parts += [svg.line(LEFT, y, LEFT + WIDE, y, svg.RULE, 0.7),
                  svg.text(LEFT - 8, y + 4, _rate(10.0**power), size=11, anchor="end", fill=svg.FAINT)]
    parts.append(svg.text(LEFT + WIDE / 2, TOP + HIGH + 36, "operations for each byte from HBM", size=12,
                          anchor="middle"))
    parts.append(svg.text(LEFT + 6, TOP + 16, "operations a second", size=12))
    return parts


def _rate(value: float) -> str:
    """`10 G`, `1 T`: operations a second."""
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g}"
