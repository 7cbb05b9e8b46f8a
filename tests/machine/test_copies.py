"""Asynchronous copies on the machine model: they arrive when waited for, and every hurry is found."""

from __future__ import annotations

import numpy as np
import pytest

from tests.machine.threads import constants, problems, run, thread_kernel
from tilelang.machine import Problem

COPY = constants(3, 7, 8, 31) + """
  %s: shared f16[512] = shared
  %at: i32 = shl %t, %c3
  %wide: i64 = cast %at
  %next: i32 = xor %at, %c8
  shared.copy_async %s, %at, %x, %wide, %n
  async.commit
  async.wait {pending = 0}
  barrier
  for %c0, %c8, %c1 (%r: i32) {
    %e: i32 = add %next, %r
    %we: i64 = cast %e
    %v: f16 = shared.load %s, %e
    global.store %y, %we, %v
    yield
  }
"""
"""Each thread copies 8 elements and stores those of its neighbour."""


def kernel(body: str):
    return thread_kernel("%x: in f16[256], %y: out f16[256], %n: i32", body)


def arrays() -> dict:
    return {"x": np.arange(1, 257, dtype=np.float16), "y": np.zeros(256, np.float16)}


@pytest.mark.parametrize("count", [8, 5, 0])
def test_what_is_not_copied_is_zero(count):
    given = arrays()
    report = run(kernel(COPY), n=count, **given)
    wanted = given["x"].reshape(32, 8).copy()
    wanted[:, count:] = 0
    np.testing.assert_array_equal(given["y"], wanted.ravel())
    counts = report.total("shared.copy_async")
    assert counts.bytes == 512 and counts.conflicts == 0 and counts.wavefronts == 4
    assert counts.sectors == (16 if count else 0)


@pytest.mark.parametrize(("without", "problem"), [
    ("  async.wait {pending = 0}\n", Problem.IN_FLIGHT), ("  async.commit\n", Problem.IN_FLIGHT),
    ("  barrier\n", Problem.SHARED_RACE)])
def test_what_is_missing_is_found(without, problem):
    assert without in COPY
    found = run(kernel(COPY.replace(without, "")), check=False, n=8, **arrays())
    assert problem in problems(found)


def test_a_barrier_before_the_wait_is_no_help():
    body = COPY.replace("  async.wait {pending = 0}\n  barrier\n", "  barrier\n  async.wait {pending = 0}\n")
    assert problems(run(kernel(body), check=False, n=8, **arrays())) == {Problem.SHARED_RACE}


def test_the_last_group_may_still_be_under_way():
    """The first group is waited for; with one more commit in between it is there, without it is not."""
    early = COPY.replace("pending = 0", "pending = 1")
    assert problems(run(kernel(early), check=False, n=8, **arrays())) >= {Problem.IN_FLIGHT}
    given = arrays()
    run(kernel(early.replace("async.commit", "async.commit\n  async.commit")), n=8, **given)
    np.testing.assert_array_equal(given["y"], given["x"])


def test_a_copy_over_what_others_still_read():
    body = COPY + "  shared.copy_async %s, %at, %x, %wide, %n\n"
    assert problems(run(kernel(body), check=False, n=8, **arrays())) == {Problem.SHARED_RACE}


def test_places_must_be_aligned_and_inside():
    shifted = COPY.replace("%s, %at, %x, %wide", "%s, %next1, %x, %wide").replace(
        "  shared.copy_async", "  %next1: i32 = add %at, %c1\n  shared.copy_async", 1)
    assert Problem.MISALIGNED in problems(run(kernel(shifted), check=False, n=8, **arrays()))
    small = {"x": np.ones(250, np.float16), "y": np.zeros(250, np.float16)}
    found = run(thread_kernel("%x: in f16[250], %y: out f16[250], %n: i32", COPY), check=False, n=8, **small)
    assert Problem.OUT_OF_BOUNDS in problems(found)
