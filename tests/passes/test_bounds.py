"""bounds: which checks are proven away, and where it does not guess."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.helpers import body_of, kernel
from tilelang.dtypes import I8, I32, I64
from tilelang.ir.core import Op, Value
from tilelang.ir.numerics import evaluate
from tilelang.ir.tile_ops import BINARY, UNARY
from tilelang.passes.bounds import bounds
from tilelang.passes.ranges import RULES, Range, decide, loop_range, refine, result_range
from tilelang.semantics.types import TileType

LOAD = "{checked = (true,), mask = false, other = false, pointwise = false}"


def checks(body: str) -> list[str]:
    """The `checked` of each access, in order: `t` and `f` for each axis."""
    text = body_of(bounds(kernel(body)))
    flags = [line.split("checked = (")[1].split(")")[0] for line in text.splitlines() if "checked" in line]
    return ["".join(word.strip()[0] for word in flag.split(",") if word.strip()) for flag in flags]


def access(ops: str, row: str, column: str) -> list[str]:
    """The checks left of `x[row, column]`, with x of shape [M, 8] and a grid of (M, 3)."""
    return checks(f"""{ops}
        %r: f32[8] = load %x, {row}, {column} {{checked = (true, true), mask = false, other = false, pointwise = false}}
        print %r {{text = ""}}""")


IOTA = "%c1d: i32[8] = iota"


@pytest.mark.parametrize(("ops", "row", "expected"), [
    ("%p: i64 = program_id {axis = 0}", "%p", "ff"),
    ("%p: i64 = program_id {axis = 1}", "%p", "tf"),
    ("%p: i64 = num_programs {axis = 0}", "%p", "tf"),
    ("", "%n", "tf"),
    ("%one: i64 = const {value = 1}\n%q: i64 = program_id {axis = 0}\n%p: i64 = sub %q, %one", "%p", "tf"),
    ("%one: i64 = const {value = 1}\n%q: i64 = program_id {axis = 0}\n%p: i64 = add %q, %one", "%p", "tf"),
    ("%two: i64 = const {value = 2}\n%q: i64 = program_id {axis = 0}\n%p: i64 = floordiv %q, %two", "%p", "ff"),
    ("%two: i64 = const {value = 2}\n%q: i64 = program_id {axis = 0}\n%p: i64 = mod %q, %two", "%p", "ff"),
    ("%two: i64 = const {value = 2}\n%q: i64 = program_id {axis = 0}\n%p: i64 = mul %q, %two", "%p", "tf"),
    ("%q: i64 = program_id {axis = 0}\n%m: i64 = cast %n\n%p: i64 = minimum %q, %m", "%p", "tf"),
    ("%q: i64 = program_id {axis = 0}\n%o: i64 = const {value = 0}\n%m: i64 = cast %n\n%w: i64 = maximum %m, %o\n"
     "%p: i64 = minimum %q, %w", "%p", "ff"),
    ("%q: i64 = program_id {axis = 0}\n%p: i32 = cast %q", "%p", "tf"),
    ("%m: i64 = cast %n\n%p: i64 = mod %m, %M", "%p", "tf"),
])
def test_rows_below_the_grids_dim(ops: str, row: str, expected: str) -> None:
    assert access(f"{IOTA}\n{ops}", row, "%c1d") == [expected]


@pytest.mark.parametrize(("start", "extent", "expected"), [
    (0, 8, "f"), (0, 16, "t"), (4, 4, "f"), (4, 8, "t"), (-1, 4, "t")])
def test_constant_tiles_on_a_constant_extent(start: int, extent: int, expected: str) -> None:
    found = checks(f"""
        %c: i32[{extent}] = const {{value = {start}}}
        %io: i32[{extent}] = iota
        %at: i32[{extent}] = add %c, %io
        %r: f32[{extent}] = load %x, %n, %at {{checked = (true, true), mask = false, other = false, pointwise = false}}
        print %r {{text = ""}}""")
    assert found == ["t" + expected]


@pytest.mark.parametrize(("lo", "hi", "step", "width", "expected"), [
    (0, 8, 4, 4, "f"), (0, 8, 3, 2, "f"), (0, 8, 3, 3, "t"), (0, 9, 4, 4, "t"), (7, -1, -1, 1, "f"),
    (8, -1, -1, 1, "t")])
def test_loop_indexes(lo: int, hi: int, step: int, width: int, expected: str) -> None:
    found = checks(f"""
        %lo: i32 = const {{value = {lo}}}
        %hi: i32 = const {{value = {hi}}}
        %st: i32 = const {{value = {step}}}
        %io: i32[{width}] = iota
        for %lo, %hi, %st (%k: i32) {{
          %kk: i32[{width}] = broadcast %k
          %at: i32[{width}] = add %kk, %io
          %r: f32[{width}] = load %x, %n, %at {{checked = (true, true), mask = false, other = false, pointwise = false}}
          print %r {{text = ""}}
          yield
        }}""")
    assert found == ["t" + expected]


def test_a_loop_up_to_a_dim_and_a_step_that_may_be_negative() -> None:
    loop = """
        %lo: i64 = const {{value = 0}}
        %one: i64 = const {{value = 1}}
        %st: i64 = cast %n
        for %lo, %N, {step} (%k: i64) {{
          %r: f32 = load %v, %k {{checked = (true,), mask = false, other = false, pointwise = false}}
          print %r {{text = ""}}
          yield
        }}"""
    assert checks(loop.format(step="%one")) == ["f"]
    assert checks(loop.format(step="%st")) == ["t"]


def test_carried_and_loaded_values_can_be_anything() -> None:
    assert checks(f"""
        %o: i64 = const {{value = 0}}
        %c: i32 = load %i, %o {LOAD}
        %r: f32 = load %v, %c {LOAD}
        print %r {{text = ""}}
        %w: i64 = for %o, %N, %N, %o (%k: i64, %a: i64) {{
          %q: f32 = load %v, %a {LOAD}
          print %q {{text = ""}}
          yield %k
        }}""") == ["t", "t", "t"]


BRANCH = """
        %zero: i32 = const {{value = 0}}
        %wide: i64 = cast %n
        %low: bool = ge %n, %zero
        %high: bool = lt %wide, %N
        %ok: bool = {condition}
        if %ok {{
          %a: f32 = load %v, %n {load}
          print %a {{text = ""}}
          yield
        }} else {{
          %c: f32 = load %v, %n {load}
          print %c {{text = ""}}
          yield
        }}
        %d: f32 = load %v, %n {load}
        print %d {{text = ""}}"""


@pytest.mark.parametrize(("condition", "expected"), [
    ("and %low, %high", "ftt"), ("or %low, %high", "ttt"), ("xor %low, %high", "ttt")])
def test_a_branch_knows_its_condition(condition: str, expected: str) -> None:
    assert "".join(checks(BRANCH.format(condition=condition, load=LOAD))) == expected


def test_the_other_side_knows_the_opposite() -> None:
    body = BRANCH.format(condition="or %low, %high", load=LOAD)
    assert "".join(checks(body.replace("ge %n", "lt %n").replace("lt %wide", "ge %wide"))) == "tft"


def test_an_assert_teaches_nothing() -> None:
    assert checks(f"""
        %zero: i32 = const {{value = 0}}
        %wide: i64 = cast %n
        %low: bool = ge %n, %zero
        %high: bool = lt %wide, %N
        %ok: bool = and %low, %high
        assert %ok {{text = "inside"}}
        %a: f32 = load %v, %n {LOAD}
        print %a {{text = ""}}""") == ["t"]


def test_comparisons_that_are_decided() -> None:
    text = body_of(bounds(kernel("""
        %p: i64 = program_id {axis = 0}
        %zero: i64 = const {value = 0}
        %yes: bool = lt %p, %M
        %also: bool = gt %M, %p
        %no: bool = lt %p, %zero
        %open: bool = lt %p, %N
        print %yes {text = ""}
        print %also {text = ""}
        print %no {text = ""}
        print %open {text = ""}""")))
    assert [line.split()[1] for line in text.splitlines()[-4:]] == ["%true", "%true_1", "%false", "%open"]


def test_sums_that_may_wrap_prove_nothing() -> None:
    assert checks(f"""
        %big: i8 = const {{value = 100}}
        %io: i8[100] = iota
        %bb: i8[100] = broadcast %big
        %at: i8[100] = add %io, %bb
        %r: f32[100] = load %v, %at {LOAD}
        print %r {{text = ""}}""") == ["t"]


@pytest.mark.parametrize("name", sorted(set(RULES) & set(BINARY + UNARY)))
def test_every_rule_holds_for_all_small_numbers(name: str) -> None:
    """Brute force: for all intervals in a small type, every result lies in the range that the rule gives."""
    numbers = [*range(-4, 5), 7, 100, 127, -128]
    unary = name in UNARY
    rng = np.random.default_rng(1)
    for _ in range(150):
        ends = rng.choice(numbers, (2, 2))
        ends.sort(axis=1)
        operands = [Value(text, TileType(I8)) for text in ("a", "b")][:1 if unary else 2]
        op = Op(name, tuple(operands), (Value("r", TileType(I8)),))
        found = result_range(op, [Range(int(lo), int(hi)) for lo, hi in ends][:len(operands)])
        grid = np.meshgrid(*(np.arange(lo, hi + 1, dtype=np.int8) for lo, hi in ends.astype(int)), indexing="ij")
        results = evaluate(name, grid[:len(operands)], I8)
        assert found is not None
        assert found.lo <= results.min(), (name, ends, found)
        assert results.max() <= found.hi, (name, ends, found)


def test_the_lattice() -> None:
    a, b = Range(0, 9, {"N": -1, "M": 3}), Range(-2, 5, {"N": 4})
    assert a.meet(b) == Range(0, 5, {"N": -1, "M": 3})
    assert a.join(b) == Range(-2, 9, {"N": 4})
    assert a.within("N")
    assert not a.within("M")
    assert a.within(10)
    assert not a.within(9)
    assert not b.within("N")


def test_decide_and_refine() -> None:
    small, large = Range(0, 3), Range(4, 9)
    assert decide("lt", small, large) is True
    assert decide("ge", small, large) is False
    assert decide("le", large, small) is False
    assert decide("lt", small, Range(3, 9)) is None
    assert decide("le", small, Range(3, 9)) is True
    assert decide("eq", small, large) is None
    assert refine("gt", Range(0, 9), Range(5, 7)) == (Range(6, 9), Range(5, 7))
    assert refine("ne", small, large) is None


def test_loop_ranges_stay_in_their_type() -> None:
    assert loop_range(I8, Range(0, 0), Range(-128, -128), Range(1, 1)).lo == 0
    assert loop_range(I32, Range(0, 0), Range(10, 10), Range(4, 4)) == Range(0, 8)
    assert loop_range(I64, Range(9, 9), Range(0, 0), Range(-2, -2)) == Range(1, 9)
    assert loop_range(I64, Range(0, 5), Range(3, 8), Range(-2, 2)) == Range(0, 7)
