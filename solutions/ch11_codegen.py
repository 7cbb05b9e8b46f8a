"""Chapter 11, Code generation: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilelang.codegen.cpu_coords import Coord, T
from tilelang.codegen.cpu_words import OPERATORS, WITH_OPERATORS, WORDS, _lowest
from tilelang.codegen.names import Names
from tilelang.dtypes import DType
from tilelang.ir.attrs import ints_attr
from tilelang.ir.core import Op
from tilelang.ir.host_types import python_number, scalar


# tilelang/codegen/names.py
def printable(text: str) -> str:
    """The text with everything that is not printable (line ends above all) written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


# tilelang/codegen/cpu_words.py
def identity(kind: str, dtype: DType) -> int | float | bool:
    """The value that a reduction or scan of `kind` over `dtype` elements starts from."""
    match kind:
        case "sum":
            return 0.0 if dtype.is_float else 0
        case "prod":
            return 1.0 if dtype.is_float else 1
        case "any" | "all":
            return kind == "all"
        case "max" | "argmax":
            return _lowest(dtype)
        case _:
            return -_lowest(dtype) if dtype.is_float else (True if dtype.is_bool else dtype.max_int)


# tilelang/codegen/cpu_text.py
def literal(value: int | float | bool, dtype: DType) -> str:
    """A constant of one element type; a half float is rounded now and held as f32, as in registers."""
    if dtype.is_bool:
        return "True" if value else "False"
    if dtype.is_integer:
        number = str(int(value))
        if dtype.name == "i64":
            return f"({number})" if int(value) < 0 else number
        return f"{dtype}({number})"
    if dtype.name in ("f16", "bf16"):
        value = python_number(scalar(value, dtype).astype("float64"))
    return f"{'f64' if dtype.bits == 64 else 'f32'}({float(value)!r})"


# tilelang/codegen/cpu_words.py
def _call(op: Op, dtype: DType, operands: list[str]) -> str:
    if op.name == "cast":
        return f"to_{op.result.dtype}({operands[0]})"
    if op.name == "pow":
        return f"{'power' if dtype.is_float else 'int_power'}({operands[0]}, {operands[1]})"
    if op.name in OPERATORS and dtype.name in WITH_OPERATORS:
        return f"{operands[0]} {OPERATORS[op.name]} {operands[1]}"
    return f"{WORDS[op.name]}({', '.join(operands)})"


# tilelang/codegen/cpu_coords.py
def offset_text(coords: Sequence[Coord], strides: Sequence[int | str], base: str = "") -> str:
    """`base + i * s0 + j` as an i64 expression; strides are numbers or names, 1 and coordinate 0 vanish."""
    terms = [base] if base and base != "0" else []
    for coord, stride in zip(coords, strides, strict=True):
        if coord.text == "0" or stride == 0:
            continue
        text = coord.text if coord.text.isidentifier() or stride == 1 else f"({coord.text})"
        terms.append(text if stride == 1 else f"{text} * {stride}")
    return " + ".join(terms) or "0"


# tilelang/codegen/names.py
def _fresh(self: Names, wished: str) -> str:
    base = re.sub(r"[^A-Za-z0-9_]", "_", wished)
    if not base or base[0].isdigit() or base.startswith("__"):
        base = "v" + base
    candidate, number = base, 0
    while candidate in self._taken:
        number += 1
        candidate = f"{base}_" if number == 1 else f"{base}_{number}"
    self._taken.add(candidate)
    return candidate


# tilelang/codegen/cpu_coords.py
def operand_coords(op: Op, coords: Sequence[T], zero: T) -> tuple[T, ...]:
    """The coordinates in operand 0 of a broadcast, permute or reshape (by extents of 1) for those in its result."""
    shape, result = op.operands[0].shape, op.result.shape
    if op.name == "permute":
        axes = ints_attr(op, "axes")
        return tuple(coords[axes.index(axis)] for axis in range(len(shape)))
    if op.name == "broadcast":
        aligned = tuple(coords[len(result) - len(shape):])
        return tuple(zero if extent == 1 else c for extent, c in zip(shape, aligned, strict=True))
    long = iter([c for extent, c in zip(result, coords, strict=True) if extent != 1])
    return tuple(zero if extent == 1 else next(long) for extent in shape)
