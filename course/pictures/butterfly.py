"""A sum across the threads of a warp, step by step: who hands what to whom."""

from __future__ import annotations

from tilelang.notebook import svg

WIDE, STEP, LEFT, SIZE = 84.0, 62.0, 110.0, 10.0


def draw_butterfly(lanes: int) -> svg.Picture:
    """`lanes` threads (a power of two, up to 8), each with one part; after each step, of how many parts it has the sum.

    The letters are worked out step by step as the threads would.
    """
    held = [chr(ord("a") + lane) for lane in range(lanes)]
    parts = [svg.text(14, 26, f"{lanes} threads add up what they hold", size=14, bold=True),
             *_row("at first", 0, held)]
    step, distance = 1, lanes // 2
    while distance:
        parts += [svg.line(_middle(lane ^ distance), 82 + STEP * (step - 1), _middle(lane), 56 + STEP * step,
                           svg.colour(step)[1], 1.2) for lane in range(lanes)]
        parts += [svg.line(_middle(lane), 82 + STEP * (step - 1), _middle(lane), 56 + STEP * step, svg.FAINT, 1.2)
                  for lane in range(lanes)]
        held = ["".join(sorted(held[lane] + held[lane ^ distance])) for lane in range(lanes)]
        parts += _row(f"xor {distance}", step, held)
        step, distance = step + 1, distance // 2
    return svg.Picture(LEFT + WIDE * lanes + 10, 46 + STEP * step - 6, tuple(parts),
                       f"a butterfly of {lanes} threads in {step - 1} steps")


def _middle(lane: int) -> float:
    return LEFT + WIDE * lane + WIDE / 2 - 4


def _row(name: str, step: int, held: list[str]) -> list[str]:
    y = 56 + STEP * step
    parts = [svg.text(14, y + 17, name, size=12.5)]
    for lane, letters in enumerate(held):
        fill, stroke = svg.colour(lane if step == 0 else step)
        words = "+".join(letters) if len(letters) <= 4 else f"{letters[0]}+…+{letters[-1]}"
        parts += [svg.rect(LEFT + WIDE * lane, y, WIDE - 8, 26, fill, stroke, radius=4, says=f"thread {lane}"),
                  svg.text(_middle(lane), y + 17, words, size=SIZE, mono=True, anchor="middle")]
    return parts
