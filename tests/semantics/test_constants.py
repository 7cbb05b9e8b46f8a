"""Arithmetic at compile time, and what literals become in each element type."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ml_dtypes import bfloat16

from tests.semantics.helpers import check
from tilelang.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, I8, U8, U64
from tilelang.semantics import constants
from tilelang.semantics.constants import ConstantError
from tilelang.semantics.extents import SymBool, symbol
from tilelang.semantics.rounding import holds_int, largest_float, round_float


def const(text: str, before: str = "") -> object:
    checked = check(f"{before}\nconst _A = {text};\n")
    assert checked.codes == []
    return checked.names.consts["_A"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 // 2", 3),
        ("-7 // 2", -4),
        ("7 // -2", -4),
        ("7 % -2", -1),
        ("-7 % 2", 1),
        ("7 // 0", 0),
        ("7 % 0", 0),
        ("1 << 40", 1 << 40),
        ("-1 >> 3", -1),
        ("7 >> 200", 0),
        ("6 & 3 | 8 ^ 1", 6 & 3 | 8 ^ 1),
        ("~5", -6),
        ("2 - -3", 5),
        ("1.0 / 4.0", 0.25),
        ("1 / 4.0", 0.25),
        ("1.0 / 0.0", math.inf),
        ("-1.0 / 0.0", -math.inf),
        ("1e308 * 10.0", math.inf),
        ("cdiv(7, 2)", 4),
        ("cdiv(-7, 2)", -3),
        ("cdiv(7, 0)", 0),
        ("next_pow2(0)", 1),
        ("next_pow2(64)", 64),
        ("next_pow2(65)", 128),
        ("minimum(3, 4) + maximum(3, 4)", 7),
        ("abs(-3)", 3),
        ("abs(-3.5)", 3.5),
        ("sqrt(16.0)", 4.0),
        ("log2(8)", 3.0),
        ("exp(0.0)", 1.0),
        ("floor(2.5) + ceil(2.5)", 5.0),
        ("maximum(1, 2.5)", 2.5),
        ("log(0.0)", -math.inf),
        ("exp(1e10)", math.inf),
        ("true and not false", True),
        ("1 < 2 or false", True),
        ("true ^ true", False),
        ("3 == 3.0", True),
        ("pi > 3", True),
        ("B * B", 9),
    ],
)
def test_constant_expressions(text: str, expected: object) -> None:
    value = const(text, "const B = 3;")
    assert value == expected
    assert type(value) is type(expected)


def test_nan_of_constants() -> None:
    assert math.isnan(const("0.0 / 0.0"))  # type: ignore[arg-type]
    assert math.isnan(const("sqrt(-1.0)"))  # type: ignore[arg-type]
    assert math.isnan(const("maximum(nan, 1.0)"))  # type: ignore[arg-type]


def test_a_constant_of_two_thousand_terms() -> None:
    assert const(" + ".join(["1"] * 1500)) == 1500


@pytest.mark.parametrize(
    ("op", "a", "b"),
    [
        ("/", 1, 2),
        ("+", True, 1),
        ("and", 1, 2),
        ("//", 1.0, 2.0),
        ("<<", 1, -1),
        ("<", True, False),
        ("+", F32, 1),
        ("+", (1 << 53) + 1, 0.5),
        ("*", 1 << 100, 1 << 100),
    ],
)
def test_undefined_arithmetic(op: str, a: constants.Value, b: constants.Value) -> None:
    with pytest.raises(ConstantError):
        constants.binary(op, a, b)


def test_symbols_in_constants() -> None:
    n = symbol("N")
    assert constants.binary("+", n, 1) == n + 1
    assert constants.binary("//", 4 * n, 2) == 2 * n
    assert constants.binary("%", 4 * n, 2) == 0
    assert constants.binary("//", n, 2) == constants.binary("//", n, 2) != n
    assert constants.call("cdiv", [8 * n, 4]) == 2 * n
    assert constants.call("maximum", [n, n]) == n
    assert str(constants.call("next_pow2", [n])) == "next_pow2(N)"
    unknown = constants.binary(">", n, 64)
    assert isinstance(unknown, SymBool)
    assert isinstance(constants.binary("and", unknown, True), SymBool)
    assert isinstance(constants.unary("not", unknown), SymBool)
    with pytest.raises(ConstantError):
        constants.binary("+", unknown, 1)


NUMPY = {F16: np.float16, F32: np.float32, BF16: bfloat16, F64: np.float64}


@pytest.mark.parametrize("dtype", list(NUMPY), ids=str)
@given(value=st.floats(width=64))
def test_rounding_agrees_with_numpy(dtype: object, value: float) -> None:
    if dtype is BF16:  # ml_dtypes rounds by way of f32; take values where that is exact
        value = float(np.float32(value)) if abs(value) < 3e38 else value
    with np.errstate(all="ignore"):
        expected = float(NUMPY[dtype](value))  # type: ignore[index]
    got = round_float(value, dtype)  # type: ignore[arg-type]
    assert got == expected or (math.isnan(got) and math.isnan(expected))
    assert math.copysign(1, got) == math.copysign(1, expected) or math.isnan(got)


def test_rounding_is_done_once() -> None:
    # Just above the middle of two bf16 numbers, and exactly the middle once rounded to f32.
    value = 1.0 + 2.0**-8 + 2.0**-40
    assert round_float(value, BF16) == 1.0 + 2.0**-7
    assert round_float(1.0 + 2.0**-8, BF16) == 1.0


def test_the_edges_of_f16() -> None:
    assert largest_float(F16) == 65504.0
    assert round_float(65519.0, F16) == 65504.0
    assert round_float(65520.0, F16) == math.inf
    assert round_float(2.0**-25, F16) == 0.0
    assert round_float(1.5 * 2.0**-24, F16) == 2.0**-23


def test_ints_that_types_hold() -> None:
    assert holds_int(I8, -128) and not holds_int(I8, 128)
    assert holds_int(U8, 255) and not holds_int(U8, -1)
    assert holds_int(U64, (1 << 64) - 1) and not holds_int(U64, 1 << 64)
    assert holds_int(F16, 2048) and not holds_int(F16, 2049) and holds_int(F16, 65504) and not holds_int(F16, 65536)
    assert holds_int(F32, 1 << 24) and not holds_int(F32, (1 << 24) + 1)
    assert holds_int(BF16, -256) and not holds_int(BF16, 257)
    assert not holds_int(BOOL, 1)
    assert all(holds_int(d, 0) for d in DTYPES.values() if d is not BOOL)
