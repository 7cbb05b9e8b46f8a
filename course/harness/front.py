"""Chapters 3 to 5: texts, trees, names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilelang.diagnostics import Diagnostic, Sink

Function = Callable[..., Any]


# --- chapter 3 --------------------------------------------------------------------------------------


def on_source(function: Function, text: str, *args: Any) -> Any:
    """A method of `Source`, on a source with this text."""
    from tilelang.diagnostics import Source

    return function(Source(text), *args)


# --- chapter 4 --------------------------------------------------------------------------------------

KERNEL = "kernel k(x: f32[N], y: f32[N], out z: f32[N]) grid (1) {{ {} }}"


def clauses(function: Function, read: str) -> tuple[str, list[str]]:
    """(the tree of `let v = READ;`, the codes of what was reported), parsed with the learner's function in place."""
    from tilelang.diagnostics import Source
    from tilelang.syntax.parsing import parse
    from tilelang.syntax.printing import show_ast

    sink = Sink()
    module = parse(Source(KERNEL.format(f"let v = {read};")), sink)
    value = module.kernels[0].body.body[0].value  # type: ignore[attr-defined]
    return show_ast(value), [d.code for d in sink.diagnostics]


def pieces(function: Function, expression: str) -> list[str]:
    """The texts of the pieces into which the formatter cuts a line."""
    from tilelang.diagnostics import Source
    from tilelang.syntax.layout import join, words_of
    from tilelang.syntax.lexing import lex

    return [join(piece) for piece in function(words_of(lex(Source(expression), Sink())))]


def could_follow(function: Function, text: str, terminals: list[str]) -> list[bool]:
    """Of each terminal whether the parser, having read `text`, accepts it; asked twice, for asking changes nothing."""
    from tilelang.diagnostics import Source
    from tilelang.syntax.lexing import lex
    from tilelang.syntax.machine import Machine

    machine = Machine()
    for token in lex(Source(text), Sink()):
        machine.feed(token)
    first = [function(machine, name) for name in terminals]
    second = [function(machine, name) for name in terminals]
    if first != second:
        raise RuntimeError("asking changed the machine: the second time the answers are others")
    return first


# --- chapter 5 --------------------------------------------------------------------------------------


def body_of_text(text: str) -> Any:
    """The body of a kernel, as a syntax tree."""
    from tilelang.diagnostics import Source
    from tilelang.syntax.parsing import parse

    return parse(Source(KERNEL.format(text)), Sink()).kernels[0].body


def declared(function: Function, text: str) -> list[str]:
    """The names that a function of a block gives, in the order of the text."""
    found = list(function(body_of_text(text)))
    return [ident.text for ident in sorted(found, key=lambda i: i.span.start)]


def resolved(function: Function, program: str) -> list[str]:
    """What resolving a program reports with the learner's function in place: `CODE at TEXT`, in order of the text."""
    from tilelang.diagnostics import Source
    from tilelang.semantics.names import resolve
    from tilelang.syntax.parsing import parse

    source, sink = Source(program), Sink()
    resolve(parse(source, sink), sink)
    marked = sorted((d.span.start, f"{d.code} at {_marked(source, d)}") for d in sink.diagnostics if d.span)
    return [text for _, text in marked]


def _marked(source: Any, diagnostic: Diagnostic) -> str:
    line, column = source.position(diagnostic.span.start) if diagnostic.span else (0, 0)
    return f"{line}:{column}"


def recursion(function: Function, program: str) -> tuple[list[str], list[str], list[str]]:
    """(order of the fns, the recursive ones, the titles of the reports) for the fns of a program."""
    from tilelang.diagnostics import Source
    from tilelang.semantics.walking import walk
    from tilelang.syntax import ast
    from tilelang.syntax.parsing import parse

    module = parse(Source(program), Sink())
    fns = {fn.name.text: fn for fn in module.fns}
    calls = {
        name: [c for stmt in fn.body.body for v in getattr(stmt, "values", ()) for c in walk(v)
               if isinstance(c, ast.Call) and c.func.text in fns]
        for name, fn in fns.items()
    }  # fmt: skip
    sink = Sink()
    order, recursive = function(fns, calls, sink)
    return list(order), sorted(recursive), [d.title for d in sink.diagnostics]


def deep_spine(function: Function, terms: int) -> tuple[int, str]:
    """(number of operators, text of the first operand) of `a + a + ...`, with that many terms."""
    from tilelang.syntax import ast

    expr: ast.Expr = ast.Name("a")
    for _ in range(terms - 1):
        expr = ast.Binary("+", expr, ast.Name("b"))
    first, nodes = function(expr)
    return len(nodes), first.text


def spans_of_clauses(function: Function) -> list[tuple[int, int]]:
    """The spans of a read at 10 to 20 with a `where` up to 30, an `else` up to 40, and both up to 50."""
    from tilelang.diagnostics import Span
    from tilelang.syntax import ast
    from tilelang.syntax.build_expressions import Clause, ExpressionRules

    rules, mask = ExpressionRules(Sink()), ast.Name("m")
    read = ast.Index(ast.Name("x"), (ast.Name("i"),), span=Span(10, 20))
    one = function(rules, Clause("where", mask, Span(21, 30)), read)
    other = function(rules, Clause("else", mask, Span(21, 40)), read)
    both = function(rules, Clause("else", mask, Span(31, 50)), one)
    return [(r.span.start, r.span.end) for r in (one, other, both)]


def scope_number(function: Function, scopes: list[Any], name: str) -> Any:
    """The number of the scope whose definition was found; None if there is none, and what it was if no definition."""
    found = function(scopes, name)
    return found.span.start if hasattr(found, "span") else found


def meaning_after(function: Function) -> list[str]:
    """What two declarations of one name in one scope, then one of a loop variable and one of `_`, leave behind."""
    from tilelang.diagnostics import Span
    from tilelang.semantics.definitions import Role
    from tilelang.semantics.resolving import Resolver
    from tilelang.syntax import ast

    resolver = Resolver(ast.Module(()), Sink())
    first, second, loop, nobody = (ast.Ident(n, span=Span(i, i + 1)) for i, n in enumerate(("a", "a", "k", "_"), 1))
    function(resolver, Role.LET, first)
    function(resolver, Role.VAR, second)
    given, thrown_away = function(resolver, Role.LOOP, loop), function(resolver, Role.LET, nobody)
    meaning = resolver.look_up("a")
    noted = resolver.meanings.get(id(second)) is meaning and resolver.meanings.get(id(loop)) is given
    return [
        f"vars: {meaning.span.start if meaning else None}",
        f"noted: {'yes' if noted else 'no'}",
        f"role: {given.role}",
        f"`_`: {thrown_away.role if thrown_away else None}",
    ]
