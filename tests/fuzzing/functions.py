"""The functions that random programs call, and what they do."""

from __future__ import annotations

import numpy as np

from tests.fuzzing import arithmetic
from tests.fuzzing.nodes import each

FUNCTIONS = """\
fn mixed(a, b) { let d = a - b; return d * a; }
fn both(a, b) { let s = a + b; return s, s - a; }
fn chosen(a, b) { var r = a; for _k in range(2) { r = maximum(r, b); } return r + b; }
"""


def mixed(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    difference = each(lambda x, y: arithmetic.binary("-", x, y, dtype), a, b)
    return each(lambda x, y: arithmetic.binary("*", x, y, dtype), difference, a)


def chosen(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    return each(
        lambda x, y: arithmetic.binary("+", arithmetic.binary("maximum", x, y, dtype), y, dtype), a, b
    )


def both(a: np.ndarray, b: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    total = each(lambda x, y: arithmetic.binary("+", x, y, dtype), a, b)
    return total, each(lambda x, y: arithmetic.binary("-", x, y, dtype), total, a)
