"""Every elementwise op on every element type: generated code in the simulator against the reference's numerics."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.tiling.threads import GPU, SIMULATOR, lowered, simulate, tile_kernel
from tilelang.dtypes import BOOL, DTYPES, DType
from tilelang.ir.core import Kernel
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.numerics import evaluate
from tilelang.ir.rules import accepts
from tilelang.ir.tile_ops import BINARY, COMPARE, UNARY

REAL = ("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid", "pow")
UNARY_OPS = [name for name in UNARY if name != "cast"]


def operands(dtype: DType) -> np.ndarray:
    """Values worth trying: the extremes, around zero, odd and even, and for floats the special ones."""
    host = numpy_dtype(dtype)
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        bits, low, high = dtype.bits, dtype.min_int, dtype.max_int
        numbers = [0, 1, 2, 3, 5, 7, bits - 1, bits, bits + 1, high, high - 1, low, low + 1, high // 2, high // 3]
        numbers += [-1, -2, -3, -7, -bits] if dtype.is_signed else [high - 5]
        return np.array([n for n in numbers if low <= n <= high], host)
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 7.25, -100.0, 1e-3, 6e4, -6e4, 1e-7, 3e38, -3e38,
               1e300,
               np.inf, -np.inf, np.nan, 0.1, 1 / 3]
    with np.errstate(all="ignore"):
        return np.array(numbers).astype(np.float64 if dtype.name == "f64" else np.float32).astype(host)


@cache
def pairs(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    values = operands(dtype)
    return np.repeat(values, len(values)), np.tile(values, len(values))


def kernel_of(name: str, dtype: DType, result: DType, count: int, n: int) -> Kernel:
    """y = name(x0, x1, ...), elementwise on n elements."""
    tensors = "".join(f"%x{k}: in {dtype}[{n}], " for k in range(count))
    loads = "\n".join(f"  %v{k}: {dtype}[{n}] = load %x{k}, %i "
                      "{checked = (false,), mask = false, other = false, pointwise = false}" for k in range(count))
    arguments = ", ".join(f"%v{k}" for k in range(count))
    return tile_kernel(f"{tensors}%y: out {result}[{n}]", f"""
  %i: i32[{n}] = iota
{loads}
  %r: {result}[{n}] = {name} {arguments}
  store %y, %i, %r {{checked = (false,), mask = false, pointwise = false}}""")


def check(name: str, dtype: DType, result: DType, arguments: tuple[np.ndarray, ...]) -> None:
    kernel = kernel_of(name, dtype, result, len(arguments), len(arguments[0]))
    given = {f"x{k}": array for k, array in enumerate(arguments)}
    output = np.zeros(len(arguments[0]), numpy_dtype(result))
    got = np.asarray(simulate(lowered(kernel, SIMULATOR), {**given, "y": output})["y"])
    wanted = evaluate(name, arguments, result)
    same = (got == wanted) | ((got != got) & (wanted != wanted))
    if name in REAL and dtype.is_float:
        with np.errstate(all="ignore"):
            same |= np.isclose(got.astype(np.float64), wanted.astype(np.float64), rtol=3 * 2.0**-dtype.mantissa)
    wrong = np.flatnonzero(~same)
    assert not wrong.size, [(*(a[i] for a in arguments), "got", got[i], "expected", wanted[i]) for i in wrong[:5]]


def by_dtype(names: tuple[str, ...] | list[str]) -> list[tuple[str, DType]]:
    return [(name, dtype) for name in names for dtype in DTYPES.values() if accepts(name, dtype)]


@pytest.mark.parametrize(("name", "dtype"), by_dtype(UNARY_OPS), ids=str)
def test_unary(name, dtype):
    check(name, dtype, BOOL if name in ("isnan", "isinf") else dtype, (operands(dtype),))


@pytest.mark.parametrize(("name", "dtype"), by_dtype(BINARY), ids=str)
def test_binary(name, dtype):
    check(name, dtype, dtype, pairs(dtype))


@pytest.mark.parametrize(("name", "dtype"), by_dtype(COMPARE), ids=str)
def test_comparisons(name, dtype):
    check(name, dtype, BOOL, pairs(dtype))


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.is_float], ids=str)
def test_fma(dtype):
    a, b = pairs(dtype)
    check("fma", dtype, dtype, (a, b, np.roll(b, 7)))


@pytest.mark.parametrize("source", DTYPES.values(), ids=str)
@pytest.mark.parametrize("result", DTYPES.values(), ids=str)
def test_casts(source, result):
    check("cast", source, result, (operands(source),))


ODD = [2**53 + 1, 2**62 + 2**10 + 1, 2**63 - 1, 2**24 + 1, 65519, 65520, 257, 2**31 - 65, 33554433]


@pytest.mark.parametrize("result", ["f16", "bf16", "f32", "f64"])
def test_integers_are_rounded_once(result):
    """Where rounding twice would show: just beyond halfway, in the bits that the first rounding drops."""
    numbers = np.array([*ODD, *(-n for n in ODD), 2**40 + 2**32 + 1, 2**40 + 2**31 + 1, 2**40 + 3 * 2**31 - 1])
    check("cast", DTYPES["i64"], DTYPES[result], (numbers,))
    check("cast", DTYPES["u64"], DTYPES[result], (numbers.astype(np.uint64),))


@pytest.mark.parametrize("result", ["f16", "bf16"])
def test_f64_is_rounded_once(result):
    step = 2.0**-7 if result == "bf16" else 2.0**-10
    halfway = 1.0 + step / 2
    numbers = np.array([halfway, np.nextafter(halfway, 2), np.nextafter(halfway, 0), 1.0 + 1.5 * step, -halfway,
                        np.nextafter(-halfway, -2), 65519.999999999, 65520.0, 2.0**-25,
                        np.nextafter(2.0**-25, 1), 1e-45])
    check("cast", DTYPES["f64"], DTYPES[result], (numbers,))


def test_random_numbers_are_philox():
    n = 64
    for name, result in (("rand", "f32"), ("randn", "f32"), ("randint", "u32")):
        kernel = tile_kernel(f"%s: i64, %o: in i64[{n}], %y: out {result}[{n}]", f"""
  %i: i32[{n}] = iota
  %v: i64[{n}] = load %o, %i {{checked = (false,), mask = false, other = false, pointwise = false}}
  %r: {result}[{n}] = {name} %s, %v
  store %y, %i, %r {{checked = (false,), mask = false, pointwise = false}}""")
        offsets = np.arange(n) * 0x123456789ABC - 5
        out = np.zeros(n, numpy_dtype(DTYPES[result]))
        got = np.asarray(simulate(lowered(kernel, GPU), {"s": -7, "o": offsets, "y": out})["y"])
        wanted = evaluate(name, [np.int64(-7), offsets], DTYPES[result])
        if name == "randn":
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(got, wanted)
