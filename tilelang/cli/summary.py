"""What `tilec run` prints about an output array: its type, its range, and its first values."""

from __future__ import annotations

import numpy as np

from tilelang.ir.host_types import from_numpy

FIRST = 6
"""How many values are shown."""
SMALL = 6
"""A matrix with no more rows and columns than this is shown whole."""


def describe(name: str, array: np.ndarray) -> list[str]:
    """The lines about one output: `y: f32[4, 5]  min 0.1  max 0.9  mean 0.2`, then its values."""
    head = f"{name}: {type_of(array)}"
    if array.size == 0:
        return [f"{head}  (no elements)"]
    return [head + "  " + "  ".join(statistics(array)), *values(array)]


def type_of(array: np.ndarray) -> str:
    """`f32[4, 5]`, as the language writes it."""
    dtype = from_numpy(array.dtype)
    extents = ", ".join(map(str, array.shape))
    return f"{dtype.name if dtype is not None else array.dtype}" + (f"[{extents}]" if array.ndim else "")


def statistics(array: np.ndarray) -> list[str]:
    """Minimum, maximum and mean of what is finite, and how much is not."""
    if array.dtype == np.bool_:
        return [f"{int(array.sum())} of {array.size} true"]
    wide = array if array.dtype.kind in "iu" else array.astype(np.float64)
    finite = wide if array.dtype.kind in "iu" else wide[np.isfinite(wide)]
    parts = []
    if finite.size:
        mean = finite.mean(dtype=np.float64)
        parts = [f"min {short(finite.min())}", f"max {short(finite.max())}", f"mean {short(mean)}"]
    if array.dtype.kind not in "iu":
        odd = {"NaN": np.isnan(wide), "inf": np.isposinf(wide), "-inf": np.isneginf(wide)}
        parts += [f"{word}: {mask.sum()}" for word, mask in odd.items() if mask.any()]
    return parts


def values(array: np.ndarray) -> list[str]:
    """A small matrix whole, else the first few values in row-major order."""
    if array.ndim == 2 and max(array.shape) <= SMALL:
        rows = [[short(v) for v in row] for row in array]
        width = max(len(text) for row in rows for text in row)
        return ["    " + " ".join(text.rjust(width) for text in row) for row in rows]
    first = [short(v) for v in array.flat[:FIRST]]
    return ["    " + " ".join(first) + (" ..." if array.size > FIRST else "")]


def short(value: object) -> str:
    """A number in few digits."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return f"{float(value):.6g}"  # type: ignore[arg-type]
