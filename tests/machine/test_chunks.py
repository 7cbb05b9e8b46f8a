"""Chunks of 16 bytes by way of registers, on the machine model: the bytes stay what they are, and misuse is found."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.machine.threads import constants, problems, run, thread_kernel
from tilelang.machine import Problem

MOVE = constants(3, 4, 31) + """
  %s: shared f16[512] = shared
  %regs: local u32[8] = local
  %at: i32 = shl %t, %c3
  %wide: i64 = cast %at
  %few: bool = lt %t, %n
  global.load_chunk %x, %wide, %few, %regs, %c4
  shared.store_chunk %s, %at, %regs, %c4
  barrier
  %back: i32 = sub %c31, %t
  for %c0, %c8, %c1 (%r: i32) {
    %from: i32 = shl %back, %c3
    %f: i32 = add %from, %r
    %v: f16 = shared.load %s, %f
    %e: i32 = add %at, %r
    %we: i64 = cast %e
    global.store %y, %we, %v
    yield
  }
"""
MOVE = MOVE.replace("%c8", "%eight").replace("  %s: shared", "  %eight: i32 = const {value = 8}\n  %s: shared", 1)
"""Each thread loads 8 elements and stores those of another."""


def moved(body: str = MOVE, dtype: str = "f16", **arguments: object):
    kernel = thread_kernel(f"%x: in {dtype}[256], %y: out {dtype}[256], %n: i32", body.replace("f16", dtype))
    return run(kernel, check=False, **arguments)


def arrays(dtype: type = np.float16) -> dict:
    return {"x": np.arange(1, 257).astype(dtype), "y": np.zeros(256, dtype)}


@pytest.mark.parametrize(("dtype", "name"), [(np.float16, "f16"), (ml_dtypes.bfloat16, "bf16")])
@pytest.mark.parametrize("few", [32, 5, 0])
def test_what_is_not_there_is_zero(dtype, name, few):
    given = arrays(dtype)
    report = moved(dtype=name, n=few, **given)
    wanted = given["x"].reshape(32, 8).copy()
    wanted[few:] = 0
    np.testing.assert_array_equal(given["y"].reshape(32, 8), wanted[::-1])
    assert not report.findings
    loads, stores = report.total("global.load_chunk"), report.total("shared.store_chunk")
    assert (loads.bytes, loads.sectors) == (16 * few, -(-few // 2))
    assert (stores.bytes, stores.wavefronts, stores.conflicts) == (512, 4, 0)


def test_bytes_keep_their_order():
    body = MOVE.replace("shl %t, %c3", "shl %t, %c4").replace("shl %back, %c3", "shl %back, %c4")
    body = body.replace("{value = 8}", "{value = 16}")
    kernel = thread_kernel("%x: in i8[512], %y: out i8[512], %n: i32", body.replace("f16", "i8"))
    x, y = np.arange(512).astype(np.int8), np.zeros(512, np.int8)
    assert not run(kernel, x=x, y=y, n=32).findings
    np.testing.assert_array_equal(y.reshape(32, 16), x.reshape(32, 16)[::-1])


@pytest.mark.parametrize(("old", "new", "problem"), [
    ("chunk %s, %at,", "chunk %s, %t,", Problem.MISALIGNED), ("%x, %wide,", "%x, %crooked,", Problem.MISALIGNED),
    ("%x, %wide,", "%x, %far,", Problem.OUT_OF_BOUNDS), ("  barrier\n", "", Problem.SHARED_RACE),
    ("chunk %s, %at, %regs, %c4", "chunk %s, %at, %regs, %c0", Problem.UNINITIALISED)])
def test_misuse_is_found(old, new, problem):
    more = "  %crooked: i64 = cast %t\n  %long: i32 = mul %at, %c4\n  %far: i64 = cast %long\n  %few"
    body = MOVE.replace(old, new).replace("  %few", more, 1)
    assert problem in problems(moved(body, n=32, **arrays()))
