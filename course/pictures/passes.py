"""What a pass did: the IR before and after it; what went is red, what came is green."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from tilelang.diagnostics import Source
from tilelang.ir.core import Kernel
from tilelang.notebook import svg
from tilelang.notebook.linked import TELLING, ir_column

SIZE, STEP, TOP, GAP = 10.5, 15.0, 34.0, 24.0
MOST = 86
"""Characters of a column, for a page 1160 pixels wide."""

GONE, COME = svg.FILLS[5], svg.FILLS[2]


def draw_pass(before: Kernel, after: Kernel, title: str = "after") -> svg.Picture:
    """Two columns of ops, with the attributes that passes change most."""
    left, right = (_lines(kernel) for kernel in (before, after))
    gone, come = set(range(len(left))), set(range(len(right)))
    for a, b, size in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        gone -= set(range(a, a + size))
        come -= set(range(b, b + size))
    width = svg.columns(min(MOST, max(map(len, left))), SIZE) + 10
    other = svg.columns(min(MOST, max(map(len, right))), SIZE) + 10
    parts = [*_column("before", left, gone, GONE, 8, width), *_column(title, right, come, COME, 8 + width + GAP, other)]
    height = TOP + STEP * max(len(left), len(right)) + 10
    says = f"{len(gone)} of {len(left)} lines go, {len(come)} come: {title}"
    return svg.Picture(16 + width + GAP + max(other, 260), height, tuple(parts), says)


def _lines(kernel: Kernel) -> list[str]:
    return [row.text for row in ir_column("", kernel, Source(""), (*TELLING, "checked")).rows]


def _column(title: str, lines: Sequence[str], marked: set[int], fill: str, x: float, width: float) -> list[str]:
    parts = [svg.text(x, 20, title, size=12, bold=True)]
    for number, line in enumerate(lines):
        y = TOP + STEP * number
        if number in marked:
            parts.append(svg.rect(x, y, width, STEP, fill, radius=0))
        shown = line if len(line) <= MOST else line[: MOST - 1] + "…"
        parts.append(svg.text(x + 4, y + 11, shown, size=SIZE, mono=True))
    return parts
