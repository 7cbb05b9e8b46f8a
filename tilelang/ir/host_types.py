"""Element types on the host: which NumPy type holds which, and Python numbers in and out of them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from tilelang.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, DType

_NUMPY: dict[DType, np.dtype] = {
    d: np.dtype(f"{'i' if d.is_signed else 'u'}{d.bytes}") for d in DTYPES.values() if d.is_integer
} | {
    BOOL: np.dtype(np.bool_),
    F16: np.dtype(np.float16),
    BF16: np.dtype(ml_dtypes.bfloat16),
    F32: np.dtype(np.float32),
    F64: np.dtype(np.float64),
}
_DTYPE: dict[np.dtype, DType] = {host: dtype for dtype, host in _NUMPY.items()}


def numpy_dtype(dtype: DType) -> np.dtype:
    """The NumPy type of one element; bf16 is `ml_dtypes.bfloat16`."""
    return _NUMPY[dtype]


def from_numpy(dtype: np.dtype) -> DType | None:
    """The element type that a NumPy type (in native byte order) holds, or None if there is none."""
    return _DTYPE.get(np.dtype(dtype))


def dtype_of(array: np.ndarray) -> DType:
    """The element type of an array that is known to have one."""
    return _DTYPE[array.dtype]


def scalar(value: int | float | bool, dtype: DType) -> np.ndarray:
    """A rank-0 array of a Python (or NumPy) number; floats are rounded once, integers wrap."""
    host = numpy_dtype(dtype)
    if dtype.is_float:
        from tilelang.ir.rounding import cast

        return cast(np.asarray(value, np.float64), dtype)
    if dtype.is_bool:
        return np.asarray(bool(value), host)
    return np.asarray(int(value) & ((1 << dtype.bits) - 1), np.uint64).astype(host)


def python_number(array: np.ndarray) -> int | float | bool:
    """The one element of an array as the number an IR attribute holds."""
    number = array.reshape(()).item()
    return number if isinstance(number, (bool, int)) else float(number)
