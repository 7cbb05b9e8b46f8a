"""Dots of i8 on tensor cores: exact, and they wrap in 32 bits, on the machine model as in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.tiling.test_tensor_cores import compiled, copied, executed
from tilelang.machine import Report, execute
from tilelang.tiling.dot_plans import plan_dots
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.targets import TARGETS

MATMUL = """
kernel k[BM: {64, 128, 32, 16, 48}, BN: {64, 128, 32, 16}, BK: {32, 16, 64, 128}, warps: {4, 1, 2, 8},
         stages: {3, 1, 2, 4}](A, B, out c: i32[M, N]) grid (cdiv(M, BM), cdiv(N, BN)) {
    let rows = program_id(0) * BM +: BM;
    let cols = program_id(1) * BN +: BN;
    var acc = full([BM, BN], 2147483600, i32);
    for k in range(0, K, BK) {
        acc = dot(LEFT, RIGHT, acc);
    }
    c[rows, cols] = acc;
}
"""
WAYS = {"rows": (False, False), "b turned": (False, True), "a turned": (True, False), "both turned": (True, True)}
"""Which of a and b is stored the other way and transposed in the program."""


def text(turned: tuple[bool, bool] = (False, False)) -> str:
    left = ("a: i8[K, M]", "transpose(a[k +: BK, rows])") if turned[0] else ("a: i8[M, K]", "a[rows, k +: BK]")
    right = ("b: i8[N, K]", "transpose(b[cols, k +: BK])") if turned[1] else ("b: i8[K, N]", "b[k +: BK, cols]")
    return MATMUL.replace("A, B", f"{left[0]}, {right[0]}").replace("LEFT", left[1]).replace("RIGHT", right[1])


def multiplied(m: int, k: int, n: int, turned: tuple[bool, bool] = (False, False), target: str = "sm_80", *,
               lowest: int = -128, change: Callable[[np.ndarray], np.ndarray] = np.copy, **metas: object) -> Report:
    generator = np.random.default_rng(m + k + n)
    a, b = (generator.integers(lowest, 128 if lowest < 0 else lowest + 1, shape).astype(np.int8)
            for shape in ((m, k), (k, n)))
    arrays = [change(np.ascontiguousarray(x.T if t else x)) for x, t in zip((a, b), turned, strict=True)]
    c = np.zeros((m, n), np.int32)
    _, thread, dims, grid = compiled(text(turned), *arrays, c, target=target, **metas)
    report = execute(thread, {"a": arrays[0], "b": arrays[1], "c": c}, dims, grid)
    assert report.findings == ()
    a, b = (x.T if t else x for x, t in zip(arrays, turned, strict=True))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32) + np.int32(2147483600))
    return report


@pytest.mark.parametrize("turned", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("shape", "metas"), [
    ((64, 64, 64), {}), ((70, 40, 33), {}), ((1, 1, 1), {}), ((40, 130, 70), {"BK": 64, "warps": 8}),
    ((16, 64, 16), {"BM": 16, "BN": 16}), ((40, 64, 32), {"BM": 32, "BN": 32, "warps": 1}),
    ((128, 256, 128), {"BM": 128, "BN": 128, "BK": 64, "stages": 2}), ((64, 128, 128), {"BN": 128, "BK": 128})])
def test_products_of_bytes(shape, metas, turned):
    report = multiplied(*shape, turned, **metas)
    assert executed(report, "mma") > 0
    assert not any(op.name == "shared.load" and op.result.dtype.name == "i8" for op, _ in report.ops)
    for name in ("shared.load_matrix", "shared.copy_async"):
        assert report.total(name).conflicts == 0, name


@pytest.mark.parametrize("turned", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_the_lowest_number_and_sums_that_wrap(turned, warps):
    """-128 * -128, everywhere."""
    assert executed(multiplied(32, 64, 32, turned, lowest=-128, BM=32, BN=32, warps=warps), "mma") > 0
    everywhere = multiplied(32, 64, 32, turned, lowest=127, BM=32, BN=32, warps=warps)
    assert executed(everywhere, "mma") == 32 * 32 * 64 // (16 * 8 * 32)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(70, 112, 80), (1, 16, 16), (129, 272, 48), (64, 0, 64)])
def test_operands_are_copied_past_the_registers(shape, stages):
    report = multiplied(*shape, stages=stages)
    assert executed(report, "global.load") == 0
    assert copied(report, ahead=True) == ("ab" if stages > 1 and shape[1] else "")


@pytest.mark.parametrize(("change", "tensors"), [
    (lambda x: np.pad(x, ((0, 0), (16, 0)))[:, 16:], "ab"), (lambda x: np.pad(x, ((0, 0), (8, 0)))[:, 8:], ""),
    (lambda x: np.asfortranarray(x), ""), (lambda x: x[::-1], "ab")], ids=["16 off", "8 off", "columns", "upside down"])
def test_rows_must_begin_at_16_bytes(change, tensors):
    assert copied(multiplied(40, 64, 48, change=change)) == tensors


def test_the_edge_may_go_through_a_chunk():
    """Rows of 104 bytes in 112: the seventh chunk has 8 bytes."""
    assert copied(multiplied(64, 104, 72, change=lambda x: np.pad(x, ((0, 0), (0, 8)))[:, :-8])) == "ab"


@pytest.mark.parametrize(("target", "turned", "metas"), [
    ("sm_80", (False, False), {"BK": 16}), ("sm_75", (False, False), {}), ("sm_80", (True, False), {"BM": 48})])
def test_refuses_what_the_instruction_cannot(target, turned, metas):
    """32 along k at a time; not before sm_80; and rows of 48 bytes have no swizzle."""
    assert executed(multiplied(40, 40, 40, turned, target=target, **metas), "mma") == 0


@pytest.mark.parametrize(("turned", "woven"), list(zip(WAYS.values(), [
    (False, True), (False, False), (True, True), (True, False)], strict=True)), ids=WAYS)
def test_accumulators_are_woven_where_bytes_are_transposed(turned, woven):
    byte, word = np.zeros((64, 64), np.int8), np.zeros((64, 64), np.int32)
    tile, *_ = compiled(text(turned), byte, byte, word)
    (plan,) = plan_dots(lay_out(tile, TARGETS["sm_80"]), TARGETS["sm_80"]).products.values()
    assert plan.layout.woven == woven and plan.step == 32


def test_a_product_whose_operands_are_computed():
    """Not loads: they go through registers, to the same places."""
    program = """
kernel k(a: i8[64, 32], b: i8[32, 64], out c: i32[64, 64]) grid (1) {
    let i = 0 +: 64;
    let j = 0 +: 32;
    let same = transpose(broadcast_to(reshape(j as i8, [32, 1]), [32, 64]));
    c[i, i] = dot(a[i, j] + same, b[j, i], zeros([64, 64], i32)) + dot(same, transpose(same), zeros([64, 64], i32));
}
"""
    generator = np.random.default_rng(5)
    a, b = (generator.integers(-128, 128, shape).astype(np.int8) for shape in ((64, 32), (32, 64)))
    c = np.zeros((64, 64), np.int32)
    _, thread, dims, grid = compiled(program, a, b, c)
    report = execute(thread, {"a": a, "b": b, "c": c}, dims, grid)
    same = np.broadcast_to(np.arange(32, dtype=np.int8), (64, 32))
    with np.errstate(over="ignore"):
        left = (a + same).astype(np.int32)
    np.testing.assert_array_equal(c, left @ b.astype(np.int32) + same.astype(np.int32) @ same.T.astype(np.int32))
    assert report.findings == () and executed(report, "mma") == 2 * 64 * 64 * 32 // (16 * 8 * 32)
