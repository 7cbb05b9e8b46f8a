"""The text form: whatever is printed reads back as the same kernel, and malformed text has a place."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilelang.diagnostics import NOWHERE, CompileError, InternalError, Span
from tilelang.dtypes import DTYPES, I64
from tilelang.ir.core import Attr, Block, Kernel, LocalType, Op, SharedType, TensorType, Type, Value
from tilelang.ir.parser import MALFORMED, MAX_DEPTH, parse_kernel
from tilelang.ir.printer import print_kernel, print_op, show_attr
from tilelang.semantics.types import TileType

LOOP = """\
kernel @loop(%x: inout f32[%M, 4, %x.2], %s: i8) dims(%M, %x.2) tile {grid.0 = "M", meta.T = bf16} {
  %c0: i64 = const {value = 0}
  %ninf: f32[2, 3] = const {value = -inf}
  %acc: f32[2, 3], %n: i64 = for %c0, %M, %c0, %ninf, %c0 (%k: i64, %a: f32[2, 3], %i: i64) {
    %b: bool = lt %k, %i
    %r: f32[2, 3] = if %b {
      yield %a
    } else {
      yield %ninf
    } @12:30
    yield %r, %i
  }
  %w: i64 = while %n (%p: i64) {
    %b0: bool = const {value = true}
    condition %b0, %p
  } do (%q: i64) {
    yield %q
  }
  barrier
  %buffer: shared i8[64] = shared
}
"""


def test_every_construct_prints_as_written() -> None:
    assert print_kernel(parse_kernel(LOOP), spans=True) == LOOP


def test_spans_are_printed_only_on_request_and_kept() -> None:
    kernel = parse_kernel("kernel @k() dims() tile {\n  barrier @3:9\n}\n")
    assert kernel.body.ops[0].span == Span(3, 9)
    assert "@3:9" not in print_kernel(kernel)
    assert parse_kernel(print_kernel(kernel)).body.ops[0].span == NOWHERE


def test_blanks_line_breaks_and_comments_do_not_matter() -> None:
    loose = "kernel @k (%a : i8 ,) dims ( ) tile{x=1,} { # words\n %b:i8=neg %a barrier %c:i8 = neg %b }"
    tight = "kernel @k(%a: i8) dims() tile {x = 1} {\n  %b: i8 = neg %a\n  barrier\n  %c: i8 = neg %b\n}\n"
    assert print_kernel(parse_kernel(loose)) == tight


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (1, "1"),
        (-(2**63), "-9223372036854775808"),
        (1.0, "1.0"),
        (1e-5, "1e-05"),
        (1e300, "1e+300"),
        (-0.0, "-0.0"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        ((), "()"),
        ((0,), "(0,)"),
        ((0, (False, 1.5)), "(0, (false, 1.5))"),
        ('say "hi"\n\t\\ π 🎲', '"say \\"hi\\"\\n\\t\\\\ π 🎲"'),
        (DTYPES["bf16"], "bf16"),
        ("bf16", '"bf16"'),
    ],
)
def test_attributes(value: Attr, text: str) -> None:
    assert show_attr(value) == text
    kernel = Kernel("k", (), (), Block((), (Op("x", attrs={"a": value}),)))
    read = parse_kernel(print_kernel(kernel)).body.ops[0].attrs["a"]
    assert (read, type(read)) == (value, type(value))
    assert not isinstance(value, float) or math.copysign(1, read) == math.copysign(1, value)  # type: ignore


@pytest.mark.parametrize("sign", ["", "-"])
def test_nan_keeps_its_sign(sign: str) -> None:
    read = parse_kernel(f"kernel @k() dims() tile {{a = {sign}nan}} {{\n}}").attrs["a"]
    assert isinstance(read, float) and math.isnan(read)
    assert show_attr(read) == f"{sign}nan"


def test_a_foreign_attribute_is_refused() -> None:
    with pytest.raises(InternalError, match="cannot be an attribute"):
        show_attr([1])  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------ properties

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,6}", fullmatch=True)
DTYPE = st.sampled_from(list(DTYPES.values()))
EXTENTS = st.lists(st.integers(0, 99), max_size=4).map(tuple)
TYPES: st.SearchStrategy[Type] = st.one_of(
    st.builds(TileType, DTYPE, EXTENTS),
    st.builds(LocalType, DTYPE, st.integers(1, 99)),
    st.builds(SharedType, DTYPE, st.integers(1, 99)),
    st.builds(
        TensorType,
        DTYPE,
        st.lists(st.one_of(st.integers(0, 9), NAMES), max_size=3).map(tuple),
        st.sampled_from(["in", "out", "inout"]),
    ),
)
FLOATS = st.floats(allow_nan=False)
ATTRS = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**63), 2**64),
        FLOATS,
        DTYPE,
        st.text(st.characters(exclude_categories=["Cs"])),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)
ATTR_MAPS = st.dictionaries(
    st.one_of(NAMES, st.text(st.characters(exclude_categories=["Cs"]), max_size=4)), ATTRS, max_size=3
)


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    """Kernels that no verifier would pass, and that the text form must carry all the same."""
    count = 0

    def fresh(type: Type) -> Value:
        nonlocal count
        count += 1
        return Value(f"{draw(NAMES)}.{count}", type)

    def ops(depth: int, visible: list[Value]) -> tuple[Op, ...]:
        made = []
        for _ in range(draw(st.integers(0, 3))):
            operands = tuple(draw(st.lists(st.sampled_from(visible), max_size=3))) if visible else ()
            blocks = []
            for _ in range(draw(st.integers(0, 2)) if depth < 3 else 0):
                args = tuple(fresh(t) for t in draw(st.lists(TYPES, max_size=2)))
                blocks.append(Block(args, ops(depth + 1, [*visible, *args])))
            results = tuple(fresh(t) for t in draw(st.lists(TYPES, max_size=2)))
            name = draw(st.one_of(NAMES, st.sampled_from(["if", "while", "for", "global.load"])))
            name = "op" if name in ("else", "do") else name
            span = draw(st.one_of(st.just(NOWHERE), st.builds(Span, st.integers(0, 9), st.integers(9, 99))))
            made.append(Op(name, operands, results, draw(ATTR_MAPS), tuple(blocks), span))
            visible = [*visible, *results]
        return tuple(made)

    params = tuple(fresh(t) for t in draw(st.lists(TYPES, max_size=3)))
    dims = tuple(fresh(TileType(I64)) for _ in range(draw(st.integers(0, 2))))
    level = draw(st.sampled_from(["tile", "thread"]))
    body = Block((), ops(0, [*params, *dims]))
    return Kernel("k", params, dims, body, level, draw(ATTR_MAPS))


@settings(max_examples=120, deadline=None)
@given(kernels())
def test_any_kernel_reads_back(kernel: Kernel) -> None:
    text = print_kernel(kernel, spans=True)
    again = parse_kernel(text)
    assert again == kernel
    assert print_kernel(again, spans=True) == text
    assert [op.span for op in again.walk()] == [op.span for op in kernel.walk()]


@given(st.floats(allow_nan=False))
def test_floats_read_back_to_the_bit(value: float) -> None:
    read = parse_kernel(f"kernel @k() dims() tile {{a = {show_attr(value)}}} {{\n}}").attrs["a"]
    assert struct.pack("<d", read) == struct.pack("<d", value)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(LOOP)), st.text(alphabet='%@(){}[]:,="\\ x1.-\n#', max_size=4), st.integers(0, 3))
def test_damaged_text_is_a_located_error_or_a_kernel(at: int, inserted: str, dropped: int) -> None:
    text = LOOP[:at] + inserted + LOOP[at + dropped :]
    try:
        parse_kernel(text)
    except CompileError as error:
        (diagnostic,) = error.diagnostics
        assert diagnostic.code == MALFORMED
        assert diagnostic.span is not None and 0 <= diagnostic.span.start <= len(text)


# ------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("body", "guilty", "title"),
    [
        ("%a: i8 = neg %z", "%z", "not defined"),
        ("%a: i8 = neg %a", "%a\n", "not defined"),
        ("%x: i8 = neg %x", "%x: i8 =", "defined twice"),
        ("%a: i9 = neg %x", "i9", "not an element type"),
        ("%a: i8[%N] = neg %x", "i8[%N]", "only a tensor"),
        ("%a: local i8 = neg %x", "i8 =", "one extent"),
        ("%a: local i8[1, 2] = neg %x", "i8[1", "one extent"),
        ("%a i8 = neg %x", "i8 =", "expected `:`"),
        ("%a: i8 = neg %x {a = 1, a = 2}", "a = 2", "given twice"),
        ("%a: i8 = neg %x {a = b}", "b}", "attribute's value"),
        ("%a: i8 = neg %x {a = 1 b = 2}", "b = 2", "expected `,`"),
        ('%a: i8 = neg %x {a = "\\q"}', '"\\q"', "escape"),
        ("%a: i8 = neg %x {a = " + "1" * 50 + "}", "1" * 50, "too long"),
        ("if %x else {\n}", "else", "no `else`"),
        ("%a: i8 = neg §", "§", "does not belong"),
        ("neg %x @5", "@5", "does not belong"),
    ],
)
def test_mistakes_have_their_place(body: str, guilty: str, title: str) -> None:
    text = f"kernel @k(%x: i8) dims(%N) tile {{\n{body}\n}}\n"
    with pytest.raises(CompileError) as caught:
        parse_kernel(text)
    (diagnostic,) = caught.value.diagnostics
    assert title in diagnostic.title
    assert diagnostic.span is not None
    assert diagnostic.span.start == text.index(guilty, text.index(body))


@pytest.mark.parametrize(
    "text", ["", "kernel", "kernel @k() dims() tile {", "kernel @k() dims() tile {} {", LOOP + "x"]
)
def test_text_that_ends_too_early_or_too_late(text: str) -> None:
    with pytest.raises(CompileError):
        parse_kernel(text)


def test_values_of_a_block_are_not_its_ops_results() -> None:
    """A result is defined after the op, so the blocks inside cannot use it."""
    with pytest.raises(CompileError, match="not defined"):
        parse_kernel("kernel @k() dims() tile {\n  %a: i8 = if {\n yield %a\n }\n}")


@pytest.mark.parametrize("opening", ["x {\n", "x {a = " + "("])
def test_depth_is_limited(opening: str) -> None:
    text = "kernel @k() dims() tile {\n" + (opening * 5000 if "(" not in opening else opening + "(" * 5000)
    with pytest.raises(CompileError, match=f"deeper than {MAX_DEPTH}"):
        parse_kernel(text)


@pytest.mark.parametrize("key", ["inf", "nan", "inf.x", "infinite", "true", "a b"])
def test_attributes_whose_names_look_like_numbers_read_back(key: str) -> None:
    kernel = Kernel("k", (), (), Block((), ()), attrs={key: 1})
    assert parse_kernel(print_kernel(kernel)) == kernel


def test_allowed_depth_reads_back() -> None:
    op = Op("yield")
    for _ in range(MAX_DEPTH - 2):
        op = Op("x", blocks=(Block((), (op,)),))
    kernel = Kernel("k", (), (), Block((), (op,)))
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)


def test_one_op_prints_on_its_own() -> None:
    op = parse_kernel("kernel @k(%b: bool) dims() tile {\nif %b {\nyield\n} else {\nyield\n}\n}").body.ops[0]
    assert print_op(op) == "if %b {\n  yield\n} else {\n  yield\n}"
