"""Chapter 3, Lexing: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right

from course.extra import KEYWORDS, SYMBOLS
from tilelang.diagnostics import Sink, Source, Span
from tilelang.syntax.lexemes import _ESCAPES
from tilelang.syntax.limits import MAX_INTEGER


# tilelang/syntax/lexemes.py
def integer_value(text: str) -> int:
    """The value of an integer literal that lexed well: decimal, `0x` or `0b`, with `_` between digits."""
    return int(text.replace("_", ""), 0)


# tilelang/diagnostics.py
def position(self: Source, offset: int) -> tuple[int, int]:
    """1-based (line, column) of a character offset; the column counts characters."""
    line = bisect_right(self.line_starts, offset) - 1
    return line + 1, offset - self.line_starts[line] + 1


# tilelang/syntax/lexemes.py
def string_value(text: str) -> str:
    """The text between the quotes, escapes resolved."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(1)), text[1:-1])


# tilelang/syntax/lexemes.py
def describe_character(char: str) -> str:
    """Name a character for a message: the character itself if it can be seen, its code point and its name."""
    code = f"U+{ord(char):04X}"
    name = unicodedata.name(char, "")
    shown = f"`{char}` " if char.isprintable() and not char.isspace() else ""
    return (
        f"{shown}({code}{', ' + name if name else ''})"
        if shown
        else f"{code}{' (' + name + ')' if name else ''}"
    )


# tilelang/syntax/lexemes.py
def _check_integer(text: str, span: Span, sink: Sink) -> str:
    digits = text.replace("_", "").removeprefix("0x").removeprefix("0X").removeprefix("0b").removeprefix("0B")
    # 64 binary digits are the most that fit; asking first also keeps `int` away from megabytes of digits.
    if len(digits.lstrip("0")) <= 64 and integer_value(text) <= MAX_INTEGER:
        return text
    sink.error(
        "E0009",
        "this integer does not fit in 64 bits",
        span,
        notes=(f"the largest integer of any type is {MAX_INTEGER} (u64)",),
        help="if a float is meant, write it with a `.` or an exponent",
    )
    return "0"


# tilelang/syntax/lexemes.py
def _check_string(text: str, span: Span, sink: Sink) -> str:
    for match in re.finditer(r"\\(.)", text):
        if match.group(1) not in _ESCAPES:
            start = span.start + match.start()
            sink.error(
                "E0006",
                f"unknown escape `{match.group()}` in a string",
                Span(start, start + 2),
                notes=('the escapes are `\\n`, `\\t`, `\\"` and `\\\\`',),
                help="for a backslash write `\\\\`",
            )
    return text


# course/extra.py
def scan(text: str) -> list[tuple[str, str]]:
    """The tokens of a text without mistakes, as (kind, text); blanks and `#` comments are skipped."""
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        char, end = text[at], at + 1
        if char.isspace():
            at = end
        elif char == "#":
            end = text.find("\n", at)
            at = end if end >= 0 else len(text)
        elif char.isalpha() or char == "_":
            while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                end += 1
            tokens.append(("keyword" if text[at:end] in KEYWORDS else "name", text[at:end]))
            at = end
        elif char.isdigit():
            while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                end += 1
            tokens.append(("int", text[at:end]))
            at = end
        else:
            symbol = max((s for s in SYMBOLS if text.startswith(s, at)), key=len)
            tokens.append(("symbol", symbol))
            at += len(symbol)
    return tokens
