"""`reduce`, `scan` and `dot` of every element type, on their own and inside a batch of programs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.ir.running import shaped
from tilelang.dtypes import DTYPES, F16, I32, DType, accumulator
from tilelang.ir.host_types import dtype_of, numpy_dtype
from tilelang.ir.numerics import evaluate
from tilelang.ir.reductions import dot, reduce, scan
from tilelang.ir.tile_ops import REDUCE_KINDS, SCAN_KINDS

bfloat16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(0)


def values_of(dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    if dtype.is_float:
        return evaluate("cast", [RNG.integers(-8, 8, shape) * 0.25], dtype)
    low, high = max(dtype.min_int, -(2**40)), min(dtype.max_int, 2**40)
    return RNG.integers(low, high, shape, endpoint=True).astype(numpy_dtype(dtype))


def wrapped(value: object, dtype: DType) -> float | int:
    if dtype.is_float:
        return float(value)  # type: ignore[arg-type]
    bits = int(value) & ((1 << dtype.bits) - 1)  # type: ignore[call-overload]
    return bits - (1 << dtype.bits) if dtype.is_signed and bits > dtype.max_int else bits


FOLDS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if not d.is_bool], ids=str)
@pytest.mark.parametrize("kind", SCAN_KINDS)
def test_reduce_and_scan_of_numbers(kind: str, dtype: DType) -> None:
    array = values_of(dtype, (2, 3, 4))
    result_type = accumulator(dtype) if kind in ("sum", "prod") else dtype
    exact = array.astype(np.float64) if dtype.is_float else array.astype(object)
    for axes in ((0,), (1, 2), (0, 1, 2), ()):
        expected = FOLDS[kind](exact, axis=axes) if axes else exact
        result = reduce(kind, array, axes, result_type)
        assert dtype_of(result) == result_type
        flat = [wrapped(v, result_type) for v in np.asarray(expected, exact.dtype).flat]
        assert [wrapped(v, result_type) for v in result.flat] == [_rounded(v, result_type) for v in flat]
    for axis in range(3):
        for reverse in (False, True):
            result = scan(kind, array, axis, reverse, result_type)
            turned = np.flip(exact, axis) if reverse else exact
            steps = [
                FOLDS[kind](turned.take(range(n + 1), axis), axis=axis) for n in range(array.shape[axis])
            ]
            expected = np.stack(steps[::-1] if reverse else steps, axis)
            assert dtype_of(result) == result_type and result.shape == array.shape
            flat = [_rounded(wrapped(v, result_type), result_type) for v in expected.flat]
            assert [wrapped(v, result_type) for v in result.flat] == flat


def _rounded(value: float | int, dtype: DType) -> float | int:
    return float(evaluate("cast", [np.asarray(value)], dtype)) if dtype.is_float else value


def test_reductions_of_bool() -> None:
    array = np.array([[True, False, True], [True, True, True]])
    assert reduce("sum", array, (1,), I32).tolist() == [2, 3]
    assert reduce("prod", array, (1,), I32).tolist() == [0, 1]
    assert scan("sum", array, 1, True, I32).tolist() == [[2, 1, 1], [3, 2, 1]]
    assert reduce("any", array, (0, 1), DTYPES["bool"]).item() is True
    assert reduce("all", array, (1,), DTYPES["bool"]).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.is_float], ids=str)
def test_nan_in_reductions(dtype: DType) -> None:
    row = [3.0, np.nan, np.inf, np.nan, -np.inf]
    array = evaluate("cast", [np.array(row)], dtype)
    for kind in ("max", "min", "sum", "prod"):
        assert np.isnan(float(reduce(kind, array, (0,), dtype)))
    assert reduce("argmax", array, (0,), I32).item() == 1
    assert reduce("argmin", array, (0,), I32).item() == 1
    ties = evaluate("cast", [np.array([1.0, 5.0, 5.0, 1.0])], dtype)
    assert (reduce("argmax", ties, (0,), I32).item(), reduce("argmin", ties, (0,), I32).item()) == (1, 0)
    assert np.isnan(scan("max", array, 0, False, dtype).astype(float)).tolist() == [
        False,
        True,
        True,
        True,
        True,
    ]
    assert np.isnan(scan("min", array, 0, True, dtype).astype(float)).tolist() == [
        True,
        True,
        True,
        True,
        False,
    ]


def test_half_floats_are_summed_wider() -> None:
    ones = np.ones(4096, np.float16)
    assert reduce("sum", ones, (0,), F16).item() == 4096  # in f16 the sum would stick at 2048
    assert scan("sum", ones, 0, False, F16)[-1] == 4096
    assert reduce("sum", np.full(4, 60000, np.float16), (0,), F16).item() == np.inf
    many = np.full(1000, 1.0, bfloat16)
    assert float(reduce("sum", many, (0,), DTYPES["bf16"])) == 1000


@pytest.mark.parametrize("kind", [k for k in REDUCE_KINDS if k not in ("any", "all")])
def test_reduce_inside_a_batch(kind: str) -> None:
    """The axes of the type, not those of the array that has an axis of programs in front."""
    axes = "(1,)"
    r = shaped(
        f"""
      %i: i32[6] = iota
      %pb: i32[6] = broadcast %p
      %x: i32[6] = mul %i, %pb
      %three: i32[6] = const {{value = 3}}
      %y1: i32[6] = xor %x, %three
      %t: i32[2, 3] = reshape %y1
      %r: i32[2] = reduce %t {{axes = {axes}, kind = "{kind}"}}
    """,
        (2,),
    )
    whole = ((np.arange(6) * np.arange(3)[:, None]) ^ 3).reshape(3, 2, 3)
    assert np.array_equal(r, getattr(np, kind)(whole, axis=2))


def test_reversed_scan_inside_a_batch() -> None:
    r = shaped(
        """
      %i: i32[6] = iota
      %pb: i32[6] = broadcast %p
      %x: i32[6] = add %i, %pb
      %t: i32[2, 3] = reshape %x
      %r: i32[2, 3] = scan %t {axis = 0, kind = "sum", reverse = true}
    """,
        (2, 3),
    )
    whole = (np.arange(6) + np.arange(3)[:, None]).reshape(3, 2, 3)
    assert np.array_equal(r, np.flip(np.cumsum(np.flip(whole, 1), axis=1), 1))


@pytest.mark.parametrize(
    "varying", [(True, True, True), (True, False, False), (False, True, False), (False, False, True)]
)
@pytest.mark.parametrize("batched", [False, True])
def test_dot_of_uniform_and_varying(varying: tuple[bool, bool, bool], batched: bool) -> None:
    lead, text = ((2,), "2, ") if batched else ((), "")
    shapes = [(*lead, 2, 3), (*lead, 3, 2), (*lead, 2, 2)]
    lines = []
    for name, shape, differs in zip("abc", shapes, varying, strict=True):
        size = int(np.prod(shape))
        lines.append(f"%{name}0: i32[{size}] = iota")
        lines.append(f"%{name}p: i32[{size}] = broadcast {'%p' if differs else '%u'}")
        lines.append(f"%{name}1: i32[{size}] = add %{name}0, %{name}p")
        lines.append(f"%{name}: i32[{', '.join(map(str, shape))}] = reshape %{name}1")
    lines.append(f"%r: i32[{text}2, 2] = dot %a, %b, %c {{tf32 = false}}")
    r = shaped("\n".join(lines), (*lead, 2, 2))
    for program in range(3):
        a, b, c = (
            np.arange(int(np.prod(s))).reshape(s) + (program if v else 7)
            for s, v in zip(shapes, varying, strict=True)
        )
        assert np.array_equal(r[program], a @ b + c)


def test_dot_of_halves_is_exact_and_of_infinities_quiet() -> None:
    a = np.full((1, 2048), 0.1, np.float16)
    expected = 2048 * float(np.float16(0.1)) ** 2
    assert float(dot(a, a.T, np.zeros((1, 1), np.float32), DTYPES["f32"])[0, 0]) == pytest.approx(
        expected, rel=1e-7
    )
    infinite = np.array([[np.inf, 0.0]], np.float32)
    assert np.isnan(dot(infinite, infinite.T[::-1], np.zeros((1, 1), np.float32), DTYPES["f32"])).all()
