"""The textbook's matrix product through shared memory: what it gives, what it costs, and how fast the model runs it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.machine.threads import constants, run, thread_kernel, without_barrier
from tilelang.ir.core import Kernel
from tilelang.machine import Problem

MATMUL = constants(4, 15, 16, 64) + """
  %as: shared f32[256] = shared
  %bs: shared f32[256] = shared
  %z: f32 = const {value = 0.0}
  %ty: i32 = shr %t, %c4
  %tx: i32 = and %t, %c15
  %wy: i64 = cast %ty
  %wx: i64 = cast %tx
  %p1: i64 = program_id {axis = 1}
  %r0: i64 = mul %p, %w16
  %q0: i64 = mul %p1, %w16
  %row: i64 = add %r0, %wy
  %col: i64 = add %q0, %wx
  %ty16: i32 = mul %ty, %c16
  %acc: f32 = for %c0, %c4, %c1, %z (%k0: i32, %s: f32) {
    %k16: i32 = mul %k0, %c16
    %kw: i64 = cast %k16
    %ka: i64 = add %kw, %wx
    %kb: i64 = add %kw, %wy
    %ra: i64 = mul %row, %w64
    %oa: i64 = add %ra, %ka
    %rb: i64 = mul %kb, %w64
    %ob: i64 = add %rb, %col
    %va: f32 = global.load %a, %oa
    %vb: f32 = global.load %b, %ob
    shared.store %as, %t, %va
    shared.store %bs, %t, %vb
    barrier
    %s2: f32 = for %c0, %c16, %c1, %s (%k: i32, %s1: f32) {
      %ia: i32 = add %ty16, %k
      %kk: i32 = mul %k, %c16
      %ib: i32 = add %kk, %tx
      %x: f32 = shared.load %as, %ia
      %y: f32 = shared.load %bs, %ib
      %s3: f32 = fma %x, %y, %s1
      yield %s3
    }
    barrier
    yield %s2
  }
  %rc: i64 = mul %row, %w64
  %oc: i64 = add %rc, %col
  global.store %c, %oc, %acc
"""
"""c = a @ b of 64 x 64 f32: 4 x 4 blocks of 16 x 16 threads, one element a thread, k in steps of 16."""


def matmul() -> Kernel:
    params = ", ".join(f"%{name}: {mode} f32[64, 64]" for name, mode in (("a", "in"), ("b", "in"), ("c", "out")))
    return thread_kernel(params, MATMUL, 256)


def test_matmul_in_shared_tiles_and_what_it_costs() -> None:
    a, b = np.random.default_rng(0).random((2, 64, 64), np.float32)
    c = np.zeros((64, 64), np.float32)
    report = run(matmul(), (4, 4), a=a, b=b, c=c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    tile_loads, tiles = 2 * 4 * 16, 16  # two loads of 4 tiles each in 16 blocks, 8 warps each
    assert report.total("global.load").bytes == tile_loads * 256 * 4
    assert report.total("global.load").sectors == tile_loads * 8 * 4
    assert report.total("shared.load").warps == tiles * 8 * 2 * 64
    assert report.total("shared.load").conflicts == 0
    assert report.barriers == tiles * 8
    assert report.instructions()["fma"] == tiles * 8 * 64
    for number in range(2):
        found = run(without_barrier(matmul(), number), (4, 4), check=False, a=a, b=b, c=c)
        assert {f.problem for f in found.findings} == {Problem.SHARED_RACE}


def test_python_works_once_for_all_threads_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    module = sys.modules["tilelang.machine.execute"]
    compute = module.compute  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "compute", lambda name, *rest: (calls.append(name), compute(name, *rest))[1])
    matrices = np.zeros((3, 64, 64), np.float32)
    spent = []
    for grid in ((1, 1), (4, 4)):
        calls.clear()
        run(matmul(), grid, **dict(zip("abc", matrices, strict=True)))
        spent.append(len(calls))
    assert spent[1] <= spent[0] and calls.count("fma") == 64  # fewer: addresses of many programs are kept in parts
