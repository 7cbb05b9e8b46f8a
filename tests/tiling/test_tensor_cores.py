"""Dots on tensor cores, and the loops that are pipelined: run on the machine model, compared with the interpreter."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import tilelang
from tilelang.diagnostics import Sink
from tilelang.ir.core import Kernel
from tilelang.ir.interpreter import interpret
from tilelang.ir.verifier import verify
from tilelang.machine import Report, execute
from tilelang.tiling.dot_plans import plan_dots
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.lower import lower
from tilelang.tiling.targets import TARGETS

SM_75, SM_80 = TARGETS["sm_75"], TARGETS["sm_80"]
F16, BF16 = np.float16, ml_dtypes.bfloat16

MATMUL = """
kernel k[T: {f16, bf16, f32}, BM: {64, 32, 128, 16, 48, 24}, BN: {64, 32, 128, 16}, BK: {32, 16, 64},
         warps: {4, 8, 1, 2}, stages: {3, 2, 4, 1}](a: T[M, K], b: T[K, N], out c: f32[M, N])
    grid (cdiv(M, BM), cdiv(N, BN)) {
    let rows = program_id(0) * BM +: BM;
    let cols = program_id(1) * BN +: BN;
    var acc = zeros([BM, BN], f32);
    for k in range(0, K, BK) {
        acc = dot(a[rows, k +: BK], b[k +: BK, cols], acc);
    }
    c[rows, cols] = acc;
}
"""


def compiled(text: str, *args: np.ndarray, target: str = "sm_80",
             **metas: object) -> tuple[Kernel, Kernel, dict, tuple]:
    """Optimised tile kernel, thread kernel, dims, grid."""
    made = tilelang.compile(text)["k"].compile(*args, target=target, **metas)
    if made.optimized is None or made.thread_ir is None or made.binding is None:
        raise AssertionError("not compiled")
    verify(made.thread_ir)
    return made.optimized, made.thread_ir, dict(made.binding.dims), tuple(made.binding.grid)


def agrees(text: str, *args: np.ndarray, rtol: float = 1e-4, target: str = "sm_80", **metas: object) -> Report:
    """The last argument is the output; the machine model finds nothing and gives what the interpreter gives."""
    tile, thread, dims, grid = compiled(text, *args, target=target, **metas)
    names = [p.name for p in tile.params]
    wanted, got = (dict(zip(names, [*args[:-1], np.full_like(args[-1], 77)], strict=True)) for _ in range(2))
    interpret(tile, wanted, dims, grid)
    report = execute(thread, got, dims, grid)
    assert report.findings == ()
    last = names[-1]
    np.testing.assert_allclose(got[last].astype(np.float64), wanted[last].astype(np.float64), rtol=rtol, atol=rtol * 10)
    return report


def random(*shape: int, dtype: type = F16, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def pair(m: int, k: int, n: int, dtype: type = F16) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return random(m, k, dtype=dtype), random(k, n, dtype=dtype, seed=1), np.zeros((m, n), np.float32)


def executed(report: Report, name: str) -> int:
    return report.total(name).warps


def copied(report: Report, *, ahead: bool = False) -> str:
    """The names of the tensors with asynchronous copies; with `ahead`, of those that a loop makes for later trips."""
    return "".join(sorted({op.operands[2].name for op, counts in report.ops if op.name == "shared.copy_async"
                           and counts.warps and (op.attrs.get("placed") or not ahead)}))


# ------------------------------------------------------------------------------------ products


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize(("shape", "metas"), [
    ((64, 64, 64), {}), ((128, 96, 64), {"BM": 128, "stages": 2}), ((64, 160, 128), {"BN": 128, "stages": 4}),
    ((48, 64, 32), {"BM": 48, "BN": 32, "warps": 8}), ((16, 32, 16), {"BM": 16, "BN": 16, "BK": 16}),
    ((32, 64, 64), {"BM": 32, "warps": 1}), ((64, 64, 64), {"BK": 64, "warps": 2, "stages": 1})])
def test_products_of_many_shapes(dtype, shape, metas):
    report = agrees(MATMUL, *pair(*shape, dtype), **metas)
    assert executed(report, "mma") > 0 and executed(report, "fma") == 0
    for name in ("shared.load_matrix", "shared.copy_async"):
        assert report.total(name).conflicts == 0, name


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize(("m", "k", "n"), [(70, 104, 72), (1, 8, 8), (65, 136, 264), (64, 32, 64), (70, 112, 80),
                                           (1, 16, 16), (129, 80, 48)])
def test_ragged_edges_are_filled_with_zeros(m, k, n, stages):
    """One stage has asynchronous copies too, where facts prove that chunks are whole."""
    report = agrees(MATMUL, *pair(m, k, n), stages=stages)
    assert (executed(report, "shared.copy_async") > 0) == (stages > 1 or k % 16 == n % 16 == 0)


def test_no_trip_at_all():
    agrees(MATMUL, *pair(8, 0, 8))


@pytest.mark.parametrize("change", [
    lambda a: np.asfortranarray(a), lambda a: np.pad(a, ((0, 0), (1, 0)))[:, 1:], lambda a: np.repeat(a, 2, 1)[:, ::2],
    lambda a: np.pad(a, ((0, 0), (0, 3)))[:, :-3], lambda a: a[::-1], lambda a: a[:, ::-1]],
    ids=["columns", "one off", "gaps", "odd rows", "upside down", "right to left"])
def test_other_strides_take_the_loop_as_written(change: Callable[[np.ndarray], np.ndarray]):
    """Only what has contiguous rows that begin at 16 bytes is copied asynchronously: b is."""
    a, b, c = pair(40, 64, 64)
    a = change(a)
    report = agrees(MATMUL, a, b, c)
    upside_down = a.strides[1] == a.itemsize and a.strides[0] % 16 == 0
    assert copied(report) == ("ab" if upside_down else "b")


def test_one_barrier_a_step():
    """What a step of the pipelined loop costs: one barrier, and per warp its matrices, products and copies."""
    a, b, c = pair(128, 512, 128)
    short = agrees(MATMUL, a[:, :256].copy(), b[:256].copy(), c, BM=128, BN=128)
    long = agrees(MATMUL, a, b, c, BM=128, BN=128)
    steps = 256 // 32
    assert long.barriers - short.barriers == steps
    per_step = {name: (executed(long, name) - executed(short, name)) / steps / 4
                for name in ("mma", "shared.load_matrix", "shared.copy_async")}
    assert per_step == {"mma": 64, "shared.load_matrix": 16, "shared.copy_async": 8}


def test_before_sm_80_products_are_half_as_deep_and_nothing_is_asynchronous():
    report = agrees(MATMUL, *pair(64, 64, 64), target="sm_75")
    assert executed(report, "mma") == 2 * executed(agrees(MATMUL, *pair(64, 64, 64)), "mma")
    assert executed(report, "shared.copy_async") == 0


@pytest.mark.parametrize(("arguments", "target", "metas"), [
    (pair(32, 32, 32, np.float32), "sm_80", {}), (pair(32, 32, 32, BF16), "sm_75", {}),
    (pair(24, 32, 32), "sm_80", {"BM": 24}), (pair(32, 32, 32), "simulator", {"BM": 32, "BN": 32})])
def test_what_tensor_cores_cannot_do_is_done_the_simple_way(arguments, target, metas):
    report = agrees(MATMUL, *arguments, target=target, **metas)
    assert executed(report, "mma") == 0 and executed(report, "fma") > 0


# ------------------------------------------------------------------------------------ operands


def dot_of(left: str, right: str, a: str, b: str, before: str = "") -> str:
    return f"kernel k(a: f16[{a}], b: f16[{b}], out c: f32[32, 64]) grid (1) {{ let i = 0 +: 32; " \
           f"let j = 0 +: 64; let k = 0 +: 16; {before} c[i, j] = dot({left}, {right}); }}"


@pytest.mark.parametrize(("text", "shapes"), [
    (dot_of("a[i, k]", "b[k, j]", "32, 16", "16, 64"), ((32, 16), (16, 64))),
    (dot_of("transpose(a[k, i])", "b[k, j]", "16, 32", "16, 64"), ((16, 32), (16, 64))),
    (dot_of("a[i, k]", "transpose(b[j, k])", "32, 16", "64, 16"), ((32, 16), (64, 16))),
    (dot_of("transpose(a[k, i])", "transpose(b[j, k])", "16, 32", "64, 16"), ((16, 32), (64, 16))),
    (dot_of("maximum(a[i, k], 0.0)", "b[k, j] * 2.0", "32, 16", "16, 64"), ((32, 16), (16, 64))),
    (dot_of("broadcast_to(a[k][None, :], [32, 16])", "b[k, j]", "16", "16, 64"), ((16,), (16, 64))),
    (dot_of("x", "transpose(y)", "32, 16", "64, 16",
            "let x = a[i, k]; let y = b[j, k]; assert(sum(x) < 1e4, \"\"); assert(all(transpose(y) < 1e4), \"\");"),
     ((32, 16), (64, 16))),
], ids=["as stored", "a transposed", "b transposed", "both", "computed", "broadcast", "used elsewhere too"])
def test_operands(text, shapes):
    a, b = (random(*shape, seed=n) for n, shape in enumerate(shapes))
    report = agrees(text, a, b, np.zeros((32, 64), np.float32))
    assert executed(report, "mma") == 2 * 8 and report.total("shared.load_matrix").conflicts == 0


def test_an_operand_glued_together_is_left_alone():
    text = dot_of("cat(a[i, 0 +: 8], a[i, 8 +: 8], axis=1)", "b[k, j]", "32, 16", "16, 64")
    report = agrees(text, random(32, 16), random(16, 64), np.zeros((32, 64), np.float32))
    assert executed(report, "mma") == 0


@pytest.mark.parametrize("first", ["x[i, j]", "broadcast_to(x[0, j][None, :], [32, 64])", "full([32, 64], 2.0, f32)",
                                   "x[i, j] * 3.0 + 1.0"])
def test_any_accumulator_goes_in_and_comes_out(first):
    text = f"kernel k(a: f16[32, 16], b: f16[16, 64], x: f32[32, 64], out c: f32[32, 64]) grid (1) {{ " \
           f"let i = 0 +: 32; let j = 0 +: 64; let k = 0 +: 16; let s = dot(a[i, k], b[k, j], {first}); " \
           f"c[i, j] = s - max(s, axis=1)[:, None]; }}"
    x = random(32, 64, dtype=np.float32, seed=2)
    report = agrees(text, random(32, 16), random(16, 64, seed=1), x, np.zeros((32, 64), np.float32))
    assert executed(report, "mma") == 16


ATTENTION = """
kernel k[BM = 64, BN = 32, D = 64, warps = 4](q: f16[M, D], k: f16[N, D], v: f16[N, D], out o: f32[M, D])
    grid (cdiv(M, BM)) {
    let rows = program_id(0) * BM +: BM;
    let d = 0 +: D;
    let query = q[rows, d];
    var top = full([BM], -inf, f32);
    var total = zeros([BM], f32);
    var acc = zeros([BM, D], f32);
    for start in range(0, N, BN) {
        let keys = start +: BN;
        let s = dot(query, transpose(k[keys, d])) * 0.125;
        let seen = select(keys[None, :] < N, s, -inf);
        let best = maximum(top, max(seen, axis=1));
        let p = exp(seen - best[:, None]);
        let faded = exp(top - best);
        total = total * faded + sum(p, axis=1);
        acc = dot(p as f16, v[keys, d], acc * faded[:, None]);
        top = best;
    }
    o[rows, d] = acc / total[:, None];
}
"""


def test_attention_multiplies_its_own_products():
    q, k, v = random(70, 64), random(100, 64, seed=1), random(100, 64, seed=2)
    report = agrees(ATTENTION, q, k, v, np.zeros((70, 64), np.float32), rtol=2e-3)
    assert executed(report, "mma") > 0 and executed(report, "fma") == 0
    assert report.total("shared.load_matrix").conflicts == 0


# ------------------------------------------------------------------------------------ loops


LOOP = """
kernel k[BK = 16](a: f16[M, K], b: f16[K, N], shift: i32, out c: f32[M, N]) grid (1) {
    let i = 0 +: 32;
    let j = 0 +: 32;
    var acc = zeros([32, 32], f32);
    %s
    c[i, j] = acc;
}
"""


@pytest.mark.parametrize(("body", "ahead"), [
    ("for k in range(0, K, BK) { acc = dot(a[i, k +: BK], b[k +: BK, j], acc); }", "ab"),
    ("for k in range(8, K, BK) { acc = dot(a[i, k +: BK], b[k +: BK, j], acc); }", "ab"),
    ("for k in range(0, K, BK) { acc = dot(transpose(a[k +: BK, i]), b[k +: BK, j], acc); }", "ab"),
    ("for k in range(3, K, BK) { acc = dot(a[i, k +: BK], b[k +: BK, j], acc); }", "b"),
    ("for k in range(0, K, 12) { acc = dot(a[i, k +: BK], b[k +: BK, j], acc); }", "b"),
    ("for k in range(0, K, BK) { acc = dot(a[i, k + shift +: BK], b[k +: BK, j], acc); }", "b"),
    ("for k in range(0, K, BK) { let s = 0 +: BK; acc = dot(a[i, s + s * 8], b[k +: BK, j], acc); }", "b"),
    ("for k in range(0, K, BK) { acc = dot(a[i, k +: BK] else 1.0, b[k +: BK, j], acc); }", "b"),
    ("for k in range(0, K, BK) { acc = dot(a[i, k +: BK] * 2.0, b[k +: BK, j], acc); }", "b"),
    ("for k in range(0, K, BK) { acc = dot(a[i, k +: BK], b[k +: BK, j], acc) * 0.5; }", "ab"),
    ("for k in range(0, K, BK) { let x = a[i, k +: BK]; acc = dot(x, x, acc); }", "a"),
    ("for k in range(K - BK, -1, -BK) { acc = dot(a[i, k +: BK], b[k +: BK, j], acc); }", ""),
    ("for r in range(0, 2) { for k in range(0, K, BK) { acc = dot(a[i, k +: BK], b[k +: BK, j], acc); } }", "ab"),
    ("for r in range(0, 2) { acc = acc + 1.0; for k in range(0, K, BK) "
     "{ acc = dot(a[i, k +: BK], b[k +: BK, j], acc); } }", "ab"),
])
def test_which_loads_are_made_ahead(body, ahead):
    a, b = random(32, 64), random(64, 32, seed=1)
    text = LOOP % body
    if "x, x" in body:
        text = text.replace("0 +: 32", "0 +: 16").replace("[32, 32]", "[16, 16]")
    report = agrees(text, a, b, 1, np.zeros((32, 32), np.float32))
    assert copied(report, ahead=True) == ahead
    assert executed(report, "mma") > 0


def test_without_room_there_are_fewer_stages_and_then_no_tensor_cores():
    """128 x 128 f32 pass through 16 KB of shared memory; a stage of 128 x 32 halves for a and b takes 16 KB."""
    tile, thread, _, _ = compiled(MATMUL, *pair(128, 128, 128), BM=128, BN=128, stages=3)
    assert _rings(thread) == [3 * 128 * 32, 3 * 32 * 128]
    sink = Sink()
    less = lower(tile, _with_shared(48 * 1024), sink)
    assert _rings(less) == [2 * 128 * 32, 2 * 32 * 128] and not sink.diagnostics
    small = lower(tile, _with_shared(20 * 1024), sink)
    assert not sink.diagnostics or all(op.name != "mma" for op in small.walk())


def _rings(thread: Kernel) -> list[int]:
    return [op.result.type.size for op in thread.body.ops if op.name == "shared" and "ring" in op.result.name]


def _with_shared(size: int):
    from dataclasses import replace

    return replace(SM_80, shared_per_block=size)


@pytest.mark.parametrize(("dtype", "shape", "metas", "fragments"), [
    (np.float32, (64, 64, 64), {}, True), (np.float32, (70, 40, 130), {"BN": 128, "warps": 8}, True),
    (np.float32, (32, 32, 32), {"BM": 32, "BN": 16}, False), (F16, (48, 32, 64), {"BM": 24}, True)])
def test_patches(dtype, shape, metas, fragments):
    """Each thread multiplies rows and columns; the accumulator stays in this layout until the loop is over."""
    a, b, c = pair(*shape, dtype)
    _, thread, _, _ = compiled(MATMUL, a, b, c, **metas)
    report = agrees(MATMUL, a, b, c, **metas)
    assert executed(report, "mma") == 0
    assert any("fragments" in op.result.name for op in thread.body.ops if op.name == "local") == fragments
    per_product = report.total("shared.load").warps / executed(report, "fma")
    assert (per_product < 0.7) == fragments


def test_plans_keep_accumulators_of_loops_that_only_add():
    tile, _, _, _ = compiled(MATMUL, *pair(64, 64, 64))
    plans = plan_dots(lay_out(tile, SM_80), SM_80)
    assert len(plans.products) == 1 and len(plans.carried) == 1
    (layout,) = {plans.fragments.layouts[value] for value in plans.carried}
    assert layout.shape == (64, 64) and layout.threads == 128 and layout.registers == 32
    simple = plan_dots(lay_out(tile, TARGETS["simulator"]), TARGETS["simulator"])
    assert not simple.products and not simple.patches


def test_every_barrier_of_the_pipeline_is_needed():
    from tests.machine.threads import barriers, without_barrier

    a, b, c = pair(64, 256, 64)
    _, thread, dims, grid = compiled(MATMUL, a, b, c)
    unnoticed = [number for number in range(barriers(thread))
                 if not execute(without_barrier(thread, number), {"a": a, "b": b, "c": c}, dims, grid).races]
    in_plain_loop = 2  # the other way to do the loop, which these arguments do not take
    assert len(unnoticed) <= in_plain_loop

# ------------------------------------------------------------------------------------ steady copies


def branches(thread: Kernel) -> int:
    """`if`s in the loop of a product that fetches ahead."""
    loops = [list(op.blocks[0].walk()) for op in thread.walk() if op.name == "for" and not op.attrs.get("unroll")]
    (body,) = [ops for ops in loops if any(op.attrs.get("placed") and op.name == "shared.copy_async" for op in ops)]
    return sum(op.name == "if" for op in body)


def test_copies_are_made_ready_before_the_loop_where_chunks_are_whole():
    """With K and N multiples of 16 no chunk is cut: no branch in the loop, one comparison a chunk."""
    _, steady, *_ = compiled(MATMUL, *pair(70, 64, 80))
    _, cut, *_ = compiled(MATMUL, *pair(70, 72, 80))
    assert (branches(steady), branches(cut)) == (0, 1)


@pytest.mark.parametrize("shape", [(70, 64, 80), (64, 256, 64), (200, 16, 16), (40, 0, 48), (17, 48, 32)])
@pytest.mark.parametrize("metas", [{}, {"BM": 128, "BN": 128, "stages": 2}, {"BN": 32, "BK": 64, "stages": 4},
                                   {"BN": 16, "BK": 16, "warps": 1}, {"BN": 128, "warps": 1, "BM": 16}])
def test_steady_copies_copy_what_is_inside(shape, metas):
    agrees(MATMUL, *pair(*shape), **metas)


TURNED = """
kernel k[stages: {3, 2, 4}](a: f16[K, M], b: f16[N, K], lo: i32, hi: i32, shift: i32, out c: f32[M, N])
    grid (cdiv(M, 64), cdiv(N, 64)) {
    let rows = program_id(0) * 64 +: 64;
    let cols = program_id(1) * 64 +: 64;
    var acc = zeros([64, 64], f32);
    for k in range(LO, HI, 32) {
        acc = dot(transpose(a[AT, rows]), transpose(b[cols, AT]), acc);
    }
    c[rows, cols] = acc;
}
"""


@pytest.mark.parametrize(("lo", "hi", "at", "steady"), [
    ("0", "K", "k +: 32", True), ("0", "K", "k + 16 +: 32", True), ("16", "K", "k +: 32", True),
    ("0", "minimum(K, 80)", "k +: 32", True), ("0", "maximum(K - 40, 0)", "k +: 32", False),
    ("0", "K", "k + (shift * 8) as i64 +: 32", False), ("(lo * 8) as i64", "K", "k +: 32", False),
    ("lo * 8", "hi", "k +: 32", False),
    ("0", "2 * K", "k +: 32", False), ("0", "K", "2 * k +: 32", False)])
def test_bounds_and_what_is_added_to_the_index(lo, hi, at, steady):
    """It refuses where 32 bits might not do: bounds that the launch gives, and what is not known to be small."""
    text = TURNED.replace("LO", lo).replace("HI", hi).replace("AT", at)
    a, b, c = random(112, 70 + 10), random(96, 112, seed=1), np.zeros((80, 96), np.float32)
    numbers = (np.int32(-4), np.int32(500), np.int32(-2))
    for stages in (2, 3, 4):
        agrees(text, a, b, *numbers, c, stages=stages)
    _, thread, *_ = compiled(text, a, b, *numbers, c)
    assert (branches(thread) == 0) == steady
