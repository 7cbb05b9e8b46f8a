"""Dots of f32 on tensor cores, where the program allows tf32: on the machine model, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiling.test_tensor_cores import compiled, executed
from tilelang.machine import Report, execute
from tilelang.tiling.mma_words import WordSwizzle, a_word, b_word

MATMUL = """
kernel k[BM: {64, 32, 128, 16, 24}, BN: {64, 32, 16}, BK: {32, 16}, warps: {4, 1, 8}]
        (a: f32[M, K], b: f32[K, N], out c: f32[M, N]) grid (cdiv(M, BM), cdiv(N, BN)) {
    let rows = program_id(0) * BM +: BM;
    let cols = program_id(1) * BN +: BN;
    var acc = zeros([BM, BN], f32);
    for k in range(0, K, BK) {
        acc = dot(a[rows, k +: BK], b[k +: BK, cols], acc, tf32=true);
    }
    c[rows, cols] = acc;
}
"""
TURNED = MATMUL.replace("a[rows, k +: BK]", "transpose(a[k +: BK, rows])").replace(
    "b[k +: BK, cols]", "transpose(b[cols, k +: BK])").replace(
    "a: f32[M, K], b: f32[K, N]", "a: f32[K, M], b: f32[N, K]")


def tf32(x: np.ndarray) -> np.ndarray:
    """x with 10 bits of fraction, by arithmetic: in steps of 2^-10 of the power of two below, halves away from zero."""
    fraction, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.trunc(fraction * 2**11 + np.copysign(0.5, fraction)), exponent - 11)


def multiplied(text: str, a: np.ndarray, b: np.ndarray, target: str = "sm_80", turned: bool = False,
               **metas: object) -> Report:
    shape = (a.shape[0], b.shape[1])
    given = [np.ascontiguousarray(x.T) if turned else x for x in (a, b)]
    c = np.full(shape, 77, np.float32)
    _, thread, dims, grid = compiled(text, *given, c, target=target, **metas)
    report = execute(thread, {"a": given[0], "b": given[1], "c": c}, dims, grid)
    assert report.findings == ()
    is_tf32 = executed(report, "mma") > 0
    wanted = tf32(a) @ tf32(b) if is_tf32 else a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, wanted, rtol=1e-5, atol=1e-4)
    return report


def pair(m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return (generator.standard_normal((m, k)).astype(np.float32), generator.standard_normal((k, n)).astype(np.float32))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("shape", "metas"), [
    ((64, 64, 64), {}), ((70, 40, 33), {}), ((1, 1, 1), {}), ((130, 50, 70), {"BM": 128, "warps": 8}),
    ((16, 20, 16), {"BM": 16, "BN": 16, "BK": 16}), ((40, 64, 32), {"BM": 32, "BN": 32, "warps": 1})])
def test_products_are_those_of_rounded_operands(shape, metas, turned):
    report = multiplied(TURNED if turned else MATMUL, *pair(*shape), turned=turned, **metas)
    assert executed(report, "mma") > 0 and executed(report, "fma") == 0
    if metas.get("BK") != 16 and metas.get("BN") != 16:
        assert report.total("shared.load").conflicts == 0


@pytest.mark.parametrize("metas", [{"BM": 24}, {}])
def test_without_the_instruction_a_product_is_full_f32(metas):
    """Rows that 16 does not divide; a machine before sm_80."""
    report = multiplied(MATMUL, *pair(40, 40, 40), target="sm_80" if metas else "sm_75", **metas)
    assert executed(report, "mma") == 0


def test_full_f32_unless_asked_for():
    report = multiplied(MATMUL.replace(", tf32=true", ""), *pair(64, 64, 64))
    assert executed(report, "mma") == 0


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_no_number(special):
    a, b = pair(16, 16, 16)
    a[3, 5] = special
    a.view(np.uint32)[4, 4] = 0x7F800001  # a NaN that rounding could make an infinity
    c = np.zeros((16, 16), np.float32)
    _, thread, dims, grid = compiled(MATMUL, a, b, c)
    execute(thread, {"a": a, "b": b, "c": c}, dims, grid)
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    np.testing.assert_array_equal(np.isnan(c), np.isnan(wanted))
    np.testing.assert_array_equal(c[3][~np.isnan(c[3])], wanted[3][~np.isnan(wanted[3])])


def test_the_fragments_are_a_warps():
    """PTX ISA, mma.m16n8k8 with .tf32: groupID = lane >> 2, threadID_in_group = lane % 4."""
    for lane in range(32):
        group, member = lane >> 2, lane % 4
        assert [a_word(lane, i) for i in range(4)] == [
            (group if i in (0, 2) else group + 8, member if i in (0, 1) else member + 4) for i in range(4)]
        assert [b_word(lane, i) for i in range(2)] == [(member, group), (member + 4, group)]


@pytest.mark.parametrize("columns", [8, 16, 32, 64, 128])
@pytest.mark.parametrize("k_last", [False, True])
def test_a_swizzle_changes_places_within_a_row_and_spreads_a_fetch_over_the_banks(columns, k_last):
    swizzle = WordSwizzle(columns, k_last)
    places = [[swizzle.position(row, column) for column in range(columns)] for row in range(8)]
    for row, found in enumerate(places):
        assert sorted(found) == list(range(row * columns, (row + 1) * columns))
    if columns >= 32:
        rows, across = (8, 4) if k_last else (4, 8)
        assert len({places[row][column] % 32 for row in range(rows) for column in range(across)}) == 32
