"""Exercises that are no functions of the compiler: what it leaves to a library, or does not need.

They live in the same table, and their stubs and solutions are made in the same way.
"""

# ruff: noqa: SIM905  (words in a text are easier to read than a list of them)

from __future__ import annotations

from collections.abc import Sequence

from tilelang.syntax import ast
from tilelang.syntax.lexing import Token

# --- chapter 3 --------------------------------------------------------------------------------------

KEYWORDS = frozenset(
    "kernel fn const let var for in while if else return grid out inout where and or not true false as None".split()
)
SYMBOLS = tuple(
    "+= -= *= /= //= %= &= |= ^= <<= >>= == != <= >= +: << >> // + - * / % & | ^ ~ < > = ( ) [ ] { } , ; :".split()
)


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


# --- chapter 4 --------------------------------------------------------------------------------------

BINDING = {
    "or": 1, "and": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "+:": 5, "|": 6, "^": 7, "&": 8,
    "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "//": 11, "%": 11,
}  # fmt: skip
"""How tightly a binary operator binds. `not` stands between `and` and the comparisons, `-x` and `~x` bind tightest."""


def climb(tokens: Sequence[Token], loosest: int = 1) -> tuple[ast.Expr, Sequence[Token]]:
    """The longest expression at the front of `tokens`, and the tokens behind it.

    Only operators that bind at least as tightly as `loosest` belong to it. Precedence climbing; M. Richards and
    C. Whitby-Strevens, "BCPL: the language and its compiler", 1979.
    """
    first, rest = tokens[0], tokens[1:]
    left: ast.Expr
    if first.text == "(":
        left, rest = climb(rest)
        rest = rest[1:]  # the `)`
    elif first.text in ("-", "~", "not"):
        operand, rest = climb(rest, 3 if first.text == "not" else 12)
        left = ast.Unary(first.text, operand)
    else:
        left = ast.IntLit(int(first.text)) if first.kind == "int" else ast.Name(first.text)
    while rest and BINDING.get(rest[0].text, 0) >= loosest:
        operator = rest[0].text
        right, rest = climb(rest[1:], BINDING[operator] + 1)
        left = ast.Binary(operator, left, right)
    return left, rest


# --- chapter 9 --------------------------------------------------------------------------------------


def blocked_place(
    coordinates: tuple[int, ...], per_thread: tuple[int, ...], lanes: tuple[int, ...], warps: tuple[int, ...]
) -> tuple[int, int, int]:
    """The (warp, lane, register) that holds an element in a blocked layout, which covers the tile exactly once.

    Along each axis a thread holds `per_thread` neighbouring elements, `lanes` neighbouring threads make a warp's
    part, and `warps` warps stand side by side. Warps, lanes and registers are numbered in row-major order.
    """
    warp = lane = register = 0
    for coordinate, held, side_by_side, count in zip(coordinates, per_thread, lanes, warps, strict=True):
        coordinate, inside = divmod(coordinate, held)
        place, thread = divmod(coordinate, side_by_side)
        warp, lane, register = warp * count + place, lane * side_by_side + thread, register * held + inside
    return warp, lane, register


# --- chapter 10 -------------------------------------------------------------------------------------


def swizzled(row: int, column: int, columns: int) -> int:
    """Where element (row, column) of a shared tile with `columns` columns, a power of two, is kept.

    Every row stays in its place; within it the columns change places with one another, differently in each row,
    so that neither a row nor a column of 32 f32 elements meets a bank twice.
    """
    return row * columns + (column ^ row % columns)
