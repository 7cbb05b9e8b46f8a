"""Graders of chapter 6."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np

from course.checking import check, fresh
from course.learner import Learner
from tilelang.diagnostics import Span
from tilelang.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, I8, I16, I32, I64, U8, U16, U64, DType
from tilelang.semantics.extents import symbol
from tilelang.semantics.literals import literal
from tilelang.semantics.typed import Cast, Const
from tilelang.semantics.types import TileType

N, M = symbol("N"), symbol("M")


# --- wider ------------------------------------------------------------------------------------------


def test_a_type_with_itself(wider: Learner) -> None:
    for dtype in DTYPES.values():
        check(wider, dtype, dtype, gives=dtype, why="a type and itself have that type together")


def test_the_wider_of_a_kind_wins_on_either_side(wider: Learner) -> None:
    for narrow, wide in ((F16, F32), (BF16, F64), (I8, I64), (U8, U16), (F32, F64), (I16, I32)):
        check(wider, narrow, wide, gives=wide, why="within one kind the wider type wins")
        check(wider, wide, narrow, gives=wide, why="the order of the operands does not matter")


def test_kinds_do_not_mix(wider: Learner) -> None:
    for a, b in ((I32, F32), (U8, I8), (BOOL, I8), (I64, U64), (F64, I8), (BOOL, U8), (I8, U64)):
        check(wider, a, b, gives=None, why="signed, unsigned, float and bool do not mix without `as`")


def test_f16_and_bf16_do_not_mix(wider: Learner) -> None:
    check(wider, F16, BF16, gives=None, why="f16 and bf16 are as wide as each other: neither wins")
    check(wider, BF16, F16, gives=None, why="f16 and bf16 are as wide as each other: neither wins")


# --- common_dtype -----------------------------------------------------------------------------------


def test_one_operand_keeps_its_type(common_dtype: Learner) -> None:
    for dtype in (F16, BOOL, I64):
        check(common_dtype, [dtype], gives=dtype, why="one operand alone keeps its type")


def test_the_widest_may_stand_anywhere(common_dtype: Learner) -> None:
    for order in itertools.permutations([I8, I16, I64]):
        check(common_dtype, list(order), gives=I64, why="the widest of all wins, wherever it stands")


def test_one_stranger_spoils_it(common_dtype: Learner) -> None:
    for dtypes in ([I32, F32], [I8, I8, U8], [F16, F16, BF16], [I8, I32, I64, F32], [F32, I32, F32]):
        check(common_dtype, dtypes, gives=None, why="one type that does not mix makes the answer None")


def test_what_the_first_two_become_counts(common_dtype: Learner) -> None:
    check(common_dtype, [F16, F32, BF16], gives=F32, why="f16 with f32 is f32, and f32 with bf16 is f32")
    check(common_dtype, [F16, BF16, F32], gives=None, why="f16 with bf16 has no type, whatever comes after")


# --- reduced_shape ----------------------------------------------------------------------------------


def test_axes_go(reduced_shape: Learner) -> None:
    check(reduced_shape, (4, 8, 2), (1,), False, gives=(4, 2), why="the reduced axis is left out")
    check(reduced_shape, (4, 8, 2), (0, 2), False, gives=(8,), why="all reduced axes are left out")
    check(reduced_shape, (5,), (0,), False, gives=(), why="nothing is left: a scalar")


def test_axes_stay_with_extent_1(reduced_shape: Learner) -> None:
    check(reduced_shape, (4, 8, 2), (1,), True, gives=(4, 1, 2), why="with keepdims the axis stays, with extent 1")
    check(reduced_shape, (3, 3), (0, 1), True, gives=(1, 1), why="with keepdims every axis stays")


def test_it_is_the_axis_that_counts_not_the_extent(reduced_shape: Learner) -> None:
    check(reduced_shape, (1, 0 + 2, 1), (2,), False, gives=(1, 2), why="axes are numbers of axes, not extents")
    check(reduced_shape, (2, 3, 4), (), False, gives=(2, 3, 4), why="without axes nothing goes")


def test_shapes_like_numpy(reduced_shape: Learner) -> None:
    rng = fresh()
    for _ in range(30):
        shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 4)))
        axes = tuple(sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape)))))
        for keep in (False, True):
            expected = np.zeros(shape).sum(axis=axes, keepdims=keep).shape
            check(reduced_shape, shape, axes, keep, gives=expected, why="NumPy's sum has this shape")


# --- broadcast_extents ------------------------------------------------------------------------------


def test_an_extent_of_1_stretches(broadcast_extents: Learner) -> None:
    for extent in (1, 2, 7, 128):
        check(broadcast_extents, 1, extent, gives=extent, why="1 stretches to the other's extent")
        check(broadcast_extents, extent, 1, gives=extent, why="1 stretches on either side")


def test_other_extents_must_agree(broadcast_extents: Learner) -> None:
    check(broadcast_extents, 8, 8, gives=8, why="equal extents stay")
    for a, b in ((8, 4), (2, 6), (3, 2)):
        check(broadcast_extents, a, b, gives=None, why="different extents, neither of them 1, do not fit")


def test_unknown_extents(broadcast_extents: Learner) -> None:
    check(broadcast_extents, N, N, gives=N, why="an unknown extent equals itself")
    check(broadcast_extents, 1, N, gives=N, why="1 stretches to an unknown extent too")
    check(broadcast_extents, N, 1, gives=N, why="1 stretches to an unknown extent too")
    check(broadcast_extents, N, 8, gives=8, why="where equality is unknown the extents are taken as equal; 8 says more")
    check(broadcast_extents, 8, N, gives=8, why="where equality is unknown the extents are taken as equal; 8 says more")
    check(broadcast_extents, N, N + 1, gives=None, why="N and N + 1 surely differ")


# --- broadcast_shapes -------------------------------------------------------------------------------


def test_shapes_align_on_the_right(broadcast_shapes: Learner) -> None:
    check(broadcast_shapes, (8, 1), (4,), gives=(8, 4), why="axes are aligned on the right")
    check(broadcast_shapes, (4,), (8, 1), gives=(8, 4), why="the shorter shape may come first")
    check(broadcast_shapes, (), (2, 3), gives=(2, 3), why="a scalar goes with every shape")
    check(broadcast_shapes, (), (), gives=(), why="two scalars make a scalar")


def test_shapes_that_do_not_fit(broadcast_shapes: Learner) -> None:
    for a, b in (((8,), (4,)), ((2, 3), (3, 2)), ((4, 8), (4,)), ((2, 3, 4), (2, 4))):
        check(broadcast_shapes, a, b, gives=None, why="two extents differ and neither is 1")


def test_broadcasting_like_numpy(broadcast_shapes: Learner) -> None:
    rng = fresh()
    for _ in range(60):
        a = tuple(rng.choice((1, 1, 2, 3)) for _ in range(rng.randint(0, 4)))
        b = tuple(rng.choice((1, 1, 2, 3)) for _ in range(rng.randint(0, 4)))
        try:
            expected = np.broadcast_shapes(a, b)
        except ValueError:
            expected = None
        check(broadcast_shapes, a, b, gives=expected, why="NumPy's rule")


def test_unknown_extents_in_shapes(broadcast_shapes: Learner) -> None:
    check(broadcast_shapes, (N, 1), (1, M), gives=(N, M), why="1 stretches to an unknown extent")
    check(broadcast_shapes, (N,), (N + 1,), gives=None, why="N and N + 1 surely differ")
    check(broadcast_shapes, (N, 8), (64, 8), gives=(64, 8), why="an unknown extent is taken to fit")


# --- dot_shape --------------------------------------------------------------------------------------


def test_rows_times_columns(dot_shape: Learner) -> None:
    rng = fresh()
    for _ in range(10):
        m, k, n = (rng.randint(1, 9) for _ in range(3))
        check(dot_shape, (m, k), (k, n), gives=(m, n), why="[M, K] with [K, N] gives [M, N]")


def test_inner_extents_must_agree(dot_shape: Learner) -> None:
    check(dot_shape, (4, 8), (4, 8), gives=None, why="the last extent of a meets the first of b: 8 and 4")
    check(dot_shape, (4, 8), (7, 4), gives=None, why="8 and 7 differ")
    check(dot_shape, (2, 3), (2, 5), gives=None, why="3 and 2 differ")
    check(dot_shape, (4, 1), (8, 4), gives=None, why="a product does not broadcast: 1 does not stretch")


def test_batches(dot_shape: Learner) -> None:
    check(dot_shape, (2, 4, 8), (2, 8, 16), gives=(2, 4, 16), why="the batch axis stays in front")
    check(dot_shape, (2, 4, 8), (3, 8, 16), gives=None, why="batches of 2 and 3 do not go together")
    check(dot_shape, (1, 4, 8), (3, 8, 16), gives=None, why="a batch of 1 does not stretch")


def test_ranks(dot_shape: Learner) -> None:
    for a, b in (((8,), (8,)), ((4, 8), (8,)), ((4, 8), (2, 8, 4)), ((2, 2, 4, 8), (2, 2, 8, 4)), ((), ())):
        check(dot_shape, a, b, gives=None, why="both have rank 2, or both rank 3")


def test_unknown_inner_extents(dot_shape: Learner) -> None:
    check(dot_shape, (8, N), (N, 4), gives=(8, 4), why="N meets itself")
    check(dot_shape, (8, N), (64, 4), gives=(8, 4), why="an unknown extent is taken to fit")
    check(dot_shape, (8, N), (N + 1, 4), gives=None, why="N and N + 1 surely differ")


# --- holds_int --------------------------------------------------------------------------------------


def test_integers_from_end_to_end(holds_int: Learner) -> None:
    for dtype in (I8, U8, I16, U16, I32, I64, U64):
        low, high = (-(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1) if dtype.is_signed else (0, 2**dtype.bits - 1)
        for value, expected in ((low, True), (high, True), (low - 1, False), (high + 1, False), (0, True)):
            check(holds_int, dtype, value, gives=expected, why=f"{dtype} holds {low} to {high}")


def test_floats_hold_what_their_digits_reach(holds_int: Learner) -> None:
    for dtype, digits in ((F16, 11), (BF16, 8), (F32, 24), (F64, 53)):
        full = 2**digits
        for value, expected in ((full, True), (full + 1, False), (full - 1, True), (full + 2, True), (1 - full, True)):
            check(holds_int, dtype, value, gives=expected, why=f"{dtype} has {digits} binary digits")
        check(holds_int, dtype, -full - 1, gives=False, why="negative numbers need as many digits")


def test_trailing_zeros_cost_nothing_up_to_the_largest(holds_int: Learner) -> None:
    check(holds_int, F32, 3 << 100, gives=True, why="3 * 2^100 has two digits that matter")
    check(holds_int, F16, 65504, gives=True, why="the largest f16")
    check(holds_int, F16, 65536, gives=False, why="beyond the largest f16, 65504")
    check(holds_int, F32, 1 << 128, gives=False, why="beyond the largest f32")


def test_zero_and_bool(holds_int: Learner) -> None:
    for dtype in (F16, BF16, F64, I8, U64):
        check(holds_int, dtype, 0, gives=True, why="every number type holds 0")
    for value in (0, 1):
        check(holds_int, BOOL, value, gives=False, why="no number is a bool")


# --- fits -------------------------------------------------------------------------------------------


def test_whole_numbers_must_be_held_exactly(fits: Learner) -> None:
    for value, dtype, expected in (
        (255, U8, True),
        (256, U8, False),
        (-1, U8, False),
        (2049, F16, False),
        (2048, F16, True),
        (16777217, F32, False),
        (1, BOOL, False),
    ):
        check(fits, value, dtype, gives=expected, why="an int must be held exactly")


def test_a_float_is_for_floats(fits: Learner) -> None:
    for dtype in (I8, I64, U8, BOOL):
        check(fits, 1.0, dtype, gives=False, why="a float literal never becomes an integer by itself")
    for dtype in (F16, BF16, F32, F64):
        check(fits, 0.1, dtype, gives=True, why="a float literal is rounded")


def test_rounding_to_infinity_is_no_rounding(fits: Learner) -> None:
    check(fits, 65519.0, F16, gives=True, why="rounds to 65504")
    check(fits, 65520.0, F16, gives=False, why="would round to infinity")
    check(fits, -1e39, F32, gives=False, why="would round to -infinity")
    check(fits, 1e39, F64, gives=True, why="f64 goes to 1.8e308")


def test_infinity_and_nan_are_floats(fits: Learner) -> None:
    for value in (math.inf, -math.inf, math.nan):
        check(fits, value, F16, gives=True, why="every float type has infinities and NaN")
        check(fits, value, I32, gives=False, why="no integer type has infinities or NaN")


def test_an_unknown_int_fits_all_but_bool(fits: Learner) -> None:
    for dtype in (I32, U8, F16):
        check(fits, N, dtype, gives=True, why="an unknown int may turn out to fit")
    check(fits, N, BOOL, gives=False, why="a number is no bool")


# --- coerce -----------------------------------------------------------------------------------------

HERE = Span(3, 9)


def test_the_same_type_needs_nothing(coerce: Learner) -> None:
    for dtype in (F32, I8, BOOL):
        value = Const(True if dtype is BOOL else 1, type=TileType(dtype, (4,)), span=HERE)
        check(coerce, value, dtype, "a value", gives=value, why="it has the type already: no Cast around it")


def test_wider_types_get_a_cast(coerce: Learner) -> None:
    value = Const(1, type=TileType(I8, (4, 2)), span=HERE)
    check(
        coerce,
        value,
        I32,
        "a value",
        gives=Cast(value, type=TileType(I32, (4, 2)), span=HERE),
        why="i8 becomes i32 without `as`, and keeps its shape",
    )


def test_a_literal_takes_the_type(coerce: Learner) -> None:
    check(
        coerce,
        literal(3, HERE),
        F16,
        "a value",
        gives=Const(3.0, type=TileType(F16), span=HERE),
        why="a literal takes the type of what it meets",
    )
    check(coerce, literal(300, HERE), U8, "a value", raises="E0301", why="300 does not fit u8, which `convert` reports")


def test_all_else_is_a_mistake(coerce: Learner) -> None:
    for source, target in ((I32, F32), (F32, F16), (BF16, F16), (BOOL, I32), (I64, I32), (U8, I16)):
        value = Const(1, type=TileType(source, (4,)), span=HERE)
        check(coerce, value, target, "the store to `y`", raises="E0303", why="only wider types of one kind convert")


def test_the_mistake_says_what_to_do(coerce: Learner) -> None:
    value = Const(1, type=TileType(I32), span=HERE)
    found = check(
        coerce,
        value,
        F32,
        "the store to `y`",
        raises="E0303",
        says="the store to `y`.*f32.*i32",
        why="the title says what needs which type, and which it got",
    )
    check(coerce, value, F32, "the store to `y`", raises="E0303", says="as f32", why="the help shows the `as` to write")
    span = found.diagnostics[0].span
    if (span.start, span.end) != (3, 9):
        check(coerce, value, F32, "it", gives="a mistake at the value's span, 3 to 9", why=f"it points at {span}")


# --- round_float ------------------------------------------------------------------------------------


BF16_NUMBERS = (np.arange(0x7F80, dtype=np.uint32) << 16).view(np.float32).astype(np.float64)
"""All that are not negative, in order: the number's place is its bit pattern."""


def _rounded(value: float, dtype: DType) -> float:
    """The nearest number, by NumPy; for bf16, which NumPy would round twice, by looking at all of them."""
    if dtype == F64 or value == 0 or not math.isfinite(value):
        return value
    if dtype != BF16:
        with np.errstate(all="ignore"):
            return float({F16: np.float16, F32: np.float32}[dtype](value))
    distances = np.abs(np.append(BF16_NUMBERS, 2.0**128) - abs(value))
    nearest = np.flatnonzero(distances == distances.min())
    place = next(int(p) for p in nearest if len(nearest) == 1 or p % 2 == 0)
    return math.copysign(float(BF16_NUMBERS[place]) if place < len(BF16_NUMBERS) else math.inf, value)


def test_what_is_exact_stays(round_float: Learner) -> None:
    for dtype in (F16, BF16, F32, F64):
        for value in (1.0, -0.5, 0.0, -0.0, math.inf, -math.inf, math.nan, 3.0):
            check(round_float, value, dtype, gives=value, why="it is a number of the type already")
    check(round_float, 0.1, F64, gives=0.1, why="Python's floats are f64")


def test_halves_go_to_even(round_float: Learner) -> None:
    check(round_float, 2049.0, F16, gives=2048.0, why="half way between 2048 and 2050: the even significand")
    check(round_float, 2051.0, F16, gives=2052.0, why="half way between 2050 and 2052: the even significand")
    check(round_float, -2049.0, F16, gives=-2048.0, why="half way, below zero")
    check(round_float, 16777217.0, F32, gives=16777216.0, why="half way between two f32")


def test_beyond_the_largest_is_infinity(round_float: Learner) -> None:
    check(round_float, 65519.99, F16, gives=65504.0, why="nearer to the largest f16 than to what would be next")
    check(round_float, 65520.0, F16, gives=math.inf, why="half way to what would be the next number")
    check(round_float, -1e300, F32, gives=-math.inf, why="far beyond the largest")
    for dtype in (F16, BF16, F32):
        largest = sys.float_info.max
        check(round_float, largest, dtype, gives=math.inf, why="the largest f64: `ldexp` cannot hold what it rounds to")
    check(round_float, 3.4e38, BF16, gives=_rounded(3.4e38, BF16), why="bf16 goes as far as f32")


def test_subnormal_numbers(round_float: Learner) -> None:
    tiny = 2.0**-24
    for value, expected in (
        (tiny, tiny),
        (tiny * 1.4, tiny),
        (tiny * 0.5, 0.0),
        (tiny * 1.5, 2 * tiny),
        (tiny * 0.51, tiny),
        (-tiny * 0.2, -0.0),
    ):
        check(round_float, value, F16, gives=expected, why="below 2^-14 the last bit of an f16 stays worth 2^-24")


def test_rounding_like_numpy(round_float: Learner) -> None:
    rng = fresh()
    for dtype in (F16, BF16, F32):
        low, high = {"f16": (-26, 17)}.get(str(dtype), (-150, 129))
        for _ in range(60):
            value = math.ldexp(rng.uniform(1, 2), rng.randint(low, high)) * rng.choice((1, -1))
            check(round_float, value, dtype, gives=_rounded(value, dtype), why=f"the nearest {dtype}")
