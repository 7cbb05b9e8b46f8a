"""Do two runs of a kernel agree? Sums may be reordered, so floats agree within a tolerance; the rest must be equal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilelang.dtypes import BF16, F16, F32, F64, DType
from tilelang.ir.host_types import from_numpy

TOLERANCES: dict[DType, float] = {F64: 1e-9, F32: 1e-4, F16: 1e-2, BF16: 2e-2}
"""By element type, relative. Integers and bools must be equal."""


def wrong_elements(found: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """True where |found - expected| > atol + rtol * |expected|. NaN agrees with NaN, and inf with the same inf."""
    if found.dtype.kind in "biu" and expected.dtype.kind in "biu" and rtol == atol == 0:
        return np.asarray(found != expected)
    a, b = found.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= atol + rtol * np.abs(b)
    close &= np.isfinite(a) & np.isfinite(b)
    return np.asarray(~(close | (a == b) | (np.isnan(a) & np.isnan(b))))


def disagreement(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> str:
    """Where two sets of outputs disagree, in words; empty if they agree."""
    for name, array in found.items():
        wanted = expected[name]
        if array.shape != wanted.shape:
            return f"`{name}` has the shape {array.shape}, not {wanted.shape}"
        dtype = from_numpy(array.dtype)
        tolerance = TOLERANCES.get(dtype, 0.0) if dtype is not None else 0.0
        wrong = wrong_elements(array, wanted, tolerance, tolerance * _typical(wanted))
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            where = f"{name}[{', '.join(map(str, place))}]" if place else name
            count = f"{np.count_nonzero(wrong)} of {array.size} elements of `{name}` differ"
            return f"{count}: {where} is {array[place]!s}, not {wanted[place]!s}"
    return ""


def _typical(array: np.ndarray) -> float:
    """The size of an element: sums that cancel are off by a part of what went into them, not of what is left."""
    sizes = np.abs(array.astype(np.float64)).ravel()
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.median(sizes)) if sizes.size else 0.0
