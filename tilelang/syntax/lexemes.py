"""What single tokens must look like: values of literals, and messages and mends for malformed ones.

A repair takes the text of a malformed token and returns (kind, text) of the token that should stand in
its place, or None if there is nothing to put there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from math import isinf

from tilelang.diagnostics import Sink, Span
from tilelang.syntax.limits import MAX_INTEGER, MAX_NAME_LENGTH

UNPRINTABLE = re.compile("[\x00\ud800-\udfff]")

# Characters that editors and web pages put where ASCII was meant.
LOOK_ALIKES = {
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'",
    "−": "-", "–": "-", "—": "-", "‐": "-", "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "∕": "/",
    "≤": "<=", "≥": ">=", "≠": "!=", "＝": "=", "≔": "=", "←": "=", "∧": "and", "∨": "or", "¬": "not",
    "（": "(", "）": ")", "［": "[", "］": "]", "｛": "{", "｝": "}",
    "，": ",", "；": ";", "\u037e": ";", "：": ":", "＋": "+", "＊": "*", "｜": "|", "∞": "inf", "π": "pi",
}  # fmt: skip

# Operators of other languages, what to write instead, and the token that stands in for parsing on.
FOREIGN_OPERATORS = {
    "&&": ("`and`", "and"),
    "||": ("`or`", "or"),
    "!": ("`not`", "not"),
    "**": ("`pow(x, y)`", "*"),
    "**=": ("`x = pow(x, y)`", "*="),
    "++": ("`x += 1`", None),
    "->": ("nothing: a `fn` does not announce what it returns", None),
    "=>": ("`>=`", ">="),
    ":=": ("`let x = ...;`", "="),
    "===": ("`==`", "=="),
    "!==": ("`!=`", "!="),
    "<>": ("`!=`", "!="),
}

_STRAY = {
    "?": "write `select(condition, a, b)` or an `if`",
    "@": "for a matrix product write `dot(a, b)`; a kernel takes no decorator",
    "\\": "a statement may go on to the next line without any mark",
    "`": "delete it",
    "$": "names have letters, digits and `_` only",
}

_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


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


def integer_value(text: str) -> int:
    """The value of an integer literal that lexed well: decimal, `0x` or `0b`, with `_` between digits."""
    return int(text.replace("_", ""), 0)


def float_value(text: str) -> float:
    return float(text.replace("_", ""))


def string_value(text: str) -> str:
    """The text between the quotes, escapes resolved."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(1)), text[1:-1])


# --- well-formed tokens that may still be wrong -----------------------------------------------------


def _check_name(text: str, span: Span, sink: Sink) -> str:
    if len(text) > MAX_NAME_LENGTH:
        sink.error(
            "E0011", f"this name has {len(text)} characters; at most {MAX_NAME_LENGTH} are allowed", span
        )
        return text[:MAX_NAME_LENGTH]
    return text


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


def _check_float(text: str, span: Span, sink: Sink) -> str:
    if isinf(float_value(text)):
        sink.error(
            "E0010",
            "this number is too large for any float type",
            span,
            notes=("the largest f64 is about 1.8e308",),
            help="for infinity write `inf`",
        )
        return "0.0"
    return text


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


CHECKS: dict[str, Callable[[str, Span, Sink], str]] = {
    "name": _check_name, "int": _check_integer, "float": _check_float, "string": _check_string,
}  # fmt: skip


# --- malformed tokens -----------------------------------------------------------------------------

Repair = Callable[[str, Span, Sink], "tuple[str, str] | None"]


def _number(text: str, span: Span, sink: Sink) -> tuple[str, str]:
    help_ = "put a blank or an operator after the number"
    if re.fullmatch(r"[0-9](_?[0-9])*\.", text):
        help_ = f"write `{text}0`"
    elif re.fullmatch(r"\.[0-9]+([eE][0-9]*)?", text):
        help_ = f"write `0{text}`"
    elif re.fullmatch(r"0[0-9_]+", text):
        help_ = "write it without leading zeros"
    elif re.fullmatch(r"0[xXbB][\w.]*", text):
        help_ = "`0x` takes hexadecimal digits, `0b` the digits 0 and 1"
    elif ".." in text:
        help_ = "a range of a loop is `range(lo, hi)`, a tile of indices is `lo +: length`"
    elif "__" in text or text.endswith("_"):
        help_ = "a `_` stands between two digits"
    elif suffix := re.fullmatch(r"([0-9._]+([eE][+-]?[0-9]+)?)_?([fFdDuUlLij]+[0-9]*)", text):
        help_ = f"a number has no suffix, it takes the type of what it meets: write `{suffix.group(1)}`"
    sink.error("E0004", f"malformed number `{_short(text)}`", span, help=help_)
    return ("float", "0.0") if "." in text else ("int", "0")


def _word(text: str, span: Span, sink: Sink) -> tuple[str, str]:
    if text in LOOK_ALIKES:
        return _character(text, span, sink) or ("name", "_")
    at = next((i for i, char in enumerate(text) if not char.isascii()), 0)
    sink.error(
        "E0003",
        f"{describe_character(text[at])} in a name",
        Span(span.start + at, span.start + at + 1),
        notes=("names are made of the letters a-z and A-Z, digits and `_`",),
        help="any character may stand in comments and strings",
    )
    return "name", re.sub(r"\W|[^\x00-\x7f]", "_", text)[:MAX_NAME_LENGTH]


def _open_string(text: str, span: Span, sink: Sink) -> tuple[str, str]:
    sink.error(
        "E0005",
        "this string is not closed",
        span,
        label="starts here and runs to the end of the line",
        help='add `"` where it ends; for a line break inside a string write `\\n`',
    )
    return "string", '""'


def _single_quoted(text: str, span: Span, sink: Sink) -> tuple[str, str]:
    inside = text.strip("'")
    sink.error("E0007", "strings are written with double quotes", span, help=f'write `"{_short(inside)}"`')
    return "string", '""'


def _foreign(text: str, span: Span, sink: Sink) -> tuple[str, str] | None:
    instead, token = FOREIGN_OPERATORS[text]
    sink.error("E0008", f"there is no operator `{text}`", span, help=f"write {instead}")
    return None if token is None else _stand_in(token)


def _character(text: str, span: Span, sink: Sink) -> tuple[str, str] | None:
    if UNPRINTABLE.match(text):
        return None  # already reported, wherever it stands
    meant = LOOK_ALIKES.get(text, "")
    if meant:
        help_ = f"write `{meant}`"
    elif text.isspace():
        help_ = "replace it by an ordinary blank"
    elif unicodedata.category(text) == "Cf":
        help_ = "it cannot be seen: delete it"
    else:
        help_ = _STRAY.get(text, "any character may stand in comments and strings")
    sink.error("E0003", f"{describe_character(text)} is not allowed here", span, help=help_)
    return _stand_in(meant) if meant not in ("", '"', "'") else None


def _stand_in(text: str) -> tuple[str, str]:
    """(kind, text) of the token that a foreign one is replaced by."""
    if text in ("and", "or", "not"):
        return "keyword", text
    return ("name" if text.isalpha() else "symbol"), text


def _short(text: str, limit: int = 30) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


REPAIRS: dict[str, Repair] = {
    "BAD_NUMBER": _number,
    "BAD_WORD": _word,
    "OPEN_STRING": _open_string,
    "SINGLE_QUOTED": _single_quoted,
    "FOREIGN": _foreign,
    "BAD_CHARACTER": _character,
}
