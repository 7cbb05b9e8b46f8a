"""Dots by warp groups: run on the machine model, compared with the interpreter. No GPU has run them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import tilelang
from tests.tiling.test_fragments import ATTENTION as LIBRARY
from tests.tiling.test_fragments import heads
from tests.tiling.test_tensor_cores import BF16, F16, MATMUL, agrees, compiled, executed, pair
from tilelang.ir.core import Block, Kernel, Op
from tilelang.machine import execute
from tilelang.machine.report import Problem
from tilelang.memory.placement import place_arrays
from tilelang.tiling.dot_plans import plan_dots
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.pictures import show_layouts
from tilelang.tiling.targets import TARGETS

SM_90A = TARGETS["sm_90a"]
CHAIN = LIBRARY.replace("stages: {2, 3}", "stages: {2, 3, 1}")


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize(("shape", "metas"), [
    ((64, 64, 64), {}), ((128, 96, 128), {"BM": 128, "BN": 128, "stages": 2}), ((64, 128, 64), {"BK": 64}),
    ((128, 160, 64), {"BM": 128, "warps": 8}), ((64, 48, 32), {"BN": 32, "BK": 16}),
    ((64, 64, 16), {"BN": 16, "stages": 4}), ((128, 64, 128), {"BM": 128, "BN": 128, "stages": 1})])
def test_products_of_many_shapes(dtype, shape, metas):
    report = agrees(MATMUL, *pair(*shape, dtype), target="sm_90a", **metas)
    assert executed(report, "shared.wgmma") > 0 and executed(report, "mma") == executed(report, "fma") == 0
    assert report.total("shared.load_matrix").warps == 0
    for name in ("shared.wgmma", "shared.copy_async"):
        assert report.total(name).conflicts == 0, name


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize(("m", "k", "n"), [(70, 104, 72), (1, 8, 8), (65, 136, 264), (129, 80, 48), (64, 0, 64)])
def test_ragged_edges_are_filled_with_zeros(m, k, n, stages):
    agrees(MATMUL, *pair(m, k, n), target="sm_90a", stages=stages)


TURNED = {
    "b": ("a: T[M, K], b: T[K, N]", "b[k +: BK, cols]", "a: T[M, K], b: T[N, K]", "transpose(b[cols, k +: BK])"),
    "a": ("a: T[M, K], b: T[K, N]", "a[rows, k +: BK]", "a: T[K, M], b: T[K, N]", "transpose(a[k +: BK, rows])")}


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize("metas", [
    {}, {"BM": 128, "BN": 128, "BK": 64}, {"BM": 128, "warps": 8}, {"BN": 16, "stages": 1}])
def test_operands_that_lie_the_other_way(which, metas):
    parameters, use, other, turned = TURNED[which]
    a, b, c = pair(128, 128, 128)
    arrays = (a, b.T.copy(), c) if which == "b" else (a.T.copy(), b, c)
    report = agrees(MATMUL.replace(parameters, other).replace(use, turned), *arrays, target="sm_90a", **metas)
    assert executed(report, "shared.wgmma") > 0


def test_where_no_facts_say_so_the_kernel_looks():
    """Rows that do not begin at 16 bytes: the loop as it is written, by warp groups too, after stores or copies."""
    a, b, c = pair(64, 64, 64)
    a, b = (np.pad(matrix, ((0, 0), (1, 0)))[:, 1:] for matrix in (a, b))
    report = agrees(MATMUL, a, b, c, target="sm_90a")
    assert executed(report, "shared.wgmma") > 0 and executed(report, "shared.copy_async") == 0
    report = agrees(MATMUL, a, b.copy(), c, target="sm_90a")
    assert executed(report, "shared.wgmma") > 0 and executed(report, "shared.copy_async") > 0


@pytest.mark.parametrize("warps", [4, 8])
def test_what_a_step_costs(warps):
    """Of 128 x 128 x 32: one barrier, two instructions for each 64 rows, what those read, and what is copied."""
    a, b, c = pair(128, 512, 128)
    short = agrees(MATMUL, a[:, :256].copy(), b[:256].copy(), c, target="sm_90a", BM=128, BN=128, warps=warps)
    long = agrees(MATMUL, a, b, c, target="sm_90a", BM=128, BN=128, warps=warps)
    steps, each, other = 256 // 32, long.total("shared.wgmma"), short.total("shared.wgmma")
    assert long.barriers - short.barriers == steps
    assert (each.warps - other.warps) / steps / 4 == 128 // 64 * (32 // 16)
    assert (each.bytes - other.bytes) / steps == 2 * 2 * (64 * 16 + 16 * 128) * 2
    assert (executed(long, "shared.copy_async") - executed(short, "shared.copy_async")) / steps == 32


# ------------------------------------------------------------------------------------ chains


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize(("shape", "metas"), [
    ((64, 64, 64), {}), ((70, 200, 64), {}), ((1, 1, 16), {}), ((130, 33, 40), {"BN": 32}), ((40, 90, 128), {"BN": 16}),
    ((100, 100, 32), {"CAUSAL": True}), ((200, 170, 64), {"BM": 128, "warps": 8}), ((100, 300, 64), {"stages": 3})])
def test_attention_of_many_shapes(dtype, shape, metas):
    """Scores by operands in shared memory, then the weights from registers."""
    report = agrees(CHAIN, *heads(*shape, dtype), rtol=2e-3 if dtype == F16 else 2e-2, target="sm_90a", **metas)
    assert executed(report, "shared.wgmma") > 0 == executed(report, "mma") == executed(report, "shared.load_matrix")
    assert report.total("shared.wgmma").conflicts == 0


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 65504.0])
def test_attention_of_extreme_numbers(special):
    arguments = heads(70, 80, 64)
    arguments[1][0, 3, 5] = special
    arguments[2][1, 7, 9] = special
    agrees(CHAIN, *arguments, rtol=2e-3, target="sm_90a")


def test_what_a_step_of_attention_costs():
    """Of 64 x 64 and d = 64: 8 instructions, of which 4 read A too; two barriers, since the queries are no copy of the
    loop's."""
    short, long = (agrees(CHAIN, *heads(64, keys, 64, count=1), rtol=2e-3, target="sm_90a") for keys in (64, 128))
    each, other = long.total("shared.wgmma"), short.total("shared.wgmma")
    assert (each.warps - other.warps) / 4 == 8
    assert each.bytes - other.bytes == 4 * (64 * 16 + 16 * 64) * 2 + 4 * 16 * 64 * 2
    assert long.barriers - short.barriers == 2


def test_operands_in_registers_are_fenced():
    """Without the fence of either array, the model says so."""
    q, k, v, scale, o = heads(64, 64, 64, count=1)
    _, thread, dims, grid = compiled(CHAIN, q, k, v, scale, o, target="sm_90a")
    fences = [op for op in thread.walk() if op.name == "wgmma.fence"]
    assert [str(op.operands[0].dtype) for op in fences] == ["f32", "u32", "f32"]
    for fence in fences:
        broken = _less(thread, fence)
        found = execute(broken, {"q": q, "k": k, "v": v, "scale": scale, "o": o}, dims, grid).findings
        assert any(finding.problem is Problem.UNFENCED for finding in found)


def _less(kernel: Kernel, gone: Op) -> Kernel:
    def block(old: Block) -> Block:
        kept = (op for op in old.ops if op is not gone)
        return replace(old, ops=tuple(replace(op, blocks=tuple(map(block, op.blocks))) for op in kept))

    return replace(kernel, body=block(kernel.body))


# ------------------------------------------------------------------------------------ what is missing is found


def without(kernel: Kernel, name: str) -> Kernel:
    """The kernel without the ops of this name in the loop over k, which is where `shared.wgmma` stands."""
    def block(old: Block, inside: bool) -> Block:
        ops = []
        for op in old.ops:
            here = inside or (op.name == "for" and any(o.name == "shared.wgmma" for o in op.blocks[0].ops))
            if not (inside and op.name == name):
                ops.append(replace(op, blocks=tuple(block(b, here) for b in op.blocks)))
        return replace(old, ops=tuple(ops))

    return replace(kernel, body=block(kernel.body, False))


@pytest.mark.parametrize("name", ["async.wait", "async.fence", "barrier", "wgmma.fence", "wgmma.commit", "wgmma.wait",
                                  "async.commit"])
@pytest.mark.parametrize("stages", [1, 3])
def test_what_is_missing_in_a_chain_is_found(name, stages):
    q, k, v, scale, o = heads(64, 192, 64, count=1)
    _, thread, dims, grid = compiled(CHAIN, q, k, v, scale, o, target="sm_90a", stages=stages)
    broken = without(thread, name)
    assert broken != thread
    assert execute(broken, {"q": q, "k": k, "v": v, "scale": scale, "o": o}, dims, grid).findings


@pytest.mark.parametrize("name", ["async.wait", "async.fence", "barrier", "wgmma.fence", "wgmma.commit", "wgmma.wait",
                                  "async.commit"])
@pytest.mark.parametrize("stages", [1, 3])
def test_what_is_missing_is_found(name, stages):
    a, b, c = pair(64, 128, 64)
    _, thread, dims, grid = compiled(MATMUL, a, b, c, target="sm_90a", stages=stages)
    broken = without(thread, name)
    assert broken != thread
    assert execute(broken, {"a": a, "b": b, "c": c}, dims, grid).findings


# ------------------------------------------------------------------------------------ what it refuses


ATTENTION = """
kernel k(q: f16[M, 64], k: f16[N, 64], v: f16[N, 64], out o: f32[M, 64]) grid (cdiv(M, 64)) {
    let rows = program_id(0) * 64 +: 64;
    var acc = zeros([64, 64], f32);
    for n in range(0, N, 64) {
        let s = dot(q[rows, 0 +: 64], transpose(k[n +: 64, 0 +: 64]));
        acc = dot(s as f16, v[n +: 64, 0 +: 64], acc);
    }
    o[rows, 0 +: 64] = acc;
}
"""
SEEN = MATMUL.replace("var acc", "var seen = zeros([BM, BK], f32);\n    var acc").replace(
    "acc = dot(a[rows, k +: BK],", "let tile = a[rows, k +: BK];\n        seen = seen + (tile as f32);\n"
    "        acc = dot(tile,").replace("= acc;", "= acc + sum(seen);")
ONCE = MATMUL.replace("for k in range(0, K, BK) {", "let k = 0;").replace("acc);\n    }", "acc);")


@pytest.mark.parametrize(("text", "arrays", "metas", "reasons"), [
    (MATMUL, pair(64, 64, 64), {"warps": 2}, ["2 warps are no whole number of groups of 4"]),
    (MATMUL, pair(64, 64, 64), {"warps": 8}, ["64 rows are no multiple of 128, 64 for each warp group"]),
    (MATMUL, pair(64, 64, 64), {"BM": 32}, ["32 rows are no multiple of 64, 64 for each warp group"]),
    (MATMUL, pair(64, 64, 64, np.float32), {}, ["tensor cores do not do it"]),
    (SEEN, pair(64, 64, 64), {}, ["an operand is used by something else"]),
    (ONCE, pair(64, 32, 64), {}, ["no loop carries its accumulator"]),
    (ATTENTION.replace("program_id(0) * 64 +: 64", "program_id(0) * 128 +: 128").replace("zeros([64", "zeros([128"),
     [np.zeros((128, 64), F16)] + [np.zeros((64, 64), F16)] * 2 + [np.zeros((128, 64), np.float32)], {},
     ["it shares rows in registers with others, and has more than 64 for each warp group"] * 2)])
def test_what_warp_groups_do_not_do(text, arrays, metas, reasons):
    tile, thread, _, _ = compiled(text, *arrays, target="sm_90a", **metas)
    lines = [line for line in show_layouts(tile, SM_90A).splitlines() if line.startswith("  dot ")]
    assert [line.partition("not by warp groups: ")[2] for line in lines] == reasons
    assert not any("wgmma" in op.name for op in thread.walk())


def test_the_plan_of_a_product():
    tile, _, _, _ = compiled(MATMUL, *pair(128, 64, 64), target="sm_90a", BM=128)
    plans = plan_dots(lay_out(tile, SM_90A), SM_90A)
    ((plan,), (layout,)) = plans.products.values(), {plans.fragments.layouts[value] for value in plans.carried}
    assert plan.together and plan.layout == layout and layout.striped
    assert "  dot f32[128, 64]: by warp groups (wgmma)" in show_layouts(tile, SM_90A)
    assert "dot" not in show_layouts(tile, TARGETS["sm_90"])


def test_only_who_asks_for_it_gets_it():
    """An H100 has the target sm_90, with `mma.sync`."""
    assert [name for name, target in TARGETS.items() if target.wgmma] == ["sm_90a"]
    assert SM_90A.architecture == (9, 0, "a") and TARGETS["sm_90"].architecture == (9, 0)
    assert TARGETS["simulator"].architecture is None
    _, thread, _, _ = compiled(MATMUL, *pair(64, 64, 64), target="sm_90")
    assert {"mma", "shared.load_matrix"} <= {op.name for op in thread.walk()}
    assert not any("wgmma" in op.name for op in thread.walk())


def test_arrays_begin_where_patterns_may():
    arrays = pair(64, 64, 64)
    text = tilelang.compile(MATMUL)["k"].compile(*arrays, target="sm_90a").cuda
    assert text is not None and re.search(r"a_1_ring_shared = cuda.shared.array\(6144, \w+, 1024\)", text)
    _, thread, _, _ = compiled(MATMUL, *arrays, target="sm_90a", BM=128, BN=128)
    starts, size = place_arrays(thread)
    assert len(starts) > 2 and all(start % 1024 == 0 for start in (*starts.values(), size))
