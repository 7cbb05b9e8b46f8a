"""Reductions by shuffles: how many, how many barriers, and that all threads agree on the result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tiling.test_reduce_and_scan import load_tile, sample, store_tile
from tests.tiling.threads import GPU, lowered, tile_kernel
from tilelang.diagnostics import InternalError
from tilelang.ir.core import Kernel
from tilelang.ir.interpreter import interpret
from tilelang.ir.parser import parse_kernel
from tilelang.ir.verifier import verify
from tilelang.machine import execute
from tilelang.machine.report import Problem
from tilelang.memory.uniform import varying_values


def reduction(shape: tuple[int, ...], axes: str, kept: tuple[int, ...], kind: str = "sum", warps: int = 4,
              dtype: str = "f32") -> Kernel:
    brackets = f"[{', '.join(map(str, kept))}]"
    return tile_kernel(f"%x: in {dtype}[{', '.join(map(str, shape))}], %y: out {dtype}{brackets}", "\n".join([
        load_tile(shape, dtype),
        f"  %r: {dtype}{brackets if kept else ''} = reduce %v {{axes = {axes}, kind = \"{kind}\"}}",
        store_tile(kept)]), warps=warps)


def names(kernel: Kernel) -> list[str]:
    return [op.name for op in kernel.walk()]


def check(kernel: Kernel, x: np.ndarray, shape: tuple[int, ...]) -> None:
    thread = lowered(kernel)
    got, wanted = np.zeros(shape, x.dtype), np.zeros(shape, x.dtype)
    report = execute(thread, {"x": x, "y": got}, {}, (1,))
    interpret(kernel, {"x": x, "y": wanted}, {}, (1,))
    assert report.findings == ()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("size", "warps", "shuffles", "barriers"), [
    (1024, 4, 5, 1), (1000, 8, 5, 1), (40, 4, 5, 1), (16, 4, 4, 1), (1, 4, 0, 1), (1024, 1, 6, 0), (5, 1, 4, 0),
    (4096, 32, 5, 1)])
def test_one_result_takes_one_barrier_between_warps_and_none_within_one(size, warps, shuffles, barriers):
    """A butterfly over 32 threads has five steps; in a block of one warp a sixth hands the result to all."""
    kernel = reduction((size,), "(0,)", (), warps=warps)
    found = names(lowered(kernel))
    assert (found.count("shuffle"), found.count("barrier")) == (shuffles, barriers)
    check(kernel, sample((size,), "f32"), ())


@pytest.mark.parametrize(("shape", "axis", "shuffles", "barriers"), [
    ((8, 16), 1, 4, 1), ((16, 32), 1, 5, 1), ((4, 128), 1, 5, 1), ((64, 64), 1, 5, 1), ((3, 1024), 1, 5, 1),
    ((128, 8), 1, 3, 1), ((1, 300), 1, 5, 1), ((64, 16), 0, 1, 1), ((4, 8, 4), 1, 3, 1), ((7, 32), 1, 5, 1)])
def test_rows_are_combined_within_warps(shape, axis, shuffles, barriers):
    kept = tuple(n for a, n in enumerate(shape) if a != axis)
    kernel = reduction(shape, f"({axis},)", kept)
    found = names(lowered(kernel))
    assert (found.count("shuffle"), found.count("barrier")) == (shuffles, barriers)
    check(kernel, sample(shape, "f32"), kept)


def test_what_only_several_warps_hold_goes_through_the_tree():
    """64 columns over 128 threads: the two parts of a column are 64 threads apart."""
    kernel = reduction((6, 64), "(0,)", (64,))
    assert "shuffle" not in names(lowered(kernel)) and "barrier" in names(lowered(kernel))
    check(kernel, sample((6, 64), "f32"), (64,))


def test_without_shuffles_there_are_none():
    assert "shuffle" not in names(lowered(reduction((64,), "(0,)", ()), replace(GPU, shuffles=False)))


@pytest.mark.parametrize("warps", [1, 4])
def test_the_result_counts_as_the_same_in_all_threads(warps):
    """A loop may run to it with barriers inside."""
    kernel = tile_kernel("%x: in i32[64], %y: out i32[64]", load_tile((64,), "i32") + """
  %lo: i32 = const {value = 0}
  %one: i32 = const {value = 1}
  %n: i32 = reduce %v {axes = (0,), kind = "max"}
  %r: i32[64] = for %lo, %n, %one, %v (%k: i32, %a: i32[64]) {
    %s: i32[64] = scan %a {axis = 0, kind = "sum", reverse = true}
    yield %s
  }
""" + store_tile((64,)), warps=warps)
    thread = lowered(kernel)
    (loop,) = (op for op in thread.body.ops if op.name == "for" and not op.attrs.get("unroll"))
    assert varying_values(thread).isdisjoint(loop.operands[:3])
    check(kernel, sample((64,), "i32"), (64,))


SHUFFLE = """kernel @k(%y: out i32[64]) dims() thread {{threads = 64}} {{
  %t: i32 = thread_id
  %limit: i32 = const {{value = {limit}}}
  %few: bool = lt %t, %limit
  %at: i64 = cast %t
  if %few {{
    %v: i32 = shuffle %t {{{where}}}
    global.store %y, %at, %v
    yield
  }} else {{
    yield
  }}
}}
"""


@pytest.mark.parametrize(("where", "wanted"), [
    ("xor = 5", lambda t: t ^ 5), ("xor = 16", lambda t: t ^ 16), ("lane = 3", lambda t: t // 32 * 32 + 3),
    ("up = 4", lambda t: t - 4 if t % 32 >= 4 else t), ("down = 31", lambda t: t + 31 if t % 32 == 0 else t)])
def test_what_a_shuffle_gives(where, wanted):
    y = np.zeros(64, np.int32)
    report = execute(parse_kernel(SHUFFLE.format(limit=64, where=where)), {"y": y}, {}, (1,))
    assert report.findings == () and y.tolist() == [wanted(t) for t in range(64)]


@pytest.mark.parametrize(("limit", "partial"), [(64, False), (32, False), (40, True)])
def test_the_model_sees_a_shuffle_that_part_of_a_warp_misses(limit, partial):
    kernel = parse_kernel(SHUFFLE.format(limit=limit, where="xor = 1"))
    found = {f.problem for f in execute(kernel, {"y": np.zeros(64, np.int32)}, {}, (1,)).findings}
    assert found == ({Problem.PARTIAL_WARP} if partial else set())


@pytest.mark.parametrize("where", ["xor = 32", "xor = -1", "lane = 32", "xor = 1, lane = 1", "up = 32", "down = -1",
                                   "left = 1"])
def test_a_shuffle_stays_in_its_warp(where):
    with pytest.raises(InternalError, match="xor"):
        verify(parse_kernel(SHUFFLE.format(limit=64, where=where)))
