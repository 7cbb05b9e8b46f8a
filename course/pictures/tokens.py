"""A line of text with its tokens: a box around each, its kind below."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.notebook import svg
from tilelang.syntax.lexing import Token

SIZE = 17.0
KINDS = ("keyword", "name", "int", "float", "symbol", "string", "comment")


def draw_tokens(text: str, tokens: Sequence[Token]) -> svg.Picture:
    """One line of a program; the numbers below are the offsets at which tokens begin, where there is room."""
    step = max(svg.columns(1, SIZE), 920 / max(len(text), 80))
    parts = []
    for place, kind in enumerate(KINDS):
        fill, stroke = svg.colour(place)
        parts += [svg.rect(16 + 100 * place, 14, 14, 14, fill, stroke), svg.text(36 + 100 * place, 26, kind, size=12)]
    free = 0.0  # where there is room for the next number
    for token in tokens:
        fill, stroke = svg.colour(KINDS.index(token.kind))
        x = 16 + step * token.span.start
        wide = step * (token.span.end - token.span.start)
        parts.append(svg.rect(x, 44, wide - 1, 30, fill, stroke, says=f"{token.kind}, offset {token.span.start}"))
        if x >= free:
            parts.append(svg.text(x, 90, str(token.span.start), size=9, fill=svg.FAINT))
            free = x + 6.5 * len(str(token.span.start)) + 2
    for place, char in enumerate(text):
        if not char.isspace():
            middle = 16 + step * (place + 0.5)
            parts.append(svg.text(middle, 65, char, size=SIZE, mono=True, anchor="middle"))
    return svg.Picture(max(32 + step * len(text), 16 + 100 * len(KINDS)), 100, tuple(parts), f"the tokens of `{text}`")
