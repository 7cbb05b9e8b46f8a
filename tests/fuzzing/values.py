"""Arguments of random programs: values that break things, in arrays of any layout."""

from __future__ import annotations

import numpy as np

from tests.fuzzing import arithmetic
from tests.fuzzing.arithmetic import BITS, FLOATS
from tests.fuzzing.choices import Choices
from tests.fuzzing.nodes import Shape
from tests.generators import NUMPY_DTYPES


def values(random: Choices, dtype: str, shape: Shape) -> np.ndarray:
    """Small numbers, extremes and random bits; a float input may hold infinities and NaN."""
    rng = np.random.default_rng(random.randrange(1 << 30))
    if dtype == "bool":
        return rng.random(shape) < 0.5
    target = NUMPY_DTYPES[dtype]
    if dtype in FLOATS:
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, 100.0, -2.5])
        small = rng.integers(-8, 8, shape) / 2
        return np.where(rng.random(shape) < 0.2, rng.choice(special, shape), small).astype(target)
    low, high = arithmetic.limits(dtype)
    bits = np.frombuffer(rng.bytes(int(np.prod(shape)) * BITS[dtype] // 8), target).reshape(shape)
    ends = rng.choice(np.array([low, high, low + 1, high - 1], dtype=target), shape)
    small = rng.integers(-6 if low else 0, 7, shape).astype(target)
    chosen = rng.integers(0, 10, shape)
    return np.where(chosen == 0, ends, np.where(chosen == 1, bits, small)).astype(target)


LAYOUTS = ("plain", "transposed", "backwards", "every other", "part", "repeated")


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same elements in new memory, in another order or with gaps between them."""
    if array.ndim == 0 or layout == "plain":
        return array.copy()
    if layout == "transposed":
        return array.copy(order="F")
    if layout == "backwards":
        return array[..., ::-1].copy()[..., ::-1]
    if layout == "every other":
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if layout == "part":
        return np.pad(array, [(1, 2)] * array.ndim)[tuple(slice(1, n + 1) for n in array.shape)]
    return np.broadcast_to(array[:1], array.shape)  # one row for all of them, with a stride of 0
