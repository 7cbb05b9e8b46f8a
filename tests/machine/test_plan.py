"""Which unrolled loops may run with their trips side by side."""

from __future__ import annotations

import numpy as np
import pytest

from tests.machine.threads import constants, run, thread_kernel
from tilelang.machine.plan import plan

SETUP = constants(4, 8) + """
  %a: local i32[4] = local
  %b: local i32[4] = local
  %s: shared i32[256] = shared
"""

ALLOWED = {
    "own register": "local.store %a, %i, %t",
    "read one array, write another": "%n: i32 = sub %c1, %c1\n%v: i32 = local.load %b, %n\nlocal.store %a, %i, %v",
    "update in place": "%v: i32 = local.load %a, %i\n%w: i32 = add %v, %i\nlocal.store %a, %i, %w",
    "one store to shared memory": "%at: i32 = add %t, %i\nshared.store %s, %at, %t",
    "a guarded store": "%c: bool = lt %t, %i\nif %c { shared.store %s, %t, %i\nyield } else { yield }",
    "an inner loop that only reads": "for %c0, %c4, %c1 (%k: i32) { %v: i32 = shared.load %s, %k\nyield }",
}
REFUSED = {
    "another trip's register": "%v: i32 = local.load %a, %c0\nlocal.store %a, %i, %v",
    "a fixed register": "local.store %a, %c0, %i",
    "reads what it stores": "%v: i32 = shared.load %s, %i\nshared.store %s, %t, %v",
    "two stores": "shared.store %s, %t, %i\nshared.store %s, %i, %t",
    "a store in an inner loop": "for %c0, %c4, %c1 (%k: i32) { shared.store %s, %k, %i\nyield }",
    "a barrier": "barrier",
    "an assert": "%c: bool = lt %t, %c8\nassert %c {id = 0, text = \"t\"}",
    "a print": "print {id = 0, text = \"t\"}",
    "an atomic": "%old: i32 = global.atomic %y, %w0, %i {kind = \"xchg\"}",
    "reads a tensor it stores": "%v: i32 = global.load %y, %w1\nglobal.store %y, %w0, %v",
}


def loop(body: str, attrs: str = "{unroll = true} ") -> bool:
    text = SETUP + f"for %c0, %c4, %c1 {attrs}(%i: i32) {{\n{body}\nyield\n}}"
    steps = plan(thread_kernel("%y: inout i32[4]", text))[0].steps
    return steps[-1].side_by_side


@pytest.mark.parametrize("what", ALLOWED)
def test_allowed(what: str) -> None:
    assert loop(ALLOWED[what])


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    assert not loop(REFUSED[what])


def test_only_unrolled_loops_that_carry_nothing() -> None:
    assert not loop(ALLOWED["own register"], "")
    text = "%n: i32 = for %c0, %c2, %c1, %t {unroll = true} (%i: i32, %s: i32) { %u: i32 = add %s, %i\nyield %u }"
    assert not plan(thread_kernel("", text))[0].steps[-1].side_by_side


def test_a_loop_with_bounds_of_the_threads_own_is_run_in_turn() -> None:
    body = """
      %a: local i32[4] = local
      for %c0, %t, %c1 {unroll = true} (%i: i32) { local.store %a, %i, %t
        yield }
      %some: bool = gt %t, %c0
      if %some {
        %last: i32 = sub %t, %c1
        %v: i32 = local.load %a, %last
        global.store %y, %tw, %v
        yield
      } else { yield }
    """
    y = np.zeros(4, np.int32)
    run(thread_kernel("%y: out i32[4]", body, 4), y=y)
    assert y.tolist() == [0, 1, 2, 3]


def test_numbers_are_positions_in_the_text() -> None:
    kernel = thread_kernel("", "%c: bool = lt %t, %c2\nif %c { barrier\nyield } else { barrier\nyield }\nbarrier")
    body, ops = plan(kernel)
    assert [op.name for op in ops] == [op.name for op in kernel.walk()]

    def numbers(block) -> list[int]:
        return [n for step in block.steps for n in (step.number, *(m for b in step.blocks for m in numbers(b)))]

    assert [ops[n].name for n in numbers(body)] == [op.name for op in kernel.walk() if op.name != "yield"]
