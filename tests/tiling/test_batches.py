"""Batches of products on tensor cores: run on the machine model, compared with the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiling.test_tensor_cores import BF16, F16, agrees, compiled, copied, executed, random
from tilelang.tiling.dot_plans import plan_dots
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.mma import arrange_warps
from tilelang.tiling.pictures import show_layouts
from tilelang.tiling.targets import TARGETS

PRODUCTS = """
kernel k[B: {4, 1, 2, 8, 3}, BM: {32, 64, 16, 48, 24}, BN: {32, 64, 16}, BK: {32, 16, 64}, warps: {4, 1, 2, 8},
         stages: {3, 1, 2}](LEFT, RIGHT, out c: RESULT[G, M, N])
    grid (cdiv(M, BM), cdiv(N, BN), cdiv(G, B)) {
    let each = program_id(2) * B +: B;
    let rows = program_id(0) * BM +: BM;
    let cols = program_id(1) * BN +: BN;
    var acc = full([B, BM, BN], 1, RESULT);
    for k in range(0, K, BK) {
        acc = dot(A, B_, acc);
    }
    c[each, rows, cols] = acc;
}
"""


NAMES = {F16: "f16", BF16: "bf16", np.float32: "f32", np.int8: "i8"}


def program(dtype: type = F16, turned: tuple[bool, bool] = (False, False)) -> str:
    left = ("a: TYPE[G, K, M]", "permute(a[each, k +: BK, rows], [0, 2, 1])") if turned[0] else (
        "a: TYPE[G, M, K]", "a[each, rows, k +: BK]")
    right = ("b: TYPE[G, N, K]", "permute(b[each, cols, k +: BK], [0, 2, 1])") if turned[1] else (
        "b: TYPE[G, K, N]", "b[each, k +: BK, cols]")
    text = PRODUCTS.replace("LEFT", left[0]).replace("RIGHT", right[0])
    result = "i32" if dtype == np.int8 else "f32"
    return text.replace("A, B_", f"{left[1]}, {right[1]}").replace("TYPE", NAMES[dtype]).replace("RESULT", result)


def operands(g: int, m: int, k: int, n: int, dtype: type = F16,
             turned: tuple[bool, bool] = (False, False)) -> list[np.ndarray]:
    shapes = ((g, k, m) if turned[0] else (g, m, k)), ((g, n, k) if turned[1] else (g, k, n))
    if dtype == np.int8:
        generator = np.random.default_rng(g + m + k + n)
        made = [generator.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    else:
        made = [random(*shape, dtype=dtype, seed=number) for number, shape in enumerate(shapes)]
    return [*made, np.zeros((g, m, n), np.int32 if dtype == np.int8 else np.float32)]


@pytest.mark.parametrize("dtype", [F16, BF16, np.int8])
@pytest.mark.parametrize(("shape", "metas"), [
    ((4, 32, 64, 32), {}), ((6, 70, 40, 33), {}), ((1, 64, 64, 64), {"B": 1, "BM": 64}),
    ((8, 16, 32, 16), {"B": 8, "BM": 16, "BN": 16}), ((5, 48, 64, 64), {"B": 2, "BM": 48, "BN": 64, "stages": 1}),
    ((3, 20, 64, 20), {"B": 2, "warps": 1}), ((4, 64, 96, 64), {"BM": 64, "BN": 64, "warps": 8, "stages": 2}),
    ((3, 32, 64, 32), {"B": 3, "warps": 8}), ((4, 33, 130, 40), {"BK": 64, "warps": 2}), ((2, 32, 0, 32), {})])
def test_batches_of_many_shapes(dtype, shape, metas):
    report = agrees(program(dtype), *operands(*shape, dtype), **metas)
    trips = -(-shape[2] // metas.get("BK", 32))
    assert (executed(report, "mma") > 0) == (trips > 0) and executed(report, "fma") == 0
    for name in ("shared.load_matrix", "shared.copy_async"):
        assert report.total(name).conflicts == 0, name


@pytest.mark.parametrize("dtype", [F16, np.int8])
@pytest.mark.parametrize("turned", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_operands_that_lie_the_other_way(dtype, turned, warps):
    report = agrees(program(dtype, turned), *operands(5, 64, 64, 48, dtype, turned), warps=warps)
    assert executed(report, "mma") > 0 and copied(report, ahead=True) == "ab"


def test_numbers_that_are_not_finite_stay_in_their_product():
    a, b, c = operands(4, 32, 32, 32, F16)
    a[1, 3, 5], b[2, 7, 9], a[3] = np.inf, np.nan, 0
    report = agrees(program(), a, b, c)
    assert executed(report, "mma") > 0


@pytest.mark.parametrize(("stages", "shape"), [(1, (4, 32, 96, 32)), (2, (6, 40, 64, 48)), (3, (4, 70, 128, 80))])
def test_operands_are_copied_past_the_registers(stages, shape):
    report = agrees(program(), *operands(*shape, F16), stages=stages)
    assert executed(report, "global.load") == 0
    assert copied(report, ahead=True) == ("ab" if stages > 1 else "")


def test_a_step_costs_what_that_of_one_product_does():
    """Of 4 x 32 x 32 x 32 by 4 warps, one matrix each: one barrier, 2 x 4 products for each 16 along k."""
    short, long = (agrees(program(), *operands(4, 32, k, 32, F16)) for k in (128, 256))
    steps = 128 // 32
    assert long.barriers - short.barriers == steps
    assert (executed(long, "mma") - executed(short, "mma")) / steps == 4 * 2 * 4 * 2
    assert (executed(long, "shared.load_matrix") - executed(short, "shared.load_matrix")) / steps == 4 * (2 + 2) * 2


def test_tf32_in_batches():
    text = program(np.float32).replace("], acc)", "], acc, tf32=true)")
    a, b, c = operands(5, 40, 64, 48, np.float32)
    a, b = (x.astype(F16).astype(np.float32) for x in (a, b))  # no bits are lost
    assert executed(agrees(text, a, b, c), "mma") > 0


@pytest.mark.parametrize(("shape", "warps", "batches", "wanted"), [
    ((128, 32), 4, 4, (4, 1)), ((64, 64), 8, 2, (2, 4)), ((96, 32), 4, 3, (3, 1)), ((96, 32), 8, 3, (3, 2)),
    ((128, 16), 4, 8, (4, 1)), ((64, 64), 4, 1, (2, 2)), ((96, 16), 4, 12, None), ((144, 16), 2, 3, (1, 1))])
def test_warps_have_parts_of_one_product_or_some_whole(shape, warps, batches, wanted):
    """Of three products two warps cannot have one and a half each: three have one each, and a fourth none."""
    assert arrange_warps(shape, warps, batches) == wanted


@pytest.mark.parametrize(("dtype", "target", "metas"), [
    (F16, "sm_80", {"BM": 24}), (np.float32, "sm_80", {}), (BF16, "sm_75", {}), (np.int8, "sm_80", {"BK": 16})])
def test_refuses_what_one_product_could_not(dtype, target, metas):
    assert executed(agrees(program(dtype), *operands(4, 32, 32, 32, dtype), target=target, **metas), "mma") == 0


def test_warp_groups_do_not_do_batches():
    tile, *_ = compiled(program(), *operands(4, 64, 64, 64, F16), target="sm_90a", BM=64)
    assert "not by warp groups: it is a batch of products" in show_layouts(tile, TARGETS["sm_90a"])
    (plan,) = plan_dots(lay_out(tile, TARGETS["sm_90a"]), TARGETS["sm_90a"]).products.values()
    assert (plan.batches, plan.height, plan.layout.shape) == (4, 64, (256, 32))
