"""What `resolve` gives as data. Its messages are tested by the programs in tests/programs/errors."""

from __future__ import annotations

import time

import pytest

from tests.semantics.helpers import check, check_body
from tilelang.semantics.builtins import BUILTINS
from tilelang.semantics.call_graph import report_recursion
from tilelang.semantics.definitions import Role
from tilelang.semantics.walking import walk
from tilelang.syntax import ast


def uses(checked, text: str) -> list[Role | None]:  # type: ignore[no-untyped-def]
    """The roles of every use of a name in the only kernel's statements, in order."""
    found: list[Role | None] = []
    for stmt in checked.names.module.kernels[0].body.body:
        exprs = [getattr(stmt, "value", None), getattr(stmt, "target", None)]
        for node in (n for e in exprs if e is not None for n in walk(e)):
            if isinstance(node, ast.Name) and node.text == text:
                meaning = checked.names.meaning(node)
                found.append(meaning.role if meaning else None)
    return found


def test_roles() -> None:
    checked = check(
        "const C = 2;\nkernel k[B = 4](x: f32[N], s: f32, out y: f32[N]) grid (N) {\n"
        "let a = x[C + B] + s * pi; var b = a; b = b + (N as f32); y[0] = a + b; }"
    )
    roles = {name: uses(checked, name)[0] for name in ("C", "B", "x", "s", "pi", "N", "a", "b", "y")}
    assert roles == {
        "C": Role.CONST,
        "B": Role.META,
        "x": Role.TENSOR,
        "s": Role.SCALAR,
        "pi": Role.BUILTIN,
        "N": Role.DIM,
        "a": Role.LET,
        "b": Role.VAR,
        "y": Role.TENSOR,
    }


def test_dims_are_in_order_of_first_appearance() -> None:
    checked = check(
        "const C = 3;\n"
        "kernel k[B = 4](a: f32[M, K], b: f32[K, C, B, 2 * M], out c: f32[M, N, 5, L]) grid (1) {\n"
        "c[0, 0, 0, B] = 1.0; }"
    )
    assert checked.codes == []
    assert checked.names.dims == {"k": ("M", "K", "N", "L")}
    kernel = checked.kernel
    assert kernel.dims == ("M", "K", "N", "L", "b.3")
    assert kernel.params[1].dims == ("K", 3, 4, "b.3")  # type: ignore[union-attr]
    assert kernel.params[2].dims == ("M", "N", 5, "L")  # type: ignore[union-attr]


def test_sibling_blocks_may_reuse_a_name() -> None:
    body = "if s > 0.0 { let v = 1.0; y[0] = v; } else { let v = 2; z[0] = v; } for v in range(3) { z[v] = v; }"
    assert check_body(body).codes == []


def test_functions_values_and_types_are_separate_name_spaces() -> None:
    body = "let max = x[0]; let range = maximum(max, 1.0); let f32 = range; let f = f(f32); y[0] = f;"
    assert check_body(body, before="fn f(f) { return f + f; }").codes == []


def test_underscore_may_be_bound_again_and_never_read() -> None:
    before = "fn f(v) { return v, v, v; }"
    assert check_body("let a, _, _ = f(s); let _, b, _ = f(s); y[0] = a + b;", before=before).codes == []
    assert check_body("let a, _, _ = f(s); y[0] = a + _;", before=before).codes == ["E0201"]


def test_a_slip_of_the_pen_does_not_make_a_name_unused() -> None:
    assert check_body("let total = x[0]; y[0] = totla;").codes == ["E0201"]


def test_calls_and_their_order() -> None:
    checked = check("fn f(a) { return g(a) + h(a); }\nfn g(a) { return h(h(a)); }\nfn h(a) { return a; }\n")
    assert checked.names.calls == {"f": ("g", "h"), "g": ("h",), "h": ()}
    assert checked.names.order == ("h", "g", "f")
    assert checked.names.recursive == frozenset()


def test_what_reaches_a_cycle_is_recursive_too() -> None:
    checked = check(
        "fn a(v) { return b(v); }\nfn b(v) { return c(v); }\nfn c(v) { return b(v) + d(v); }\nfn d(v) { return v; }\n"
    )
    assert checked.codes == ["E0206"]
    assert checked.names.recursive == {"a", "b", "c"}


def test_a_chain_of_ten_thousand_fns() -> None:
    fns = {f"f{i}": ast.FnDef(ast.Ident(f"f{i}"), (), ast.Block(())) for i in range(10_000)}
    calls = {f"f{i}": [ast.Call(ast.Ident(f"f{i + 1}"), ())] for i in range(9_999)}
    order, recursive = report_recursion(fns, calls, check("").source and _sink())
    assert order[0] == "f9999" and order[-1] == "f0" and not recursive


def _sink():  # type: ignore[no-untyped-def]
    from tilelang.diagnostics import Sink

    return Sink()


@pytest.mark.parametrize("name", sorted(BUILTINS))
def test_every_builtin_has_a_line_of_documentation(name: str) -> None:
    builtin = BUILTINS[name]
    assert builtin.name == name and len(builtin.doc) >= 10
    assert builtin.show().startswith(f"{name}(")


def test_the_language_has_these_builtins() -> None:
    listed = """program_id num_programs cdiv next_pow2
        zeros ones full reshape transpose permute broadcast_to cat
        sum prod max min argmax argmin any all cumsum cumprod cummax cummin dot
        select maximum minimum clamp abs sign floor ceil round exp exp2 expm1 log log2 log1p
        sqrt rsqrt sin cos tanh divide
        erf sigmoid pow fma isnan isinf rand randn randint assert print
        atomic_add atomic_max atomic_min atomic_xchg atomic_cas"""
    assert set(BUILTINS) == set(listed.split())


HELP = [
    ("y[0] = float32(3);", "as f32"),
    ("y[0] = len(x);", "dims"),
    ("y[0] = arange(3);", "0 +: N"),
    ("y[0] = sin;", "sin(v, approx=)"),
    ("y[0] = tanhh(s);", "`tanh`"),
    ("y[0] = Max(s);", "`max`"),
    ("y[0] = np;", "no modules"),
    ("y[0] = x(3);", "x[...]"),
    ("y[0] = qqq;", "let qqq"),
    ("let v = s; v = 3.0; y[0] = v;", "var v"),
    ("y = s;", "y[...]"),
    ("y[0] = max(s, 1.0);", "maximum(a, b)"),
    ("y[0] = n[0] as float16;", "`f16`"),
    ("for i in range(3) { z[i] = 0; } z[0] = i;", "last = i"),
    ("if s > 0.0 { let q = 1.0; y[1] = q; } y[0] = q;", "var q"),
    ("y[0] = n[0] / 2;", "//"),
    ("y[0] = s // 2.0;", "floor(a / b)"),
    ("if n[0] { y[0] = s; }", "!= 0"),
    ("if x[0 +: 4] > 0.0 { y[0] = s; }", "any"),
    ("let v = x[0 +: N]; y[0] = sum(v);", "next_pow2(N)"),
    ("let v = x[0 +: cdiv(N, 2)]; y[0] = sum(v);", "next_pow2(N)"),
    ("y[0] = sum(dot(zeros([4, 8], f32), zeros([4, 8], f32)));", "dot(a, transpose(b))"),
    ("y[0] = sum(dot(zeros([8, 4], f32), zeros([8, 4], f32)));", "dot(a, transpose(b))"),
    ("y[0] = sum(dot(zeros([8, 4], f32), zeros([8, 5], f32)));", "dot(transpose(a), b)"),
    ("y[0] = sum(x[0 +: 4] + x[0 +: 8]);", "v[:, None]"),
    ("z[0] = s;", "as i32"),
    ("x[0] = s;", "out x"),
    ("y[0] += s;", "inout y"),
    ("y[0] = sum(x);", "x[0 +: BLOCK]"),
    ("y[0] = x[0] + n[0];", "as f32"),
    ("y[0] = exp(3);", "3.0"),
    ("y[0] = x[-1];", "N - 1"),
]


@pytest.mark.parametrize(("body", "help"), HELP)
def test_help_offers_what_would_mend_it(body: str, help: str) -> None:
    checked = check_body(body)
    assert any(help in d.help for d in checked.diagnostics), [(d.title, d.help) for d in checked.diagnostics]


def test_a_hundred_warnings_hide_no_error() -> None:
    unused = "".join(f"let v{k} = x[{k}];\n" for k in range(150))
    found = check_body(unused + "y[0] = missing;").codes
    assert found.count("W0101") == 100
    assert [code for code in found if code.startswith("E")] == ["E0201"]
    first = f"kernel first(x: f32[N]) grid (1) {{ {unused} }}\n"
    assert "E0201" in check_body("y[0] = missing;", before=first).codes


def test_errors_are_limited_and_cheap_beyond_the_limit() -> None:
    many = "".join(f"y[0] = z{k};\n" for k in range(3000))
    start = time.process_time()
    assert check_body(many).codes == ["E0201"] * 100
    assert time.process_time() - start < 10
