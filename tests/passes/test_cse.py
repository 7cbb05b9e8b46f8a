"""cse: what is shared, and across what it is not."""

from __future__ import annotations

from tests.passes.helpers import body_of, check, kernel, unchanged
from tilelang.passes.cse import cse

FLAGS = "{checked = (true,), mask = false, other = false, pointwise = false}"
STORE = "{checked = (true,), mask = false, pointwise = false}"


def test_equal_ops_are_shared_also_from_inside_a_block() -> None:
    check(cse, """
        %a: f32 = exp %s
        %c: f32 = exp %s
        print %c {text = ""}
        if %b {
          %d: f32 = exp %s
          print %d {text = ""}
          yield
        } else {
          yield
        }""", """
        %a: f32 = exp %s
        print %a {text = ""}
        if %b {
          print %a {text = ""}
          yield
        } else {
          yield
        }""")


def test_attributes_and_types_are_part_of_an_op() -> None:
    unchanged(cse, """
        %p: f32 = const {value = 0.0}
        %q: f32 = const {value = -0.0}
        %r: f64 = const {value = 0.0}
        %ii: i32 = const {value = 0}
        %j: i32[4] = const {value = 0}
        %d0: i64 = program_id {axis = 0}
        %d1: i64 = program_id {axis = 1}""")


def test_the_other_branch_sees_nothing() -> None:
    unchanged(cse, """
        if %b {
          %a: f32 = exp %s
          print %a {text = ""}
          yield
        } else {
          %c: f32 = exp %s
          print %c {text = ""}
          yield
        }
        %d: f32 = exp %s
        print %d {text = ""}""")


def test_loads_are_shared_until_a_write() -> None:
    text = body_of(cse(kernel(f"""
        %at: i32[8] = iota
        %a: f32[8] = load %y, %at {FLAGS}
        %c: f32[8] = load %y, %at {FLAGS}
        store %y, %at, %c {STORE}
        %d: f32[8] = load %y, %at {FLAGS}
        %e: f32[8] = load %y, %at {FLAGS}
        store %y, %at, %e {STORE}""")))
    assert [line.split(":")[0] for line in text.splitlines() if "load" in line] == ["%a", "%d"]
    assert "store %y, %at, %a" in text
    assert "store %y, %at, %d" in text


def test_a_write_to_another_tensor_does_not_matter_but_an_atomic_does() -> None:
    text = body_of(cse(kernel(f"""
        %at: i32[8] = iota
        %one: i32[8] = const {{value = 1}}
        %a: f32[8] = load %y, %at {FLAGS}
        %v1: f32[8] = load %v, %at {FLAGS}
        store %z, %n, %at, %a {{checked = (true, true), mask = false, pointwise = false}}
        %c: f32[8] = load %y, %at {FLAGS}
        print %c {{text = ""}}
        %old: i32[8] = atomic %h, %at, %one {{checked = (true,), kind = "add", mask = false, pointwise = false}}
        %d: f32[8] = load %y, %at {FLAGS}
        %v2: f32[8] = load %v, %at {FLAGS}
        print %d {{text = ""}}
        print %v2 {{text = ""}}""")))
    assert "print %a" in text
    assert "print %d" in text, "another program may have written y"
    assert "print %v1" in text, "no one writes v"


def test_in_a_loop_a_later_write_counts_too() -> None:
    loop = """
        %at: i32[8] = iota
        %lo: i32 = const {{value = 0}}
        %step: i32 = const {{value = 1}}
        %a: f32[8] = load %y, %at {flags}
        print %a {{text = ""}}
        for %lo, %n, %step (%k: i32) {{
          %c: f32[8] = load {tensor}, %at {flags}
          store %y, %at, %c {store}
          yield
        }}
        %d: f32[8] = load %y, %at {flags}
        print %d {{text = ""}}"""
    unchanged(cse, loop.format(tensor="%y", flags=FLAGS, store=STORE))
    unchanged(cse, loop.format(tensor="%v", flags=FLAGS, store=STORE))


def test_random_numbers_and_atomics() -> None:
    """The same offset gives the same number; an atomic is never the same."""
    text = body_of(cse(kernel("""
        %seed: i64 = const {value = 1}
        %off: i64[8] = iota
        %p: f32[8] = rand %seed, %off
        %q: f32[8] = rand %seed, %off
        %one: i32[8] = const {value = 1}
        %a: i32[8] = atomic %h, %off, %one {checked = (true,), kind = "add", mask = false, pointwise = false}
        %c: i32[8] = atomic %h, %off, %one {checked = (true,), kind = "add", mask = false, pointwise = false}
        print %q {text = ""}""")))
    assert text.count("rand") == 1
    assert text.count("atomic") == 2
