"""masks: selects that become masks, masks that go, and those that must stay."""

from __future__ import annotations

import pytest

from tests.passes.helpers import body_of, check, kernel, unchanged
from tilelang.passes.masks import masks

LOAD = "{checked = (true,), mask = false, other = false, pointwise = false}"
LOAD_UNCHECKED = "{checked = (false,), mask = false, other = false, pointwise = false}"
LOAD_OTHER = "{checked = (true,), mask = false, other = true, pointwise = false}"
LOAD_MASK = "{checked = (true,), mask = true, other = false, pointwise = false}"
LOAD_BOTH = "{checked = (true,), mask = true, other = true, pointwise = false}"
STORE = "{checked = (true,), mask = false, pointwise = false}"
STORE_MASK = "{checked = (true,), mask = true, pointwise = false}"

TILES = """
        %at: i32[8] = iota
        %zero: f32[8] = const {value = 0.0}
        %one: f32[8] = const {value = 1.0}
        %t: f32[8] = broadcast %s
        %m: bool[8] = lt %t, %one"""


def last(body: str, count: int = 2) -> str:
    """The last lines of what the pass leaves."""
    return "\n".join(body_of(masks(kernel(TILES + body))).splitlines()[-count:])


def test_a_select_with_the_value_of_outside_becomes_a_mask() -> None:
    assert last(f"""
        %a: f32[8] = load %v, %at {LOAD}
        %r: f32[8] = select %m, %a, %zero
        print %r {{text = ""}}""") == f'%r: f32[8] = load %v, %at, %m {LOAD_MASK}\nprint %r {{text = ""}}'
    assert last(f"""
        %a: f32[8] = load %v, %at, %one {LOAD_OTHER}
        %r: f32[8] = select %m, %a, %one
        print %r {{text = ""}}""") == f'%r: f32[8] = load %v, %at, %m, %one {LOAD_BOTH}\nprint %r {{text = ""}}'


def test_another_value_needs_a_load_that_is_never_outside() -> None:
    refused = f"""
        %a: f32[8] = load %v, %at {LOAD}
        %r: f32[8] = select %m, %a, %one
        print %r {{text = ""}}"""
    assert "select %m, %a, %one" in last(refused)
    assert last(refused.replace(LOAD, LOAD_UNCHECKED)).startswith("%r: f32[8] = load %v, %at, %m, %one")


def test_minus_zero_is_another_value() -> None:
    body = f"""
        %mz: f32[8] = const {{value = -0.0}}
        %a: f32[8] = load %v, %at {LOAD}
        %r: f32[8] = select %m, %a, %mz
        print %r {{text = ""}}"""
    assert "select %m, %a, %mz" in last(body)
    assert "%mz" in last(f"""
        %mz: f32[8] = const {{value = -0.0}}
        %r: f32[8] = load %v, %at, %mz {LOAD_OTHER}
        print %r {{text = ""}}"""), "an else-value of -0.0 is not the default"


def test_the_load_as_the_else_side_and_a_second_mask() -> None:
    text = last(f"""
        %n0: bool[8] = const {{value = true}}
        %k: bool[8] = xor %m, %n0
        %a: f32[8] = load %v, %at, %k {LOAD_MASK}
        %r: f32[8] = select %m, %zero, %a
        print %r {{text = ""}}""", 4)
    assert text == f"""%not: bool[8] = not %m
%and: bool[8] = and %k, %not
%r: f32[8] = load %v, %at, %and {LOAD_MASK}
print %r {{text = ""}}"""


def test_a_write_in_between_or_another_block_is_refused() -> None:
    assert "select" in last(f"""
        %a: f32[8] = load %y, %at {LOAD}
        store %y, %at, %one {STORE}
        %r: f32[8] = select %m, %a, %zero
        print %r {{text = ""}}""")
    unchanged(masks, TILES + f"""
        %a: f32[8] = load %v, %at {LOAD}
        if %b {{
          %r: f32[8] = select %m, %a, %zero
          print %r {{text = ""}}
          yield
        }} else {{
          yield
        }}""")


def test_a_store_of_what_is_there_already_becomes_a_mask() -> None:
    body = f"""
        %old: f32[8] = load %y, %at {LOAD}
        %to: i32[8] = neg %at
        BETWEEN
        %r: f32[8] = select %m, %one, %old
        store %y, PLACE, %r {STORE}"""
    write = f"store %y, %at, %t {STORE}"
    assert last(body.replace("BETWEEN", "").replace("PLACE", "%at"), 1) == f"store %y, %at, %one, %m {STORE_MASK}"
    assert last(body.replace("BETWEEN", "").replace("PLACE", "%to"), 1) == f"store %y, %to, %r {STORE}"
    twice = body.replace("BETWEEN", "").replace("PLACE", "%twice").replace("%at {", "%twice {")
    assert "%r" in last("\n%two: i32[8] = const {value = 2}\n%twice: i32[8] = mod %at, %two\n" + twice, 1)
    assert last(body.replace("BETWEEN", write).replace("PLACE", "%at"), 1) == f"store %y, %at, %r {STORE}"


@pytest.mark.parametrize(("mask", "left"), [
    ("lt %wide, %nn", False), ("le %wide, %nn", False), ("gt %nn, %wide", False), ("ge %wide, %zz", False),
    ("lt %zz, %wide", True), ("ge %wide, %nn", True), ("lt %wide, %mm", True), ("ne %wide, %nn", True),
    ("lt %wide, %less", True)])
def test_a_mask_that_repeats_the_bounds_check_goes(mask: str, left: bool) -> None:
    text = last(f"""
        %wide: i64[8] = cast %at
        %nn: i64[8] = broadcast %N
        %mm: i64[8] = broadcast %M
        %zz: i64[8] = const {{value = 0}}
        %one64: i64 = const {{value = 1}}
        %less0: i64 = sub %N, %one64
        %less: i64[8] = broadcast %less0
        %c: bool[8] = {mask}
        %r: f32[8] = load %v, %at, %c {LOAD_MASK}
        print %r {{text = ""}}""")
    assert ("mask = true" in text) is left


OUTER = """
        %rows: i64[4] = iota
        %cols: i32[8] = iota
        %row2: i64[4, 1] = reshape %rows
        %wide: i64[8] = cast %cols
        %col2: i64[1, 8] = reshape %wide
        %mm: i64[4, 1] = broadcast %M
        %e: i64[1, 8] = const {{value = {bound}}}
        %below: bool[4, 1] = lt {row}, %mm
        %right: bool[1, 8] = lt %col2, %e
        %p: bool[4, 8] = broadcast %below
        %q: bool[4, 8] = broadcast %right
        %extra: bool[4, 8] = broadcast %b
        %pq: bool[4, 8] = and %p, %q
        %c: bool[4, 8] = and %pq, %extra
        %r: f32[4, 8] = load %x, {index}, %cols, %c FLAGS
        print %r {{text = ""}}""".replace(
    "FLAGS", "{{checked = (true, true), mask = true, other = false, pointwise = false}}")


@pytest.mark.parametrize(("bound", "row", "index", "left"), [
    (8, "%row2", "%rows", {"%extra"}), (7, "%row2", "%rows", {"%q", "%extra"}), (8, "%mm", "%rows", {"%p", "%extra"}),
    (9, "%row2", "%rows", {"%extra"})])
def test_each_part_of_a_mask_is_judged_on_its_own(bound: int, row: str, index: str, left: set[str]) -> None:
    text = body_of(masks(kernel(OUTER.format(bound=bound, row=row, index=index))))
    load = next(line for line in text.splitlines() if "= load" in line)
    mask = load.split(" {")[0].split(", ")[-1]
    ands = {line.split(":")[0]: line.split("and ")[1].split(", ") for line in text.splitlines() if "= and" in line}
    assert set(ands.get(mask, [mask])) == left


def test_the_axes_are_not_mixed_up() -> None:
    """`rows < M` says nothing about a column, though both run over the same tile."""
    body = """
        %i: i64[8] = iota
        %i2: i64[{layout}] = reshape %i
        %mm: i64[{layout}] = broadcast %M
        %c1: bool[{layout}] = lt %i2, %mm
        %c: bool[8, 8] = broadcast %c1
        %r: f32[8, 8] = load %x, %i, %i, %c {{checked = (true, true), mask = true, other = false, pointwise = false}}
        print %r {{text = ""}}""".replace("%i", "%ix")
    assert "mask = false" in body_of(masks(kernel(body.format(layout="8, 1"))))
    assert "mask = true" in body_of(masks(kernel(body.format(layout="1, 8"))))


def test_pointwise_indexes() -> None:
    body = """
        %j: i64[8] = iota
        %k: i64[8] = {other}
        %nn: i64[8] = broadcast %N
        %c: bool[8] = lt %k, %nn
        %r: f32[8] = load %v, %j, %c {{checked = (true,), mask = true, other = false, pointwise = true}}
        print %r {{text = ""}}"""
    assert "mask = true" in body_of(masks(kernel(body.format(other="neg %j"))))
    assert "mask = false" in body_of(masks(kernel(body.format(other="neg %j").replace("lt %k", "lt %j"))))


def test_masks_that_are_constant() -> None:
    check(masks, """
        %at: i32[8] = iota
        %yes: bool[8] = const {value = true}
        %no: bool[8] = const {value = false}
        %one: f32[8] = const {value = 1.0}
        %p: f32[8] = load %v, %at, %yes, %one {checked = (false,), mask = true, other = true, pointwise = false}
        %q: f32[8] = load %v, %at, %no, %one {checked = (true,), mask = true, other = true, pointwise = false}
        %r: f32[8] = load %v, %at, %no {checked = (true,), mask = true, other = false, pointwise = false}
        store %y, %at, %p, %no {checked = (true,), mask = true, pointwise = false}
        print %p {text = ""}
        print %q {text = ""}
        print %r {text = ""}""", """
        %at: i32[8] = iota
        %yes: bool[8] = const {value = true}
        %no: bool[8] = const {value = false}
        %one: f32[8] = const {value = 1.0}
        %p: f32[8] = load %v, %at {checked = (false,), mask = false, other = false, pointwise = false}
        %c0: f32[8] = const {value = 0.0}
        print %p {text = ""}
        print %one {text = ""}
        print %c0 {text = ""}""")
