"""The device library under numba's typing rules, not only NumPy's: the plain arithmetic of it, compiled for the CPU.

On a GPU numba computes signed integers in 64 bits and mixes signed with unsigned ones to floats. The simulator cannot
show a mistake in that; numba's CPU compiler, which types alike, can.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest

from tests.runtime.test_device_math import operands, pairs
from tilelang.dtypes import DTYPES, F32, F64
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.numerics import evaluate
from tilelang.runtime import device_math

INTEGERS = [name for name, dtype in DTYPES.items() if dtype.is_integer]


def compiled(name: str):
    return numba.njit(getattr(device_math, name).py_func)


def same(got: np.ndarray, wanted: np.ndarray) -> None:
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_functions(dtype):
    a, b = pairs(DTYPES[dtype])
    for op in ("floordiv", "mod", "shl", "shr", "pow"):
        function = compiled(f"{op}_{dtype}")
        got = np.array([function(x, y) for x, y in zip(a, b, strict=True)], a.dtype)
        same(got, evaluate(op, [a, b], DTYPES[dtype]))
        assert type(function(a[0], b[0])) is not float
    sign = compiled(f"sign_{dtype}")
    same(np.array([sign(x) for x in a], a.dtype), evaluate("sign", [a], DTYPES[dtype]))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", [F32, F64], ids=str)
def test_floats_to_integers_saturate(dtype, source):
    values = operands(source)
    function = compiled(f"{dtype}_from_{source}")
    got = np.array([function(x) for x in values], numpy_dtype(DTYPES[dtype]))
    same(got, evaluate("cast", [values], DTYPES[dtype]))


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_float_functions(dtype):
    a, b = pairs(dtype)
    for op in ("maximum", "minimum"):
        function = compiled(f"{op}_float")
        same(np.array([function(x, y) for x, y in zip(a, b, strict=True)], a.dtype), evaluate(op, [a, b], dtype))
    sign = compiled(f"sign_{dtype}")
    same(np.array([sign(x) for x in a], a.dtype), evaluate("sign", [a], dtype))
    for op in ("isnan", "isinf"):
        function = compiled(op)
        assert [bool(function(x)) for x in a] == evaluate(op, [a], DTYPES["bool"]).tolist()


def test_philox_words():
    function = compiled("philox_words")
    offsets = np.array([0, 1, -1, 2**40 + 3, 2**63 - 1, -(2**63)])
    for seed in (0, -7, 2**50):
        got = np.array([function(np.int64(seed), offset)[0] for offset in offsets], np.uint32)
        same(got, evaluate("randint", [np.int64(seed), offsets], DTYPES["u32"]))
