"""Scans by shuffles and in a thread's own registers: when, with how many steps and barriers, and the right values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tiling.test_reduce_and_scan import bracket, load_tile, result_dtype, sample, store_tile
from tests.tiling.threads import GPU, SIMULATOR, lowered, tile_kernel
from tilelang.ir.core import Kernel
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.interpreter import interpret
from tilelang.machine import execute
from tilelang.tiling.lines import OwnLines, SharedLines, lines
from tilelang.tiling.targets import Target


def scan(shape: tuple[int, ...], axis: int, kind: str = "sum", dtype: str = "i32", *, reverse: bool = False,
         warps: int = 4) -> Kernel:
    out = result_dtype(kind, dtype)
    return tile_kernel(
        f"%x: in {dtype}{bracket(shape)}, %y: out {out}{bracket(shape)}",
        f"{load_tile(shape, dtype)}\n  %r: {out}{bracket(shape)} = scan %v "
        f"{{axis = {axis}, kind = \"{kind}\", reverse = {str(reverse).lower()}}}\n{store_tile(shape)}", warps=warps)


def counts(kernel: Kernel, target: Target = GPU) -> tuple[int, int]:
    """(shuffles written, barriers written)"""
    names = [op.name for op in lowered(kernel, target).walk()]
    return names.count("shuffle"), names.count("barrier")


def check(kernel: Kernel, x: np.ndarray, rtol: float = 1e-5) -> None:
    type = kernel.params[1].type.dtype
    got, wanted = np.zeros(x.shape, numpy_dtype(type)), np.zeros(x.shape, numpy_dtype(type))
    interpret(kernel, {"x": x, "y": wanted}, {}, (1,))
    for target in (GPU, SIMULATOR):
        report = execute(lowered(kernel, target), {"x": x, "y": got}, {}, (1,))
        assert report.findings == ()
        np.testing.assert_allclose(got.astype(float), wanted.astype(float), rtol=rtol, atol=rtol)


@pytest.mark.parametrize(("shape", "axis", "width", "wanted"), [
    ((64, 128), 0, 1, OwnLines(64, 1)), ((6, 256), 0, 1, OwnLines(6, 2)), ((6, 512), 0, 4, OwnLines(6, 4)),
    ((3, 4, 128), 1, 1, OwnLines(4, 1)), ((128,), 0, 1, SharedLines(1, 32, 4, 4)),
    ((64, 16), 1, 1, SharedLines(1, 16, 1, 1)), ((1024,), 0, 4, SharedLines(4, 32, 8, 8)),
    ((16, 128), 1, 4, SharedLines(4, 32, 1, 1)), 
    ((8, 96), 1, 1, SharedLines(1, 32, 3, 24)), ((32, 4), 1, 1, SharedLines(1, 4, 1, 1))])
def test_where_lines_lie(shape, axis, width, wanted):
    assert lines(shape, axis, 128, width) == wanted


@pytest.mark.parametrize(("shape", "axis", "width"), [
    ((100,), 0, 1), ((64, 64), 0, 1), ((8, 48), 1, 1), ((4, 2, 16), 1, 1), ((8192,), 0, 1)],
    ids=["padded", "columns of several threads", "rows that end within a warp", "columns", "too many pieces"])
def test_other_lines_go_through_shared_memory(shape, axis, width):
    assert lines(shape, axis, 128, width) is None
    kernel = scan(shape, axis)
    assert counts(kernel)[0] == 0
    check(kernel, sample(shape, "i32"))


@pytest.mark.parametrize(("shape", "axis", "shuffles", "barriers"), [
    ((64, 128), 0, 0, 0), ((3, 4, 128), 1, 0, 0), ((64, 16), 1, 5, 0), ((32, 32), 1, 6, 0), ((128, 1), 1, 0, 0),
    ((128,), 0, 8, 2), ((256,), 0, 9, 2), ((4, 128), 1, 8, 2)])
def test_how_many_steps(shape, axis, shuffles, barriers):
    """Within a warp one shuffle for each doubling and one to hand on; across warps those of the totals, and two
    barriers."""
    kernel = scan(shape, axis)
    assert counts(kernel) == (shuffles, barriers)
    check(kernel, sample(shape, "i32"))


def test_without_shuffles_only_lines_of_one_thread_stay_in_registers():
    plain = replace(GPU, shuffles=False)
    assert counts(scan((64, 128), 0), plain) == (0, 0)
    assert counts(scan((64, 16), 1), plain)[0] == 0 < counts(scan((64, 16), 1), plain)[1]


SHAPES = [((128,), 0), ((1024,), 0), ((4096,), 0), ((2, 512), 1), ((64, 16), 1), ((8, 96), 1), ((512, 2), 1),
          ((5, 128), 0), ((5, 256), 0), ((3, 4, 128), 1), ((2, 3, 256), 2)]


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("kind", "dtype"), [("sum", "i8"), ("prod", "u32"), ("max", "f32"), ("min", "i64"),
                                             ("sum", "f16"), ("sum", "bool")])
def test_the_values(shape, axis, reverse, kind, dtype):
    kernel = scan(shape, axis, kind, dtype, reverse=reverse)
    check(kernel, sample(shape, dtype), rtol=2e-2 if dtype == "f16" else 1e-5)


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_blocks_of_any_size(warps):
    for shape, axis in (((1024,), 0), ((16, 64), 1), ((3, 256), 0)):
        check(scan(shape, axis, warps=warps), sample(shape, "i32"))


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("reverse", [False, True])
def test_nan_and_infinities_go_as_far_as_they_should(kind, reverse):
    x = np.ones(1024, np.float32)
    x[[700, 3]], x[400] = np.nan, np.inf
    for shape in ((1024,), (16, 64)):
        check(scan(shape, len(shape) - 1, kind, "f32", reverse=reverse), x.reshape(shape))


def test_each_barrier_is_needed():
    """Without it the model finds a race."""
    thread = lowered(scan((1024,), 0))
    x, y = sample((1024,), "i32"), np.zeros(1024, np.int32)
    places = [place for place, op in enumerate(thread.body.ops) if op.name == "barrier"]
    assert len(places) == 2
    for place in places:
        ops = (*thread.body.ops[:place], *thread.body.ops[place + 1:])
        report = execute(replace(thread, body=replace(thread.body, ops=ops)), {"x": x, "y": y}, {}, (1,))
        assert report.findings
