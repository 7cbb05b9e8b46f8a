"""Whole kernels: the typed tree, the choices that `check_module` tries, deep, large and broken programs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.semantics.helpers import check, check_body
from tilelang.diagnostics import Sink, Source
from tilelang.dtypes import F16, F32, I32, I64
from tilelang.semantics import typed
from tilelang.semantics.broadcasting import broadcast_shapes, broadcasts_to
from tilelang.semantics.builtins.products import dot_shape
from tilelang.semantics.check import check_module
from tilelang.semantics.extents import symbol
from tilelang.semantics.names import resolve
from tilelang.semantics.show import show_types
from tilelang.semantics.types import TileType
from tilelang.semantics.walking import inner_first
from tilelang.syntax.parsing import parse

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.tile"))


def notes(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(d.code, d.notes) for d in check(text).diagnostics]


# --- the typed tree --------------------------------------------------------------------------------


def test_literals_take_types_and_conversions_are_explicit() -> None:
    kernel = check_body("let _v = (x[0] as f16) * 2 + s;").kernel
    (bind,) = kernel.body
    add = bind.value  # type: ignore[union-attr]
    assert isinstance(add, typed.Elementwise) and add.op == "add"
    widened, scalar = add.operands
    assert isinstance(widened, typed.Cast) and widened.type == TileType(F32)
    assert isinstance(scalar, typed.Read) and scalar.var.name == "s"
    product = widened.operand
    assert isinstance(product, typed.Elementwise)
    assert product.operands[1] == typed.Const(2.0, type=TileType(F16))


def test_no_free_literal_is_left_in_the_tree() -> None:
    body = """
        let a = 1; var b = 2.0; b = 3; b += 1; z[0] = 4; z[0] += 5; z[n[0]] -= a;
        for i in range(10) { z[i] = i; } while b < 5 { b = b * 2; } if 1 < 2 { y[0] = 1; }
        atomic_add(z[0], 1); assert(1 == 1, "one"); print("x", 3); let c = f(3, 4.0); y[3] = c + cdiv(3, 2);
        y[0 +: 4] = select(true, 1, full([4], 2.0)); let d = x[0] where true else 1; y[1] = d;
    """
    kernel = check_body(body, before='fn f(a, b: f32) { print("a", a); return b; }').kernel
    for node in every_expression(kernel.body):
        assert type(node).__name__ != "Literal", node


def every_expression(body):  # type: ignore[no-untyped-def]
    for statement in body:
        for value in vars(statement).values():
            items = value if isinstance(value, tuple) else (value,)
            for item in items:
                if isinstance(item, typed.Statement):
                    yield from every_expression((item,))
                elif isinstance(item, typed.Typed):
                    for node in inner_first(item):
                        yield node
                        if isinstance(node, typed.Inlined):
                            yield from every_expression(node.body)
                            yield from node.results


def test_compound_store_computes_its_indices_once() -> None:
    kernel = check_body("z[atomic_add(z[0], 1)] += 2;").kernel
    index, store = kernel.body
    assert isinstance(index, typed.Bind) and isinstance(index.value, typed.Atomic)
    assert isinstance(store, typed.Store)
    load = store.value.operands[0]  # type: ignore[attr-defined]
    assert isinstance(load, typed.Load)
    assert load.indices == store.indices == (typed.Read(index.vars[0], type=TileType(I32)),)


def test_unsigned_cdiv_computes_its_arguments_once() -> None:
    body = "let _v = cdiv(atomic_add(c[0], 1), 3);"
    (bind,) = check_body(body, "inout c: u32[N]").kernel.body
    atomics = [n for n in every_expression((bind,)) if isinstance(n, typed.Atomic)]
    assert len(atomics) == 1


def test_each_call_has_variables_of_its_own() -> None:
    kernel = check_body("y[0] = f(s) + f(2.5 * s);", before="fn f(a) { let b = a; return b; }").kernel
    calls = [n for n in every_expression(kernel.body) if isinstance(n, typed.Inlined)]
    assert len({var.uid for call in calls for var in call.params}) == 2
    assert all(call.body[0].value.var == call.params[0] for call in calls)  # type: ignore[union-attr]


def test_several_results() -> None:
    before = "fn f(a) { return a, 1, a > 0.0; }"
    kernel = check_body("var p, q, r = f(s); p, q, r = f(p); if r { y[q] = p; }", before=before).kernel
    declared, assigned = kernel.body[0], kernel.body[1]
    assert [str(v.type) for v in declared.vars] == ["f32", "i32", "bool"]  # type: ignore[union-attr]
    assert declared.declares and not assigned.declares  # type: ignore[union-attr]
    assert declared.vars == assigned.vars  # type: ignore[union-attr]


def test_results_are_converted_to_the_variables() -> None:
    before = "fn f(a) { return 1, a; }"
    kernel = check_body("var p = N; var q = 0.0; p, q = f(s); z[0] = (p + 1) as i32; y[0] = q;", before=before).kernel
    results = kernel.body[2].value.results  # type: ignore[union-attr]
    assert results[0] == typed.Const(1, type=TileType(I64))


def test_reductions_are_normalised() -> None:
    (bind,) = check_body("let _v = sum(zeros([2, 3, 4], f32), axis=[-1, 0]);").kernel.body
    assert bind.value.axes == (0, 2)  # type: ignore[union-attr]
    (bind,) = check_body("let _v = sum(s);").kernel.body
    assert bind.value.axes == ()  # type: ignore[union-attr]


def test_random_words_are_64_bits() -> None:
    (bind,) = check_body("let _v = rand(18446744073709551615, n[0 +: 4]);").kernel.body
    seed, offsets = bind.value.operands  # type: ignore[union-attr]
    assert seed == typed.Const(-1, type=TileType(I64))
    assert offsets.type == TileType(I64, (4,))


# --- choices ---------------------------------------------------------------------------------------


def test_a_mistake_of_one_choice_says_which() -> None:
    text = "kernel k[B: {4, 8, 16}](x: f32[N], out y: f32[N]) grid (1) { y[0 +: 4] = x[0 +: B]; }"
    ((code, found),) = notes(text)
    assert code == "E0313" and found[-1] == "when B = 8 or 16"


def test_a_mistake_of_the_default_only_says_so() -> None:
    text = "kernel k[B: {8, 4}](x: f32[N], out y: f32[N]) grid (1) { y[0 +: 4] = x[0 +: B]; }"
    ((code, found),) = notes(text)
    assert code == "E0313" and found[-1] == "when B = 8"


def test_a_mistake_of_an_element_type_says_which() -> None:
    text = "kernel k[T: {f32, f16}](x: T[N], out y: f32[N]) grid (1) { y[0] = (x[0] + (x[1] as bf16)) as f32; }"
    assert notes(text)[0][1][-1] == "when T = f16"


def test_a_mistake_of_every_choice_is_reported_once() -> None:
    text = "kernel k[T: {f32, f16}, B: {4, 8}](x: T[N], out y: T[N]) grid (1) { y[B] = x[0] + true; }"
    (only,) = notes(text)
    assert not any(note.startswith("when") for note in only[1])


def test_metas_of_dims_are_symbols() -> None:
    text = (
        "kernel k[B = next_pow2(N), C = 2 * B, H = cdiv(N, 2), F = N > 8 and true]\n"
        "(x: f32[N], out y: f32[N]) grid (1) {\n"
        "let a = x[0 +: B]; let b = x[0 +: C]; let c = cat(a, a); if F { y[0 +: C] = b + c; }\n"
        "let _d = reshape(a, [B, 1]); y[0] = sum(a + x[0 +: H]); }"
    )
    kernel = check(text).kernel
    assert kernel.metas["B"] == symbol("B")
    assert [str(s.vars[0].type) for s in kernel.body[:3]] == ["f32[B]", "f32[2*B]", "f32[2*B]"]  # type: ignore[union-attr]


def test_floats_computed_from_dims_stay_floats() -> None:
    text = (
        "kernel k[S = 1.0 / sqrt(N)](x: f32[N], out y: f32[N]) grid (1) {\n"
        "let s = S; y[0] = x[0] * S + exp(S) + s; if S > 0.5 { y[1] = S; } }"
    )
    assert [str(s.vars[0].type) for s in check(text).kernel.body[:1]] == ["f32"]  # type: ignore[union-attr]


def test_flags_that_depend_on_dims() -> None:
    text = (
        "kernel k[F = N > 64](x: f32[N], out y: f32[N]) grid (1) {\n"
        "let v = cumsum(x[0 +: 4], reverse=F); if not F { y[0 +: 4] = v; } }"
    )
    assert check(text).codes == []


def test_what_no_size_can_make_right_is_an_error() -> None:
    body = "y[0] = sum(x[0 +: B] + x[0 +: B + 1]);"
    text = f"kernel k[B = next_pow2(N)](x: f32[N], out y: f32[N]) grid (1) {{ {body} }}"
    assert check(text).codes == ["E0305"]


def test_many_choices_are_tried_one_at_a_time() -> None:
    choices = "{" + ", ".join(map(str, range(1, 41))) + "}"
    text = f"kernel k[A: {choices}, B: {choices}](out y: f32[N]) grid (1) {{ y[0] = sum(zeros([A, B], f32)); }}"
    assert check(text).codes == []


# --- shapes ----------------------------------------------------------------------------------------

N = symbol("N")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((), (), ()),
        ((4,), (), (4,)),
        ((4,), (4,), (4,)),
        ((4, 1), (1, 8), (4, 8)),
        ((8,), (4, 8), (4, 8)),
        ((4,), (8,), None),
        ((4, 8), (4,), None),
        ((2, 1, 8), (4, 1), (2, 4, 8)),
        ((1,), (1,), (1,)),
        ((N,), (N,), (N,)),
        ((N,), (1,), (N,)),
        ((N,), (8,), (8,)),
        ((N,), (N + 1,), None),
    ],
)
def test_broadcasting(a: tuple, b: tuple, expected: tuple | None) -> None:
    assert broadcast_shapes(a, b) == expected
    assert broadcast_shapes(b, a) == expected


def test_stretching_goes_one_way() -> None:
    assert broadcasts_to((1, 8), (4, 8)) and broadcasts_to((), (4,)) and broadcasts_to((8,), (4, 8))
    assert not broadcasts_to((4, 8), (8,)) and not broadcasts_to((4,), (1,)) and not broadcasts_to((4,), ())


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((4, 8), (8, 2), (4, 2)),
        ((4, 8), (4, 8), None),
        ((3, 4, 8), (3, 8, 2), (3, 4, 2)),
        ((3, 4, 8), (8, 2), None),
        ((8,), (8,), None),
        ((2, 2, 4, 8), (2, 2, 8, 4), None),
        ((4, N), (8, 2), (4, 2)),
    ],
)
def test_shapes_of_products(a: tuple, b: tuple, expected: tuple | None) -> None:
    assert dot_shape(a, b) == expected


# --- deep, large, broken ---------------------------------------------------------------------------


def test_two_thousand_terms() -> None:
    kernel = check_body(f"y[0] = {' + '.join(['s'] * 1900)};").kernel
    (store,) = kernel.body
    assert sum(isinstance(n, typed.Elementwise) for n in inner_first(store.value)) == 1899  # type: ignore[union-attr]


def test_five_hundred_else_ifs() -> None:
    chain = " else ".join(f"if s > {i}.0 {{ y[{i}] = s; }}" for i in range(500))
    assert check_body(chain).codes == []


def test_five_hundred_ifs_in_a_row() -> None:
    assert len(check_body("\n".join(f"if s > {i}.0 {{ y[{i}] = s; }}" for i in range(500))).kernel.body) == 500


def test_deep_parentheses_calls_and_blocks() -> None:
    assert check_body(f"y[0] = {'abs(' * 180}s{')' * 180};").codes == []
    assert check_body("if s > 0.0 { " * 150 + "y[0] = s;" + " }" * 150).codes == []


def test_fns_nested_too_deep() -> None:
    fns = "fn f0(a) { let b = a; return b; }\n" + "\n".join(
        f"fn f{i}(a) {{ return f{i - 1}(a); }}" for i in range(1, 150)
    )
    assert check_body("y[0] = f149(s);", before=fns).codes == ["E0601"]
    deep = "fn f0(a) { let b = a; return b; }\n" + "\n".join(
        f"fn f{i}(a) {{ return {'(-' * 90}f{i - 1}(a){')' * 90}; }}" for i in range(1, 99)
    )
    assert check_body("y[0] = f98(s);", before=deep).codes in ([], ["E0601"])


def test_exponentially_many_inlined_statements_end_soon() -> None:
    fns = "fn f0(a) { let b = a; return b; }\n" + "\n".join(
        f"fn f{i}(a) {{ let b = f{i - 1}(a); return f{i - 1}(b); }}" for i in range(1, 60)
    )
    assert check_body("y[0] = f59(s);", before=fns).codes == ["E0601"]


def test_no_more_than_a_hundred_messages() -> None:
    assert len(check_body("\n".join(f"y[0] = q{i};" for i in range(1000))).diagnostics) == 100
    assert len(check_body("\n".join("y[0] = n[0];" for _ in range(1000))).diagnostics) == 100


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_the_corpus_has_no_mistakes(path: Path) -> None:
    source, sink = Source(path.read_text(encoding="utf-8"), path.name), Sink()
    check_module(resolve(parse(source, sink), sink), sink)
    assert [d.title for d in sink.diagnostics if d.is_error] == []


def mutants(seed: int) -> list[str]:
    """Corpus programs with words exchanged, dropped or doubled: mostly they parse, and mean nothing."""
    chance = random.Random(seed)
    words = [
        "x",
        "y",
        "0",
        "1.5",
        "f32",
        "i32",
        "sum",
        "dot",
        "+",
        "+:",
        "//",
        "where true",
        "[0]",
        "as bool",
        "true",
        "N",
        "-",
        "not",
    ]
    made = []
    for path in PROGRAMS:
        parts = path.read_text(encoding="utf-8").split(" ")
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(parts))
            parts[place] = chance.choice(
                [chance.choice(words), parts[chance.randrange(len(parts))], "", parts[place] * 2]
            )
        made.append(" ".join(parts))
    return made


@pytest.mark.parametrize("seed", range(8))
def test_broken_programs_give_messages_not_exceptions(seed: int) -> None:
    for text in mutants(seed):
        sink = Sink()
        source = Source(text, "mutant.tile")
        kernels = check_module(resolve(parse(source, sink), sink), sink)
        for diagnostic in sink.diagnostics:
            assert diagnostic.span is not None and 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        for kernel in kernels:
            show_types(kernel, source)


# --- showing types ---------------------------------------------------------------------------------

SHOWN = """\
kernel k
  B = 4, a meta
  x: f16[N], a tensor
  s: f32, a scalar
  out y: f32[N], a tensor
  N: i64, a dim
   4 | let i = program_id(0) * B +: B;
     |     i: i64[4]
     |     program_id(0)    i64
     |     program_id(0) * B    i64
   5 | if s > 0.0 {
     |     s > 0.0    bool
   6 |     y[i] = twice(x[i] + s);
     |         x[i]    f16[4]
     |         x[i] -> f32    f32[4]
     |         x[i] + s    f32[4]
     |         twice(x[i] + s)    f32[4]
     |             a: f32[4]
     |             a + a    f32[4]
"""


def test_types_are_shown_statement_by_statement() -> None:
    checked = check(
        "fn twice(a) { return a + a; }\n\n"
        "kernel k[B = 4](x: f16[N], s: f32, out y: f32[N]) grid (cdiv(N, B)) {\n"
        "    let i = program_id(0) * B +: B;\n    if s > 0.0 {\n        y[i] = twice(x[i] + s);\n    }\n}\n"
    )
    assert show_types(checked.kernel, checked.source) == SHOWN
