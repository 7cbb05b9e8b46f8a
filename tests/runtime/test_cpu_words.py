"""The words of the generated CPU source against the interpreter's numerics: to the bit, or within an ulp or two."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numba import njit

from tilelang.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, U32, DType
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.numerics import evaluate
from tilelang.runtime import cpu_vocabulary as words

RNG = np.random.default_rng(0)

SPECIAL = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e-40, -1e-40, 88.7, 88.73, -87.4, -103,
           -104, -105, 127.5, 128, -126, -149, -150, -151, 3e38, 1e-10, 2.0**-18, 2.0**31, -(2.0**63), 1e30]

EXACT = {"neg": "neg", "abs": "absolute", "sign": "sign", "floor": "floor", "ceil": "ceil", "round": "round_even",
         "sqrt": "sqrt", "isnan": "isnan", "isinf": "isinf"}
CLOSE = {"exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log1p": 1, "rsqrt": 1, "sin": 1, "cos": 1, "tanh": 2,
         "erf": 1, "sigmoid": 2}
"""Greatest error, in units of the last place."""

INTEGER_OPS = {"add": "add", "sub": "sub", "mul": "mul", "floordiv": "floordiv", "mod": "mod", "shl": "shl",
               "shr": "shr", "pow": "int_power", "maximum": "maximum", "minimum": "minimum", "lt": "lt", "ge": "ge"}

INTEGERS = [d for d in DTYPES.values() if d.is_integer]


def samples(dtype: DType) -> np.ndarray:
    """Random values of every size, and the special ones."""
    if dtype.is_bool:
        return np.array([True, False])
    if dtype.is_float:
        values = RNG.standard_normal(2000) * 10.0 ** RNG.integers(-8, 8, 2000)
        with np.errstate(over="ignore"):
            return np.concatenate([values, SPECIAL]).astype(numpy_dtype(dtype))
    host = numpy_dtype(dtype)
    ends = np.array([dtype.min_int, dtype.max_int, dtype.max_int - 1, 0, 1, 2, 3, 5, 7], host)
    small = RNG.integers(0, 70, 500).astype(host)
    return np.concatenate([RNG.integers(dtype.min_int, dtype.max_int, 1500, host, endpoint=True), ends, small, -small])


@cache
def looped(word: Callable, operands: int) -> Callable:
    """The word on every element, compiled for each type it is called with."""
    if operands == 1:

        @njit(error_model="numpy")
        def loop(out, a):
            for i in range(len(out)):
                out[i] = word(a[i])
    else:

        @njit(error_model="numpy")
        def loop(out, a, b):
            for i in range(len(out)):
                out[i] = word(a[i], b[i])

    return loop


def apply(word: Callable, out: np.ndarray, *operands: np.ndarray) -> np.ndarray:
    """Fill `out` with the word of the operands' elements."""
    looped(word, len(operands))(out, *operands)
    return out


def errors(got: np.ndarray, want: np.ndarray) -> float:
    """The greatest difference in units of the last place; infinite where one is NaN or infinite alone."""
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(np.where(np.isfinite(want), want, 1)))
        away = np.where(np.isfinite(got) & np.isfinite(want), np.abs(got.astype("f8") - want) / unit, np.inf)
    return float(np.where(same, 0, away).max())


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions(name: str, dtype: DType) -> None:
    x = samples(dtype)
    want = evaluate(name, [x], BOOL if name.startswith("is") else dtype)
    got = apply(getattr(words, EXACT[name]), np.empty_like(want), x)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", CLOSE)
def test_elementary_functions(name: str, dtype: DType) -> None:
    x = samples(dtype)
    want = evaluate(name, [x], dtype)
    assert errors(apply(getattr(words, name), np.empty_like(want), x), want) <= CLOSE[name]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integers_to_the_bit(name: str, dtype: DType) -> None:
    x = samples(dtype)
    y = RNG.permutation(samples(dtype))
    for other in (y, y % numpy_dtype(dtype).type(67)):
        want = evaluate(name, [x, other], BOOL if name in ("lt", "ge") else dtype)
        got = apply(getattr(words, INTEGER_OPS[name]), np.empty_like(want), x, other)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("source", [d for d in DTYPES.values() if d not in (F16, BF16)], ids=str)
def test_casts_between_all_types(source: DType) -> None:
    """Half floats as targets stand in f32; as sources they are f32."""
    x = samples(source)
    for target in DTYPES.values():
        held = np.dtype(np.float32) if target in (F16, BF16) else numpy_dtype(target)
        want = evaluate("cast", [x], target).astype(held)
        got = apply(getattr(words, f"to_{target}"), np.empty_like(want), x)
        np.testing.assert_array_equal(got, want, err_msg=f"{source} as {target}")


@pytest.mark.parametrize("target", [F16, BF16], ids=str)
def test_one_rounding_on_the_way_to_a_half_float(target: DType) -> None:
    """Just above a tie between two halves: rounded to f32 first it would be the tie, and go to even."""
    step = 2.0 ** -(target.mantissa + 1)
    x = np.array([1 + step + 2.0**-40, 1 + step, 1 + step - 2.0**-40, 1 + 3 * step, -1 - step - 2.0**-40])
    want = evaluate("cast", [x], target).astype(np.float32)
    np.testing.assert_array_equal(apply(getattr(words, f"to_{target}"), np.empty_like(want), x), want)
    whole = np.array([2**62 + 2**62 // 2**(target.mantissa + 1) + 1, 2**53 + 1, -(2**63), 2**63 - 1])
    want = evaluate("cast", [whole], target).astype(np.float32)
    np.testing.assert_array_equal(apply(getattr(words, f"to_{target}"), np.empty_like(want), whole), want)


@pytest.mark.parametrize(("name", "dtype"), [("rand", F32), ("randn", F32), ("randint", U32)])
def test_random_numbers(name: str, dtype: DType) -> None:
    seeds, offsets = RNG.integers(-(2**63), 2**63 - 1, (2, 500))
    want = evaluate(name, [seeds, offsets], dtype)
    got = apply(getattr(words, name), np.empty_like(want), seeds, offsets)
    assert errors(got, want) <= (2 if name == "randn" else 0)


@pytest.mark.parametrize(("lo", "hi", "step"), [
    (0, 10, 3), (0, 9, 3), (10, 0, -1), (0, 0, 1), (-(2**63), 2**63 - 1, 2**62), (2**63 - 1, -(2**63), -(2**63)),
    (5, 1, 2), (2**63 - 3, 2**63 - 1, 5)])
def test_trips(lo: int, hi: int, step: int) -> None:
    @njit
    def count(lo, hi, step):
        return words.trips(lo, hi, step)

    assert count(lo, hi, step) == len(range(lo, hi, step))
