"""`shared.wgmma` on the machine model: it reads operands as descriptors say, and misuse is found."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.machine.threads import constants, problems, run, thread_kernel
from tilelang.machine import Problem, Report

LOADED = constants(3, 4, 5, 7, 8, 15, 16, 31, 64, 128) + """
  %as: shared T[1024] = shared
  %bs: shared T[512] = shared
  %acc: local f32[16] = local
  for %c0, %c8, %c1 (%r: i32) {
    %e0: i32 = shl %r, %c7
    %e: i32 = add %e0, %t
    %we: i64 = cast %e
    %va: T = global.load %a, %we
    %row: i32 = shr %e, %c4
    %turn0: i32 = shr %row, %c2
    %turn1: i32 = and %turn0, %c1
    %turn: i32 = shl %turn1, %c3
    %at: i32 = xor %e, %turn
    shared.store %as, %at, %va
    yield
  }
  for %c0, %c4, %c1 (%r1: i32) {
    %f0: i32 = shl %r1, %c7
    %f: i32 = add %f0, %t
    %wf: i64 = cast %f
    %vb: T = global.load %b, %wf
    %k: i32 = shr %f, %c5
    %half: i32 = shr %k, %c1
    %low: i32 = and %half, %c3
    %shift: i32 = shl %low, %c3
    %at1: i32 = xor %f, %shift
    shared.store %bs, %at1, %vb
    yield
  }
  %one: f32 = const {value = 0.5}
  for %c0, %c16, %c1 (%r2: i32) {
    local.store %acc, %r2, %one
    yield
  }
"""
"""a: 64 x 16, rows along k, of 32 bytes: bit 4 of the address ^ bit 7. b: 16 x 32, rows along n, of 64 bytes: bits 4
and 5 ^ bits 7 and 8."""

PRODUCT = """
  async.fence
  barrier
  wgmma.fence %acc
  shared.wgmma %as, %c0, %bs, %c0, %acc, %c0
    {kind = "T", columns = 32, a = (32, 16, 256, true), b = (64, 1024, 512, false)}
  wgmma.commit
  wgmma.wait %acc {pending = 0}
"""

STORED = """
  %warp: i32 = shr %t, %c5
  %lane: i32 = and %t, %c31
  %g: i32 = shr %lane, %c2
  %m: i32 = and %lane, %c3
  %m2: i32 = shl %m, %c1
  %tall: i32 = shl %warp, %c4
  %first: i32 = add %tall, %g
  for %c0, %c16, %c1 (%r3: i32) {
    %v: f32 = local.load %acc, %r3
    %pair: i32 = shr %r3, %c1
    %down: i32 = and %pair, %c1
    %d8: i32 = shl %down, %c3
    %i: i32 = add %first, %d8
    %right: i32 = shr %r3, %c2
    %r8: i32 = shl %right, %c3
    %odd: i32 = and %r3, %c1
    %j0: i32 = add %r8, %m2
    %j: i32 = add %j0, %odd
    %i32: i32 = shl %i, %c5
    %o: i32 = add %i32, %j
    %wo: i64 = cast %o
    global.store %y, %wo, %v
    yield
  }
"""


def executed(product: str = PRODUCT, dtype: str = "f16", programs: int = 1, threads: int = 128, *,
             check: bool = False) -> tuple[Report, np.ndarray, np.ndarray]:
    """What the model says, and what y is and should be."""
    host = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[dtype]
    generator = np.random.default_rng(0)
    a, b = generator.standard_normal((64, 16)).astype(host), generator.standard_normal((16, 32)).astype(host)
    y = np.zeros((64, 32), np.float32)
    body = (LOADED + product + STORED).replace('"T"', f'"{dtype}"').replace(": T", f": {dtype}")
    body = body.replace("shared T", f"shared {dtype}")
    kernel = thread_kernel(f"%a: in {dtype}[64, 16], %b: in {dtype}[16, 32], %y: out f32[64, 32]", body, threads)
    report = run(kernel, (programs,), check=check, a=a, b=b, y=y)
    return report, y, a.astype(np.float32) @ b.astype(np.float32) + np.float32(0.5)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("programs", [1, 3])
def test_a_warp_group_multiplies(dtype, programs):
    report, y, wanted = executed(dtype=dtype, programs=programs, check=programs == 1)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    counts = report.total("shared.wgmma")
    assert counts.warps == 4 * programs  # each warp of the group issues the instruction
    assert counts.bytes == (64 * 16 + 16 * 32) * 2 * programs
    assert counts.wavefronts == (64 * 16 + 16 * 32) * 2 // 128 * programs and counts.conflicts == 0


@pytest.mark.parametrize(("old", "new", "found"), [
    ("  async.fence\n", "", {Problem.UNPUBLISHED}),
    ("  async.fence\n  barrier\n", "  barrier\n  async.fence\n", {Problem.UNPUBLISHED}),
    ("  barrier\n", "", {Problem.UNPUBLISHED, Problem.SHARED_RACE}),
    ("  wgmma.fence %acc\n", "", {Problem.UNFENCED}),
    ("  wgmma.wait %acc {pending = 0}\n", "", {Problem.IN_FLIGHT}),
    ("  wgmma.commit\n", "", {Problem.IN_FLIGHT}),
    ("wgmma.wait %acc {pending = 0}", "wgmma.wait %acc {pending = 1}", {Problem.IN_FLIGHT}),
    ("%as, %c0, %bs", "%as, %c4, %bs", {Problem.MISALIGNED}),
    ("%as, %c0, %bs", "%as, %c128, %bs", {Problem.OUT_OF_BOUNDS}),
    ("%bs, %c0, %acc", "%bs, %wide, %acc", {Problem.DISAGREEMENT})])
def test_what_is_missing_is_found(old, new, found):
    product = PRODUCT.replace(old, new, 1).replace("  async.fence", "  %wide: i32 = shl %t, %c3\n  async.fence", 1)
    report, _, _ = executed(product)
    assert problems(report) == found


@pytest.mark.parametrize(("right", "wrong"), [
    ("(32, 16, 256, true)", "(64, 16, 256, true)"), ("(64, 1024, 512, false)", "(32, 512, 512, false)"),
    ("(64, 1024, 512, false)", "(64, 1024, 256, false)"), ("(32, 16, 256, true)", "(32, 16, 128, true)")])
def test_a_wrong_descriptor_gives_a_wrong_product(right, wrong):
    report, y, wanted = executed(PRODUCT.replace(right, wrong))
    assert problems(report) or not np.allclose(y, wanted, rtol=1e-2, atol=1e-2)


def test_products_in_a_row_need_no_fence_between_them():
    (line,) = [part for part in PRODUCT.split("\n  ") if part.startswith("shared.wgmma")]
    attrs = PRODUCT[PRODUCT.index("    {kind"):PRODUCT.index("  wgmma.commit")]
    twice = PRODUCT.replace("  wgmma.commit", f"  {line}\n{attrs}  wgmma.commit")
    report, y, wanted = executed(twice)
    assert not report.findings
    np.testing.assert_allclose(y, 2 * wanted - 0.5, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("after", "found"), [
    ("  wgmma.wait %acc {pending = 0}\n  barrier\n", set()),
    ("  wgmma.wait %acc {pending = 0}\n", {Problem.SHARED_RACE}), ("  barrier\n", {Problem.SHARED_RACE})])
def test_operands_are_read_until_the_wait(after, found):
    """Whoever writes where an operand was must have passed a barrier after everybody's wait."""
    late = "" if "wait" in after else "  wgmma.wait %acc {pending = 0}\n"
    overwritten = "  %zero: T = const {value = 0.0}\n  %next: i32 = xor %t, %c64\n  shared.store %as, %next, %zero\n"
    product = PRODUCT.replace("  wgmma.wait %acc {pending = 0}\n", after + overwritten + late)
    report, _, _ = executed(product)
    assert problems(report) == found


def test_half_a_group_cannot_multiply():
    head, product = PRODUCT.split("  wgmma.fence %acc\n")
    some = f"  %some: bool = lt %t, %c64\n  if %some {{\n{product}    yield\n  }} else {{ yield }}\n"
    report, _, _ = executed(f"{head}  wgmma.fence %acc\n{some}")
    assert Problem.PARTIAL_WARP in problems(report)


def test_accumulators_touched_in_between():
    """Between two products a thread looks at its accumulators: the second needs a fence again."""
    again = PRODUCT[PRODUCT.index("  shared.wgmma"):]
    look = "  %seen: f32 = local.load %acc, %c0\n"
    assert problems(executed(PRODUCT + look + again)[0]) == {Problem.UNFENCED}
    assert problems(executed(PRODUCT + look + "  wgmma.fence %acc\n" + again)[0]) == set()
