"""Operands of dots that are copied to shared memory 16 bytes at a time: which are, which are not, and every hurry."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from tests.machine.threads import barriers, without_barrier
from tests.tiling.test_fragments import ATTENTION, heads, main_loop
from tests.tiling.test_tensor_cores import agrees, compiled, copied, executed, pair, random
from tilelang.diagnostics import Sink
from tilelang.ir.core import Block, Kernel, Op
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel
from tilelang.machine import Problem, execute
from tilelang.tiling.copy_plans import CopyRules, plan_copies
from tilelang.tiling.dot_plans import plan_dots
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.lower import lower
from tilelang.tiling.targets import TARGETS

BF16 = ml_dtypes.bfloat16
ALL_FACTS = {f"{name}.{fact}": number for name in ("x", "w") for fact, number in (
    ("stride1", 1), ("stride0.div", 16), ("aligned", 16))} | {"K.div": 16, "N.div": 16}

PRODUCT = """
kernel @k(%x: in f16[%M, %K], %w: in f16[%K, %N], %keep: bool, %y: out f32[%M, %N]) dims(%M, %K, %N) tile {FACTS} {
  %i: i32[64] = iota
  %r: i32[32] = iota
  %zero: f32[64, 64] = const {value = 0.0}
  %a: f16[64, 32] = load %x, %i, %r {checked = (true, true), mask = false, other = false, pointwise = false}
  %b: f16[32, 64] = load %w, %r, %i {checked = (true, true), mask = false, other = false, pointwise = false}
  %p: f32[64, 64] = dot %a, %b, %zero {tf32 = false}
  store %y, %i, %i, %p {checked = (true, true), mask = false, pointwise = false}
}
"""
"""Two loads and their product."""


def product(change: tuple[str, str] = ("", ""), **facts: int) -> Kernel:
    known = ", ".join(f"fact.{name} = {value}" for name, value in (ALL_FACTS | facts).items() if value)
    assert change[0] in PRODUCT
    return parse_kernel(PRODUCT.replace(*change).replace("FACTS", known) if change[0] else
                        PRODUCT.replace("FACTS", known))


def reason(kernel: Kernel, target: str = "sm_80") -> str | None:
    """Why the load %a is no copy."""
    machine = TARGETS[target]
    kernel = lay_out(kernel, machine)
    (load,) = [op for op in kernel.walk() if op.name == "load" and op.result.name == "a"]
    rules = CopyRules(kernel, machine, plan_dots(kernel, machine))
    assert (rules.why_not(load) is None) == (id(load) in plan_copies(kernel, machine, rules.plans).loads)
    return rules.why_not(load)


# ------------------------------------------------------------------------------------ which

MASKED = "load %x, %i, %r {checked = (true, true), mask = false, other = false"
LINE = f"  %a: f16[64, 32] = {MASKED}, pointwise = false}}\n"


def with_mask(mask: str, other: str = "") -> tuple[str, str]:
    """%a where `mask`, which these ops make; outside %o, if `other` makes it."""
    operands, flag = (", %o", "true") if other else ("", "false")
    load = LINE.replace("%r {", f"%r, %m{operands} {{").replace("mask = false", "mask = true")
    return LINE, mask + other + load.replace("other = false", f"other = {flag}")


ROW_MASK = """  %c7: i32[64] = const {value = 7}
  %few: bool[64] = lt %i, %c7
  %column: bool[64, 1] = reshape %few
  %m: bool[64, 32] = broadcast %column
"""
COLUMN_MASK = """  %c7: i32[32] = const {value = NUMBER}
  %few: bool[32] = lt %r, %c7
  %line: bool[1, 32] = reshape %few
  %m: bool[64, 32] = broadcast %line
"""
OTHER = "  %o: f16[64, 32] = const {value = NUMBER}\n"


@pytest.mark.parametrize("change", [
    ("", ""), with_mask(ROW_MASK), with_mask(COLUMN_MASK.replace("NUMBER", "8")), with_mask("  %m: bool[64, 32] = "
    "broadcast %keep\n"), with_mask(ROW_MASK, OTHER.replace("NUMBER", "0.0")),
    ("f16", "bf16")], ids=["plain", "rows", "whole chunks", "uniform", "else zero", "bf16"])
def test_tiles_that_are_copied(change):
    kernel = product(change)
    assert reason(kernel) is None and reason(kernel, "sm_90") is None
    thread = lower(kernel, TARGETS["sm_80"], Sink())
    assert not any(op.name.startswith("global.load") for op in thread.walk())


CAST = """  %a2: f32[64, 32] = cast %a
  store %y, %i, %r, %a2 {checked = (true, true), mask = false, pointwise = false}
"""


@pytest.mark.parametrize(("change", "facts", "why"), [
    (("f16", "f32"), {}, "its elements have neither 8 nor 16 bits"),
    (("%x: in", "%x: inout"), {}, "the kernel writes to its tensor"),
    (("  %p:", CAST + "  %p:"), {}, "not only dots on tensor cores read it"),
    (("", ""), {"x.stride0.div": 4}, "no facts say that its chunks are whole and aligned"),
    (("", ""), {"x.stride1": 2}, "no facts say that its chunks are whole and aligned"),
    (("", ""), {"x.aligned": 0}, "no facts say that its chunks are whole and aligned"),
    (("", ""), {"K.div": 4}, "no facts say that its chunks are whole and aligned"),
    (with_mask(COLUMN_MASK.replace("NUMBER", "7")), {}, "no facts say that its chunks are whole and aligned"),
    (with_mask(ROW_MASK, OTHER.replace("NUMBER", "1.0")), {}, "what is outside is not zero"),
    (with_mask(ROW_MASK, OTHER.replace("NUMBER", "-0.0")), {}, "what is outside is not zero"),
], ids=lambda value: None if isinstance(value, (tuple, dict)) else value.replace(" ", "_"))
def test_tiles_that_are_not(change, facts, why):
    assert reason(product(change, **facts)) == why


@pytest.mark.parametrize(("target", "why"), [
    ("sm_75", None), ("simulator", "the target has no accesses of 16 bytes")])
def test_older_machines_have_no_asynchronous_copies(target, why):
    kernel = product()
    assert reason(kernel, target) == why
    names = {op.name for op in lower(kernel, TARGETS[target], Sink()).walk()}
    assert not any("async" in name for name in names) and ("global.load_chunk" in names) == (why is None)


def test_rows_that_are_looked_up_are_not_copied():
    table = ("  %i: i32[64] = iota\n", "  %i: i32[64] = iota\n  %ids: i32[64] = load %t, %i {checked = (true,), "
             "mask = false, other = false, pointwise = false}\n")
    text = PRODUCT.replace(*table).replace("load %x, %i", "load %x, %ids").replace("%keep: bool", "%t: in i32[%M]")
    facts = ", ".join(f"fact.{name} = {value}" for name, value in ALL_FACTS.items())
    assert reason(parse_kernel(text.replace("FACTS", facts))) == "its indices have to be looked up"


# ------------------------------------------------------------------------------------ what they copy

EDGES = """
kernel k[T: {f16, bf16}, stages: {1, 2, 3}](a: T[B, M, K], b: T[B, K, N], c: T[B, M, N], some: i32,
                                           out y: f32[B, M, N]) grid (B, cdiv(M, 32)) {
    let n = program_id(0);
    let i = program_id(1) * 32 +: 32;
    let j = 0 +: 32;
    var acc = zeros([32, 32], f32);
    for k in range(0, K, 16) {
        let depth = k +: 16;
        let left = a[n, i, depth] where (i < some)[:, None];
        acc = dot(left, b[n, depth, j], acc * 0.5);
    }
    y[n, i, j] = dot(c[n, i, j], transpose(c[n, i, j]), acc);
}
"""


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float16, BF16])
@pytest.mark.parametrize(("rows", "depth", "columns", "some"), [
    (32, 64, 32, 99), (40, 48, 16, 35), (1, 48, 32, 0), (33, 0, 32, 3)])
def test_edges_and_masks_are_filled_with_zeros(stages, dtype, rows, depth, columns, some):
    a, b = random(2, rows, depth, dtype=dtype), random(2, depth, columns, dtype=dtype, seed=1)
    c, y = random(2, rows, columns, dtype=dtype, seed=2), np.zeros((2, rows, columns), np.float32)
    a[0, :1], b[0, :, -1:] = np.nan, np.inf
    report = agrees(EDGES, a, b, c, some, y, rtol=2e-3, stages=stages)
    assert copied(report) == ("abc" if depth else "c")
    assert copied(report, ahead=True) == ("ab" if depth and stages > 1 else "")
    assert report.total("shared.copy_async", "shared.load_matrix").conflicts == 0


def test_attention_loads_and_stores_nothing_narrow():
    report = agrees(ATTENTION, *heads(130, 200, 64), rtol=2e-3)
    assert copied(report) == "kqv" and copied(report, ahead=True) == "kv"
    assert executed(report, "global.load") == executed(report, "global.store") == 0


def with_stages(stages: int) -> str:
    return ATTENTION.replace("stages: {2, 3}", f"stages: {{{stages}}}")


@pytest.mark.parametrize(("stages", "most"), [(1, 2), (2, 1), (3, 1)])
def test_barriers_of_a_step_of_attention(stages, most):
    """Ahead of time, one: what it waits for was asked for in an earlier trip. Else one for each copy: that for k tells
    also that v may be copied, for all have read the last one."""
    text = with_stages(stages)
    short, long = (agrees(text, *heads(64, keys, 64, count=1), rtol=2e-3) for keys in (64, 64 * 4))
    assert long.barriers - short.barriers == 3 * most


def test_the_values_come_while_the_scores_are_computed():
    """Without stages: v is asked for when k has arrived, and the first product does not wait for it."""
    _, thread, *_ = compiled(with_stages(1), *heads(64, 256, 64))
    ops = [(op.name, op.attrs.get("pending")) for op in main_loop(thread)]
    names = [name for name, _ in ops]
    order = [name for name in names if name in ("async.commit", "async.wait", "mma")]
    assert order == ["async.commit", "async.wait", "async.commit", "mma", "async.wait", "mma"]
    assert [pending for name, pending in ops if name == "async.wait"] == [0, 0]


# ------------------------------------------------------------------------------------ every hurry

def races_without(thread: Kernel, arguments: dict, dims: dict, grid: tuple) -> list[int]:
    """The barriers whose loss the model sees."""
    return [number for number in range(barriers(thread))
            if execute(without_barrier(thread, number), arguments, dims, grid).races]


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_every_barrier_of_attention_is_needed(stages):
    q, k, v, scale, o = heads(64, 256, 64, count=1)
    _, thread, dims, grid = compiled(with_stages(stages), q, k, v, scale, o)
    covered = 1 if stages == 1 else 0  # that for q: the first one in the loop does the same, if there is a trip
    found = races_without(thread, {"q": q, "k": k, "v": v, "scale": scale, "o": o}, dims, grid)
    assert found == list(range(covered, barriers(thread)))


@pytest.mark.parametrize("stages", [1, 2])
def test_a_wait_that_is_missing_is_found(stages):
    """Without stages the first is for q alone, and that for k covers it. With stages the last one keeps zeros that
    nobody reads apart from later users of the memory."""
    q, k, v, scale, o = heads(64, 256, 64, count=1)
    _, thread, dims, grid = compiled(with_stages(stages), q, k, v, scale, o)
    waits = [op for op in thread.walk() if op.name == "async.wait"]
    for wait in waits[1:] if stages == 1 else waits[:-1]:
        found = execute(without(thread, wait), {"q": q, "k": k, "v": v, "scale": scale, "o": o}, dims, grid)
        assert any(finding.problem is Problem.IN_FLIGHT for finding in found.findings)


def without(kernel: Kernel, unwanted: Op) -> Kernel:
    def swept(block: Block) -> Block:
        return replace(block, ops=tuple(replace(op, blocks=tuple(map(swept, op.blocks))) for op in block.ops
                                        if op is not unwanted))

    return replace(kernel, body=swept(kernel.body))


TWO_LOOPS = """
kernel k[stages: {2, 3, 4}](a: f16[M, K], b: f16[K, N], d: f16[M, K], e: f16[K, N], out c: f32[M, N]) grid (1) {
    let rows = 0 +: 64;
    let cols = 0 +: 64;
    var acc = zeros([64, 64], f32);
    var other = zeros([64, 64], f32);
    for k in range(0, K, 32) { acc = dot(a[rows, k +: 32], b[k +: 32, cols], acc); }
    for k in range(0, K, 32) { other = dot(d[rows, k +: 32], e[k +: 32, cols], other); }
    c[rows, cols] = acc + other;
}
"""


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("depth", [32, 64, 96, 128])
def test_loops_one_after_another_may_use_the_same_rings(stages, depth):
    """Whatever slot the first one ends in, its threads have read it before the second one's copies begin."""
    (a, b, _), (d, e, c) = pair(64, depth, 64), pair(64, depth, 64)
    agrees(TWO_LOOPS, a, b, d, e, c, stages=stages)


BRANCH = """
kernel k[stages: {1, 2}](a: f16[64, 64], b: f16[64, 64], flag: i32, out c: f32[64, 64]) grid (1) {
    let i = 0 +: 64;
    let x = a[i, i];
    let y = b[i, i];
    var acc = zeros([64, 64], f32);
    if flag > 0 { acc = dot(x, y, acc); }
    for k in range(0, flag) { acc = dot(y, x, acc) * 0.25; }
    for k in range(0, flag * 16, 16) { acc = dot(x, y, acc) + dot(a[i, k +: 16], b[k +: 16, i]); }
    c[i, i] = dot(x, transpose(y), acc);
}
"""


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("flag", [-1, 0, 1, 3])
def test_copies_arrive_before_branches_and_loops_that_read_them(flag, stages):
    a, b = random(64, 64), random(64, 64, seed=1)
    agrees(BRANCH, a, b, flag, np.zeros((64, 64), np.float32), rtol=2e-3, stages=stages)


def test_a_kernel_with_copies_can_be_printed_and_parsed():
    thread = lower(product(), TARGETS["sm_80"], Sink())
    assert print_kernel(parse_kernel(print_kernel(thread))) == print_kernel(thread)


def test_without_room_for_copies_the_tiles_share_memory():
    """Under way together, k and v have arrays of their own; one after another they need one."""
    tile, thread, *_ = compiled(with_stages(1), *heads(64, 64, 64), BM=64)
    tile = replace(tile, attrs={**thread.attrs, **tile.attrs})  # with the facts of the launch
    roomy = lower(tile, TARGETS["sm_80"], Sink())
    tight = lower(tile, replace(TARGETS["sm_80"], shared_per_block=20 * 1024), Sink())
    copies = [sum(op.name == "shared.copy_async" for op in thread.walk()) for thread in (roomy, tight)]
    assert copies[0] > 0 == copies[1]
    assert any(op.name == "mma" for op in tight.walk())


FOUR = """
kernel k[stages: {1, 2}](a: f16[M, K], b: f16[K, N], d: f16[M, K], e: f16[K, N], out c: f32[M, N]) grid (1) {
    let i = 0 +: 64;
    var acc = zeros([64, 64], f32);
    var other = zeros([64, 64], f32);
    for k in range(0, K, 32) {
        let x = a[i, k +: 32];
        let y = b[k +: 32, i];
        let z = d[i, k +: 32];
        let w = e[k +: 32, i];
        acc = dot(x, y, acc);
        BETWEEN
        other = dot(z, w, other);
    }
    c[i, i] = acc + other;
}
"""


@pytest.mark.parametrize(("between", "barriers_each"), [
    ("", 2), ("if k == 32 { other = dot(x, w, other); }", None),
    ("for n in range(0, 2) { other = dot(a[i, 32 * n +: 32], b[32 * n +: 32, i], other); }", None)])
@pytest.mark.parametrize("stages", [1, 2])
def test_a_trip_of_two_products(between, barriers_each, stages):
    """Without stages: what the second one reads is asked for when the first one's operands have arrived; before an `if`
    or a loop everything is."""
    text = FOUR.replace("BETWEEN", between)
    reports = []
    for depth in (64, 160):
        (a, b, _), (d, e, c) = pair(64, depth, 64), pair(64, depth, 64)
        reports.append(agrees(text, a, b, d, e, c, stages=stages, rtol=1e-3))
    if barriers_each is not None:
        assert reports[1].barriers - reports[0].barriers == 3 * (barriers_each if stages == 1 else 1)
