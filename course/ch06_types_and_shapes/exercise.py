"""Chapter 6, Types and shapes: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch06
    tilec course hint ch06 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

from __future__ import annotations

import math
from collections.abc import Sequence

from tilelang.dtypes import DType
from tilelang.semantics.broadcasting import Shape, same_shape
from tilelang.semantics.extents import Extent, Sym, equal
from tilelang.semantics.literals import Literal, _conversion_help, _why, article, convert, converts
from tilelang.semantics.mistakes import mistake
from tilelang.semantics.rounding import largest_float
from tilelang.semantics.typed import Typed


# --- warm-up: wider -----------------------------------------------------------------------------------------
def wider(a: DType, b: DType) -> DType | None:
    """The type that arithmetic on `a` and `b` has, or None where the language asks for `as`.

    Within one kind the wider type wins; across kinds, and for f16 with bf16, there is none.

    >>> wider(F16, F32) == F32
    True
    >>> wider(I32, F32) is None
    True
    """
    raise NotImplementedError


# --- warm-up: common_dtype ----------------------------------------------------------------------------------
def common_dtype(dtypes: Sequence[DType]) -> DType | None:
    """The element type that operands of these types have together, or None if they do not mix.

    >>> str(common_dtype([F16, F32]))
    'f32'
    """
    raise NotImplementedError


# --- warm-up: reduced_shape ---------------------------------------------------------------------------------
def reduced_shape(shape: Sequence[Extent], axes: Sequence[int], keepdims: bool) -> tuple[Extent, ...]:
    """The shape without the reduced axes, or with extents of 1 there.

    >>> reduced_shape((4, 8, 2), (1,), True)
    (4, 1, 2)
    """
    raise NotImplementedError


# --- core: broadcast_extents --------------------------------------------------------------------------------
def broadcast_extents(a: Extent, b: Extent) -> Extent | None:
    """One axis of `broadcast_shapes`. Where equality is unknown, the extents are taken to be equal.

    An extent is an int, or a symbolic one (`Sym`) as long as the size of a dim is not known. `equal(a, b)`
    is True or False where that is sure, and None where it depends. If one of two extents is a number,
    prefer it.

    >>> broadcast_extents(1, 8), broadcast_extents(8, 8), broadcast_extents(8, 4)
    (8, 8, None)
    >>> broadcast_extents(symbol("N"), 8)
    8
    """
    raise NotImplementedError


# --- core: broadcast_shapes ---------------------------------------------------------------------------------
def broadcast_shapes(a: Shape, b: Shape) -> Shape | None:
    """The shape that tiles of shapes `a` and `b` have together, or None if there is none.

    Axes are aligned on the right, missing ones count as 1, and an extent of 1 stretches to the other's.

    >>> broadcast_shapes((8, 1), (4,))
    (8, 4)
    """
    raise NotImplementedError


# --- core: dot_shape ----------------------------------------------------------------------------------------
def dot_shape(a: Shape, b: Shape) -> Shape | None:
    """`[M, K]` with `[K, N]` gives `[M, N]`, each with the same leading batch axis or none; else None.

    >>> dot_shape((2, 4, 8), (2, 8, 16))
    (2, 4, 16)
    """
    raise NotImplementedError


# --- core: holds_int ----------------------------------------------------------------------------------------
def holds_int(dtype: DType, value: int) -> bool:
    """True if `value` is exactly a number of `dtype`.

    A float holds an integer exactly if its digits, from the first binary 1 to the last, fit into
    `dtype.mantissa + 1` bits, and if it is not beyond the largest. No number is a bool.

    >>> holds_int(I8, 127), holds_int(I8, 128), holds_int(F16, 2049)
    (True, False, False)
    """
    raise NotImplementedError


# --- core: fits ---------------------------------------------------------------------------------------------
def fits(value: int | float | Sym, dtype: DType) -> bool:
    """True if a literal may take the type.

    An int must be held exactly; a float is rounded, but not to infinity, and never becomes an int.

    >>> fits(300, U8), fits(1, F32), fits(1.5, I32), fits(1e300, F32)
    (False, True, False, False)
    """
    raise NotImplementedError


# --- core: coerce -------------------------------------------------------------------------------------------
def coerce(value: Typed, dtype: DType, what: str) -> Typed:
    """`value` where `what` ("the store to `y`") expects `dtype`; E0301 or E0303 if it does not convert.

    `convert(value, dtype)` makes the conversion; `converts(source, target)` says whether one is allowed
    without `as`. `mistake(code, title, span, label=..., notes=..., help=...)` makes what you raise: code
    E0303, a title that names `what`, the type it needs and the type it got, and the help that
    `_conversion_help(source, target, what)` gives.

    >>> x = Const(1.0, type=TileType(F16))
    >>> str(coerce(x, F32, "the store to `y`").type)
    'f32'
    """
    raise NotImplementedError


# --- hard: round_float --------------------------------------------------------------------------------------
def round_float(value: float, dtype: DType) -> float:
    """The `dtype` number nearest to `value`, ties to even; infinite beyond the largest.

    The significand is scaled so that its last kept bit has weight 1, and Python's `round` does the rest.
    Below the smallest normal number the last bit stops moving: subnormals.

    Use exact arithmetic on Python floats: `math.frexp`, `math.ldexp` and `round`, which rounds halves to
    even. `dtype.mantissa` counts the stored significand bits, `dtype.exponent` the exponent bits. The
    smallest normal number is `2.0 ** (2 - 2 ** (dtype.exponent - 1))`. Keep the sign of zero.

    >>> round_float(0.1, F16), round_float(65520.0, F16)
    (0.0999755859375, inf)
    """
    raise NotImplementedError
