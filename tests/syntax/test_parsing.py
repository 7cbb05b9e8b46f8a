"""What well-formed programs parse to: precedence, statements, items, spans."""

from __future__ import annotations

import pytest

from tests.syntax.helpers import KERNEL, MATMUL, SOFTMAX, expression, parsed, show, statement
from tilelang.diagnostics import Sink, Source
from tilelang.syntax import ast
from tilelang.syntax.ast import Ident, IntLit, Name
from tilelang.syntax.parsing import parse

# One operator of each level, from the loosest to the tightest.
LADDER = ["or", "and", "==", "+:", "|", "^", "&", "<<", "+", "*"]


@pytest.mark.parametrize("loose", range(len(LADDER)))
@pytest.mark.parametrize("tight", range(len(LADDER)))
def test_binary_precedence(loose: int, tight: int) -> None:
    if loose >= tight:
        return
    low, high = LADDER[loose], LADDER[tight]
    assert show(expression(f"a {low} b {high} c")) == f"(a {low} (b {high} c))"
    assert show(expression(f"a {high} b {low} c")) == f"((a {high} b) {low} c)"


@pytest.mark.parametrize("op", ["or", "and", "+:", "|", "^", "&", "<<", ">>", "+", "-", "*", "/", "//", "%"])
def test_binary_operators_associate_to_the_left(op: str) -> None:
    assert show(expression(f"a {op} b {op} c")) == f"((a {op} b) {op} c)"


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons(op: str) -> None:
    assert show(expression(f"a + b {op} c +: d")) == f"((a + b) {op} (c +: d))"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("-7 // 2", "((- 7) // 2)"),
        ("a as f32 * b", "((a as f32) * b)"),
        ("-x as f32", "(- (x as f32))"),
        ("a as i32 as f32", "((a as i32) as f32)"),
        ("- -~x", "(- (- (~ x)))"),
        ("a--b", "(a - (- b))"),
        ("not a == b", "(not (a == b))"),
        ("not not a and b", "((not (not a)) and b)"),
        ("a or not b and c", "(a or ((not b) and c))"),
        ("a - b + c", "((a - b) + c)"),
        ("a << b >> c", "((a << b) >> c)"),
        ("a * (b + c)", "(a * (b + c))"),
        ("2 * i +: n + 1", "((2 * i) +: (n + 1))"),
        ("x[i] as f32", "(x[i] as f32)"),
        ("-x[i]", "(- x[i])"),
        ("f(a, b=c + 1,)", "f(a, b=(c + 1))"),
        ("f()", "f()"),
        ("[a, [b, 1],]", "[a, [b, 1]]"),
        ("[]", "[]"),
        ("x[:, None, i +: 4,]", "x[:, None, (i +: 4)]"),
        ("x[[i, j]]", "x[[i, j]]"),
        ("x[i] where a or b else c + 1", "(x[i] where (a or b) else (c + 1))"),
        ("x[i] else -inf", "(x[i] else (- inf))"),
        ("1 + (x[i] else 0)", "(1 + (x[i] else 0))"),
        ("(x[i] where m)", "(x[i] where m)"),
        ("f(x[i] else 0, y[j] where m)", "f((x[i] else 0), (y[j] where m))"),
        ("true and not false", "(True and (not False))"),
        ("0xff + 1_0 + 0b11", "((255 + 10) + 3)"),
    ],
)
def test_expressions(text: str, tree: str) -> None:
    assert show(expression(text)) == tree


def test_strings_are_decoded() -> None:
    stmt = statement(r'print("a\"b\\\n", x);')
    assert isinstance(stmt, ast.ExprStmt)
    assert isinstance(stmt.value, ast.Call)
    assert stmt.value.args[0] == ast.StrLit('a"b\\\n')


A, B, X, IX, M = Name("a"), Name("b"), Name("x"), Name("i"), Name("m")
X_I, Y_I = ast.Index(X, (IX,)), ast.Index(Name("y"), (IX,))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("let c = a;", ast.Let((Ident("c"),), A)),
        ("var c = a;", ast.Let((Ident("c"),), A, mutable=True)),
        ("let c, d = f(a);", ast.Let((Ident("c"), Ident("d")), ast.Call(Ident("f"), (A,)))),
        ("a = b;", ast.Assign((Ident("a"),), B)),
        ("a, b = f(x);", ast.Assign((Ident("a"), Ident("b")), ast.Call(Ident("f"), (X,)))),
        ("y[i] = a;", ast.Store(Y_I, A)),
        ("y[i] = a where m;", ast.Store(Y_I, A, M)),
        ("y[i] = x[i] where m;", ast.Store(Y_I, X_I, M)),
        ("y[i] = (x[i] where m);", ast.Store(Y_I, ast.Index(X, (IX,), mask=M))),
        ("y[i] = x[i] else 1;", ast.Store(Y_I, ast.Index(X, (IX,), other=IntLit(1)))),
        ("y[i] = x[i] else 1 where m;", ast.Store(Y_I, ast.Index(X, (IX,), other=IntLit(1)), M)),
        ("y[[i, a]] += b where m;", ast.Store(ast.Index(Name("y"), (IX, A), pointwise=True), B, M, "+")),
        ("f(a);", ast.ExprStmt(ast.Call(Ident("f"), (A,)))),
        (
            "atomic_add(x[i], a) where m;",
            ast.ExprStmt(ast.Call(Ident("atomic_add"), (ast.Index(X, (IX,), mask=M), A))),
        ),
        (
            "atomic_add(x[i] where m, a);",
            ast.ExprStmt(ast.Call(Ident("atomic_add"), (ast.Index(X, (IX,), mask=M), A))),
        ),
        ("for k in range(a) { }", ast.For(Ident("k"), (A,), ast.Block(()))),
        (
            "for k in range(a, b, -1,) { }",
            ast.For(Ident("k"), (A, B, ast.Unary("-", IntLit(1))), ast.Block(())),
        ),
        ("while a { b = a; }", ast.While(A, ast.Block((ast.Assign((Ident("b"),), A),)))),
        ("return;", ast.Return()),
        ("return a, b;", ast.Return((A, B))),
        (
            "if a { } else if b { } else { f(a); }",
            ast.If(
                A,
                ast.Block(()),
                ast.Block(
                    (ast.If(B, ast.Block(()), ast.Block((ast.ExprStmt(ast.Call(Ident("f"), (A,))),))),)
                ),
            ),
        ),
    ],
)
def test_statements(text: str, tree: ast.Stmt) -> None:
    assert statement(text) == tree


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"])
def test_operating_assignments(op: str) -> None:
    assert statement(f"a {op}= b;") == ast.Assign((Ident("a"),), B, op)
    assert statement(f"y[i] {op}= b;") == ast.Store(Y_I, B, None, op)


def test_a_where_in_a_let_belongs_to_the_read() -> None:
    assert statement("let c = x[i] where m;") == ast.Let((Ident("c"),), ast.Index(X, (IX,), mask=M))


def test_kernel() -> None:
    module = parsed("""
        const H = 1 << 2;
        fn f(a, b: f32,) { return a * b; }
        kernel k[BLOCK = H, BM: {64, 128} = 128, T: {f16, f32},](x: T[N, N + 1], inout y: T[4], s: i32,)
            grid (N, cdiv(N, BM), 1) { }
    """)
    assert module.consts == (ast.ConstDef(Ident("H"), ast.Binary("<<", IntLit(1), IntLit(2))),)
    assert module.fns[0].params == (ast.FnParam(Ident("a")), ast.FnParam(Ident("b"), Ident("f32")))
    (kernel,) = module.kernels
    assert kernel.metas == (
        ast.Meta(Ident("BLOCK"), (), Name("H")),
        ast.Meta(Ident("BM"), (IntLit(64), IntLit(128)), IntLit(128)),
        ast.Meta(Ident("T"), (Name("f16"), Name("f32"))),
    )
    n = Name("N")
    assert kernel.params == (
        ast.Param(Ident("x"), Ident("T"), (n, ast.Binary("+", n, IntLit(1)))),
        ast.Param(Ident("y"), Ident("T"), (IntLit(4),), "inout"),
        ast.Param(Ident("s"), Ident("i32")),
    )
    assert kernel.grid == (n, ast.Call(Ident("cdiv"), (n, Name("BM"))), IntLit(1))


def test_kernels_without_metas_or_params() -> None:
    assert parsed("kernel a() grid (1) { } kernel b[]() grid (1,) { }").kernels[1].metas == ()


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "\r\n\t "])
def test_empty_files(text: str) -> None:
    assert parsed(text) == ast.Module(())


@pytest.mark.parametrize("text", [SOFTMAX, MATMUL])
def test_line_ends_and_blanks_do_not_matter(text: str) -> None:
    module = parsed(text)
    assert parsed(text.replace("\n", "\r\n")) == module
    assert parsed(text.replace(" ", "\t")) == module


def test_keywords_in_comments_and_strings() -> None:
    assert parsed(KERNEL.format('print("} else { let"); # } kernel { ( [')) == parsed(
        KERNEL.format('print("} else { let");')
    )


def test_spans_mark_the_text_of_each_node() -> None:
    text = KERNEL.format("let c = (a + x[i]) * f(b, axis=0) else_;".replace(" else_", ""))
    module = parsed(text)

    def marked(node: ast.Node) -> str:
        return text[node.span.start : node.span.end]

    let = module.kernels[0].body.body[0]
    assert isinstance(let, ast.Let)
    product = let.value
    assert isinstance(product, ast.Binary)
    assert marked(let) == "let c = (a + x[i]) * f(b, axis=0);"
    assert marked(product) == "(a + x[i]) * f(b, axis=0)"
    assert marked(product.left) == "a + x[i]"
    assert text[product.op_span.start : product.op_span.end] == "*"
    assert isinstance(product.right, ast.Call)
    assert marked(product.right.keywords[0]) == "axis=0"
    assert marked(module.kernels[0].params[1]) == "out y: f32[N]"
    assert marked(module.kernels[0]) == text.strip()


def test_span_of_a_read_with_clauses() -> None:
    text = KERNEL.format("y[i] = x[i] else 0 where m;")
    store = parsed(text).kernels[0].body.body[0]
    assert isinstance(store, ast.Store)
    assert store.mask is not None
    assert text[store.value.span.start : store.value.span.end] == "x[i] else 0"
    assert text[store.mask.span.start : store.mask.span.end] == "m"


def test_parsing_twice_gives_equal_trees() -> None:
    assert parse(Source(MATMUL), Sink()) == parse(Source(MATMUL, "other name"), Sink())
