"""The compiler's road: its stages in order, from the driver's own tuples."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.driver import CPU, FRONT, GPU, MIDDLE, Stage
from tilelang.notebook import svg

BOX, HIGH, STEP = 128.0, 46.0, 152.0

WORDS = {
    "tokens": "tokens",
    "module": "syntax tree",
    "names": "names",
    "typed": "typed tree",
    "tile_ir": "tile IR",
    "optimized": "tile IR, better",
    "laid_out": "layouts",
    "thread_ir": "thread IR",
    "cuda": "GPU code",
    "cpu": "CPU code",
}


def draw_road(here: str = "") -> svg.Picture:
    """Text at the left, then a box for what each stage makes. The box called `here` is marked."""
    parts: list[str] = []
    _row(parts, "text", FRONT, 60, here)
    turn = 60 + HIGH + 56
    x = 16 + STEP * len(FRONT) + BOX / 2
    parts.append(svg.line(x, 60 + HIGH, x, turn - 28, svg.FAINT, 1.5))
    parts.append(svg.line(16 + BOX / 2, turn - 28, x, turn - 28, svg.FAINT, 1.5))
    parts.append(svg.arrow(16 + BOX / 2, turn - 28, 16 + BOX / 2, turn))
    _chain(parts, MIDDLE, 16, turn, here)
    right = 16 + STEP * len(MIDDLE)
    _chain(parts, GPU, right, turn, here, arrow=True)
    _chain(parts, CPU, right, turn + HIGH + 30, here)
    corner = right - STEP + BOX / 2
    parts.append(svg.line(corner, turn + HIGH, corner, turn + HIGH * 1.5 + 30, svg.FAINT, 1.5))
    parts.append(svg.arrow(corner, turn + HIGH * 1.5 + 30, right, turn + HIGH * 1.5 + 30))
    parts.insert(0, svg.text(16, 32, "From text to code: what each stage makes", size=14, bold=True))
    wide = 16 + STEP * len((*MIDDLE, *GPU))
    return svg.Picture(wide, turn + HIGH * 2 + 50, tuple(parts), "the stages of the compiler in order")


def _row(parts: list[str], start: str, stages: Sequence[Stage], y: float, here: str) -> None:
    parts += _box(start, 16, y, start == here, 7)
    _chain(parts, stages, 16 + STEP, y, here, arrow=True)


def _chain(parts: list[str], stages: Sequence[Stage], x: float, y: float, here: str, *, arrow: bool = False) -> None:
    for number, stage in enumerate(stages):
        left = x + STEP * number
        if number or arrow:
            parts.append(svg.arrow(left - STEP + BOX, y + HIGH / 2, left, y + HIGH / 2))
        shade = 0 if stage in FRONT else 2 if stage in MIDDLE else 1
        parts += _box(WORDS.get(stage.name, stage.name), left, y, stage.name == here, shade)


def _box(words: str, x: float, y: float, marked: bool, shade: int) -> list[str]:
    fill, stroke = svg.colour(shade)
    return [
        svg.rect(x, y, BOX, HIGH, fill, "#b8324a" if marked else stroke, radius=8),
        svg.text(x + BOX / 2, y + HIGH / 2 + 5, words, anchor="middle", bold=marked),
    ]
