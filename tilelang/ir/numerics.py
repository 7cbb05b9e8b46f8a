"""The meaning of every elementwise op, in NumPy: what all backends are compared with, and what folding uses.

`evaluate(name, operands, dtype)` is the whole interface. Integers wrap; nothing is undefined; NumPy's
warnings do not leak. Half floats are computed in f32 and rounded once per op. A function NumPy would only
approximate in f32 (`exp`, `sin`, ...) is computed in f64 and rounded: the f32 result is as good as exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tilelang.dtypes import DType, compute_type
from tilelang.ir import philox
from tilelang.ir.fused import fma
from tilelang.ir.host_types import dtype_of, from_numpy, numpy_dtype, python_number, scalar
from tilelang.ir.rounding import cast, compute_in_f32

__all__ = ["evaluate", "from_numpy", "numpy_dtype", "python_number", "scalar"]

Function = Callable[..., np.ndarray]


def evaluate(name: str, operands: Sequence[np.ndarray], dtype: DType) -> np.ndarray:
    """The elementwise op `name` of `tilelang.ir.tile_ops` on arrays that broadcast together.

    `dtype` is the element type of the result; those of the operands are as the op's typing rule says.
    Operands are not changed; the result may share memory with one.
    """
    with np.errstate(all="ignore"):
        return compute(name, operands, dtype)


def compute(name: str, operands: Sequence[np.ndarray], dtype: DType) -> np.ndarray:
    """`evaluate` for callers that have silenced NumPy's warnings, which takes as long as a small op."""
    if name == "cast":
        return cast(operands[0], dtype)
    if name in BY_BITS:
        return np.asarray(BY_BITS[name](*operands))
    computed = [compute_in_f32(np.asarray(operand)) for operand in operands]
    if name in BY_REAL:
        result = BY_REAL[name](*(operand.astype(np.float64) for operand in computed))
        result = np.asarray(result).astype(computed[0].dtype)
    else:
        result = np.asarray(BY_VALUE[name](*computed))
    wide = compute_type(dtype)
    return cast(result, dtype) if wide is not dtype and dtype_of(result) == wide else result


# ------------------------------------------------------------------------------------ integers


def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rounds down; by zero gives 0; the smallest integer by -1 wraps to itself."""
    by_zero, wraps = b == 0, _is_minus_one(b)
    quotient = np.floor_divide(a, np.where(by_zero | wraps, _like(1, b), b))
    return np.where(by_zero, _like(0, a), np.where(wraps, np.negative(a), quotient))


def modulo(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Takes the divisor's sign; by zero gives 0."""
    trivial = (b == 0) | _is_minus_one(b)
    return np.where(trivial, _like(0, a), np.remainder(a, np.where(trivial, _like(1, b), b)))


def _is_minus_one(b: np.ndarray) -> np.ndarray:
    return b == -1 if b.dtype.kind == "i" else np.zeros(b.shape, np.bool_)


def _like(value: int, array: np.ndarray) -> np.ndarray:
    return np.asarray(value, array.dtype)


def shift_left(a: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Shifts by the width or more, and negative ones, leave nothing."""
    whole, safe = _shift_amount(amount)
    unsigned = a.view(f"u{a.dtype.itemsize}")
    shifted = np.left_shift(unsigned, safe.astype(unsigned.dtype)).view(a.dtype)
    return np.where(whole, _like(0, a), shifted)


def shift_right(a: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Arithmetic for signed integers; by the width or more leaves the sign (0, or -1 below zero)."""
    whole, safe = _shift_amount(amount)
    sign = np.where(a < 0, _like(-1, a), _like(0, a)) if a.dtype.kind == "i" else _like(0, a)
    return np.where(whole, sign, np.right_shift(a, safe))


def _shift_amount(amount: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which amounts shift everything out, and the amounts with 0 in their place."""
    whole = (amount < 0) | (amount >= amount.dtype.itemsize * 8)
    return whole, np.where(whole, _like(0, amount), amount)


def power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Floats: IEEE pow. Integers: wraps; a negative exponent gives 0, but 1 for base 1 and ±1 for base -1."""
    if a.dtype.kind == "f":
        return np.power(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
    if a.dtype.kind == "u":
        return np.power(a, b)
    result = np.power(a, np.where(b < 0, _like(0, b), b))
    minus_one = np.where(b % 2 == 0, _like(1, a), _like(-1, a))
    inverse = np.where(a == 1, _like(1, a), np.where(a == -1, minus_one, _like(0, a)))
    return np.where(b < 0, inverse, result)


# ------------------------------------------------------------------------------------ floats

_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, by C's, which is within an ulp in f64."""
    return np.asarray(_erf(x), np.float64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), written so that exp never overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def reciprocal_sqrt(x: np.ndarray) -> np.ndarray:
    return 1.0 / np.sqrt(x)


BY_REAL: dict[str, Function] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "rsqrt": reciprocal_sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": erf,
    "sigmoid": sigmoid,
}
"""Computed in f64, then rounded to the operand's type (a half float: to f32, then once more)."""

BY_VALUE: dict[str, Function] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "sqrt": np.sqrt,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": floor_divide,
    "mod": modulo,
    "shl": shift_left,
    "shr": shift_right,
    "pow": power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fma": fma,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""Computed in the operands' type (half floats: in f32). NumPy's `maximum` and `minimum` propagate NaN."""

BY_BITS: dict[str, Function] = {
    "not": np.logical_not,
    "invert": np.invert,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "select": np.where,
    "rand": philox.uniform,
    "randn": philox.normal,
    "randint": philox.integers,
}
"""Not arithmetic: the operands are taken as they are."""
