"""licm: what leaves its loop, and what must not."""

from __future__ import annotations

import pytest

from tests.passes.helpers import body_of, check, kernel, unchanged
from tilelang.passes.licm import licm

LOAD = "{checked = (true,), mask = false, other = false, pointwise = false}"
STORE = "{checked = (true,), mask = false, pointwise = false}"


def test_invariant_ops_and_loads_leave_both_loops() -> None:
    check(licm, f"""
        %lo: i32 = const {{value = 0}}
        %at: i32[8] = iota
        for %lo, %n, %n (%k: i32) {{
          for %lo, %k, %n (%j: i32) {{
            %a: f32[8] = load %v, %at {LOAD}
            %e: f32[8] = exp %a
            %jk: i32 = add %j, %k
            %kk: i32 = mul %k, %k
            print %jk {{text = ""}}
            print %kk {{text = ""}}
            print %e {{text = ""}}
            yield
          }}
          yield
        }}""", f"""
        %lo: i32 = const {{value = 0}}
        %at: i32[8] = iota
        %a: f32[8] = load %v, %at {LOAD}
        %e: f32[8] = exp %a
        for %lo, %n, %n (%k: i32) {{
          %kk: i32 = mul %k, %k
          for %lo, %k, %n (%j: i32) {{
            %jk: i32 = add %j, %k
            print %jk {{text = ""}}
            print %kk {{text = ""}}
            print %e {{text = ""}}
            yield
          }}
          yield
        }}""")


def test_both_blocks_of_a_while_are_searched() -> None:
    text = body_of(licm(kernel("""
        %r: i32 = while %n (%a: i32) {
          %zero: i32 = const {value = 0}
          %go: bool = ne %a, %zero
          condition %go, %a
        } do (%c: i32) {
          %m: i32 = mul %n, %n
          %d: i32 = sub %c, %m
          yield %d
        }
        print %r {text = ""}""")))
    before, _ = text.split("%r: i32 = while")
    assert "%zero" in before
    assert "%m" in before
    assert "%go" not in before


ATOMIC = '%old: i32 = atomic %h, %n, %n {checked = (true,), kind = "add", mask = false, pointwise = false}'


@pytest.mark.parametrize("effect", [f"store %y, %at, %t {STORE}", ATOMIC])
def test_a_load_stays_where_the_loop_may_change_it(effect: str) -> None:
    unchanged(licm, f"""
        %at: i32[8] = iota
        %t: f32[8] = broadcast %s
        for %n, %n, %n (%k: i32) {{
          %a: f32[8] = load %y, %at {LOAD}
          print %a {{text = ""}}
          {effect}
          yield
        }}""")


def test_a_store_to_another_tensor_holds_no_load_back() -> None:
    text = body_of(licm(kernel(f"""
        %at: i32[8] = iota
        %t: f32[8] = broadcast %s
        for %n, %n, %n (%k: i32) {{
          %a: f32[8] = load %v, %at {LOAD}
          print %a {{text = ""}}
          store %y, %at, %t {STORE}
          yield
        }}""")))
    assert text.index("load %v") < text.index("for %n")


def test_effects_and_the_inside_of_branches_stay() -> None:
    unchanged(licm, """
        for %n, %n, %n (%k: i32) {
          assert %b {text = "b"}
          print %s {text = ""}
          if %b {
            %e: f32 = exp %s
            print %e {text = ""}
            yield
          } else {
            yield
          }
          yield
        }""")
