"""The generators that a case's header may use: each takes a shape, then options, then perhaps an element type.

`randn(5, 37)`, `randint(-3, 9, 100)`, `special(3, 16, f16)`. Seeded by the case, so always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

NUMPY_DTYPES: dict[str, np.dtype] = {
    "bool": np.dtype(np.bool_),
    **{f"{kind}{bits}": np.dtype(f"{word}{bits}") for kind, word in (("i", "int"), ("u", "uint"))
       for bits in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16), "bf16": np.dtype(bfloat16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}

Rng = np.random.Generator


def _split(dtype: np.dtype | None, args: tuple) -> tuple[tuple, np.dtype]:
    """Arguments without their dtype, and the dtype: the last argument, else the kernel's."""
    if args and isinstance(args[-1], np.dtype):
        return args[:-1], args[-1]
    if dtype is None:
        raise ValueError("name an element type: the kernel's is a meta")
    return args, dtype


def randn(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    shape, dtype = _split(dtype, args)
    return np.asarray(rng.standard_normal(shape)).astype(dtype)


def rand(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    """Uniform in [0, 1)."""
    shape, dtype = _split(dtype, args)
    return np.asarray(rng.random(shape)).astype(dtype)


def randint(rng: Rng, dtype: np.dtype | None, low: int, high: int, *args: Any) -> np.ndarray:
    """Whole numbers in [low, high)."""
    shape, dtype = _split(dtype, args)
    if dtype == np.uint64:
        return np.asarray(rng.integers(low, high, shape, dtype=np.uint64))
    return np.asarray(rng.integers(low, high, shape)).astype(dtype)


def bits(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    """Every bit random: all values of an integer type."""
    shape, dtype = _split(dtype, args)
    count = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(rng.bytes(count), dtype=dtype).reshape(shape).copy()


def coin(rng: Rng, dtype: np.dtype | None, *shape: int) -> np.ndarray:
    """Random truth values."""
    return np.asarray(rng.integers(0, 2, shape)).astype(np.bool_)


def zeros(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    shape, dtype = _split(dtype, args)
    return np.zeros(shape, dtype)


def ones(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    shape, dtype = _split(dtype, args)
    return np.ones(shape, dtype)


def full(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    """`full(5, 37, v)`: the value stands last, before the element type."""
    rest, dtype = _split(dtype, args)
    return np.full(rest[:-1], rest[-1], dtype)


def arange(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    """`arange(12)` or, as a shape, `arange(3, 4)`: 0, 1, 2, ... in row-major order."""
    shape, dtype = _split(dtype, args)
    return np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)


def permutation(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    """0 to n-1, shuffled."""
    (size,), dtype = _split(dtype, args)
    return rng.permutation(size).astype(dtype)


def special(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    """The values that break things: for floats signed zeros, infinities, NaN, halves, ends of the range;
    for integers 0, 1, -1 and the ends of the range; shuffled with small random ones."""
    shape, dtype = _split(dtype, args)
    values = _special_values(dtype)
    return rng.choice(values, size=shape)


def _special_values(dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = [0, 1, 2, 3, 5, 7, 100, info.max, info.max - 1, info.min, info.min + 1]
        return np.array(small + ([-1, -2, -3, -7, -100] if dtype.kind == "i" else []), dtype)
    if dtype.kind == "b":
        return np.array([True, False])
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 510.0, -510.0, 3.14159, np.inf, -np.inf, np.nan]
    return np.array(values).astype(dtype)


def poison(*args: Any) -> np.ndarray:
    """What an output holds before the run: NaN for floats, 0x5b in every byte for integers, true for bool."""
    *shape, dtype = args
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    if dtype.kind in "iu":
        size = int(np.prod(shape)) * dtype.itemsize
        return np.full(size, 0x5B, np.uint8).view(dtype).reshape(shape)
    return np.full(shape, np.nan).astype(dtype)


def _poison(rng: Rng, dtype: np.dtype | None, *args: Any) -> np.ndarray:
    shape, dtype = _split(dtype, args)
    return poison(*shape, dtype)


GENERATORS: dict[str, Callable[..., np.ndarray]] = {
    "randn": randn, "rand": rand, "randint": randint, "bits": bits, "coin": coin, "zeros": zeros, "ones": ones,
    "full": full, "arange": arange, "permutation": permutation, "special": special, "poison": _poison,
}
