"""Chains of ops that stay in the layout of a dot's accumulator: on the machine model, compared with the interpreter."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.machine.threads import barriers, without_barrier
from tests.tiling.test_tensor_cores import agrees, compiled, executed, random
from tilelang.ir.core import Kernel, Op
from tilelang.machine import Report, execute
from tilelang.tiling.dot_plans import DotPlans, plan_dots
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.row_layout import RowLayout, row_register, rows_of
from tilelang.tiling.targets import TARGETS

F16, BF16 = np.float16, ml_dtypes.bfloat16
ATTENTION = (Path(__file__).parents[2] / "course" / "kernels" / "attention.tile").read_text().replace(
    "kernel attention", "kernel k")


def heads(queries: int, keys: int, width: int, dtype: type = F16, count: int = 2) -> list:
    q, k, v = (random(count, n, width, dtype=dtype, seed=seed) for seed, n in enumerate((queries, keys, keys)))
    return [q, k, v, np.float32(0.2), np.zeros_like(q)]


def plans(text: str, *args: object, target: str = "sm_80", **metas: object) -> DotPlans:
    tile, _, _, _ = compiled(text, *args, target=target, **metas)  # type: ignore[arg-type]
    return plan_dots(lay_out(tile, TARGETS[target]), TARGETS[target])


def main_loop(thread: Kernel) -> list[Op]:
    """The ops of the loop with the products, without loops over registers: those of each trip."""
    return next(list(op.walk()) for loop in thread.walk() if loop.name == "for" and not loop.attrs.get("unroll")
                for op in loop.blocks if any(inner.name == "mma" for inner in op.walk())
                and any(inner.name == "barrier" for inner in op.walk()))


# ------------------------------------------------------------------------------------ layouts


@pytest.mark.parametrize(("rows", "columns", "warps"), [(64, 64, 4), (16, 8, 1), (128, 32, 4), (256, 16, 8)])
def test_a_row_has_its_number_where_it_has_its_elements(rows, columns, warps):
    tile = AccumulatorLayout((rows, columns), (warps, 1))
    numbers = rows_of(tile)
    assert numbers == RowLayout(rows, warps)
    seen = set()
    for thread in range(tile.threads):
        for register in range(tile.registers):
            row = numbers.row(thread, row_register(tile, register))
            assert row == tile.element(thread, register)[0]
            seen.add(row)
    assert seen == set(range(rows)) and numbers.registers * 8 * warps == rows


# ------------------------------------------------------------------------------------ attention


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize(("shape", "metas"), [
    ((64, 64, 64), {}), ((70, 100, 64), {}), ((1, 1, 16), {}), ((130, 33, 40), {"BN": 32}),
    ((100, 100, 32), {"CAUSAL": True}), ((200, 70, 64), {"BM": 128, "warps": 8}), ((40, 90, 128), {"BN": 16}),
    ((70, 50, 64), {"BM": 128, "warps": 4, "BN": 32})])
def test_attention_of_many_shapes(dtype, shape, metas):
    tolerance = 2e-3 if dtype == F16 else 2e-2
    report = agrees(ATTENTION, *heads(*shape, dtype), rtol=tolerance, **metas)
    assert executed(report, "mma") > 0 and executed(report, "pack") > 0 and executed(report, "fma") == 0
    assert report.total("shared.load_matrix").conflicts == 0


def test_attention_on_a_machine_without_deep_products():
    """sm_75: products of 16 x 8 x 8, and no asynchronous copies."""
    report = agrees(ATTENTION, *heads(70, 100, 64), rtol=2e-3, target="sm_75")
    assert executed(report, "pack") > 0


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 65504.0])
def test_attention_of_extreme_numbers(special):
    arguments = heads(70, 80, 64)
    arguments[1][0, 3, 5] = special
    arguments[2][1, 7, 9] = special
    agrees(ATTENTION, *arguments, rtol=2e-3)


def test_scores_weights_and_accumulator_never_leave_the_registers():
    _, thread, _, _ = compiled(ATTENTION, *heads(64, 256, 64))
    stored = {op.operands[0].name for op in main_loop(thread) if op.name in ("shared.store", "shared.copy_async")}
    assert stored and all(name.startswith(("k_", "v_")) for name in stored), stored
    assert not any(op.name == "shared.load" for op in main_loop(thread))


def test_a_row_is_reduced_by_its_four_lanes():
    """Two reductions of 16 rows a warp: two registers each, two steps of shuffles."""
    short, long = (agrees(ATTENTION, *heads(64, keys, 64, count=1), rtol=2e-3) for keys in (64, 128))
    assert executed(long, "shuffle") - executed(short, "shuffle") == 2 * 2 * 2 * 4  # of four warps


def test_every_barrier_is_needed():
    """Each one that is taken away lets the model see a race, of arguments that take all ways."""
    q, k, v, scale, o = heads(64, 192, 64, count=1)
    _, thread, dims, grid = compiled(ATTENTION, q, k, v, scale, o)
    arguments = {"q": q, "k": k, "v": v, "scale": scale, "o": o}
    for number in range(barriers(thread)):
        assert execute(without_barrier(thread, number), arguments, dims, grid).races, number


# ------------------------------------------------------------------------------------ other chains

CHAIN = """
kernel k(a: f16[M, 64], b: f16[64, 64], w: f16[64, 64], n: f32[64], x: f32[M, 64], out c: f32[M, 64])
    grid (cdiv(M, 64)) {
    let rows = program_id(0) * 64 +: 64;
    let cols = 0 +: 64;
    let r = 0 +: 64;
    let s = dot(a[rows, r], b[r, cols]);
%s
}
"""


def chain(body: str) -> Report:
    a, b, w = random(70, 64), random(64, 64, seed=1), random(64, 64, seed=2)
    arguments = (a, b, w, random(64, dtype=np.float32, seed=3), random(70, 64, dtype=np.float32, seed=4),
                 np.zeros((70, 64), np.float32))
    return agrees(CHAIN % body, *arguments, rtol=3e-2)


@pytest.mark.parametrize("body", [
    "let p = (s + x[rows, cols]) as f16; c[rows, cols] = dot(p, w[r, cols]);",  # a tile that is in other registers
    "let p = (s * n[cols][None, :]) as f16; c[rows, cols] = dot(p, w[r, cols]);",  # a row for all rows
    "let p = select(s > 0.0, s, x[rows, cols] + s) as f16; c[rows, cols] = dot(p, w[r, cols]);",
    "let p = (s as f16) * 2.0; c[rows, cols] = dot(p, w[r, cols]);",  # halves that are computed with
    "let p = s as f16; c[rows, cols] = dot(p, w[r, cols], s);",  # twice in one product
    "let p = s as f16; c[rows, cols] = dot(p, w[r, cols], s) + s;",  # and once more after it
    "let p = (s - sum(s, axis=1)[:, None] * 0.01) as f16; c[rows, cols] = dot(p, w[r, cols]) + s;",
    "let p = s / (1.0 + max(abs(s), axis=1)[:, None]); c[rows, cols] = dot(p as f16, w[r, cols]) * p;",
    "let p = (argmax(s, axis=1)[:, None] as f32 * 0.01 + s) as f16; c[rows, cols] = dot(p, w[r, cols]);",
    "let m = max(s, axis=1); let p = select(m[:, None] > s, s, 0.0) as f16; "
    "c[rows, cols] = dot(p, w[r, cols]) + m[:, None] + m[:, None] * s;"], ids=range(10))
def test_what_a_product_can_be_computed_with_before_the_next(body):
    assert executed(chain(body), "pack") > 0


@pytest.mark.parametrize("body", [
    "var p = s as f16; if M > 3 { p = (s * 2.0) as f16; } c[rows, cols] = dot(p, w[r, cols]);",  # handed on by `if`
    "let p = transpose(s) as f16; c[rows, cols] = dot(transpose(p), w[r, cols]);",
    "let p = (s - sum(s, axis=0)[None, :] * 0.01) as f16; c[rows, cols] = dot(w[r, cols], p);",  # as operand B
    "c[rows, cols] = s * 2.0 + max(s, axis=1)[:, None];"], ids=["if", "transposed", "B", "no product"])
def test_what_leaves_the_chain(body):
    report = chain(body)
    assert executed(report, "pack") == 0 and executed(report, "mma") > 0


SWAP = """
kernel k(a: f16[64, 64], b: f16[64, 64], n: i32, out c: f32[64, 64]) grid (1) {
    let i = 0 +: 64;
    var p = dot(a[i, i], b[i, i]);
    var q = zeros([64, 64], f32);
    var m = full([64], 0.5, f32);
    for step in range(0, n) {
        let old = p;
        p = dot((q * m[:, None]) as f16, b[i, i], q);
        q = old;
        m = m + max(p, axis=1) * 0.001;
    }
    c[i, i] = p + q * m[:, None];
}
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_tiles_that_change_places_from_trip_to_trip(trips):
    a, b = random(64, 64) / 8, random(64, 64, seed=1) / 8
    report = agrees(SWAP, a.astype(F16), b.astype(F16), trips, np.zeros((64, 64), np.float32), rtol=1e-2)
    assert (executed(report, "pack") > 0) == (trips > 0)


# ------------------------------------------------------------------------------------ the plan


def test_what_is_planned_for_attention():
    found = plans(ATTENTION, *heads(64, 64, 64)).fragments
    names = {value.name.rstrip("_0123456789") for value in found.layouts}
    assert {"acc", "scores", "seen", "weights", "best", "total", "faded", "top", "shift"} <= names
    assert len(found.narrowed) == 1
    assert {layout for layout in found.layouts.values()} == {
        AccumulatorLayout((64, 64), (4, 1)), RowLayout(64, 4)}


def test_refuses_tiles_too_low_for_the_warps():
    """16 rows for four warps: one alone would have to do it all."""
    found = plans(ATTENTION, *heads(64, 64, 64), BM=16)
    held = found.fragments.layouts.values()
    assert found.products and not any(isinstance(layout, RowLayout) for layout in held) and not found.fragments.narrowed
    agrees(ATTENTION, *heads(20, 40, 32), BM=16, rtol=2e-3)


def test_a_product_alone_is_as_it_was():
    from tests.tiling.test_tensor_cores import MATMUL, pair

    found = plans(MATMUL, *pair(64, 64, 64))
    assert {layout.warps for layout in found.fragments.layouts.values()} == {(2, 2)}  # type: ignore[union-attr]
    assert not found.fragments.views and len(found.carried) == 1
