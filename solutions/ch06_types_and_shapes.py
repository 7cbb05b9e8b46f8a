"""Chapter 6, Types and shapes: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

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


# tilelang/dtypes.py
def wider(a: DType, b: DType) -> DType | None:
    """The type that arithmetic on `a` and `b` has, or None where the language asks for `as`.

    Within one kind the wider type wins; across kinds, and for f16 with bf16, there is none.
    """
    if a == b:
        return a
    if a.kind is not b.kind or a.bits == b.bits:
        return None
    return a if a.bits > b.bits else b


# tilelang/semantics/operators.py
def common_dtype(dtypes: Sequence[DType]) -> DType | None:
    """The element type that operands of these types have together, or None if they do not mix.

    >>> str(common_dtype([F16, F32]))
    'f32'
    """
    together = dtypes[0]
    for dtype in dtypes[1:]:
        wide = wider(together, dtype)
        if wide is None:
            return None
        together = wide
    return together


# tilelang/semantics/builtins/reductions.py
def reduced_shape(shape: Sequence[Extent], axes: Sequence[int], keepdims: bool) -> tuple[Extent, ...]:
    """The shape without the reduced axes, or with extents of 1 there.

    >>> reduced_shape((4, 8, 2), (1,), True)
    (4, 1, 2)
    """
    if keepdims:
        return tuple(1 if i in axes else extent for i, extent in enumerate(shape))
    return tuple(extent for i, extent in enumerate(shape) if i not in axes)


# tilelang/semantics/broadcasting.py
def broadcast_extents(a: Extent, b: Extent) -> Extent | None:
    """One axis of `broadcast_shapes`. Where equality is unknown, the extents are taken to be equal."""
    if a == 1:
        return b
    if b == 1:
        return a
    if equal(a, b) is False:
        return None
    return b if isinstance(a, Sym) else a


# tilelang/semantics/broadcasting.py
def broadcast_shapes(a: Shape, b: Shape) -> Shape | None:
    """The shape that tiles of shapes `a` and `b` have together, or None if there is none.

    Axes are aligned on the right, missing ones count as 1, and an extent of 1 stretches to the other's.

    >>> broadcast_shapes((8, 1), (4,))
    (8, 4)
    """
    rank = max(len(a), len(b))
    padded_a = (1,) * (rank - len(a)) + a
    padded_b = (1,) * (rank - len(b)) + b
    result: list[Extent] = []
    for extent_a, extent_b in zip(padded_a, padded_b, strict=True):
        extent = broadcast_extents(extent_a, extent_b)
        if extent is None:
            return None
        result.append(extent)
    return tuple(result)


# tilelang/semantics/builtins/products.py
def dot_shape(a: Shape, b: Shape) -> Shape | None:
    """`[M, K]` with `[K, N]` gives `[M, N]`, each with the same leading batch axis or none; else None.

    >>> dot_shape((2, 4, 8), (2, 8, 16))
    (2, 4, 16)
    """
    if len(a) != len(b) or len(a) not in (2, 3):
        return None
    if not same_shape(a[:-2], b[:-2]) or equal(a[-1], b[-2]) is False:
        return None
    return (*a[:-2], a[-2], b[-1])


# tilelang/semantics/rounding.py
def holds_int(dtype: DType, value: int) -> bool:
    """True if `value` is exactly a number of `dtype`."""
    if dtype.is_integer:
        return dtype.min_int <= value <= dtype.max_int
    if dtype.is_bool:
        return False
    if value == 0:
        return True
    odd = abs(value) // (abs(value) & -abs(value))
    return odd.bit_length() <= dtype.mantissa + 1 and abs(value) <= largest_float(dtype)


# tilelang/semantics/literals.py
def fits(value: int | float | Sym, dtype: DType) -> bool:
    """True if a literal may take the type.

    An int must be held exactly; a float is rounded, but not to infinity, and never becomes an int.
    """
    if isinstance(value, Sym):
        return not dtype.is_bool
    if isinstance(value, float):
        return dtype.is_float and (abs(round_float(value, dtype)) != float("inf") or abs(value) == float("inf"))
    return holds_int(dtype, value)


# tilelang/semantics/literals.py
def coerce(value: Typed, dtype: DType, what: str) -> Typed:
    """`value` where `what` ("the store to `y`") expects `dtype`; E0301 or E0303 if it does not convert."""
    if isinstance(value, Literal) or converts(value.type.dtype, dtype):
        return convert(value, dtype)
    raise mistake(
        "E0303",
        f"{what} needs {dtype}, not {value.type.dtype}",
        value.span,
        label=f"this is {article(str(value.type))}",
        notes=(_why(value.type.dtype, dtype),),
        help=_conversion_help(value.type.dtype, dtype, what),
    )


# tilelang/semantics/rounding.py
def round_float(value: float, dtype: DType) -> float:
    """The `dtype` number nearest to `value`, ties to even; infinite beyond the largest.

    The significand is scaled so that its last kept bit has weight 1, and Python's `round` does the rest.
    Below the smallest normal number the last bit stops moving: subnormals.
    """
    if value == 0.0 or not math.isfinite(value) or dtype.bits == 64:
        return value
    if abs(value) >= 2 * largest_float(dtype):
        return math.copysign(math.inf, value)
    _, exponent = math.frexp(value)  # 2**(exponent-1) <= |value| < 2**exponent
    smallest_normal = 2 - (1 << (dtype.exponent - 1))
    last_bit = max(exponent - 1, smallest_normal) - dtype.mantissa
    rounded = math.ldexp(float(round(math.ldexp(value, -last_bit))), last_bit)
    if abs(rounded) > largest_float(dtype):
        return math.copysign(math.inf, value)
    return math.copysign(rounded, value)
