"""`cast`: conversion between any two element types, rounded once, saturating, and the same on every machine.

NumPy does most of it. Left to it, three things would go wrong: a float outside an integer's range (undefined
in C), f64 to bf16 (rounded to f32 on the way, hence twice), and large integers to a half float (the same).
The cure for the latter two is *rounding to odd* on the way: a value that is not exact takes the neighbour
whose last bit is 1, which can never look like a tie to the second rounding. See S. Boldo and G. Melquiond,
"Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE TC 57(4), 2008.
"""

from __future__ import annotations

import numpy as np

from tilelang.dtypes import BF16, F16, F64, DType
from tilelang.ir.host_types import dtype_of, numpy_dtype


def cast(array: np.ndarray, dtype: DType) -> np.ndarray:
    """`array` as `dtype` elements, the language's `as`.

    Float to integer truncates, saturates, and takes NaN to 0. Integer to integer wraps. Anything to bool asks
    "is it not zero?" (NaN is not). To a float: round to nearest, ties to even, once.
    """
    source = dtype_of(array)
    if source == dtype:
        return array
    if dtype.is_bool:
        return np.asarray(array != 0)
    if not source.is_float:
        return _from_integer(array, dtype)
    with np.errstate(all="ignore"):
        if dtype.is_integer:
            return _float_to_integer(array.astype(np.float64), dtype)
        if dtype == BF16 and source == F64:
            return round_to_odd(array).astype(numpy_dtype(BF16))
        if source in (BF16, F16):
            array = array.astype(np.float32)  # exact
        return array.astype(numpy_dtype(dtype))


def _from_integer(array: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype not in (F16, BF16):
        return array.astype(numpy_dtype(dtype))  # wraps to integers, rounds once to f32 and f64
    return cast(_integer_to_f64_odd(array), dtype)


def _integer_to_f64_odd(array: np.ndarray) -> np.ndarray:
    """Integers as f64; those of 54 bits and more are rounded to odd."""
    if array.dtype.itemsize < 8:
        return array.astype(np.float64)
    kept = (array >> 11) | ((array & 0x7FF) != 0).astype(array.dtype)
    small = (array < 1 << 53) & (array > -(1 << 53)) if array.dtype.kind == "i" else array < 1 << 53
    return np.where(small, array.astype(np.float64), kept.astype(np.float64) * 2048.0)


def _float_to_integer(array: np.ndarray, dtype: DType) -> np.ndarray:
    """f64 to an integer type. Both bounds, as floats, are exact powers of two (or 0)."""
    low, above = float(dtype.min_int), float(dtype.max_int + 1)
    whole = np.trunc(array)
    inside = (whole >= low) & (whole < above)
    result = np.where(inside, whole, 0.0).astype(numpy_dtype(dtype))
    result = np.where(whole >= above, numpy_dtype(dtype).type(dtype.max_int), result)
    return np.where(whole < low, numpy_dtype(dtype).type(dtype.min_int), result)


def round_to_odd(array: np.ndarray) -> np.ndarray:
    """f64 to f32, where what is not exact takes the neighbour whose last bit is 1."""
    with np.errstate(all="ignore"):
        near = array.astype(np.float32)
        back = near.astype(np.float64)
    inexact = (back != array) & ~np.isnan(array)
    truncated = near.view(np.uint32) - (np.abs(back) > np.abs(array))  # one step towards zero
    odd = (truncated | 1).astype(np.uint32).view(np.float32)
    return np.where(inexact, odd, near)


def compute_in_f32(array: np.ndarray) -> np.ndarray:
    """Half floats as f32, in which they are computed; everything else as it is."""
    return array.astype(np.float32) if array.itemsize == 2 and dtype_of(array) in (F16, BF16) else array
