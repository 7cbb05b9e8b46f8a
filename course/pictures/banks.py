"""Shared memory by its banks: what a warp asks of each, and how many passes that takes."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.machine.traffic import BANKS
from tilelang.notebook import svg

CELL, LEFT, HIGH = 24.0, 88.0, 13.0
TALLEST = 10
"""Words of a bank that are drawn; more are a number."""


def draw_banks(words: Sequence[int], title: str) -> svg.Picture:
    """`words[lane]`: the 4-byte word of shared memory that a lane reads. Under each bank stand the different words that
    are wanted of it, each with its lanes: one pass serves one of them in every bank."""
    wanted: list[dict[int, list[int]]] = [{} for _ in range(BANKS)]
    for lane, word in enumerate(words):
        wanted[word % BANKS].setdefault(word, []).append(lane)
    passes = max(len(bank) for bank in wanted)
    parts = [svg.text(14, 26, title, size=14, bold=True), svg.text(14, 60, "banks", size=12),
             svg.text(14, 82, "lanes", size=12)]
    for bank, asked in enumerate(wanted):
        parts += _bank(bank, asked)
    shown = min(passes, TALLEST)
    y = 70 + (HIGH + 2) * (shown + (passes > TALLEST)) + 22
    verdict = "no conflict" if passes == 1 else f"{passes - 1} passes more than without conflicts"
    parts.append(svg.text(LEFT, y, f"{passes} pass{'es' * (passes > 1)}: {verdict}", size=12.5))
    return svg.Picture(LEFT + CELL * BANKS + 14, y + 16, tuple(parts), f"{title}: {passes} passes")


def _bank(bank: int, asked: dict[int, list[int]]) -> list[str]:
    x = LEFT + CELL * bank
    parts = [svg.rect(x, 46, CELL - 2, 20, "#ffffff", svg.RULE),
             svg.text(x + CELL / 2 - 1, 60, str(bank), size=9, mono=True, anchor="middle", fill=svg.FAINT)]
    for place, (word, lanes) in enumerate(list(asked.items())[:TALLEST]):
        fill, stroke = svg.colour(place)
        y = 72 + (HIGH + 2) * place
        mark = str(lanes[0]) if len(lanes) == 1 else "all" if len(lanes) == 32 else f"{lanes[0]}+"
        parts += [svg.rect(x, y, CELL - 2, HIGH, fill, stroke, says=f"word {word}: lanes {lanes}"),
                  svg.text(x + CELL / 2 - 1, y + 10, mark, size=8.5, mono=True, anchor="middle")]
    if len(asked) > TALLEST:
        parts.append(svg.text(x + CELL / 2 - 1, 72 + (HIGH + 2) * TALLEST + 10, f"+{len(asked) - TALLEST}", size=9,
                              anchor="middle", fill=svg.FAINT))
    return parts
