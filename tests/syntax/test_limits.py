"""Large, deep and hostile inputs: each ends in an AST or in its own error, and soon."""

from __future__ import annotations

import sys

import pytest

from tests.syntax.helpers import KERNEL, mistakes, parsed, same
from tilelang.diagnostics import Sink, Source
from tilelang.syntax import ast
from tilelang.syntax.lexing import lex, read_source
from tilelang.syntax.limits import MAX_ERRORS, MAX_FILE_BYTES, MAX_NESTING, MAX_TOKENS, deep_trees
from tilelang.syntax.parsing import parse
from tilelang.syntax.printing import show_ast, show_tree


def codes(text: str) -> list[str]:
    return [d.code for d in mistakes(text)]


def let(value: str) -> str:
    return KERNEL.format(f"let a = {value};")


@pytest.mark.parametrize("terms", [500, 2000])
def test_long_sums(terms: int) -> None:
    module = parsed(let(" + ".join(["x"] * terms)))
    stmt = module.kernels[0].body.body[0]
    assert isinstance(stmt, ast.Let)
    node, depth = stmt.value, 1
    while isinstance(node, ast.Binary):
        node, depth = node.left, depth + 1
    assert depth == terms


def test_too_long_sum() -> None:
    assert codes(let(" + ".join(["x"] * 10_000))) == ["E0123"]


def test_long_else_if_chains() -> None:
    assert codes(KERNEL.format("if a { }" + " else if b { }" * 500 + " else { }")) == []
    assert codes(KERNEL.format("if a { }" + " else if b { }" * 10_000)) == ["E0123"]


@pytest.mark.parametrize(
    ("before", "middle", "after"),
    [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("f(", "1", ")"),
        ("x[", "1", "]"),
        ("-", "1", ""),
        ("~", "1", ""),
        ("not ", "b", ""),
        ("", "1", " as f32"),
        ("-(", "1", ")"),
        ("x[f((", "1", "))]"),
    ],
)
def test_nesting(before: str, middle: str, after: str) -> None:
    levels = sum(before.count(c) for c in "([-~") + before.count("not") or 1
    fits = (MAX_NESTING - 1) // levels  # the body of the kernel is one level
    assert codes(let(before * fits + middle + after * fits)) == []
    assert codes(let(before * (fits + 1) + middle + after * (fits + 1))) == ["E0105"]
    assert codes(let(before * 10_000 + middle + after * 10_000)) == ["E0105"]


def test_nested_blocks() -> None:
    fits = MAX_NESTING - 1
    assert codes(KERNEL.format("if a { " * fits + "} " * fits)) == []
    assert codes(KERNEL.format("if a { " * 10_000 + "} " * 10_000)) == ["E0105"]


def test_long_lists_are_not_deep() -> None:
    items = ", ".join(["1"] * 5_000)
    assert codes(KERNEL.format(f"let a = f({items});" + "let b = 1;\n" * 2_000 + f"let c = [{items}];")) == []


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "{" * 10_000,
        "[" * 10_000,
        ")" * 10_000,
        "}" * 10_000,
        "kernel " * 10_000,
        "let " * 10_000,
        '"' * 9_999,
        "'" * 9_999,
        "\\" * 10_000,
        "é " * 10_000,
        "1. " * 10_000,
        "else " * 10_000,
        "; " * 10_000,
        "a " * 10_000,
        "fn f() { " * 10_000,
        "\0" * 10_000,
    ],
)
@pytest.mark.parametrize(
    "frame", ["{}", "kernel k() grid (1) {{ {} }}", "kernel k() grid (1) {{ let a = {}; }}"]
)
def test_hostile_repetition(text: str, frame: str) -> None:
    found = mistakes(frame.format(text))
    assert 0 < len(found) <= 2 * MAX_ERRORS


def test_at_most_so_many_errors_and_it_says_so() -> None:
    found = mistakes("".join(f"const A = {i} {i};\n" for i in range(1_000)))
    assert len(found) == MAX_ERRORS
    assert "rest of the file" in found[-1].notes[-1]


def test_file_size() -> None:
    sink = Sink()
    assert read_source(b"#" * (MAX_FILE_BYTES + 1), "x", sink).text == ""
    assert [d.code for d in sink.diagnostics] == ["E0012"]
    assert codes("# " + "x" * 10_000_000) == ["E0012"]
    assert codes("#" + "é" * (MAX_FILE_BYTES // 2 + 1)) == ["E0012"]  # bytes count, not characters
    assert codes("#" + "x" * (MAX_FILE_BYTES - 1)) == []


def test_number_of_tokens() -> None:
    sink = Sink()
    assert lex(Source("-" * (MAX_TOKENS + 1)), sink) == []  # slow: as many tokens as there may be
    assert [d.code for d in sink.diagnostics] == ["E0013"]


def test_deep_trees_lets_recursive_walks_finish() -> None:
    def terms(expr: ast.Expr) -> int:
        return terms(expr.left) + terms(expr.right) if isinstance(expr, ast.Binary) else 1

    stmt = parsed(let(" + ".join(["x"] * 2_000))).kernels[0].body.body[0]
    assert isinstance(stmt, ast.Let)
    before = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        terms(stmt.value)
    with deep_trees():
        assert terms(stmt.value) == 2_000
    assert sys.getrecursionlimit() == before


def test_trees_are_compared_at_any_depth() -> None:
    """As `==` does where it can."""
    texts = ["x", "x + 1", "x + 1.0", "1 + x", "f(x, y)", "f(x)", "x[1, 2]", "(x + 1)", "x   +  1", "-x", "x as f32"]
    trees = [parsed(let(text)) for text in texts]
    assert [[same(a, b) for a in trees] for b in trees] == [[a == b for a in trees] for b in trees]
    long, other = let(" + ".join(["x"] * 2_000)), let(" + ".join(["y", *["x"] * 1_999]))
    assert same(parsed(long), parsed(long)) and not same(parsed(long), parsed(other))


def test_dumps_of_deep_trees() -> None:
    from tilelang.syntax.parsing import parse_tree

    source = Source(let(" + ".join(["x"] * 1_500)))
    assert show_tree(parse_tree(source, Sink())).count("sum_op") == 1_499
    assert show_ast(parse(source, Sink()), source).count("Binary op='+'") == 1_499
