"""The words of `tilec run` after the file: `x=in.npy y=zeros(4,5) M=4096 scale=0.5`.

Reading them needs neither NumPy nor the kernel; `tilelang.cli.arrays` turns the values into arrays.

    word  = NAME "=" value
    value = number | shape | generator | file
    shape = "(" int ("," int)* ")"  or  int ("," int)+          an array of this shape
    generator = name "(" item ("," item)* ")"                    randn(4096, 1024), zeros(M, N, f16)
    item  = number | name of a dim | name of an element type
    file  = PATH.npy | PATH.npz:KEY
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tilelang.cli.faults import USAGE, Fault
from tilelang.near import nearest

GENERATORS = {
    "randn": "randn(shape...)",
    "rand": "rand(shape...)",
    "zeros": "zeros(shape...)",
    "ones": "ones(shape...)",
    "full": "full(shape..., value)",
    "arange": "arange(stop) or arange(start, stop[, step])",
    "randint": "randint(low, high, shape...)",
}
"""What an array can be made of, with how it is written. Each takes an element type as a last item."""

EXTENTS = r"\s*\d{1,18}(?:\s*,\s*\d{1,18})*\s*,?\s*"

Scalar = int | float | bool


@dataclass(frozen=True)
class Number:
    """`12`, `-0.5`, `1e-3`, `inf`, `true`."""

    value: Scalar


@dataclass(frozen=True)
class Shape:
    """`(4, 5)` or `4,5`: an array of this shape; random values if the kernel reads it."""

    extents: tuple[int, ...]


@dataclass(frozen=True)
class Generator:
    """`randn(M, 1024, f16)`; names among the items are dims or element types, not yet looked up."""

    name: str
    items: tuple[Scalar | str, ...]
    text: str


@dataclass(frozen=True)
class File:
    """An array in a file; `key` is its name inside an `.npz`."""

    path: str
    key: str | None = None


Value = Number | Shape | Generator | File


def parse_words(words: Iterable[str]) -> dict[str, Value]:
    """The values by name, in order.

    Raises:
        Fault: E0720, a word is not NAME=VALUE; E0721, a name comes twice; E0722 and E0723, a bad generator.
    """
    values: dict[str, Value] = {}
    for word in words:
        name, value = split_word(word)
        if name in values:
            raise Fault("E0721", f"`{name}` is given twice", help="keep one of the two", status=USAGE)
        values[name] = parse_value(value, word)
    return values


def split_word(word: str) -> tuple[str, str]:
    """`("x", "in.npy")` of `x=in.npy`."""
    name, equals, value = word.partition("=")
    if not equals or not value or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise Fault(
            "E0720", f"`{word}` is not of the form NAME=VALUE",
            notes=("NAME is a parameter or dim of the kernel; VALUE is a file, a number or a generator",),
            help="for instance: x=in.npy, x=randn(4,5), N=1000, scale=0.5", status=USAGE,
        )  # fmt: skip
    return name, value


def parse_value(text: str, word: str) -> Value:
    """What stands behind the `=`; `word` is the whole word, for the message."""
    number = parse_number(text)
    if number is not None:
        return Number(number)
    if re.fullmatch(rf"\({EXTENTS}\)|(?=.*,){EXTENTS}", text, re.ASCII):
        return Shape(tuple(int(extent) for extent in re.findall(r"\d+", text, re.ASCII)))
    call = re.fullmatch(r"([A-Za-z_]\w*)\((.*)\)", text, re.ASCII | re.DOTALL)
    if call is not None:
        return _generator(call.group(1), call.group(2), text)
    return _file(text, word)


def parse_number(text: str) -> Scalar | None:
    """The number that `text` is, in the language's notation, or None."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[+-]?(0x[0-9a-f_]+|0b[01_]+|\d[\d_]*)", text, re.ASCII | re.IGNORECASE):
        read: Callable[[str], Scalar] = _read_integer
    elif re.fullmatch(r"[+-]?(\d[\d_]*(\.\d+)?(e[+-]?\d+)?|inf|nan)", text, re.ASCII | re.IGNORECASE):
        read = float
    else:
        return None
    try:
        return read(text)
    except ValueError:  # 007 and 1__0 are no numbers in the language either; or there are thousands of digits
        return None


def _read_integer(digits: str) -> int:
    return int(digits, 0)  # base 0: as the prefix says


def _generator(name: str, inside: str, text: str) -> Generator:
    if name not in GENERATORS:
        near = nearest(name, GENERATORS)
        raise Fault(
            "E0722", f"there is no generator `{name}`",
            notes=("the generators are " + "; ".join(GENERATORS.values()),),
            help=f"did you mean `{near}`?" if near else "", status=USAGE,
        )  # fmt: skip
    items: list[Scalar | str] = []
    for part in inside.split(",") if inside.strip() else []:
        item = parse_number(part.strip())
        if item is None and not re.fullmatch(r"[A-Za-z_]\w*", part.strip(), re.ASCII):
            raise bad_generator(text, name, f"`{part.strip()}` is neither a number nor a name")
        items.append(part.strip() if item is None else item)
    return Generator(name, tuple(items), text)


def bad_generator(text: str, name: str, reason: str) -> Fault:
    """The message for a generator that is not called as it should be."""
    form = f"it is written {GENERATORS[name]}; an element type such as f16 may come last"
    return Fault("E0723", f"`{text}`: {reason}", notes=(form,), status=USAGE)


def _file(text: str, word: str) -> File:
    archive = re.fullmatch(r"(.*?\.npz)(?::(.*))?", text, re.IGNORECASE | re.DOTALL)
    if archive is not None:
        return File(archive.group(1), archive.group(2))
    if text.lower().endswith(".npy") or "/" in text or "\\" in text:
        return File(text)
    near = nearest(text, GENERATORS)
    raise Fault(
        "E0720", f"`{text}` in `{word}` is not a value",
        notes=("a value is a number, a file (in.npy, in.npz:key), a shape (4,5) or a generator (rand(4,5))",),
        help=f"did you mean `{GENERATORS[near]}`?" if near else "", status=USAGE,
    )  # fmt: skip


def parse_settings(words: Iterable[str]) -> dict[str, Scalar | str]:
    """`--set BLOCK=2048 --set T=f16`: metas by name; a value is a number or the name of an element type."""
    settings: dict[str, Scalar | str] = {}
    for word in words:
        name, value = split_word(word)
        if name in settings:
            raise Fault("E0721", f"`{name}` is set twice", help="keep one of the two", status=USAGE)
        number = parse_number(value)
        settings[name] = value if number is None else number
    return settings


def parse_destinations(words: Iterable[str]) -> dict[str, str]:
    """`--save y=out.npy`: paths by the name of the output."""
    paths: dict[str, str] = {}
    for word in words:
        name, path = split_word(word)
        if name in paths:
            raise Fault("E0721", f"`{name}` is given twice", help="keep one of the two", status=USAGE)
        paths[name] = path
    return paths
