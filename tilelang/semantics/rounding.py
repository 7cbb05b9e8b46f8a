"""Which numbers an element type can hold, without NumPy: what a literal becomes when it takes a type."""

from __future__ import annotations

import math

from tilelang.dtypes import DType


def largest_float(dtype: DType) -> float:
    """The largest finite value of a float type."""
    top = (1 << (dtype.exponent - 1)) - 1
    return math.ldexp(2.0 - math.ldexp(1.0, -dtype.mantissa), top)


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
