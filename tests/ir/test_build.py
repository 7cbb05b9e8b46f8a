"""The builder: variables become SSA values, control flow becomes ops with results, early returns become conditions."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

from tilelang.diagnostics import NOWHERE, CompileError, Sink, Source
from tilelang.dtypes import F16
from tilelang.ir.build import MAX_DEPTH, build
from tilelang.ir.core import Kernel
from tilelang.ir.interpreter import interpret
from tilelang.ir.printer import print_kernel
from tilelang.ir.verifier import verify
from tilelang.semantics.check import check_specialised
from tilelang.semantics.names import resolve
from tilelang.syntax.parsing import parse


def built(text: str, **metas: object) -> Kernel:
    """The verified tile IR of the only kernel of a program."""
    source, sink = Source(text), Sink()
    names = resolve(parse(source, sink), sink)
    kernel = check_specialised(names, names.module.kernels[0], metas, sink)  # type: ignore[arg-type]
    if sink.failed:
        raise CompileError(sink.diagnostics, source)
    result = build(kernel)
    verify(result)
    return result


def body(statements: str, params: str = "x: f32[N], n: i32, out y: f32[N]") -> str:
    """The IR of a kernel with these statements, without its first and last line."""
    text = print_kernel(built(f"kernel k({params}) grid (N) {{ {statements} }}"))
    return textwrap.dedent("\n".join(text.splitlines()[1:-1]))


def expected(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def test_the_header_holds_params_dims_metas_and_grid() -> None:
    text = print_kernel(built("""
        kernel k[B: {8, 16}, T: {f16, f32}, warps: {4, 8}](x: T[M, 2 * N], s: i64, inout y: T[N, 3])
            grid (M, B, cdiv(N, B))
        {
            y[0, 0] = x[0, s];
        }""", B=16, T=F16, warps=8))
    assert text.splitlines()[0] == (
        'kernel @k(%x: in f16[%M, %x.1], %s: i64, %y: inout f16[%N, 3]) dims(%M, %N, %x.1) tile '
        '{grid.0 = "M", grid.1 = 16, grid.axes = 3, meta.B = 16, meta.T = f16, meta.warps = 8, stages = 2, '
        'warps = 8} {')


def test_an_expression_broadcasts_explicitly_and_keeps_names() -> None:
    assert body("let i = program_id(0) * 4 +: 4; let v = x[i] else -inf; y[i] = v * 2.0 where i < N;") == expected("""
        %program_id: i64 = program_id {axis = 0}
        %c4: i64 = const {value = 4}
        %mul: i64 = mul %program_id, %c4
        %mul_1: i64[4] = broadcast %mul
        %iota: i64[4] = iota
        %i: i64[4] = add %mul_1, %iota
        %ninf: f32 = const {value = -inf}
        %ninf_1: f32[4] = broadcast %ninf
        %v: f32[4] = load %x, %i, %ninf_1 {checked = (true,), mask = false, other = true, pointwise = false}
        %c2: f32 = const {value = 2.0}
        %c2_1: f32[4] = broadcast %c2
        %mul_2: f32[4] = mul %v, %c2_1
        %N_1: i64[4] = broadcast %N
        %lt: bool[4] = lt %i, %N_1
        store %y, %i, %mul_2, %lt {checked = (true,), mask = true, pointwise = false}""")


def test_a_loop_carries_what_it_assigns_and_no_more() -> None:
    assert body("var a = 0; let c = n; for k in range(n) { let t = k + c; a = a + t; } y[a] = 1.0;") == expected("""
        %a: i32 = const {value = 0}
        %c0: i32 = const {value = 0}
        %c1: i32 = const {value = 1}
        %a_3: i32 = for %c0, %n, %c1, %a (%k: i32, %a_1: i32) {
          %t: i32 = add %k, %n
          %a_2: i32 = add %a_1, %t
          yield %a_2
        }
        %c1_1: f32 = const {value = 1.0}
        store %y, %a_3, %c1_1 {checked = (true,), mask = false, pointwise = false}""")


def test_a_while_evaluates_its_condition_in_the_first_block() -> None:
    assert body("var a = n; while a > 3 { a = a - n; } print(\"a\", a);") == expected("""
        %a_3: i32 = while %n (%a: i32) {
          %c3: i32 = const {value = 3}
          %gt: bool = gt %a, %c3
          condition %gt, %a
        } do (%a_1: i32) {
          %a_2: i32 = sub %a_1, %n
          yield %a_2
        }
        print %a_3 {text = "a"}""")


def test_a_branch_hands_out_what_either_side_assigns() -> None:
    assert body("""
        var a = 1; var b = 2; var c = 3;
        if n > 0 { a = n; let d = b; c = d; } else { a = b; }
        print("", a); print("", c); b = c;""") == expected("""
        %a: i32 = const {value = 1}
        %b: i32 = const {value = 2}
        %c: i32 = const {value = 3}
        %c0: i32 = const {value = 0}
        %gt: bool = gt %n, %c0
        %a_1: i32, %c_1: i32 = if %gt {
          yield %n, %b
        } else {
          yield %b, %c
        }
        print %a_1 {text = ""}
        print %c_1 {text = ""}""")


def test_a_constant_step_needs_no_assert_and_another_does() -> None:
    assert "assert" not in body("for k in range(0, n, -2) { print(\"\", k); }")
    text = body("for k in range(0, 10, n) { print(\"\", k); }")
    assert '%ne: bool = ne %n, ' in text
    assert 'assert %ne {text = "range() step must not be zero"}' in text
    assert text.index("assert") < text.index("for")


def test_a_last_return_costs_nothing() -> None:
    plain = body("if n > 0 { y[0] = 1.0; } else { y[1] = 2.0; }")
    assert body("if n > 0 { y[0] = 1.0; return; } else { y[1] = 2.0; return; }") == plain
    assert body("y[0] = 1.0; return;") == body("y[0] = 1.0;")
    assert "live" not in plain


def test_what_follows_an_early_return_is_guarded() -> None:
    assert body("if n > 0 { return; } y[0] = 1.0;") == expected("""
        %true: bool = const {value = true}
        %c0: i32 = const {value = 0}
        %gt: bool = gt %n, %c0
        %live: bool = if %gt {
          %false: bool = const {value = false}
          yield %false
        } else {
          yield %true
        }
        if %live {
          %c0_1: i32 = const {value = 0}
          %c1: f32 = const {value = 1.0}
          store %y, %c0_1, %c1 {checked = (true,), mask = false, pointwise = false}
          yield
        } else {
          yield
        }""")


def test_a_return_in_a_loop_is_carried_and_ends_a_while() -> None:
    text = body("""
        var a = 0;
        for k in range(n) { if k == 3 { return; } a = a + k; }
        while a > 0 { a = a - 1; if a == n { return; } }
        y[a] = 1.0;""")
    assert "for %c0, %n, %c1, %true, %a (%k: i32, %live: bool, %a_1: i32) {" in text
    assert "%again: bool = if %live_" in text, "the condition is not evaluated once the program has ended"


def test_statements_after_a_return_are_not_built() -> None:
    assert "exp" not in body("y[0] = 1.0; return; y[1] = exp(x[0]);")


def test_functions_are_inlined_with_all_their_results() -> None:
    text = print_kernel(built("""
        fn both(a, b) { var t = a; if b > a { t = b; } return t, a + b; }
        kernel k(n: i32, out y: i32[4]) grid (1) {
            let p, q = both(n, 3);
            let r, s = both(p, q);
            y[0] = r + s;
        }"""))
    assert text.count("= if") == 2
    assert "call" not in text


def test_reductions_keepdims_flattened_argmax_and_scalars() -> None:
    text = body("""
        let v = x[0 +: 6]; let m = reshape(v, [2, 3]);
        print("", sum(m, axis=0, keepdims=true)); print("", argmax(m)); print("", sum(n > 0)); print("", max(n));""")
    assert '%reduce: f32[3] = reduce %m {axes = (0,), kind = "sum"}' in text
    assert "f32[1, 3] = reshape %reduce" in text
    assert "%m_1: f32[6] = reshape %m" in text
    assert 'i32 = reduce %m_1 {axes = (0,), kind = "argmax"}' in text
    assert "i32 = cast %gt" in text
    assert "print %n" in text


def test_a_dot_without_accumulator_adds_to_zeros() -> None:
    text = body("let v = reshape(x[0 +: 4], [2, 2]); print(\"\", dot(v, v, tf32=true));")
    assert "%c0_1: f32[2, 2] = const {value = 0.0}" in text
    assert "dot %v, %v, %c0_1 {tf32 = true}" in text


def test_approximations_are_an_attribute() -> None:
    text = body('let v = x[0 +: 4]; print("", exp(v, approx=true) + exp(v)); print("", divide(v, 2.0, approx=true));')
    assert "= exp %v {approx = true}" in text and "= exp %v\n" in text
    assert re.search(r"= div %v, %\S+ \{approx = true\}", text)


def test_a_gather_broadcasts_its_indexes() -> None:
    text = body("let i = 0 +: 4; print(\"\", x[[i[:, None] + i[None, :]]] else 1.0); print(\"\", w[[i, 3]]);",
                "x: f32[N], w: f32[N, N], out y: f32[N]")
    assert text.count("pointwise = true") == 2
    assert "i32[4] = broadcast %c3" in text


def test_every_op_has_the_span_of_its_source() -> None:
    source = "kernel k(x: f32[N], out y: f32[N]) grid (1) { let i = 0 +: 4; y[i] = exp(x[i]) + 1.0; }"
    kernel = built(source)
    spans = {op.name: source[op.span.start:op.span.end] for op in kernel.walk()}
    assert spans["exp"] == "exp(x[i])"
    assert spans["load"] == "x[i]"
    assert spans["add"] == "exp(x[i]) + 1.0"
    assert spans["store"].startswith("y[i] = exp(x[i]) + 1.0")
    assert "" not in spans.values()


def test_a_long_sum_does_not_recurse() -> None:
    text = body("let v = x[0]; y[0] = " + " + ".join(["v"] * 2000) + ";")
    assert text.count("= add") == 1999


def test_a_long_else_if_chain_does_not_nest() -> None:
    links = " else ".join(f"if n == {k} {{ a = {k + 1}; }}" for k in range(300))
    kernel = built(f"kernel k(n: i32, out y: i32[1]) grid (1) {{ var a = 0; {links} else {{ a = -1; }} y[0] = a; }}")
    assert depth(kernel) == 2
    assert all(op.span != NOWHERE for op in kernel.walk())


@pytest.mark.parametrize("after", ["", "y[0] = 7;"])
def test_returns_in_a_long_else_if_chain(after: str) -> None:
    links = " else ".join(f"if n == {k} {{ y[0] = {k + 1}; return; }}" for k in range(100))
    kernel = built(f"kernel k(n: i32, out y: i32[1]) grid (1) {{ {links} else {{ y[0] = -1; }} {after} }}")
    assert depth(kernel) == 2
    for number, expected in ((0, 1), (99, 100), (100, 7 if after else -1)):
        y = np.zeros(1, np.int32)
        interpret(kernel, {"n": number, "y": y}, {}, (1,))
        assert y[0] == expected


def depth(kernel: Kernel) -> int:
    return max(line[:len(line) - len(line.lstrip())].count("  ") for line in print_kernel(kernel).splitlines()) - 1


def test_nesting_is_limited_with_an_error() -> None:
    def nested(levels: int) -> str:
        inside = "if n > 0 { " * levels + "y[0] = n;" + " }" * levels
        return f"kernel k(n: i32, out y: i32[1]) grid (1) {{ {inside} }}"

    assert depth(built(nested(MAX_DEPTH))) == MAX_DEPTH
    with pytest.raises(CompileError) as caught:
        built(nested(MAX_DEPTH + 1))
    assert [d.code for d in caught.value.diagnostics] == ["E0610"]
    assert caught.value.diagnostics[0].span is not None


def test_many_calls_are_limited_too() -> None:
    chain = "\n".join(f"fn f{k}(a) {{ return f{k - 1}(a + 1); }}" for k in range(1, 100))
    with pytest.raises(CompileError) as caught:
        built(f"fn f0(a) {{ return a; }}\n{chain}\nkernel k(n: i32, out y: i32[1]) grid (1) {{ y[0] = f99(n); }}")
    assert [d.code for d in caught.value.diagnostics] == ["E0610"]
