"""`if`, `for` and `while` where programs disagree; bounds at the ends of their type."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.running import at, per_program, run, shaped, st
from tilelang.diagnostics import InternalError
from tilelang.dtypes import DTYPES
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.interpreter import StepLimitReached, interpret
from tilelang.ir.parser import parse_kernel


def test_divergent_if_without_and_with_results() -> None:
    assert per_program("""
      %odd: i64 = mod %p, %c2
      %is: bool = eq %odd, %c1
      %r: i64 = if %is {
        %a: i64 = mul %p, %c5
        yield %a
      } else {
        %three: bool = lt %p, %c3
        %b: i64 = if %three {
          yield %c4
        } else {
          %n: i64 = neg %p
          yield %n
        }
        yield %b
      }
    """) == [4, 5, 4, 15, -4, 25]


def test_divergent_while_collatz() -> None:
    """Every program needs another number of rounds."""
    steps = per_program(
        """
      %start: i64 = add %p, %c1
      %n: i64, %r: i64 = while %start, %c0 (%a: i64, %k: i64) {
        %go: bool = ne %a, %c1
        condition %go, %a, %k
      } do (%b: i64, %l: i64) {
        %bit: i64 = mod %b, %c2
        %is: bool = eq %bit, %c0
        %next: i64 = if %is {
          %half: i64 = floordiv %b, %c2
          yield %half
        } else {
          %m: i64 = mul %b, %c3
          %o: i64 = add %m, %c1
          yield %o
        }
        %more: i64 = add %l, %c1
        yield %next, %more
      }
    """,
        programs=30,
    )

    def collatz(n: int) -> int:
        return 0 if n == 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)

    assert steps == [collatz(n) for n in range(1, 31)]


@pytest.mark.parametrize(
    ("bounds", "python"),
    [
        ("%c0, %p, %c1", lambda p: range(0, p, 1)),
        ("%p, %c0, %cm", lambda p: range(p, 0, -2)),
        ("%p, %c5, %c2", lambda p: range(p, 5, 2)),
        ("%c1, %c4, %c1", lambda p: range(1, 4)),
        ("%c4, %c1, %c1", lambda p: range(0)),
        ("%c0, %c5, %p1", lambda p: range(0, 5, p + 1)),
        ("%p, %p5, %c2", lambda p: range(p, p + 5, 2)),
    ],
)
def test_for_bounds(bounds: str, python) -> None:
    """The sum of (index + 10 for each trip), with bounds and steps that differ between programs or not."""
    assert per_program(f"""
      %cm: i64 = const {{value = -2}}
      %p1: i64 = add %p, %c1
      %p5: i64 = add %p, %c5
      %ten: i64 = const {{value = 10}}
      %r: i64 = for {bounds}, %c0 (%k: i64, %s: i64) {{
        %t: i64 = add %s, %k
        %u: i64 = add %t, %ten
        yield %u
      }}
    """) == [sum(k + 10 for k in python(p)) for p in range(6)]


@pytest.mark.parametrize(
    ("dtype", "lo", "hi", "step"),
    [
        ("i8", -128, 127, 100),
        ("i8", 127, -128, -100),
        ("u8", 0, 255, 254),
        ("i64", -(2**63), 2**63 - 1, 2**62),
        ("u64", 0, 2**64 - 1, 2**63),
        ("i64", 2**63 - 1, -(2**63), -(2**63)),
        ("i32", 5, 5, 1),
        ("u8", 9, 3, 1),
    ],
)
def test_for_at_the_ends_of_its_type(dtype: str, lo: int, hi: int, step: int) -> None:
    """The number of trips and the indexes are Python's, though hi - lo and the last step overflow."""
    y = np.full(4, 1, numpy_dtype(DTYPES[dtype]))
    run(
        f"%y: out {dtype}[4]",
        f"""
      %lo: {dtype} = const {{value = {lo}}}
      %hi: {dtype} = const {{value = {hi}}}
      %step: {dtype} = const {{value = {step}}}
      %z: i32 = const {{value = 0}}
      %one: i32 = const {{value = 1}}
      %n: i32 = for %lo, %hi, %step, %z (%k: {dtype}, %i: i32) {{
        store %y, %i, %k {st(True)}
        %j: i32 = add %i, %one
        yield %j
      }}
    """,
        y=y,
    )
    expected = list(range(lo, hi, step))
    assert y.tolist() == expected + [1] * (4 - len(expected))


def test_carried_tiles_swap_and_results_of_an_empty_loop() -> None:
    r = shaped(
        """
      %a: i32[2] = broadcast %p
      %b: i32[2] = broadcast %u
      %z: i32 = const {value = 0}
      %one: i32 = const {value = 1}
      %x: i32[2], %y1: i32[2] = for %z, %p, %one, %a, %b (%k: i32, %v: i32[2], %w: i32[2]) {
        yield %w, %v
      }
      %r: i32[4] = cat %x, %y1 {axis = 0}
    """,
        (4,),
    )
    assert r.tolist() == [[0, 0, 7, 7], [7, 7, 1, 1], [2, 2, 7, 7]]


def test_memory_ops_in_a_divergent_branch_touch_only_its_programs() -> None:
    y, z = np.zeros(6, np.int64), np.zeros(1, np.int64)
    run(
        "%y: out i64[6], %z: inout i64[1]",
        f"""
      %p: i64 = program_id {{axis = 0}}
      %two: i64 = const {{value = 2}}
      %zero: i64 = const {{value = 0}}
      %m: i64 = mod %p, %two
      %even: bool = eq %m, %zero
      if %even {{
        %one: i64 = const {{value = 1}}
        %o: i64 = atomic %z, %zero, %one {{kind = "add", {at(True)}}}
        store %y, %p, %two {st(True)}
        yield
      }} else {{
        yield
      }}
    """,
        (6,),
        y=y,
        z=z,
    )
    assert y.tolist() == [2, 0, 2, 0, 2, 0] and z.tolist() == [3]


def test_step_limit() -> None:
    kernel = parse_kernel("""kernel @k() dims() tile {
      %t: bool = const {value = true}
      while {
        condition %t
      } do {
        yield
      }
    }""")
    with pytest.raises(StepLimitReached):
        interpret(kernel, {}, {}, (4,), max_steps=100)
    interpret(kernel, {}, {}, (0,), max_steps=100)


def test_step_0_is_a_bug_of_the_builder() -> None:
    with pytest.raises(InternalError, match="step of a `for` is 0"):
        per_program("%r: i64 = for %c0, %c5, %c0, %c0 (%k: i64, %s: i64) {\nyield %s\n}")


@pytest.mark.parametrize("kind", ["if", "for", "while"])
def test_deep_nesting(kind: str) -> None:
    """200 levels, all of which the programs disagree on: the innermost store is for program 0 alone."""
    opening = {
        "if": "%d{0}: bool = lt %p, %one\nif %d{0} {{",
        "for": "for %p, %one, %one (%k{0}: i64) {{",
        "while": "%d{0}: bool = lt %p, %one\n%w{0}: bool = while %d{0} (%a{0}: bool) {{\n"
        "condition %a{0}, %a{0}\n}} do (%b{0}: bool) {{",
    }[kind]
    closing = {
        "if": "yield\n}} else {{\nyield\n}}",
        "for": "yield\n}}",
        "while": "%f{0}: bool = const {{value = false}}\nyield %f{0}\n}}",
    }[kind]
    levels = range(200)
    y = np.zeros(4, np.int64)
    run(
        "%y: out i64[4]",
        "%p: i64 = program_id {axis = 0}\n%one: i64 = const {value = 1}\n"
        + "\n".join(opening.format(i) for i in levels)
        + f"\nstore %y, %p, %one {st(True)}\n"
        + "\n".join(closing.format(i) for i in reversed(levels)),
        (4,),
        y=y,
    )
    assert y.tolist() == [1, 0, 0, 0]
