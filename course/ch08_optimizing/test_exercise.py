"""Graders of chapter 8."""

from __future__ import annotations

import itertools

import numpy as np

from course.checking import check, fresh
from course.harness import kernel_of
from course.learner import Learner, Wrong
from tilelang.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType
from tilelang.ir.core import Op, TensorType, Value
from tilelang.passes.effects import ANY
from tilelang.passes.ranges import Range

# --- wrap -------------------------------------------------------------------------------------------


def test_numbers_of_the_type_stay(wrap: Learner) -> None:
    for number, bits, signed in ((0, 8, True), (127, 8, True), (-128, 8, True), (255, 8, False), (-1, 64, True)):
        check(wrap, number, bits, signed, gives=number, why="the type holds it")


def test_just_beyond_the_ends(wrap: Learner) -> None:
    for number, bits, signed, expected in (
        (128, 8, True, -128),
        (-129, 8, True, 127),
        (256, 8, False, 0),
        (-1, 8, False, 255),
        (2**63, 64, True, -(2**63)),
        (2**64, 64, False, 0),
    ):
        check(wrap, number, bits, signed, gives=expected, why="it goes on at the other end")


def test_any_number(wrap: Learner) -> None:
    rng = fresh()
    for _ in range(40):
        bits, signed = rng.choice((8, 16, 32, 64)), rng.random() < 0.5
        number = rng.randint(-(2 ** (bits + 4)), 2 ** (bits + 4))
        host = np.dtype(f"{'i' if signed else 'u'}{bits // 8}")
        expected = int(np.array(number % 2**bits, np.uint64).astype(host))
        check(wrap, number, bits, signed, gives=expected, why="the low bits, as the type reads them")


# --- clobbers ---------------------------------------------------------------------------------------


def _tensor(mode: str) -> Value:
    return Value("x", TensorType(F32, (8,), mode))


def test_writes_to_the_tensor(clobbers: Learner) -> None:
    for mode in ("out", "inout"):
        check(clobbers, frozenset({"x"}), _tensor(mode), gives=True, why="the tensor itself is written")
        check(clobbers, frozenset({"y", "z"}), _tensor(mode), gives=False, why="other tensors never overlap with it")
        check(clobbers, frozenset(), _tensor(mode), gives=False, why="nothing is written")


def test_atomics(clobbers: Learner) -> None:
    check(
        clobbers,
        frozenset({ANY}),
        _tensor("inout"),
        gives=True,
        why="after an atomic other programs' writes may be seen",
    )
    check(
        clobbers,
        frozenset({ANY, "y"}),
        _tensor("out"),
        gives=True,
        why="after an atomic other programs' writes may be seen",
    )


def test_read_only_tensors(clobbers: Learner) -> None:
    for writes in ({ANY}, {"x"}, {"x", ANY}, set()):
        check(clobbers, frozenset(writes), _tensor("in"), gives=False, why="nobody writes a tensor of mode `in`")


# --- written ----------------------------------------------------------------------------------------

STORE = "store %{}, %i, %v {{checked = (true,), mask = false, pointwise = false}}"
ATOMIC = '%old: f32[8] = atomic %t, %i, %v {checked = (true,), kind = "add", mask = false, pointwise = false}'
LOAD = "%{0}: f32[8] = load %{1}, %i {{checked = (true,), mask = false, other = false, pointwise = false}}"
START = "%i: i64[8] = iota\n%v: f32[8] = const {value = 1.0}\n%c: bool = const {value = true}"
LOOP_START = "%lo: i64 = const {value = 0}\n%hi: i64 = const {value = 8}\n%st: i64 = const {value = 1}"


def _loop(body: str) -> str:
    return f"{LOOP_START}\nfor %lo, %hi, %st (%k: i64) {{\n{body}\nyield\n}}"


def _branch(then: str, orelse: str = "") -> str:
    return f"if %c {{\n{then}\nyield\n}} else {{\n{orelse}\nyield\n}}"


def _writes(written: Learner, *ops: str, expected: set[str], why: str) -> None:
    check(written.via("on_ops"), kernel_of("\n".join((START, *ops))), gives=frozenset(expected), why=why)


def test_stores(written: Learner) -> None:
    _writes(written, expected=set(), why="no op writes")
    _writes(written, STORE.format("y"), expected={"y"}, why="a store writes its tensor")
    _writes(
        written,
        STORE.format("y"),
        STORE.format("t"),
        STORE.format("y"),
        expected={"y", "t"},
        why="two tensors, one twice",
    )


def test_loads_write_nothing(written: Learner) -> None:
    _writes(written, LOAD.format("a", "t"), expected=set(), why="a load writes nothing")


def test_atomics_count_as_any(written: Learner) -> None:
    _writes(written, ATOMIC, expected={ANY}, why="an atomic counts as ANY alone")
    _writes(written, STORE.format("y"), ATOMIC, expected={"y", ANY}, why="a store and an atomic")


def test_blocks(written: Learner) -> None:
    _writes(written, _loop(STORE.format("y")), expected={"y"}, why="the body of a loop writes")
    _writes(written, _branch("", STORE.format("t")), expected={"t"}, why="the other side of a branch writes")
    deep = _loop(
        _branch(
            _loop(ATOMIC).replace("%lo", "%l").replace("%hi", "%h").replace("%st", "%s").replace("%k", "%q"),
            STORE.format("y"),
        )
    )
    _writes(written, deep, expected={ANY, "y"}, why="blocks in blocks in blocks")


# --- is_neutral -------------------------------------------------------------------------------------


def test_integers_have_neutral_numbers(is_neutral: Learner) -> None:
    for name, number in (
        ("add", 0),
        ("sub", 0),
        ("mul", 1),
        ("floordiv", 1),
        ("shl", 0),
        ("shr", 0),
        ("or", 0),
        ("xor", 0),
    ):
        for dtype in (I32, U8):
            check(is_neutral, name, dtype, number, gives=True, why=f"x {name} {number} is x")
            check(is_neutral, name, dtype, number + 2, gives=False, why=f"x {name} {number + 2} is not x")


def test_all_bits_set(is_neutral: Learner) -> None:
    for dtype, number in ((I8, -1), (I64, -1), (U8, 255), (U32, 2**32 - 1), (BOOL, True)):
        check(is_neutral, "and", dtype, number, gives=True, why="`and` with all bits set keeps x")
    for dtype, number in ((I8, 127), (U8, 1), (BOOL, False), (I32, 0), (U16, 255)):
        check(is_neutral, "and", dtype, number, gives=False, why="`and` with some bits clear loses bits")


def test_the_sign_of_zero(is_neutral: Learner) -> None:
    check(is_neutral, "add", F32, -0.0, gives=True, why="x + -0.0 is x, also for x = 0.0")
    check(is_neutral, "add", F32, 0.0, gives=False, why="-0.0 + 0.0 is 0.0: the sign would be lost")
    check(is_neutral, "sub", F16, 0.0, gives=True, why="x - 0.0 is x")
    check(is_neutral, "sub", F16, -0.0, gives=False, why="-0.0 - -0.0 is 0.0")
    check(is_neutral, "mul", F64, 1.0, gives=True, why="x * 1.0 is x")
    check(is_neutral, "div", BF16, 1.0, gives=True, why="x / 1.0 is x")


def test_what_has_no_neutral_number(is_neutral: Learner) -> None:
    for name in ("mod", "pow", "maximum"):
        for number in (0, 1):
            check(is_neutral, name, I32, number, gives=False, why=f"{name} has no neutral number on the right")
    for name in ("maximum", "pow"):
        check(is_neutral, name, F32, 1.0, gives=False, why=f"{name} is not in the table for floats")


def test_unknown_operands(is_neutral: Learner) -> None:
    for dtype in (I32, F32, BOOL):
        check(is_neutral, "add", dtype, None, gives=False, why="the number is not known")
        check(is_neutral, "and", dtype, None, gives=False, why="the number is not known")


# --- is_exact ---------------------------------------------------------------------------------------


def _survives(source: DType, target: DType) -> bool:
    """Once more, from what the types can hold."""
    if source == target:
        return True
    if target.is_bool or (source.is_float and not target.is_float):
        return False
    if source.is_bool:
        return True
    if source.is_float:
        return {("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")} >= {
            (source.name, target.name)
        }
    if target.is_float:
        digits = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[target.name]
        return (source.max_int).bit_length() <= digits
    return source.min_int >= target.min_int and source.max_int <= target.max_int


def test_integers_to_integers(is_exact: Learner) -> None:
    for source, target in itertools.product((I8, I16, I32, I64, U8, U16, U32, U64), repeat=2):
        check(
            is_exact,
            source,
            target,
            gives=_survives(source, target),
            why="every value of the source is one of the target",
        )


def test_integers_to_floats(is_exact: Learner) -> None:
    for source, target in itertools.product((I8, I16, I32, I64, U8, U16, U32, U64), (F16, BF16, F32, F64)):
        check(is_exact, source, target, gives=_survives(source, target), why="all digits of every value fit")


def test_floats(is_exact: Learner) -> None:
    for source, target in itertools.product((F16, BF16, F32, F64), DTYPES.values()):
        check(
            is_exact,
            source,
            target,
            gives=_survives(source, target),
            why="mantissa and exponent must both be wide enough",
        )


def test_bools(is_exact: Learner) -> None:
    for dtype in DTYPES.values():
        check(is_exact, BOOL, dtype, gives=True, why="true and false survive as 1 and 0")
        check(is_exact, dtype, BOOL, gives=dtype == BOOL, why="only bool survives as bool")


# --- _mul -------------------------------------------------------------------------------------------


def _product(a: tuple[int, int], b: tuple[int, int]) -> Range:
    values = [x * y for x in range(a[0], a[1] + 1) for y in range(b[0], b[1] + 1)]
    return Range(min(values), max(values))


def test_products_of_positive_ranges(_mul: Learner) -> None:
    for a, b in (((1, 3), (4, 5)), ((0, 7), (2, 2)), ((0, 0), (0, 9))):
        check(
            _mul,
            Op("mul"),
            [Range(*a), Range(*b)],
            gives=_product(a, b),
            why="smallest by smallest, largest by largest",
        )


def test_products_with_negative_ranges(_mul: Learner) -> None:
    for a, b in (((-2, 3), (4, 5)), ((-3, -2), (4, 5)), ((-3, -2), (-5, -4)), ((-2, 3), (-4, 5)), ((-4, 2), (-3, 6))):
        check(
            _mul, Op("mul"), [Range(*a), Range(*b)], gives=_product(a, b), why="a negative factor turns the order round"
        )


def test_random_products(_mul: Learner) -> None:
    rng = fresh()
    for _ in range(40):
        a, b = (tuple(sorted(rng.randint(-6, 6) for _ in range(2))) for _ in range(2))
        check(_mul, Op("mul"), [Range(*a), Range(*b)], gives=_product(a, b), why="by trying all pairs")  # type: ignore[arg-type]


def test_limits_are_not_kept(_mul: Learner) -> None:
    a = Range(0, 9, {"N": -1})
    check(_mul, Op("mul"), [a, Range(2, 2)], gives=Range(0, 18), why="twice a number below N may be beyond N")


# --- find -------------------------------------------------------------------------------------------


def _shared(find: Learner, ops: str, expected: list[str], why: str) -> None:
    check(
        find.via("ops_after"), "cse", kernel_of(f"{START}\n{ops}"), gives=["iota", "const", "const", *expected], why=why
    )


def test_the_same_in_one_block(find: Learner) -> None:
    ops = "%a: f32[8] = mul %v, %v\n%b: f32[8] = mul %v, %v\n%d: f32[8] = add %a, %b\n" + STORE.format("y").replace(
        "%v", "%d"
    )
    _shared(find, ops, ["mul", "add", "store"], "the second product is the first")


def test_different_ones_stay(find: Learner) -> None:
    ops = "%a: f32[8] = mul %v, %v\n%b: f32[8] = add %v, %v\n%d: f32[8] = mul %a, %b\n" + STORE.format("y").replace(
        "%v", "%d"
    )
    _shared(find, ops, ["mul", "add", "mul", "store"], "no two of these are the same")


def test_blocks_see_what_is_around_them(find: Learner) -> None:
    inner = "%b: f32[8] = mul %v, %v\n" + STORE.format("y").replace("%v", "%b")
    ops = "%a: f32[8] = mul %v, %v\n" + STORE.format("t").replace("%v", "%a") + "\n" + _branch(inner)
    _shared(
        find,
        ops,
        ["mul", "store", "if", "  store", "  yield", "  yield"],
        "the product before the branch serves inside it",
    )


def test_what_a_block_computed_is_not_seen_outside(find: Learner) -> None:
    inner = "%b: f32[8] = mul %v, %v\n" + STORE.format("y").replace("%v", "%b")
    ops = _branch(inner) + "\n%a: f32[8] = mul %v, %v\n" + STORE.format("t").replace("%v", "%a")
    _shared(
        find,
        ops,
        ["if", "  mul", "  store", "  yield", "  yield", "mul", "store"],
        "the branch may not have run: what it computed is of no use behind it",
    )


def test_two_sides_of_a_branch(find: Learner) -> None:
    one = "%b: f32[8] = mul %v, %v\n" + STORE.format("y").replace("%v", "%b")
    two = "%d: f32[8] = mul %v, %v\n" + STORE.format("t").replace("%v", "%d")
    _shared(
        find,
        _branch(one, two),
        ["if", "  mul", "  store", "  yield", "  mul", "  store", "  yield"],
        "only one of the two sides runs",
    )


# --- decide -----------------------------------------------------------------------------------------

TESTS = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__}


def test_all_comparisons_of_small_ranges(decide: Learner) -> None:
    rng = fresh()
    ends = [(lo, hi) for lo in range(4) for hi in range(lo, 4)]
    for name, holds in TESTS.items():
        for a, b in rng.sample(list(itertools.product(ends, ends)), 60):
            outcomes = {holds(x, y) for x in range(a[0], a[1] + 1) for y in range(b[0], b[1] + 1)}
            expected = outcomes.pop() if len(outcomes) == 1 else None
            check(decide, name, Range(*a), Range(*b), gives=expected, why="by trying all pairs of values")


def test_other_names(decide: Learner) -> None:
    for name in ("eq", "ne", "add"):
        check(decide, name, Range(1, 1), Range(1, 1), gives=None, why="only the four orderings are decided")


def test_below_a_dim(decide: Learner) -> None:
    n = Range(0, 1 << 40, {"N": 0})
    for offset, less, at_most in ((-1, True, True), (0, None, True), (-5, True, True), (1, None, None)):
        a = Range(0, 1 << 30, {"N": offset})
        check(decide, "lt", a, n, "N", gives=less, why=f"a <= N + {offset}: a < N needs an offset of at most -1")
        check(decide, "le", a, n, "N", gives=at_most, why=f"a <= N + {offset}: a <= N needs an offset of at most 0")
        check(decide, "ge", a, n, "N", gives=None if less is None else not less, why="a >= N is the opposite of a < N")
        check(
            decide,
            "gt",
            a,
            n,
            "N",
            gives=None if at_most is None else not at_most,
            why="a > N is the opposite of a <= N",
        )


def test_another_dim_proves_nothing(decide: Learner) -> None:
    a = Range(0, 100, {"M": -1})
    check(decide, "lt", a, Range(0, 1 << 40), "N", gives=None, why="a stays below M, of which N is independent")
    check(decide, "lt", Range(0, 100, {"N": -1}), Range(0, 1 << 40), gives=None, why="b is not known to be that dim")


# --- _hoist -----------------------------------------------------------------------------------------

CARRY = "%s: f32[8] = for %lo, %hi, %st, %v (%k: i64, %acc: f32[8]) {{\n{}\nyield %{}\n}}"


def _moved(_hoist: Learner, body: str, last: str, moved: list[str], stay: list[str], why: str) -> None:
    text = kernel_of(f"{START}\n{LOOP_START}\n{CARRY.format(body, last)}")
    check(_hoist.via("hoisted"), text, gives=(moved, [*stay, "yield"]), why=why)


def test_what_does_not_change_moves(_hoist: Learner) -> None:
    body = "%a: f32[8] = exp %v\n%n: f32[8] = add %acc, %a"
    _moved(_hoist, body, "n", ["a"], ["n"], "exp of v is the same in every trip; the sum is not")


def test_what_depends_on_the_loop_stays(_hoist: Learner) -> None:
    body = "%f: f32 = cast %k\n%w: f32[8] = broadcast %f\n%n: f32[8] = add %acc, %w"
    _moved(_hoist, body, "n", [], ["f", "w", "n"], "all of it follows from the loop's index or what it carries")


def test_what_follows_from_moved_ones_moves_too(_hoist: Learner) -> None:
    body = "%a: f32[8] = exp %v\n%b: f32[8] = mul %a, %a\n%d: f32[8] = neg %b\n%n: f32[8] = add %acc, %d"
    _moved(_hoist, body, "n", ["a", "b", "d"], ["n"], "once exp has moved, what needs only that may follow, in order")


def test_loads(_hoist: Learner) -> None:
    body = LOAD.format("a", "x") + "\n%n: f32[8] = add %acc, %a"
    _moved(_hoist, body, "n", ["a"], ["n"], "nothing in the loop writes x")
    body = LOAD.format("a", "t") + "\n" + STORE.format("t") + "\n%n: f32[8] = add %acc, %a"
    _moved(_hoist, body, "n", [], ["a", "store", "n"], "the loop writes t, so the next trip may read something new")
    body = LOAD.format("a", "y") + "\n" + ATOMIC + "\n%n: f32[8] = add %acc, %a"
    _moved(_hoist, body, "n", [], ["a", "old", "n"], "behind an atomic another program's write may be seen")
    body = LOAD.format("a", "x") + "\n" + STORE.format("y") + "\n%n: f32[8] = add %acc, %a"
    _moved(_hoist, body, "n", ["a"], ["store", "n"], "a store to y does not change x; the store itself stays")


def test_effects_and_branches_stay(_hoist: Learner) -> None:
    branch = "%b: f32[8] = if %c {\n%e: f32[8] = exp %v\nyield %e\n} else {\nyield %v\n}"
    body = f'assert %c {{text = "here"}}\n{branch}\n%n: f32[8] = add %acc, %b'
    _moved(_hoist, body, "n", [], ["assert", "b", "n"], "an assert must run in every trip; a branch stays as a whole")
    _moved(
        _hoist, "%n: f32[8] = neg %acc", "v", [], ["n"], "the yield stays at the end of its block, whatever it yields"
    )


def test_while_loops(_hoist: Learner) -> None:
    loop = """%r: i64 = while %lo (%j: i64) {
%two: i64 = add %st, %st
%go: bool = lt %j, %hi
condition %go, %j
} do (%m: i64) {
%four: i64 = mul %far, %far
%next: i64 = add %m, %four
yield %next
}"""
    text = kernel_of(f"{START}\n{LOOP_START}\n%far: i64 = add %hi, %hi\n{loop}")
    expected = (["two", "four"], ["go", "condition", "next", "yield"])
    check(
        _hoist.via("hoisted"),
        text,
        gives=expected,
        why="the condition's block and the body both give up what does not change",
    )


def test_a_whole_pass(_hoist: Learner) -> None:
    inner = _loop("%a: f32[8] = exp %v\n" + STORE.format("y").replace("%v", "%a"))
    found = check(
        _hoist.via("ops_after"), "licm", kernel_of(f"{START}\n{inner}"), why="the pass runs with your function"
    )
    expected = ["iota", "const", "const", "const", "const", "const", "exp", "for", "  store", "  yield"]
    if found != expected:
        raise Wrong(f"licm with your _hoist:\n{inner}\n  expected  {expected}\n  found     {found}")
