"""Chapter 11, Code generation: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch11
    tilec course hint ch11 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

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


# --- warm-up: printable -------------------------------------------------------------------------------------
def printable(text: str) -> str:
    r"""The text with everything that is not printable (line ends above all) written as an escape.

    The text goes into a comment of the generated code. One character that ends the line, and the rest of it
    would be code. Escapes are Python's: `\n`, `\x1b`, `\u2028`; half a surrogate pair must not be a crash.

    >>> printable("a\nimport os")
    'a\\nimport os'
    """
    raise NotImplementedError


# --- warm-up: identity --------------------------------------------------------------------------------------
def identity(kind: str, dtype: DType) -> int | float | bool:
    """The value that a reduction or scan of `kind` over `dtype` elements starts from.

    `kind` is `sum`, `prod`, `max`, `min`, `any`, `all`, `argmax` or `argmin`. Combined with the identity
    every value stays what it is: that is what a loop may start from. Of floats it is a float, of integers
    an int, of bool (`any`, `all`, `max`, `min`) a bool. `_lowest(dtype)` is the smallest value of a type.

    >>> identity("sum", F32), identity("min", I8), identity("all", BOOL), identity("max", F16)
    (0.0, 127, True, -inf)
    """
    raise NotImplementedError


# --- core: literal ------------------------------------------------------------------------------------------
def literal(value: int | float | bool, dtype: DType) -> str:
    """A constant of one element type; a half float is rounded now and held as f32, as in registers.

    How a constant is written in generated CPU code. Bools are `True` and `False`. An i64 is Python's own
    integer, in brackets if it is negative; other integers are calls such as `u8(255)`. An f64 is
    `f64(...)`; f32 and the half floats are `f32(...)`, where a half float is rounded to its own type first:
    `python_number(scalar(value, dtype).astype("float64"))`. Floats are written with `repr`, which reads
    back exactly.

    >>> literal(-3, I64), literal(200, U8), literal(0.1, F16), literal(True, BOOL)
    ('(-3)', 'u8(200)', 'f32(0.0999755859375)', 'True')
    """
    raise NotImplementedError


# --- core: _call --------------------------------------------------------------------------------------------
def _call(op: Op, dtype: DType, operands: list[str]) -> str:
    """The expression of one elementwise op. `dtype` is the type of its last operand. A cast is a call of `to_`
    and the result's type. `pow` is `power` on floats and `int_power` on integers. Where numba's operator
    means just what the op does (op in `OPERATORS`, type in `WITH_OPERATORS`) the operator is written;
    anything else is a call of the word in `WORDS`.

    >>> a = Value("a", TileType(F32))
    >>> _call(Op("add", (a, a)), F32, ["x", "y"]), _call(Op("exp", (a,)), F32, ["x"])
    ('x + y', 'exp(x)')
    """
    raise NotImplementedError


# --- core: offset_text --------------------------------------------------------------------------------------
def offset_text(coords: Sequence[Coord], strides: Sequence[int | str], base: str = "") -> str:
    """`base + i * s0 + j` as an i64 expression; strides are numbers or names, 1 and coordinate 0 vanish.

    A term for each axis: coordinate times stride. Leave out terms that are 0 (coordinate text `0`, or
    stride 0), a factor of 1, and a base that is `"0"` or empty. A coordinate that is no plain name stands
    in brackets where it is multiplied. Nothing left: `"0"`.

    >>> offset_text([Coord("i", 1), Coord("j + 1", 2)], [64, 1], "first")
    'first + i * 64 + j + 1'
    """
    raise NotImplementedError


# --- core: _fresh -------------------------------------------------------------------------------------------
def _fresh(self: Names, wished: str) -> str:
    """A kernel's author may call a variable `lambda`, `max` or `größe`; generated Python needs a name that is
    none of those in `self._taken`, and different from all given before. Every character but ASCII letters,
    digits and `_` becomes `_`. A name that is empty, begins with a digit or with two underscores gets a `v`
    in front. If the name is taken try it with `_` behind, then with `_2`, `_3`, ... Note what you give.

    >>> names = Names()
    >>> _fresh(names, "row"), _fresh(names, "row"), _fresh(names, "row"), _fresh(names, "max")
    ('row', 'row_', 'row_2', 'max_')
    """
    raise NotImplementedError


# --- hard: operand_coords -----------------------------------------------------------------------------------
def operand_coords(op: Op, coords: Sequence[T], zero: T) -> tuple[T, ...]:
    """The coordinates in operand 0 of a broadcast, permute or reshape (by extents of 1) for those in its result.

    None of these ops moves data: whoever wants an element of the result takes one of the operand. `coords`
    are the coordinates of an element of the result, one for each axis, of any type; give back those of the
    operand's element. `permute`: result axis i is operand axis `axes[i]`. `broadcast`: aligned on the
    right; a stretched extent of 1 is read at `zero`. `reshape` here only adds or removes extents of 1,
    which are read at `zero` too.

    >>> v, w = Value("v", TileType(F32, (4, 1))), Value("w", TileType(F32, (4, 8)))
    >>> operand_coords(Op("broadcast", (v,), (w,)), ("i", "j"), "0")
    ('i', '0')
    """
    raise NotImplementedError
