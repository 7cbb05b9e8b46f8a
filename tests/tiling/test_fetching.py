"""Operands that go by way of registers, 16 bytes at a time (sm_75): run on the machine model, compared with the
interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tests.machine.threads import barriers, without_barrier
from tests.tiling.test_batches import operands, program
from tests.tiling.test_fragments import ATTENTION, heads
from tests.tiling.test_tensor_cores import F16, LOOP, MATMUL, TURNED, agrees, compiled, executed, pair, random
from tilelang.machine import Report, execute


def fetched(report: Report) -> str:
    """The names of the tensors that are loaded in chunks."""
    return "".join(sorted({op.operands[0].name for op, counts in report.ops
                           if op.name == "global.load_chunk" and counts.warps}))


def ahead(report: Report) -> bool:
    """Does a loop put what it has fetched for its next trip?"""
    return any(op.name == "shared.store_chunk" and op.attrs.get("placed") and counts.warps for op, counts in report.ops)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize(("shape", "metas"), [
    ((64, 64, 64), {}), ((70, 112, 80), {}), ((1, 16, 16), {}), ((129, 80, 48), {"BM": 128, "warps": 8}),
    ((64, 160, 128), {"BN": 128}), ((48, 64, 32), {"BM": 48, "BN": 32, "warps": 8}), ((40, 0, 48), {}),
    ((33, 48, 32), {"BM": 16, "BN": 16, "BK": 16, "warps": 1}), ((64, 128, 64), {"BK": 64, "warps": 2})])
def test_products_of_many_shapes(shape, metas, stages):
    report = agrees(MATMUL, *pair(*shape), target="sm_75", stages=stages, **metas)
    assert executed(report, "global.load") == executed(report, "shared.copy_async") == 0
    assert ahead(report) == (stages > 1 and shape[1] > 0)
    for name in ("shared.store_chunk", "shared.load_matrix"):
        assert report.total(name).conflicts == 0, name


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_numbers_that_are_not_finite(warps):
    a, b, c = pair(40, 64, 48)
    a[3, 5], b[60, 7], a[30] = np.inf, np.nan, 65504
    agrees(MATMUL, a, b, c, target="sm_75", BM=32, BN=32, warps=warps)


def test_one_barrier_a_step():
    a, b, c = pair(128, 512, 128)
    short = agrees(MATMUL, a[:, :256].copy(), b[:256].copy(), c, BM=128, BN=128, target="sm_75", stages=2)
    long = agrees(MATMUL, a, b, c, BM=128, BN=128, target="sm_75", stages=2)
    steps = 256 // 32
    assert long.barriers - short.barriers == steps
    per_step = {name: (executed(long, name) - executed(short, name)) / steps / 4
                for name in ("mma", "shared.load_matrix", "global.load_chunk", "shared.store_chunk")}
    assert per_step == {"mma": 128, "shared.load_matrix": 16, "global.load_chunk": 8, "shared.store_chunk": 8}


@pytest.mark.parametrize("stages", [1, 2])
def test_every_barrier_is_needed(stages):
    a, b, c = pair(64, 256, 64)
    _, thread, dims, grid = compiled(MATMUL, a, b, c, target="sm_75", stages=stages)
    for number in range(barriers(thread)):
        assert execute(without_barrier(thread, number), {"a": a, "b": b, "c": c}, dims, grid).races, number


@pytest.mark.parametrize(("lo", "hi", "at"), [
    ("0", "K", "k +: 32"), ("16", "K", "k +: 32"), ("0", "minimum(K, 80)", "k +: 32"),
    ("0", "maximum(K - 40, 0)", "k +: 32"), ("0", "K", "k + (shift * 8) as i64 +: 32"),
    ("lo * 8", "hi", "k +: 32"), ("0", "2 * K", "k +: 32"), ("0", "K", "2 * k +: 32")])
def test_bounds_and_what_is_added_to_the_index(lo, hi, at):
    text = TURNED.replace("LO", lo).replace("HI", hi).replace("AT", at)
    a, b, c = random(112, 80), random(96, 112, seed=1), np.zeros((80, 96), np.float32)
    report = agrees(text, a, b, np.int32(-4), np.int32(500), np.int32(-2), c, target="sm_75", stages=2)
    assert ahead(report)


@pytest.mark.parametrize("body", [
    "for k in range(0, K, BK) { acc = dot(a[i, k +: BK], b[k +: BK, j], acc) * 0.5; }",
    "for r in range(0, 2) { acc = acc + 1.0; for k in range(0, K, BK) "
    "{ acc = dot(a[i, k +: BK], b[k +: BK, j], acc); } }"])
def test_loops_that_do_more(body):
    report = agrees(LOOP % body, random(32, 64), random(64, 32, seed=1), 1, np.zeros((32, 32), np.float32),
                    target="sm_75")
    assert ahead(report) and fetched(report) == "ab"


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal, stages):
    text = ATTENTION.replace("stages: {2, 3}", f"stages: {{{stages}}}")
    report = agrees(text, *heads(70, 96, 64), rtol=2e-3, target="sm_75", CAUSAL=causal)
    assert fetched(report) == "kqv" and ahead(report) == (stages == 2)
    short, long = (agrees(text, *heads(64, keys, 64, count=1), rtol=2e-3, target="sm_75") for keys in (64, 256))
    assert long.barriers - short.barriers == 3 * (1 if stages == 2 else 4)  # without stages k and v share memory


def test_values_are_put_as_late_as_can_be():
    """Without stages: v is asked for together with k, and stored after the scores were computed."""
    _, thread, *_ = compiled(ATTENTION.replace("stages: {2, 3}", "stages: {1}"), *heads(64, 256, 64), target="sm_75")
    loop = next(op for op in thread.walk() if op.name == "for" and not op.attrs.get("unroll")
                and any(o.name == "exp" for o in op.blocks[0].walk()))
    names = [op.name for op in loop.blocks[0].walk() if op.name in ("global.load_chunk", "shared.store_chunk", "mma")]
    assert names == ["global.load_chunk", "global.load_chunk", "shared.store_chunk", "mma", "mma",
                     "shared.store_chunk", "mma", "mma"]


def test_batches():
    assert fetched(agrees(program(), *operands(5, 40, 64, 48), target="sm_75")) == "ab"


def test_chunks_that_the_edge_goes_through_are_refused():
    """Rows of 100 halves in 104: the kernel looks, but not whether a chunk is whole."""
    a, b, c = pair(64, 100, 64)
    a = np.pad(a, ((0, 0), (0, 4)))[:, :-4]
    assert not ahead(agrees(MATMUL, a, b, c, target="sm_75"))


def test_too_much_to_wait_in_registers_is_refused():
    """Of 64 x 64 and 64 x 64 halves one warp has 32 chunks a thread, 128 registers; two warps have half of that."""
    for warps in (1, 2):
        report = agrees(MATMUL, *pair(128, 128, 64), target="sm_75", BK=64, warps=warps)
        assert fetched(report) == "ab" and ahead(report) == (warps == 2)


def test_where_no_facts_say_so_the_kernel_looks():
    a, b, c = pair(64, 64, 64)
    off = np.pad(a, ((0, 0), (1, 0)))[:, 1:]
    assert not ahead(agrees(MATMUL, off, b, c, target="sm_75"))
    assert executed(agrees(MATMUL, off, b, c, target="sm_75"), "mma") > 0
    assert a.dtype == F16
