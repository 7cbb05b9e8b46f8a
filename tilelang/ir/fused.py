"""a * b + c with one rounding, without an `fma` instruction at hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

TINY = 2.0**-126
"""The least normal f32."""

PIECE = 1 << 15
"""Elements that are computed together: what stands between is f64, and is to stay in the cache."""


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """f32 or f64 operands of one type; the exact a * b + c, rounded once to that type."""
    if a.dtype == np.float64:
        return _fma_f64(a, b, c)
    result = np.empty(np.broadcast_shapes(a.shape, b.shape, c.shape), np.float32)
    rows = max(1, PIECE * len(result) // result.size) if result.ndim and result.size > PIECE else None
    if rows is None:
        return _fma_f32(a, b, c)
    for first in range(0, len(result), rows):
        piece = slice(first, first + rows)
        result[piece] = _fma_f32(*(x[piece] if x.ndim == result.ndim and len(x) > 1 else x for x in (a, b, c)))
    return result


def _fma_f32(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        product = a.astype(np.float64) * b  # exact
        total = product + c
        rounded = total.astype(np.float32)
        return round_f32(*_two_sum(product, c.astype(np.float64))) if _may_round_twice(total, rounded) else rounded


def _may_round_twice(total: np.ndarray, rounded: np.ndarray) -> bool:
    """Could rounding to f64 and then to f32 (`rounded`) differ, for some element, from rounding once?

    Rounding keeps order, and every point halfway between two f32 is an f64: a total that is not itself such a
    point lies on the same side of it as the exact sum. Below f32's normal range the halfway points lie elsewhere.
    """
    if not total.size:
        return False
    # Of the 29 bits that f32 lacks, a halfway point has the first alone: moved to the front, the least i64.
    if (total.view(np.int64) << 35).min() == np.iinfo(np.int64).min:
        return True
    least = np.abs(rounded).min()
    return not least > TINY and bool(((np.abs(total) < TINY) & (total != 0)).any())


def round_f32(total: np.ndarray, error: np.ndarray) -> np.ndarray:
    """total + error, where |error| is below half an ulp of total, as f32, rounded once.

    `total` in f64 is first rounded to odd (see `tilelang.ir.rounding`) with the help of its error.
    """
    bits = total.view(np.int64)
    # The neighbour of `total` on the error's side; in magnitude, bit patterns of floats count up.
    outward = (error > 0) == (total > 0)
    neighbour = np.where(outward, bits + 1, bits - 1).view(np.float64)
    sticky = np.isfinite(error) & np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    return np.where(sticky, neighbour, total).astype(np.float32)


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a + b as (rounded sum, exact error). D. Knuth, TAOCP 2, 4.2.2, theorem B."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def _fma_f64(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """By exact rational numbers, one element at a time: slow, and right in every corner."""
    with np.errstate(all="ignore"):
        plain = a * b + c
    exact = np.frompyfunc(_fma_exact, 3, 1)(a, b, c)
    usable = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    return np.where(usable, np.asarray(exact, np.float64), plain)


def _fma_exact(a: float, b: float, c: float) -> float:
    try:
        total = Fraction(a) * Fraction(b) + Fraction(c)
    except (OverflowError, ValueError):
        return 0.0  # an infinity or NaN: plain arithmetic is exact there, and the caller takes that
    if total == 0:
        return a * b + c  # the sign of an exact zero
    try:
        return float(total)
    except OverflowError:
        return np.inf if total > 0 else -np.inf
