"""`shared.load_matrix` and `mma` on the machine model: they multiply matrices, and misuse is found."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.machine.threads import constants, problems, run, thread_kernel
from tilelang.machine import Problem

LOADED = constants(3, 4, 5, 7, 8, 15, 16, 31, 128, 256) + """
  %as: shared T[256] = shared
  %bs: shared T[256] = shared
  %fa: local u32[4] = local
  %fb: local u32[4] = local
  %acc: local f32[8] = local
  for %c0, %c8, %c1 (%r: i32) {
    %e0: i32 = shl %r, %c5
    %e: i32 = add %e0, %t
    %we: i64 = cast %e
    %va: T = global.load %a, %we
    %vb: T = global.load %b, %we
    shared.store %as, %e, %va
    shared.store %bs, %e, %vb
    %zero: f32 = const {value = 0.5}
    local.store %acc, %r, %zero
    yield
  }
  barrier
  %low: i32 = and %t, %c15
  %high: i32 = shr %t, %c4
  %row: i32 = shl %low, %c4
  %chunk: i32 = shl %high, %c3
  %at: i32 = add %row, %chunk
"""
"""a, b: 16 x 16 in shared memory, and for each lane the place that `ldmatrix` of A wants."""

PRODUCT = LOADED + """
  shared.load_matrix %as, %at, %fa, %c0 {trans = false}
  shared.load_matrix %bs, %at, %fb, %c0 {trans = true}
  mma %acc, %c0, %fa, %c0, %fb, %c0 {kind = "K"}
  mma %acc, %c4, %fa, %c0, %fb, %c2 {kind = "K"}
  %g: i32 = shr %t, %c2
  %m: i32 = and %t, %c3
  for %c0, %c8, %c1 (%r2: i32) {
    %v: f32 = local.load %acc, %r2
    %half: i32 = shr %r2, %c1
    %down: i32 = and %half, %c1
    %right: i32 = shr %r2, %c2
    %odd: i32 = and %r2, %c1
    %d8: i32 = shl %down, %c3
    %i: i32 = add %g, %d8
    %m2: i32 = shl %m, %c1
    %r8: i32 = shl %right, %c3
    %j0: i32 = add %m2, %odd
    %j: i32 = add %j0, %r8
    %i16: i32 = shl %i, %c4
    %o: i32 = add %i16, %j
    %wo: i64 = cast %o
    global.store %y, %wo, %v
    yield
  }
"""


def kernel(body: str, dtype: str, threads: int = 32, kind: str | None = None):
    text = body.replace(" T", f" {dtype}").replace('"K"', f'"{kind or dtype}"')
    return thread_kernel(f"%a: in {dtype}[16, 16], %b: in {dtype}[16, 16], %y: out f32[16, 16]", text, threads)


@pytest.mark.parametrize(("dtype", "host"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
@pytest.mark.parametrize("programs", [1, 3])
def test_a_warp_multiplies(dtype, host, programs):
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal((16, 16)).astype(host) for _ in range(2))
    y = np.zeros((16, 16), np.float32)
    report = run(kernel(PRODUCT, dtype), (programs,), check=programs == 1, a=a, b=b, y=y)
    np.testing.assert_allclose(y, a.astype(np.float32) @ b.astype(np.float32) + 0.5, rtol=1e-5, atol=1e-5)
    loads = report.total("shared.load_matrix")
    assert loads.warps == 2 * programs and loads.bytes == 2 * 32 * 16 * programs
    assert loads.wavefronts - loads.conflicts == 8 * programs  # four matrices, eight rows in one wavefront each
    assert report.total("mma").warps == 2 * programs


def arrays() -> dict[str, np.ndarray]:
    return {"a": np.ones((16, 16), np.float16), "b": np.ones((16, 16), np.float16), "y": np.zeros((16, 16), np.float32)}


def test_a_missing_barrier_is_a_race():
    found = run(kernel(PRODUCT.replace("  barrier\n", ""), "f16"), check=False, **arrays())
    assert problems(found) == {Problem.SHARED_RACE}


def test_half_a_warp_cannot_multiply():
    body = LOADED + """
  %some: bool = lt %t, %c16
  if %some {
    shared.load_matrix %as, %at, %fa, %c0 {trans = false}
    yield
  } else { yield }"""
    assert problems(run(kernel(body, "f16"), check=False, **arrays())) == {Problem.PARTIAL_WARP}


def test_a_whole_warp_of_two_can():
    """Threads 32 to 63 stay away; they have filled shared memory with the same values."""
    body = LOADED.replace("barrier", "").replace("for %c0, %c8", "for %c0, %c1") + """
  barrier
  %some: bool = lt %t, %c31
  %mine: i32 = shr %t, %c5
  %first: bool = lt %mine, %c1
  if %first {
    shared.load_matrix %as, %at, %fa, %c0 {trans = false}
    yield
  } else { yield }"""
    found = problems(run(kernel(body, "f16", 64), check=False, **arrays()))
    assert Problem.PARTIAL_WARP not in found and Problem.UNINITIALISED in found


def test_a_row_that_does_not_begin_at_16_bytes():
    body = LOADED + """
  %odd: i32 = add %at, %c4
  shared.load_matrix %as, %odd, %fa, %c0 {trans = false}"""
    assert problems(run(kernel(body, "f16"), check=False, **arrays())) == {Problem.MISALIGNED}


def test_a_row_outside_the_array():
    body = LOADED + """
  %far: i32 = add %at, %c128
  shared.load_matrix %as, %far, %fa, %c0 {trans = false}"""
    assert problems(run(kernel(body, "f16"), check=False, **arrays())) == {Problem.OUT_OF_BOUNDS}


def test_a_fragment_that_was_never_loaded():
    body = LOADED + """
  mma %acc, %c0, %fa, %c0, %fb, %c0 {kind = "f16"}"""
    assert problems(run(kernel(body, "f16"), check=False, **arrays())) == {Problem.UNINITIALISED}


@pytest.mark.parametrize(("half", "host"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_two_numbers_are_rounded_into_one_register(half, host):
    """Also what is too large for a half, and NaN; the first number is in the lower bits."""
    x = np.array([1.0, -2.5, 0.1, 70000.0, np.inf, np.nan, 1e-8, -0.0] * 8, np.float32)
    y = np.zeros(32, np.uint32)
    text = f"""
  %u: i32 = add %t, %c1
  %i: i64 = cast %t
  %j: i64 = cast %u
  %a: f32 = global.load %x, %i
  %b: f32 = global.load %x, %j
  %w: u32 = pack %a, %b {{half = "{half}"}}
  global.store %y, %i, %w
"""
    run(thread_kernel("%x: in f32[64], %y: out u32[32]", text, 32), (1,), x=x, y=y)
    with np.errstate(over="ignore"):
        bits = x.astype(host).view(np.uint16).astype(np.uint32)
    np.testing.assert_array_equal(y, bits[:32] | bits[1:33] << np.uint32(16))
