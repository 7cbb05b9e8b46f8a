"""Dots of i8 on tensor cores: exact, and they wrap in 32 bits, on the machine model as in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiling.test_tensor_cores import compiled, executed
from tilelang.machine import Report, execute

MATMUL = """
kernel k[BM: {64, 32, 16}, BN: {64, 32, 16}, BK: {32, 16, 64}, warps: {4, 1, 8}]
        (a: i8[M, K], b: i8[K, N], out c: i32[M, N]) grid (cdiv(M, BM), cdiv(N, BN)) {
    let rows = program_id(0) * BM +: BM;
    let cols = program_id(1) * BN +: BN;
    var acc = full([BM, BN], 2147483600, i32);
    for k in range(0, K, BK) {
        acc = dot(a[rows, k +: BK], b[k +: BK, cols], acc);
    }
    c[rows, cols] = acc;
}
"""


def multiplied(m: int, k: int, n: int, text: str = MATMUL, target: str = "sm_80", **metas: object) -> Report:
    generator = np.random.default_rng(m + k + n)
    a, b = (generator.integers(-128, 128, shape).astype(np.int8) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), np.int32)
    _, thread, dims, grid = compiled(text, a, b, c, target=target, **metas)
    report = execute(thread, {"a": a, "b": b, "c": c}, dims, grid)
    assert report.findings == ()
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32) + np.int32(2147483600))
    return report


@pytest.mark.parametrize(("shape", "metas"), [
    ((64, 64, 64), {}), ((70, 40, 33), {}), ((1, 1, 1), {}), ((40, 130, 70), {"BK": 64, "warps": 8}),
    ((16, 64, 16), {"BM": 16, "BN": 16}), ((40, 64, 32), {"BM": 32, "BN": 32, "warps": 1})])
def test_products_of_bytes(shape, metas):
    report = multiplied(*shape, **metas)
    assert executed(report, "mma") > 0


@pytest.mark.parametrize(("target", "metas"), [("sm_80", {"BK": 16}), ("sm_75", {})])
def test_refuses_what_the_instruction_cannot(target, metas):
    """32 along k at a time; not before sm_80."""
    assert executed(multiplied(40, 40, 40, target=target, **metas), "mma") == 0


def test_operands_that_are_transposed():
    """Read by columns, with the same numbers."""
    turned = MATMUL.replace("a[rows, k +: BK]", "transpose(transpose(a[rows, k +: BK]))")
    assert executed(multiplied(64, 64, 64, turned), "mma") > 0
