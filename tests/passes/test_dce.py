"""dce: what goes, and what has an effect and stays."""

from __future__ import annotations

from tests.passes.helpers import check, unchanged
from tilelang.passes.dce import dce


def test_unused_ops_and_loads_go() -> None:
    check(dce, """
        %at: i32[8] = iota
        %a: f32[8] = load %v, %at {checked = (true,), mask = false, other = false, pointwise = false}
        %e: f32[8] = exp %a
        %c: f32 = exp %s
        print %c {text = ""}""", """
        %c: f32 = exp %s
        print %c {text = ""}""")


def test_effects_stay_with_what_they_read() -> None:
    unchanged(dce, """
        %at: i32[8] = iota
        %one: i32[8] = const {value = 1}
        %old: i32[8] = atomic %h, %at, %one {checked = (true,), kind = "add", mask = false, pointwise = false}
        assert %b {text = "b"}
        %e: f32[8] = broadcast %s
        store %y, %at, %e {checked = (true,), mask = false, pointwise = false}
        print {text = ""}""")


def test_a_value_that_feeds_only_itself_goes() -> None:
    check(dce, """
        %lo: i32 = const {value = 0}
        %step: i32 = const {value = 1}
        %one: f32 = const {value = 1.0}
        %p: f32, %q: i32, %r: f32 = for %lo, %n, %step, %s, %n, %one (%k: i32, %a: f32, %c: i32, %d: f32) {
          %a1: f32 = mul %a, %d
          %c1: i32 = add %c, %k
          %d1: f32 = exp %d
          yield %a1, %c1, %d1
        }
        print %p {text = ""}""", """
        %lo: i32 = const {value = 0}
        %step: i32 = const {value = 1}
        %one: f32 = const {value = 1.0}
        %p: f32, %r: f32 = for %lo, %n, %step, %s, %one (%k: i32, %a: f32, %d: f32) {
          %a1: f32 = mul %a, %d
          %d1: f32 = exp %d
          yield %a1, %d1
        }
        print %p {text = ""}""")


def test_a_loop_for_nothing_goes_and_one_with_an_effect_loses_its_results() -> None:
    check(dce, """
        %lo: i32 = const {value = 0}
        %step: i32 = const {value = 1}
        %p: f32 = for %lo, %n, %step, %s (%k: i32, %a: f32) {
          %a1: f32 = exp %a
          yield %a1
        }
        %q: f32 = for %lo, %n, %step, %s (%j: i32, %c: f32) {
          %c1: f32 = exp %c
          print %j {text = ""}
          yield %c1
        }""", """
        %lo: i32 = const {value = 0}
        %step: i32 = const {value = 1}
        for %lo, %n, %step (%j: i32) {
          print %j {text = ""}
          yield
        }""")


def test_a_while_stays_for_it_may_never_end() -> None:
    check(dce, """
        %zero: i32 = const {value = 0}
        %p: i32, %q: f32 = while %n, %s (%a: i32, %c: f32) {
          %go: bool = ne %a, %zero
          condition %go, %a, %c
        } do (%d: i32, %e: f32) {
          %d1: i32 = sub %d, %n
          %e1: f32 = exp %e
          yield %d1, %e1
        }""", """
        %zero: i32 = const {value = 0}
        %p: i32 = while %n (%a: i32) {
          %go: bool = ne %a, %zero
          condition %go, %a
        } do (%d: i32) {
          %d1: i32 = sub %d, %n
          yield %d1
        }""")


def test_unused_results_of_a_branch_go() -> None:
    check(dce, """
        %p: f32, %q: f32 = if %b {
          %a: f32 = exp %s
          %c: f32 = sin %s
          yield %a, %c
        } else {
          yield %s, %s
        }
        print %q {text = ""}""", """
        %q: f32 = if %b {
          %c: f32 = sin %s
          yield %c
        } else {
          yield %s
        }
        print %q {text = ""}""")


def test_a_condition_is_needed_by_what_it_guards() -> None:
    unchanged(dce, """
        %zero: i32 = const {value = 0}
        %go: bool = gt %n, %zero
        if %go {
          %neg: bool = not %b
          if %neg {
            yield
          } else {
            print {text = "deep"}
            yield
          }
          yield
        } else {
          yield
        }""")
