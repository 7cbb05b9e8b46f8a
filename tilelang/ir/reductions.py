"""The meaning of `reduce`, `scan` and `dot` on NumPy arrays.

Floats are added up in f64 and rounded once at the end: better than any order of f32 additions a backend may
choose, so every backend is measured against the same yardstick. Integers wrap in the result's type.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilelang.dtypes import DType
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.rounding import cast, compute_in_f32


def reduce(kind: str, array: np.ndarray, axes: tuple[int, ...], dtype: DType) -> np.ndarray:
    """Fold `axes` away. `dtype` is the result's element type; `kind` is one of REDUCE_KINDS.

    A NaN wins `max` and `min`; for `argmax` and `argmin` (one axis) the first NaN does, else the first
    extreme.
    """
    with np.errstate(all="ignore"):
        if kind in ("sum", "prod"):
            total = _WIDE_FOLD[kind](_widened(array, dtype), axis=axes)
            return cast(np.asarray(total), dtype)
        if kind in ("any", "all"):
            return np.asarray(_FOLD[kind](array, axis=axes))
        if kind in ("argmax", "argmin"):
            return np.asarray(_FOLD[kind](compute_in_f32(array), axis=axes[0]), np.int32)
        return cast(np.asarray(_FOLD[kind](compute_in_f32(array), axis=axes)), dtype)


def scan(kind: str, array: np.ndarray, axis: int, reverse: bool, dtype: DType) -> np.ndarray:
    """Inclusive prefixes along `axis`, from the end if `reverse`; `kind` is one of SCAN_KINDS."""
    if reverse:
        return np.flip(scan(kind, np.flip(array, axis), axis, False, dtype), axis)
    wide = _widened(array, dtype) if kind in ("sum", "prod") else compute_in_f32(array)
    with np.errstate(all="ignore"):
        return cast(_SCAN[kind](wide, axis=axis), dtype)


def dot(a: np.ndarray, b: np.ndarray, acc: np.ndarray, dtype: DType) -> np.ndarray:
    """acc + a @ b over the last two axes (leading axes broadcast); `dtype` is the accumulator's."""
    with np.errstate(all="ignore"):
        product = np.matmul(_widened(a, dtype), _widened(b, dtype))
        return cast(np.asarray(product + _widened(acc, dtype)), dtype)


def _widened(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Floats as f64; integers and bool in the type the result has, in which they wrap."""
    return array.astype(np.float64 if dtype.is_float else numpy_dtype(dtype))


_WIDE_FOLD: dict[str, Callable[..., np.ndarray]] = {
    "sum": lambda array, axis: np.add.reduce(array, axis=axis, dtype=array.dtype),
    "prod": lambda array, axis: np.multiply.reduce(array, axis=axis, dtype=array.dtype),
}
_FOLD: dict[str, Callable[..., np.ndarray]] = {
    "max": np.max, "min": np.min, "any": np.any, "all": np.all, "argmax": np.argmax, "argmin": np.argmin,
}
_SCAN: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.add.accumulate,
    "prod": np.multiply.accumulate,
    "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
}
