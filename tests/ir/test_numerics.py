"""Every elementwise op against independent arithmetic: Python integers, exact fractions, the math module."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilelang.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, I8, I64, U32, DType
from tilelang.ir.host_types import dtype_of, numpy_dtype, scalar
from tilelang.ir.numerics import BY_BITS, BY_REAL, BY_VALUE, evaluate
from tilelang.ir.rules import accepts
from tilelang.ir.tile_ops import TILE_OPS

INTEGERS = [d for d in DTYPES.values() if d.is_integer]
FLOATS = [d for d in DTYPES.values() if d.is_float]


def integers(dtype: DType) -> list[int]:
    """Specials of an integer type: around 0, the ends, powers of two, and the width (for shifts)."""
    near = {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100}
    values = (
        near
        | {-v for v in near}
        | {dtype.min_int + d for d in (0, 1, 2)}
        | {dtype.max_int - d for d in (0, 1, 2)}
    )
    return sorted(v for v in values if dtype.min_int <= v <= dtype.max_int)


def floats(dtype: DType) -> np.ndarray:
    """Zeros, ones, ends of the normal and the subnormal range, ties, infinities, NaN."""
    tiny, huge = 2.0 ** -(2 ** (dtype.exponent - 1) - 2), 2.0 ** (2 ** (dtype.exponent - 1) - 1)
    eps = 2.0**-dtype.mantissa
    values = [
        0.0,
        1.0,
        1 + eps,
        1.5,
        2.5,
        3.0,
        0.5,
        0.1,
        88.0,
        tiny,
        tiny * eps,
        huge,
        huge * (2 - eps),
        1e-3,
        math.pi,
    ]
    both = [s * v for v in values for s in (1, -1)]
    return evaluate("cast", [np.array([*both, math.inf, -math.inf, math.nan])], dtype)


def wrap(value: int, dtype: DType) -> int:
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.is_signed and value > dtype.max_int else value


def grid(values: list[int] | np.ndarray, dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """All pairs."""
    array = np.asarray(values, numpy_dtype(dtype))
    return array[:, None].repeat(len(array), 1), array[None, :].repeat(len(array), 0)


def int_pow(a: int, b: int) -> int:
    if b < 0:
        return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)
    return pow(a, b, 1 << 64)


def int_shl(width: int) -> Callable[[int, int], int]:
    return lambda a, b: a << b if 0 <= b < width else 0


def int_shr(width: int) -> Callable[[int, int], int]:
    return lambda a, b: a >> b if 0 <= b < width else (-1 if a < 0 else 0)


def int_functions(dtype: DType) -> dict[str, Callable[[int, int], int]]:
    return {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "and": operator.and_,
        "or": operator.or_,
        "xor": operator.xor,
        "floordiv": lambda a, b: a // b if b else 0,
        "mod": lambda a, b: a % b if b else 0,
        "maximum": max,
        "minimum": min,
        "pow": int_pow,
        "shl": int_shl(dtype.bits),
        "shr": int_shr(dtype.bits),
    }


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", int_functions(I8))
def test_integer_binary(name: str, dtype: DType) -> None:
    a, b = grid(integers(dtype), dtype)
    result = evaluate(name, [a, b], dtype)
    expected = [
        wrap(int_functions(dtype)[name](int(p), int(q)), dtype) for p, q in zip(a.flat, b.flat, strict=True)
    ]
    assert dtype_of(result) == dtype
    assert [int(v) for v in result.flat] == expected


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize(
    ("name", "function"),
    [("neg", operator.neg), ("abs", abs), ("invert", operator.invert), ("sign", lambda a: (a > 0) - (a < 0))],
)
def test_integer_unary(name: str, function: Callable[[int], int], dtype: DType) -> None:
    values = integers(dtype)
    result = evaluate(name, [np.array(values, numpy_dtype(dtype))], dtype)
    assert [int(v) for v in result] == [wrap(function(v), dtype) for v in values]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(name: str, dtype: DType) -> None:
    if not accepts(name, dtype):
        assert dtype.is_bool and name not in ("eq", "ne")
        return
    values = floats(dtype) if dtype.is_float else [0, 1] if dtype.is_bool else integers(dtype)
    a, b = grid(values, dtype)
    result = evaluate(name, [a, b], BOOL)
    compare = getattr(operator, name)
    kind = float if dtype.is_float else int
    assert result.dtype == np.bool_
    assert result.ravel().tolist() == [compare(kind(p), kind(q)) for p, q in zip(a.flat, b.flat, strict=True)]


# ------------------------------------------------------------------------------------ floats


def nearest(value: Fraction, dtype: DType) -> float:
    """Round to nearest even, straight from the definition, in exact arithmetic. A zero comes out as +0."""
    if value == 0:
        return 0.0
    low = 2 - 2 ** (dtype.exponent - 1)
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    while Fraction(2) ** exponent > magnitude:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    quantum = Fraction(2) ** (max(exponent, low) - dtype.mantissa)
    rounded = round(magnitude / quantum) * quantum  # Fraction rounds half to even
    sign = 1 if value > 0 else -1
    if rounded >= Fraction(2) ** (2 ** (dtype.exponent - 1)):
        return sign * math.inf
    return sign * float(rounded)


def same(actual: float, expected: float) -> bool:
    return math.isnan(actual) if math.isnan(expected) else actual == expected


EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_float_arithmetic_rounds_once(name: str, dtype: DType) -> None:
    a, b = grid(floats(dtype), dtype)
    result = evaluate(name, [a, b], dtype)
    assert dtype_of(result) == dtype
    for p, q, r in zip(map(float, a.flat), map(float, b.flat), map(float, result.flat), strict=True):
        if math.isfinite(p) and math.isfinite(q) and not (name == "div" and q == 0):
            assert r == nearest(EXACT[name](Fraction(p), Fraction(q)), dtype), (p, q)
        else:
            with np.errstate(all="ignore"):
                plain = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
                assert same(r, float(plain(np.float64(p), np.float64(q)))), (p, q)


def random_bits(dtype: DType, count: int, seed: int) -> np.ndarray:
    """Floats of random bit patterns: every exponent, NaNs too."""
    bits = np.random.default_rng(seed).integers(0, 1 << dtype.bits, count, dtype=np.uint64)
    return bits.astype(f"u{dtype.bytes}").view(numpy_dtype(dtype))


@pytest.mark.parametrize("target", FLOATS, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_float_to_float_rounds_to_nearest_even_once(source: DType, target: DType) -> None:
    values = [random_bits(source, 500, 1), floats(source)]
    if source == F64:  # ties of the target, and a hair beside them: where rounding twice goes wrong
        base = evaluate("cast", [random_bits(target, 500, 2)], F64)
        base = base[np.isfinite(base)]
        half = 2.0 ** -(target.mantissa + 1)
        values += [base * (1 + half), base * (1 + half) * (1 + 2.0**-50), base * (1 + half) * (1 - 2.0**-50)]
    array = np.concatenate(values)
    with np.errstate(all="ignore"):
        result = evaluate("cast", [array], target)
    for value, rounded in zip(map(float, array), map(float, result), strict=True):
        expected = nearest(Fraction(value), target) if math.isfinite(value) else value
        assert same(rounded, expected), value


@pytest.mark.parametrize("target", FLOATS, ids=str)
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_integer_to_float_rounds_once(source: DType, target: DType) -> None:
    values = set(integers(source))
    for bits in range(target.mantissa + 2, source.bits):
        tie = (1 << bits) + (1 << (bits - target.mantissa - 1))
        values |= {s * (tie + d) for s in (1, -1) for d in (-1, 0, 1)}
    kept = sorted(v for v in values if source.min_int <= v <= source.max_int)
    result = evaluate("cast", [np.array(kept, numpy_dtype(source))], target)
    for value, rounded in zip(kept, map(float, result), strict=True):
        assert rounded == nearest(Fraction(value), target), value


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_float_to_integer_truncates_and_saturates(source: DType, target: DType) -> None:
    ends = np.array([float(target.min_int), float(target.max_int)] * 3) * np.repeat([1.0, 1.001, 0.999], 2)
    ends = np.concatenate(
        [ends, [510.0, -0.9, 0.9, -1.0, float(target.max_int) + 1, float(target.min_int) - 1]]
    )
    array = np.concatenate([floats(source), random_bits(source, 300, 3), evaluate("cast", [ends], source)])
    result = evaluate("cast", [array], target)
    for value, whole in zip(map(float, array), map(int, result), strict=True):
        if math.isnan(value):
            expected = 0
        elif math.isinf(value):
            expected = target.max_int if value > 0 else target.min_int
        else:
            expected = min(max(int(value), target.min_int), target.max_int)
        assert whole == expected, value


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_integer_to_integer_wraps(source: DType, target: DType) -> None:
    values = integers(source)
    result = evaluate("cast", [np.array(values, numpy_dtype(source))], target)
    assert [int(v) for v in result] == [wrap(v, target) for v in values]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_bool_to_and_from(dtype: DType) -> None:
    assert evaluate("cast", [np.array([True, False])], dtype).astype(np.float64).tolist() == [1, 0]
    zero_one_two = evaluate("cast", [np.array([0, 1, 2])], dtype)
    assert evaluate("cast", [zero_one_two], BOOL).tolist() == [False, True, True]
    if dtype.is_float:
        specials = evaluate("cast", [np.array([math.nan, -math.inf, -0.0])], dtype)
        assert evaluate("cast", [specials], BOOL).tolist() == [True, True, False]


MATH: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "expm1": math.expm1,
    "log": math.log,
    "log2": math.log2,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "erf": math.erf,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "abs": abs,
    "neg": operator.neg,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", MATH)
def test_functions_of_one_float(name: str, dtype: DType) -> None:
    positive = name in ("log", "log2", "sqrt", "rsqrt")
    points = np.concatenate(
        [np.linspace(0.01 if positive else -9 if name != "log1p" else -0.9, 9, 97), [0.5, 1.5, 2.5]]
    )
    array = evaluate("cast", [points], dtype)
    result = evaluate(name, [array], dtype).astype(np.float64)
    expected = np.array([MATH[name](float(v)) for v in array])
    ulps = 2.5 if dtype == F64 else 0.51  # in f64 the reference itself is off by a bit
    assert np.all(np.abs(result - expected) <= np.abs(expected) * 2.0**-dtype.mantissa * ulps)


SPECIAL_VALUES = [
    ("exp", [math.inf, -math.inf, 1000.0, -1000.0], [math.inf, 0.0, math.inf, 0.0]),
    ("log", [0.0, -1.0, math.inf], [-math.inf, math.nan, math.inf]),
    ("log1p", [-1.0, -2.0], [-math.inf, math.nan]),
    ("sqrt", [-1.0, math.inf], [math.nan, math.inf]),
    ("rsqrt", [0.0, math.inf, -1.0], [math.inf, 0.0, math.nan]),
    ("sin", [math.inf], [math.nan]),
    ("tanh", [math.inf, -math.inf], [1.0, -1.0]),
    ("erf", [math.inf, -math.inf], [1.0, -1.0]),
    ("sigmoid", [math.inf, -math.inf, -1000.0, 1000.0, 0.0], [1.0, 0.0, 0.0, 1.0, 0.5]),
    ("round", [0.5, 1.5, 2.5, -0.5, -1.5, math.inf], [0.0, 2.0, 2.0, 0.0, -2.0, math.inf]),
    ("sign", [-3.0, 0.0, 5.0, -math.inf], [-1.0, 0.0, 1.0, -1.0]),
    ("floor", [-0.5, math.inf], [-1.0, math.inf]),
]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("name", "inputs", "outputs"), SPECIAL_VALUES, ids=[s[0] for s in SPECIAL_VALUES])
def test_specials_of_functions(name: str, inputs: list[float], outputs: list[float], dtype: DType) -> None:
    array = evaluate("cast", [np.array([*inputs, math.nan])], dtype)
    result = evaluate(name, [array], dtype)
    assert all(map(same, map(float, result), [*outputs, math.nan]))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_isnan_isinf(dtype: DType) -> None:
    array = evaluate("cast", [np.array([1.0, math.inf, -math.inf, math.nan])], dtype)
    assert evaluate("isnan", [array], BOOL).tolist() == [False, False, False, True]
    assert evaluate("isinf", [array], BOOL).tolist() == [False, True, True, False]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_maximum_and_minimum_propagate_nan(dtype: DType) -> None:
    a, b = grid(floats(dtype), dtype)
    for name, choose in (("maximum", max), ("minimum", min)):
        result = evaluate(name, [a, b], dtype)
        for p, q, r in zip(map(float, a.flat), map(float, b.flat), map(float, result.flat), strict=True):
            expected = math.nan if math.isnan(p) or math.isnan(q) else choose(p, q)
            assert same(r, expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_pow(dtype: DType) -> None:
    pairs = [
        (2.0, 0.5),
        (-2.0, 3.0),
        (0.0, -1.0),
        (math.nan, 0.0),
        (1.0, math.nan),
        (2.0, -2.0),
        (math.inf, 0.5),
    ]
    expected = [2**0.5, -8.0, math.inf, 1.0, 1.0, 0.25, math.inf]
    a, b = (evaluate("cast", [np.array(column)], dtype) for column in zip(*pairs, strict=True))
    result = evaluate("pow", [a, b], dtype).astype(np.float64)
    np.testing.assert_allclose(result, expected, rtol=2.0**-dtype.mantissa)
    negative_root = evaluate("pow", [scalar(-2.0, dtype), scalar(0.5, dtype)], dtype)
    assert math.isnan(float(negative_root))


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_fma_rounds_once(dtype: DType) -> None:
    triples = [np.concatenate([random_bits(dtype, 3000, seed), floats(dtype)]) for seed in (5, 6, 7)]
    eps = 2.0**-dtype.mantissa
    host = numpy_dtype(dtype).type
    # (1 + eps)^2 - (1 + 2 eps) = eps^2: lost if the product is rounded first.
    hard = [(1 + eps, 1 + eps, -(1 + 2 * eps)), (1 + eps, 1 - eps, -1.0), (1 + eps, 1 + eps, 2.0**-90)]
    if dtype == F32:  # rounded to f64, just above a tie; its neighbour is the tie
        hard.append((1 + 2.0**-12, 1 + 2.0**-12, 2.0**-52 - 2.0**-70))
    hard += [(3.0, 2.0**-1, eps**3), (1 + eps, 0.5, 2.0**-70), (1 + eps, -0.5, -(2.0**-70)), (0.0, 5.0, -0.0)]
    a, b, c = (
        np.concatenate([t, np.array(h, host)]) for t, h in zip(triples, zip(*hard, strict=True), strict=True)
    )
    result = evaluate("fma", [a, b, c], dtype)
    for p, q, r, s in zip(*(map(float, v) for v in (a, b, c, result)), strict=True):
        if math.isfinite(p) and math.isfinite(q) and math.isfinite(r):
            assert s == nearest(Fraction(p) * Fraction(q) + Fraction(r), dtype), (p, q, r)
        else:
            with np.errstate(all="ignore"):
                assert same(s, float(np.float64(p) * np.float64(q) + np.float64(r))), (p, q, r)


@given(st.tuples(*[st.floats(width=32, allow_nan=False, allow_infinity=False)] * 3))
def test_fma_f32_property(operands: tuple[float, float, float]) -> None:
    a, b, c = operands
    result = evaluate("fma", [scalar(v, F32) for v in operands], F32)
    assert float(result) == nearest(Fraction(a) * Fraction(b) + Fraction(c), F32)


def test_half_floats_are_rounded_once_per_op() -> None:
    a, b, c = (scalar(v, F16) for v in (2048.0, 1.0, 0.5))
    assert float(evaluate("add", [a, b], F16)) == 2048.0  # a tie, to even
    assert float(evaluate("fma", [b, a, c], F16)) == 2048.0
    assert float(evaluate("mul", [scalar(300.0, F16), scalar(300.0, F16)], F16)) == math.inf
    assert float(evaluate("add", [scalar(256.0, BF16), scalar(1.0, BF16)], BF16)) == 256.0


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_select_keeps_the_type(dtype: DType) -> None:
    then, other = (evaluate("cast", [np.array(v)], dtype) for v in ([1, 1], [0, 0]))
    result = evaluate("select", [np.array([True, False]), then, other], dtype)
    assert dtype_of(result) == dtype and result.astype(np.float64).tolist() == [1.0, 0.0]


def test_logic() -> None:
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert evaluate("and", [a, b], BOOL).tolist() == [True, False, False, False]
    assert evaluate("or", [a, b], BOOL).tolist() == [True, True, True, False]
    assert evaluate("xor", [a, b], BOOL).tolist() == [False, True, True, False]
    assert evaluate("not", [a], BOOL).tolist() == [False, False, True, True]


def test_every_elementwise_op_has_a_meaning_and_no_other() -> None:
    declared = {name for name, info in TILE_OPS.items() if info.elementwise}
    assert {*BY_BITS, *BY_REAL, *BY_VALUE, "cast"} == declared
    assert len(BY_BITS) + len(BY_REAL) + len(BY_VALUE) + 1 == len(declared)


@pytest.mark.parametrize(
    "name", [n for n, i in TILE_OPS.items() if i.elementwise and n not in ("cast", "select")]
)
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_rank_0_and_broadcast_views(name: str, dtype: DType) -> None:
    """Scalars stay arrays of the right type, and operands may be read-only views with stride 0."""
    info = TILE_OPS[name]
    if name in ("rand", "randn", "randint"):
        operands, dtype = [scalar(3, I64)] * 2, U32 if name == "randint" else F32
    elif accepts(name, dtype):
        operands = [scalar(1, dtype)] * (info.operands or 0)
        dtype = BOOL if name in ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf") else dtype
    else:
        return
    one = evaluate(name, operands, dtype)
    many = evaluate(name, [np.broadcast_to(o, (2, 3)) for o in operands], dtype)
    assert isinstance(one, np.ndarray) and one.shape == () and dtype_of(one) == dtype
    assert many.shape == (2, 3) and dtype_of(many) == dtype
    assert np.array_equal(many.astype(np.float64), np.full((2, 3), one.astype(np.float64)), equal_nan=True)
