"""Element types and numbers on their way into NumPy and back."""

from __future__ import annotations

import numpy as np
import pytest

from tilelang.dtypes import BF16, BOOL, DTYPES, I32, I64, U8, U16, U64, DType
from tilelang.ir.host_types import from_numpy, numpy_dtype, python_number, scalar


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_host_types_are_a_bijection(dtype: DType) -> None:
    assert from_numpy(numpy_dtype(dtype)) == dtype
    assert numpy_dtype(dtype).itemsize == dtype.bytes


def test_foreign_host_types() -> None:
    assert from_numpy(np.dtype("complex64")) is None
    assert from_numpy(np.dtype("U4")) is None
    assert from_numpy(np.dtype(">f4")) is None


def test_numbers_in_and_out() -> None:
    assert python_number(scalar(-1, U8)) == 255
    assert python_number(scalar(2**64 - 1, U64)) == 2**64 - 1
    assert python_number(scalar(2**63, I64)) == -(2**63)
    assert python_number(scalar(True, BOOL)) is True
    assert python_number(scalar(1 + 2**-8 + 2**-40, BF16)) == 1 + 2**-7
    assert type(python_number(scalar(1.5, BF16))) is float
    assert type(python_number(scalar(3, I32))) is int
    assert python_number(scalar(70000, U16)) == 70000 - 65536
