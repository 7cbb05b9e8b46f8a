"""Reductions, scans and dots of many shapes agree with the interpreter."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest

from tests.tiling.threads import GPU, SIMULATOR, agree, lowered, names, tile_kernel
from tilelang.dtypes import DTYPES, accumulator
from tilelang.ir.host_types import numpy_dtype

SHAPES = [(1,), (8,), (32,), (100,), (4, 8), (8, 4), (64, 2), (2, 64), (3, 5), (1, 16), (16, 1), (40, 24), (8, 4, 2),
          (2, 3, 4), (4, 8, 16)]


def load_tile(shape: tuple[int, ...], dtype: str) -> str:
    """`%v`: a whole tensor as a tile."""
    lines = [f"  %i{a}: i32[{n}] = iota" for a, n in enumerate(shape)]
    flags = "(" + "false, " * len(shape) + ")"
    indices = ", ".join(f"%i{a}" for a in range(len(shape)))
    lines.append(f"  %v: {dtype}[{', '.join(map(str, shape))}] = load %x, {indices} "
                 f"{{checked = {flags}, mask = false, other = false, pointwise = false}}")
    return "\n".join(lines)


def store_tile(shape: tuple[int, ...]) -> str:
    lines = [f"  %o{a}: i32[{n}] = iota" for a, n in enumerate(shape)]
    flags = "(" + "false, " * len(shape) + ")"
    indices = "".join(f", %o{a}" for a in range(len(shape)))
    return "\n".join([*lines, f"  store %y{indices}, %r {{checked = {flags}, mask = false, pointwise = false}}"])


def bracket(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def sample(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(prod(shape) + len(shape))
    if dtype == "bool":
        return rng.random(shape) < 0.7
    if DTYPES[dtype].is_integer:
        return rng.integers(0, 5, shape).astype(numpy_dtype(DTYPES[dtype]))
    return rng.standard_normal(shape).astype(np.float32).astype(numpy_dtype(DTYPES[dtype]))


def result_dtype(kind: str, dtype: str) -> str:
    if kind in ("any", "all"):
        return "bool"
    if kind.startswith("arg"):
        return "i32"
    return str(accumulator(DTYPES[dtype])) if kind in ("sum", "prod") else dtype


def check_reduce(shape: tuple[int, ...], axes: tuple[int, ...], kind: str, dtype: str, rtol: float = 1e-5) -> None:
    kept = tuple(n for a, n in enumerate(shape) if a not in axes)
    out = result_dtype(kind, dtype)
    kernel = tile_kernel(
        f"%x: in {dtype}{bracket(shape)}, %y: out {out}{bracket(kept) if kept else '[]'}",
        f"{load_tile(shape, dtype)}\n  %r: {out}{bracket(kept) if kept else ''} = reduce %v "
        f"{{axes = ({', '.join(map(str, axes))},), kind = \"{kind}\"}}\n{store_tile(kept)}")
    y = np.zeros(kept, numpy_dtype(DTYPES[out]))
    agree(kernel, {"x": sample(shape, dtype), "y": y}, rtol=rtol)


CASES = [(shape, axes) for shape in SHAPES for count in range(1, len(shape) + 1)
         for axes in itertools.combinations(range(len(shape)), count)]


@pytest.mark.parametrize(("shape", "axes"), CASES, ids=str)
def test_sums(shape, axes):
    check_reduce(shape, axes, "sum", "f32")


@pytest.mark.parametrize(("shape", "axis"), [(s, a) for s in SHAPES for a in range(len(s))], ids=str)
def test_argmax(shape, axis):
    check_reduce(shape, (axis,), "argmax", "i8")


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["i8", "u16", "i64", "u64", "f16", "bf16", "f32", "f64"])
def test_every_kind_and_type(kind, dtype):
    check_reduce((4, 16), (1,), kind, dtype, rtol=1e-2 if dtype in ("f16", "bf16") else 1e-5)


@pytest.mark.parametrize("kind", ["any", "all", "sum"])
def test_bools(kind):
    check_reduce((8, 8), (0,), kind, "bool")
    check_reduce((8, 8), (0, 1), kind, "bool")


@pytest.mark.parametrize("kind", ["argmax", "argmin", "max", "min"])
@pytest.mark.parametrize("shape", [(16,), (4, 8), (5, 7)])
def test_nan_is_the_extreme_and_the_first_place_wins(kind, shape):
    x = np.zeros(shape, np.float32)
    x[..., 3] = x[..., 5] = np.nan
    x[..., 1] = np.inf
    kept, out = shape[:-1], result_dtype(kind, "f32")
    kernel = tile_kernel(
        f"%x: in f32{bracket(shape)}, %y: out {out}{bracket(kept) if kept else '[]'}",
        f"{load_tile(shape, 'f32')}\n  %r: {out}{bracket(kept) if kept else ''} = reduce %v "
        f"{{axes = ({len(shape) - 1},), kind = \"{kind}\"}}\n{store_tile(kept)}")
    agree(kernel, {"x": x, "y": np.zeros(kept, numpy_dtype(DTYPES[out]))})


SCANS = [((9,), 0), ((32,), 0), ((4, 8), 0), ((4, 8), 1), ((3, 5, 2), 1), ((1, 7), 0)]


@pytest.mark.parametrize(("shape", "axis"), SCANS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("kind", "dtype"), [("sum", "i8"), ("max", "f32"), ("sum", "f16")])
def test_scans(shape, axis, reverse, kind, dtype):
    out = result_dtype(kind, dtype)
    kernel = tile_kernel(
        f"%x: in {dtype}{bracket(shape)}, %y: out {out}{bracket(shape)}",
        f"{load_tile(shape, dtype)}\n  %r: {out}{bracket(shape)} = scan %v "
        f"{{axis = {axis}, kind = \"{kind}\", reverse = {str(reverse).lower()}}}\n{store_tile(shape)}")
    agree(kernel, {"x": sample(shape, dtype), "y": np.zeros(shape, numpy_dtype(DTYPES[out]))}, rtol=2e-3)


def test_a_reduction_of_columns_that_threads_own_needs_no_shared_memory():
    kernel = tile_kernel("%x: in f32[6, 64], %y: out f32[64]", f"{load_tile((6, 64), 'f32')}\n"
                         f"  %r: f32[64] = reduce %v {{axes = (0,), kind = \"sum\"}}\n{store_tile((64,))}")
    assert not {"shared", "barrier"} & set(names(lowered(kernel, GPU)))


def test_a_large_reduction_takes_rounds_and_little_shared_memory():
    """128 x 128 floats are 64 KiB, more than a block has; the parts go through in rounds."""
    shape = (128, 128)
    kernel = tile_kernel("%x: in f32[128, 128], %y: out f32[128]", f"{load_tile(shape, 'f32')}\n"
                         f"  %r: f32[128] = reduce %v {{axes = (1,), kind = \"max\"}}\n{store_tile((128,))}", warps=4)
    thread = lowered(kernel, GPU)
    assert sum(op.result.type.size * 4 for op in thread.walk() if op.name == "shared") <= 8 * 1024
    agree(kernel, {"x": sample(shape, "f32"), "y": np.zeros(128, np.float32)}, targets=[SIMULATOR])
