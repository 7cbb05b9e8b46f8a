"""fold: what it computes now, and what it leaves alone because the bits would differ."""

from __future__ import annotations

import pytest

from tests.passes.helpers import body_of, check, kernel, unchanged
from tilelang.dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U32, U64
from tilelang.passes.fold import fold
from tilelang.passes.identities import is_exact

USE = "print %r {text = \"\"}"


def folded(ops: str) -> str:
    """What is left of `ops`, the last of which defines %r, and the operand of a final print."""
    return body_of(fold(kernel(ops + "\n" + USE))).splitlines()[-1].split()[1]


@pytest.mark.parametrize(("op", "a", "b", "result"), [
    ("add", 2147483647, 1, -2147483648), ("mul", 65536, 65536, 0), ("floordiv", -7, 2, -4), ("mod", -7, 2, 1),
    ("floordiv", 5, 0, 0), ("mod", 5, 0, 0), ("floordiv", -2147483648, -1, -2147483648),
    ("shl", 1, 32, 0), ("shr", -1, 40, -1), ("shl", 1, -1, 0), ("pow", 3, 4, 81), ("xor", 6, 3, 5)])
def test_integer_constants_by_the_language_rules(op: str, a: int, b: int, result: int) -> None:
    text = body_of(fold(kernel(f"""
        %a: i32 = const {{value = {a}}}
        %c: i32 = const {{value = {b}}}
        %r: i32 = {op} %a, %c
        {USE}""")))
    assert f"= const {{value = {result}}}\nprint" in text


@pytest.mark.parametrize(("value", "dtype", "result"), [
    ("nan", "i32", "0"), ("inf", "u8", "255"), ("510.0", "i8", "127"), ("-3.9", "i64", "-3"), ("0.5", "bool", "true"),
    ("0.1", "f16", "0.0999755859375"), ("1e300", "f32", "inf")])
def test_constant_casts_saturate(value: str, dtype: str, result: str) -> None:
    text = body_of(fold(kernel(f"""
        %a: f64 = const {{value = {value}}}
        %r: {dtype} = cast %a
        {USE}""")))
    assert f"{{value = {result}}}\nprint" in text


def test_splats_fold_as_one_number() -> None:
    text = body_of(fold(kernel("""
        %c: f32 = const {value = 2.0}
        %t: f32[8] = broadcast %c
        %u: f32[2, 4] = reshape %t
        %w: f32[4, 2] = permute %u {axes = (1, 0)}
        %e: f32[4, 2] = mul %w, %w
        %r: f32[4] = reduce %e {axes = (1,), kind = "max"}
        print %r {text = ""}""")))
    assert text.splitlines()[-2].endswith(": f32[4] = const {value = 4.0}")


def test_an_integer_sum_of_a_splat_wraps_and_a_float_sum_stays() -> None:
    text = body_of(fold(kernel("""
        %c: i32[4] = const {value = 1073741824}
        %r: i32 = reduce %c {axes = (0,), kind = "sum"}
        %f: f32[4] = const {value = 0.1}
        %g: f32 = reduce %f {axes = (0,), kind = "sum"}
        print %r {text = ""}
        print %g {text = ""}""")))
    assert "const {value = 0}" in text
    assert "%g: f32 = reduce %f" in text


@pytest.mark.parametrize("expression", [
    "add %n, %zero", "add %zero, %n", "sub %n, %zero", "mul %n, %one", "mul %one, %n", "floordiv %n, %one",
    "shl %n, %zero", "shr %n, %zero", "or %n, %zero", "xor %n, %zero", "and %n, %ones", "and %n, %n", "or %n, %n",
    "maximum %n, %n"])
def test_integer_identities(expression: str) -> None:
    ops = f"""
        %zero: i32 = const {{value = 0}}
        %one: i32 = const {{value = 1}}
        %ones: i32 = const {{value = -1}}
        %r: i32 = {expression}"""
    assert folded(ops) == "%n"


@pytest.mark.parametrize(("expression", "result"), [
    ("mul %n, %zero", 0), ("and %zero, %n", 0), ("or %n, %ones", -1), ("mod %n, %one", 0), ("sub %n, %n", 0),
    ("xor %n, %n", 0), ("mod %n, %zero", 0)])
def test_integers_that_the_constant_decides(expression: str, result: int) -> None:
    text = body_of(fold(kernel(f"""
        %zero: i32 = const {{value = 0}}
        %one: i32 = const {{value = 1}}
        %ones: i32 = const {{value = -1}}
        %r: i32 = {expression}
        {USE}""")))
    used = text.splitlines()[-1].split()[1]
    assert f"{used}: i32 = const {{value = {result}}}" in text


@pytest.mark.parametrize("expression", ["mul %s, %one", "div %s, %one", "sub %s, %zero", "add %s, %minus_zero",
                                        "maximum %s, %s"])
def test_float_identities_that_keep_every_bit(expression: str) -> None:
    assert folded(floats(expression)) == "%s"


@pytest.mark.parametrize("expression", ["add %s, %zero", "mul %s, %zero", "sub %s, %s", "div %s, %s", "sub %zero, %s",
                                        "sub %s, %minus_zero"])
def test_float_identities_on_paper_only_are_refused(expression: str) -> None:
    assert folded(floats(expression)) == "%r"


def floats(expression: str) -> str:
    return f"""
        %zero: f32 = const {{value = 0.0}}
        %minus_zero: f32 = const {{value = -0.0}}
        %one: f32 = const {{value = 1.0}}
        %r: f32 = {expression}"""


def test_comparisons_of_floats_are_not_negated() -> None:
    unchanged(fold, """
        %lt: bool = lt %s, %s
        %r: bool = not %lt
        print %r {text = ""}""")
    check(fold, """
        %eq: bool = eq %s, %s
        %r: bool = not %eq
        print %r {text = ""}""", """
        %eq: bool = eq %s, %s
        %ne: bool = ne %s, %s
        print %ne {text = ""}""")


def test_additions_of_constants_are_grouped() -> None:
    text = body_of(fold(fold(kernel("""
        %two: i32 = const {value = 2}
        %three: i32 = const {value = 3}
        %a: i32 = add %n, %two
        %r: i32 = add %three, %a
        print %r {text = ""}"""))))
    assert "const {value = 5}" in text


@pytest.mark.parametrize(("source", "target", "exact"), [
    (I8, I16, True), (I8, F16, True), (U8, BF16, True), (I16, F16, False), (I16, F32, True), (I32, F32, False),
    (I32, F64, True), (I64, F64, False), (F16, F32, True), (BF16, F32, True), (BF16, F16, False), (F16, BF16, False),
    (F32, F64, True), (F64, F32, False), (U8, I8, False), (U32, I64, True), (I8, U64, False), (BOOL, F16, True),
    (I8, BOOL, False)])
def test_which_casts_lose_nothing(source: object, target: object, exact: bool) -> None:
    assert is_exact(source, target) is exact  # type: ignore[arg-type]


def test_a_cast_of_an_exact_cast_is_one_cast_and_others_stay() -> None:
    check(fold, """
        %a: i64 = cast %n
        %r: f32 = cast %a
        print %r {text = ""}""", """
        %a: i64 = cast %n
        %n_1: f32 = cast %n
        print %n_1 {text = ""}""")
    unchanged(fold, """
        %a: f16 = cast %s
        %r: f32 = cast %a
        print %r {text = ""}""")


def test_an_integer_that_a_float_would_saturate_keeps_its_way() -> None:
    for narrow in ("u32", "i16", "u8"):
        unchanged(fold, f"""
            %a: f64 = cast %n
            %r: {narrow} = cast %a
            print %r {{text = ""}}""")
    check(fold, """
        %a: f64 = cast %n
        %r: i64 = cast %a
        print %r {text = ""}""", """
        %a: f64 = cast %n
        %n_1: i64 = cast %n
        print %n_1 {text = ""}""")


def test_what_is_repeated_is_computed_once() -> None:
    check(fold, """
        %a: f32[8] = broadcast %s
        %two: f32[8] = const {value = 2.0}
        %m: f32[8] = mul %a, %two
        print %m {text = ""}""", """
        %a: f32[8] = broadcast %s
        %two: f32[8] = const {value = 2.0}
        %c2: f32 = const {value = 2.0}
        %mul: f32 = mul %s, %c2
        %mul_1: f32[8] = broadcast %mul
        print %mul_1 {text = ""}""")


def test_a_decided_branch_is_taken() -> None:
    check(fold, """
        %true: bool = const {value = true}
        %r: f32 = if %true {
          %a: f32 = exp %s
          yield %a
        } else {
          print {text = "never"}
          yield %s
        }
        print %r {text = ""}""", """
        %true: bool = const {value = true}
        %a: f32 = exp %s
        print %a {text = ""}""")


def test_an_if_that_only_says_its_condition() -> None:
    check(fold, """
        %r, %q: bool, %p: f32 = if %b {""".replace("%r, %q: bool", "%r: bool, %q: bool") + """
          %t: bool = const {value = true}
          %f: bool = const {value = false}
          yield %t, %f, %s
        } else {
          %t2: bool = const {value = true}
          %f2: bool = const {value = false}
          yield %f2, %t2, %s
        }
        print %r {text = ""}
        print %q {text = ""}
        print %p {text = ""}""", """
        %not: bool = not %b
        if %b {
          %t: bool = const {value = true}
          %f: bool = const {value = false}
          yield
        } else {
          %t2: bool = const {value = true}
          %f2: bool = const {value = false}
          yield
        }
        print %b {text = ""}
        print %not {text = ""}
        print %s {text = ""}""")


LOOP = """
        %lo: i64 = const {{value = {lo}}}
        %hi: i64 = const {{value = {hi}}}
        %step: i64 = const {{value = {step}}}
        %r: f32 = for %lo, %hi, %step, %s (%k: i64, %a: f32) {{
          print %k {{text = ""}}
          %e: f32 = exp %a
          yield %e
        }}
        print %r {{text = ""}}"""


@pytest.mark.parametrize(("lo", "hi", "step", "loops"), [
    (0, 0, 1, 0), (5, 3, 1, 0), (3, 5, -1, 0), (0, 1, 1, 0), (0, 7, 8, 0), (5, 3, -9, 0), (0, 2, 1, 1), (5, 3, -1, 1),
    (-(2**63), 2**63 - 1, 1, 1)])
def test_loops_of_no_trip_and_of_one_are_unrolled(lo: int, hi: int, step: int, loops: int) -> None:
    text = body_of(fold(kernel(LOOP.format(lo=lo, hi=hi, step=step))))
    assert text.count("= for") == loops
    if not loops:
        trips = len(range(lo, hi, step))
        assert text.count("print %lo") == trips
        assert text.splitlines()[-1].split()[1] == ("%e" if trips else "%s")


def test_a_loop_carries_only_what_changes() -> None:
    check(fold, """
        %lo: i32 = const {value = 0}
        %step: i32 = const {value = 1}
        %p: f32, %q: f32 = for %lo, %n, %step, %s, %s (%k: i32, %a: f32, %c: f32) {
          %m: f32 = mul %a, %c
          yield %m, %c
        }
        print %p {text = ""}
        print %q {text = ""}""", """
        %lo: i32 = const {value = 0}
        %step: i32 = const {value = 1}
        %p: f32 = for %lo, %n, %step, %s (%k: i32, %a: f32) {
          %m: f32 = mul %a, %s
          yield %m
        }
        print %p {text = ""}
        print %s {text = ""}""")


def test_a_while_that_never_starts_goes() -> None:
    check(fold, """
        %r: f32 = while %s (%a: f32) {
          %false: bool = const {value = false}
          condition %false, %a
        } do (%c: f32) {
          %e: f32 = exp %c
          yield %e
        }
        print %r {text = ""}""", """
        %false: bool = const {value = false}
        print %s {text = ""}""")


def test_an_assert_that_holds_goes_and_one_that_fails_stays() -> None:
    check(fold, """
        %true: bool = const {value = true}
        %false: bool = const {value = false}
        assert %true {text = "holds"}
        assert %false {text = "fails"}""", """
        %true: bool = const {value = true}
        %false: bool = const {value = false}
        assert %false {text = "fails"}""")


def test_random_numbers_are_not_folded() -> None:
    unchanged(fold, """
        %seed: i64 = const {value = 1}
        %at: i64[4] = const {value = 2}
        %r: f32[4] = rand %seed, %at
        print %r {text = ""}""")
