"""Graders of chapter 7."""

from __future__ import annotations

import math

import numpy as np

from course.checking import check, fresh
from course.harness import kernel_of
from course.learner import Learner, Wrong
from tilelang.dtypes import BOOL, DTYPES, I8, I16, I32, I64, U8, U32, U64
from tilelang.ir.host_types import numpy_dtype
from tilelang.semantics import typed
from tilelang.semantics.types import TileType

# --- reachable --------------------------------------------------------------------------------------

STOP = typed.Return()
A, B, C = (typed.Print(text) for text in "abc")


def test_without_return_all_is_reached(reachable: Learner) -> None:
    check(reachable, (A, B, C), gives=(A, B, C), why="no `return`: everything is reached")
    check(reachable, (), gives=(), why="an empty block")


def test_what_follows_a_return_is_not_reached(reachable: Learner) -> None:
    check(reachable, (A, STOP, B), gives=(A, STOP), why="the `return` itself is reached, what follows is not")
    check(reachable, (A, STOP, B, STOP, C), gives=(A, STOP), why="the first `return` decides")
    check(reachable, (STOP,), gives=(STOP,), why="the `return` itself is reached")


def test_a_return_in_an_inner_block(reachable: Learner) -> None:
    maybe = typed.If(typed.Const(True, type=TileType(BOOL)), (STOP,))
    check(reachable, (A, maybe, B), gives=(A, maybe, B), why="a `return` inside an `if` may not run")


# --- floor_divide -----------------------------------------------------------------------------------


def _pairs(dtype: object, rng: object) -> tuple[np.ndarray, np.ndarray]:
    low, high = dtype.min_int, dtype.max_int  # type: ignore[attr-defined]
    edges = [low, low + 1, high, high - 1, 0, 1, 2, 3, 7] + ([-1, -2, -7] if low < 0 else [])
    values = edges + [rng.randint(low, high) for _ in range(8)]  # type: ignore[attr-defined]
    pairs = [(a, b) for a in values for b in values]
    host = numpy_dtype(dtype)  # type: ignore[arg-type]
    return np.array([a for a, _ in pairs], host), np.array([b for _, b in pairs], host)


def test_it_rounds_down(floor_divide: Learner) -> None:
    a, b = np.array([7, -7, 7, -7, 6, -6], np.int32), np.array([2, 2, -2, -2, 3, 3], np.int32)
    check(
        floor_divide, a, b, gives=np.array([3, -4, -4, 3, 2, -2], np.int32), why="towards minus infinity, not towards 0"
    )


def test_by_zero_gives_zero(floor_divide: Learner) -> None:
    a, b = np.array([5, -5, 0], np.int8), np.zeros(3, np.int8)
    check(floor_divide, a, b, gives=np.zeros(3, np.int8), why="division by 0 gives 0, and no warning")


def test_the_smallest_by_minus_one_wraps(floor_divide: Learner) -> None:
    for dtype in (np.int8, np.int32, np.int64):
        low = np.iinfo(dtype).min
        check(
            floor_divide,
            np.array([low, 5], dtype),
            np.array([-1, -1], dtype),
            gives=np.array([low, -5], dtype),
            why="the smallest integer by -1 wraps to itself",
        )


def test_every_integer_type(floor_divide: Learner) -> None:
    rng = fresh()
    for dtype in (d for d in DTYPES.values() if d.is_integer):
        a, b = _pairs(dtype, rng)
        exact = [0 if y == 0 else x // y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        wrapped = [v & (2**dtype.bits - 1) for v in exact]
        expected = np.array(wrapped, np.uint64).astype(a.dtype)
        check(floor_divide, a, b, gives=expected, why=f"exact division in {dtype}, rounded down, wrapped")


def test_nothing_undefined_is_divided(floor_divide: Learner) -> None:
    low = np.iinfo(np.int32).min
    a, b = np.array([5, low, 7, low], np.int32), np.array([0, -1, 2, 1], np.int32)
    check(
        floor_divide.via("without_warnings"),
        a,
        b,
        gives=np.array([0, low, 3, low], np.int32),
        why="put a harmless divisor in the place of 0 and -1 before you divide: NumPy must have no reason to warn",
    )


# --- _float_to_integer ------------------------------------------------------------------------------


def _saturated(values: list[float], dtype: object) -> np.ndarray:
    low, high = dtype.min_int, dtype.max_int  # type: ignore[attr-defined]
    exact = [
        0 if math.isnan(v) else low if v == -math.inf else high if v == math.inf else max(low, min(high, int(v)))
        for v in values
    ]
    return np.array(exact, numpy_dtype(dtype))  # type: ignore[arg-type]


def test_it_truncates(_float_to_integer: Learner) -> None:
    values = [1.9, -1.9, 0.5, -0.5, 2.5, -0.0, 100.99]
    check(
        _float_to_integer,
        np.array(values),
        I32,
        gives=_saturated(values, I32),
        why="the fraction is cut off, towards 0",
    )


def test_it_saturates(_float_to_integer: Learner) -> None:
    values = [126.0, 127.0, 127.9, 128.0, 254.0, 1e30, -127.0, -128.0, -128.9, -129.0, -1e30, math.inf, -math.inf]
    check(
        _float_to_integer, np.array(values), I8, gives=_saturated(values, I8), why="beyond the ends it stays at the end"
    )
    check(_float_to_integer, np.array(values), U8, gives=_saturated(values, U8), why="below 0 there is only 0")


def test_nan_is_zero(_float_to_integer: Learner) -> None:
    for dtype in (I8, U8, I32, U64):
        check(
            _float_to_integer,
            np.array([math.nan, 1.0]),
            dtype,
            gives=_saturated([math.nan, 1.0], dtype),
            why="NaN becomes 0",
        )


def test_64_bits(_float_to_integer: Learner) -> None:
    values = [2.0**63, 2.0**63 - 1024, -(2.0**63), -(2.0**63) - 2048, 2.0**62, 2.0**64, 2.0**64 - 2048]
    for dtype in (I64, U64):
        check(
            _float_to_integer,
            np.array(values),
            dtype,
            gives=_saturated(values, dtype),
            why="the largest i64 is no float: 2^63 itself is already beyond it",
        )


def test_nothing_undefined_is_converted(_float_to_integer: Learner) -> None:
    values = [math.nan, math.inf, -math.inf, 1e30, -1e30, 2.0**63, 5.0]
    for dtype in (I8, I32, I64):
        check(
            _float_to_integer.via("without_warnings"),
            np.array(values),
            dtype,
            gives=_saturated(values, dtype),
            why="convert only what is inside the range: NumPy must have no reason to warn",
        )


def test_random_floats(_float_to_integer: Learner) -> None:
    rng = fresh()
    for dtype in (I8, U8, I16, I32, U32, I64, U64):
        values = [math.ldexp(rng.uniform(-2, 2), rng.randint(-3, dtype.bits + 2)) for _ in range(40)]
        check(
            _float_to_integer,
            np.array(values),
            dtype,
            gives=_saturated(values, dtype),
            why=f"truncated, within {dtype}",
        )


# --- broadcast and dot: typing rules ----------------------------------------------------------------

SCALARS = {
    "f32": "0.0",
    "i32": "0",
    "bool": "true",
    "f16": "0.0",
    "i8": "0",
    "f64": "0.0",
    "u8": "0",
    "i64": "0",
    "u32": "0",
}


def _tile(name: str, type: str) -> str:
    return f"%{name}: {type} = const {{value = {SCALARS[type.split('[')[0]]}}}"


def _ill(learner: Learner, text: str, why: str) -> None:
    said = check(learner.via("rule"), text, why=why)
    if not str(said).startswith("IllFormed"):
        raise Wrong(f"{learner.name} of\n{text}\n  expected  a rule that is broken: {why}\n  found     {said}")


def _stretched(operand: str, result: str) -> str:
    return kernel_of(f"{_tile('v', operand)}\n%w: {result} = broadcast %v")


def test_tiles_stretch(broadcast: Learner) -> None:
    for operand, result in (
        ("f32[8]", "f32[4, 8]"),
        ("f32[4, 1]", "f32[4, 8]"),
        ("f32", "f32[2, 3]"),
        ("i32[1, 8]", "i32[3, 8]"),
        ("f32[8]", "f32[8]"),
        ("bool[1, 1]", "bool[2, 4, 8]"),
    ):
        check(
            broadcast.via("rule"),
            _stretched(operand, result),
            gives=result,
            why="extents of 1, and missing axes, stretch",
        )


def test_tiles_that_do_not_stretch(broadcast: Learner) -> None:
    for operand, result in (
        ("f32[8]", "f32[4]"),
        ("f32[4]", "f32[4, 8]"),
        ("f32[8]", "f32[8, 1]"),
        ("f32[4, 8]", "f32[1, 8]"),
    ):
        _ill(broadcast, _stretched(operand, result), f"{operand} does not stretch to {result}")


def test_axes_do_not_go(broadcast: Learner) -> None:
    for operand, result in (("f32[1, 8]", "f32[8]"), ("f32[1]", "f32"), ("f32[2, 1, 8]", "f32[2, 8]")):
        _ill(broadcast, _stretched(operand, result), f"the result has fewer axes: {operand} to {result}")


def test_the_element_type_stays(broadcast: Learner) -> None:
    _ill(broadcast, _stretched("f32[8]", "i32[4, 8]"), "the element type stays")


def _product(a: str, b: str, acc: str, attrs: str = "{tf32 = false}", result: str = "") -> str:
    lines = [_tile("a", a), _tile("b", b), _tile("c", acc), f"%d: {result or acc} = dot %a, %b, %c {attrs}"]
    return kernel_of("\n".join(lines))


def test_products(dot: Learner) -> None:
    for a, b, acc in (
        ("f32[4, 8]", "f32[8, 2]", "f32[4, 2]"),
        ("f16[4, 8]", "f16[8, 2]", "f32[4, 2]"),
        ("i8[4, 8]", "i8[8, 2]", "i32[4, 2]"),
        ("f64[1, 1]", "f64[1, 1]", "f64[1, 1]"),
        ("f32[3, 4, 8]", "f32[3, 8, 2]", "f32[3, 4, 2]"),
    ):
        check(dot.via("rule"), _product(a, b, acc), gives=acc, why="a[M, K] with b[K, N] gives [M, N]")
    text = _product("f32[4, 8]", "f32[8, 2]", "f32[4, 2]", "{tf32 = true}")
    check(dot.via("rule"), text, gives="f32[4, 2]", why="tf32 is for f32")


def test_shapes_of_products(dot: Learner) -> None:
    for a, b, acc in (
        ("f32[4, 8]", "f32[4, 8]", "f32[4, 8]"),
        ("f32[8]", "f32[8]", "f32"),
        ("f32[4, 8]", "f32[8]", "f32[4]"),
        ("f32[2, 4, 8]", "f32[3, 8, 2]", "f32[2, 4, 2]"),
        ("f32[4, 8]", "f32[2, 8, 2]", "f32[2, 4, 2]"),
        ("f32[1, 4, 8]", "f32[3, 8, 2]", "f32[3, 4, 2]"),
        ("f32[1, 1, 4, 8]", "f32[1, 1, 8, 2]", "f32[1, 1, 4, 2]"),
    ):
        _ill(dot, _product(a, b, acc), f"{a} does not multiply {b}")


def test_types_of_products(dot: Learner) -> None:
    for a, b, acc in (
        ("f16[4, 8]", "f32[8, 2]", "f32[4, 2]"),
        ("bool[4, 8]", "bool[8, 2]", "u32[4, 2]"),
        ("i8[4, 8]", "u8[8, 2]", "i32[4, 2]"),
    ):
        _ill(dot, _product(a, b, acc), f"{a} and {b}: one number type on both sides")


def test_the_accumulator(dot: Learner) -> None:
    for a, b, acc in (
        ("f16[4, 8]", "f16[8, 2]", "f16[4, 2]"),
        ("f32[4, 8]", "f32[8, 2]", "f32[2, 4]"),
        ("i8[4, 8]", "i8[8, 2]", "i8[4, 2]"),
        ("f32[4, 8]", "f32[8, 2]", "f32[1, 2]"),
    ):
        _ill(dot, _product(a, b, acc), f"the accumulator {acc} is not of the product's type")


def test_tf32(dot: Learner) -> None:
    _ill(dot, _product("f16[4, 8]", "f16[8, 2]", "f32[4, 2]", "{tf32 = true}"), "tf32 is for f32 operands")
    _ill(dot, _product("f32[4, 8]", "f32[8, 2]", "f32[4, 2]", "{tf32 = 1}"), "tf32 is true or false, not a number")
    _ill(dot, _product("f32[4, 8]", "f32[8, 2]", "f32[4, 2]", ""), "tf32 must be there")
