"""Which unrolled loops may run with their trips side by side."""

from __future__ import annotations

import numpy as np
import pytest

from tests.machine.threads import constants, run, thread_kernel
from tilelang.machine import control
from tilelang.machine import plan as plan_module
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


NESTS = {
    "a register for each pair of trips":
        (4, "%row: i32 = mul %i, %c4\n",
         "%at: i32 = add %row, %k\n%v: i32 = local.load %a, %at\nlocal.store %a, %at, %v"),
    "a store to shared memory, once for each pair": (4, "", "%at: i32 = add %i, %k\nshared.store %s, %at, %t"),
    "one register for two pairs": (0, "", "%at: i32 = add %i, %k\nlocal.store %a, %at, %t"),
    "a register of the inner loop alone": (0, "", "local.store %a, %k, %i"),
    "touched outside the inner loop too": (0, "%v: i32 = local.load %a, %i\n", "local.store %a, %k, %v"),
    "the inner loop runs in turn": (1, "", "local.store %a, %i, %k"),
}
"""What -> (lanes that a trip of the outer loop becomes, before the inner loop, in the inner loop)."""


def loop(body: str, attrs: str = "{unroll = true} ") -> int:
    text = SETUP + f"for %c0, %c4, %c1 {attrs}(%i: i32) {{\n{body}\nyield\n}}"
    steps = plan(thread_kernel("%y: inout i32[4]", text))[0].steps
    return steps[-1].side_by_side


def nest(before: str, body: str) -> str:
    return f"{before}for %c0, %c4, %c1 {{unroll = true}} (%k: i32) {{\n{body}\nyield\n}}"


@pytest.mark.parametrize("what", NESTS)
def test_loops_inside(what: str) -> None:
    lanes, before, body = NESTS[what]
    assert loop(nest(before, body)) == lanes


def test_pairs_of_trips_compute_as_they_would_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    body = constants(3, 4, 12, 48) + """
      %a: local i32[12] = local
      %s: shared i32[16] = shared
      for %c0, %c3, %c1 {unroll = true} (%i: i32) {
        %four: i32 = mul %i, %c4
        %odd: bool = ne %i, %c1
        %x: i32 = add %four, %t
        for %c0, %c4, %c1 {unroll = true} (%k: i32) {
          %at: i32 = add %four, %k
          %v: i32 = mul %x, %at
          local.store %a, %at, %v
          if %odd {
            %slot: i32 = add %t, %k
            shared.store %s, %slot, %v
            yield
          } else { yield }
          yield
        }
        yield
      }
      for %c0, %c12, %c1 (%n: i32) {
        %kept: i32 = local.load %a, %n
        %row: i32 = mul %n, %c4
        %place: i32 = add %row, %t
        %wide: i64 = cast %place
        global.store %y, %wide, %kept
        yield
      }
      %last: i32 = shared.load %s, %t
      %tail: i32 = add %t, %c48
      %wide_tail: i64 = cast %tail
      global.store %y, %wide_tail, %last
    """
    kernel = thread_kernel("%y: out i32[52]", body, 4)

    def outcome() -> tuple:
        y = np.zeros(52, np.int32)
        report = run(kernel, y=y, check=False)
        return y.tolist(), [counts for _, counts in report.ops], report.findings

    found = []
    for lanes in (1 << 15, 8, 1):
        monkeypatch.setattr(control, "LANES_AND_TRIPS", lanes)
        found.append(outcome())
    monkeypatch.setattr(plan_module, "side_by_side", lambda body: {})
    in_turn = outcome()
    assert found == [in_turn] * 3
    assert in_turn[0][4:8] == [0, 1, 2, 3] and in_turn[0][44:48] == [8 * 11, 9 * 11, 10 * 11, 11 * 11]


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
