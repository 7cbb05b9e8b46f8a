"""Chapter 3, Lexing: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch03
    tilec course hint ch03 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right

from course.extra import KEYWORDS, SYMBOLS
from tilelang.diagnostics import Sink, Source, Span
from tilelang.syntax.lexemes import _ESCAPES
from tilelang.syntax.limits import MAX_INTEGER


# --- warm-up: integer_value ---------------------------------------------------------------------------------
def integer_value(text: str) -> int:
    """The value of an integer literal that lexed well: decimal, `0x` or `0b`, with `_` between digits.

    >>> integer_value("1_000"), integer_value("0xff"), integer_value("0b101")
    (1000, 255, 5)
    """
    raise NotImplementedError


# --- warm-up: position --------------------------------------------------------------------------------------
def position(self: Source, offset: int) -> tuple[int, int]:
    r"""1-based (line, column) of a character offset; the column counts characters.

    `self.line_starts` is the sorted list of the offsets at which lines begin; its first element is 0.

    >>> position(Source("let a = 1;\nlet b = 2;\n"), 15)
    (2, 5)
    """
    raise NotImplementedError


# --- core: string_value -------------------------------------------------------------------------------------
def string_value(text: str) -> str:
    r"""The text between the quotes, escapes resolved.

    The escapes are in `_ESCAPES`, by the character behind the backslash. An unknown escape was reported
    before; here it gives the character itself.

    >>> string_value(r'"a\tb"')
    'a\tb'
    """
    raise NotImplementedError


# --- core: describe_character -------------------------------------------------------------------------------
def describe_character(char: str) -> str:
    """Name a character for a message: the character itself if it can be seen, its code point and its name.

    `U+00D7` is the code point in at least four hexadecimal digits. A character that can be seen stands in
    front, between backticks: `` `×` (U+00D7, MULTIPLICATION SIGN) ``; one that cannot is left out: `U+200B
    (ZERO WIDTH SPACE)`. A character without a name has no comma and no empty brackets.

    >>> describe_character("é")
    '`é` (U+00E9, LATIN SMALL LETTER E WITH ACUTE)'
    """
    raise NotImplementedError


# --- core: _check_integer -----------------------------------------------------------------------------------
def _check_integer(text: str, span: Span, sink: Sink) -> str:
    """Give the text back if the number is at most `MAX_INTEGER`. Else report E0009 at `span` with
    `sink.error(code, title, span)` and give back `"0"`, with which parsing goes on. Beware of a megabyte of
    digits: Python refuses to convert more than 4300 decimal ones, so look at their number first.

    >>> _check_integer("0xff", Span(0, 4), Sink())
    '0xff'
    """
    raise NotImplementedError


# --- core: _check_string ------------------------------------------------------------------------------------
def _check_string(text: str, span: Span, sink: Sink) -> str:
    r"""Report E0006 for each backslash that is not followed by a key of `_ESCAPES`, at the two characters of
    the escape: `span` is where the whole string stands, its opening quote first. The text comes back as it
    is.

    >>> sink = Sink()
    >>> _ = _check_string(r'"a\qb"', Span(10, 16), sink)
    >>> sink.diagnostics[0].span
    Span(start=12, end=14)
    """
    raise NotImplementedError


# --- hard: scan ---------------------------------------------------------------------------------------------
def scan(text: str) -> list[tuple[str, str]]:
    """The tokens of a text without mistakes, as (kind, text); blanks and `#` comments are skipped.

    Write the lexer by hand. Numbers are whole ones here: decimal, `0x`, `0b`, with `_`. Where several
    symbols fit, the longest is meant: `+:` is one token and `<<=` is one. `KEYWORDS` and `SYMBOLS` hold the
    language's. The kinds are `name`, `keyword`, `int` and `symbol`.

    >>> scan("let i = 0x1f +: B; # rows")[3:]
    [('int', '0x1f'), ('symbol', '+:'), ('name', 'B'), ('symbol', ';')]
    """
    raise NotImplementedError
