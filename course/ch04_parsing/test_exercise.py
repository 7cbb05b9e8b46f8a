"""Graders of chapter 4."""

from __future__ import annotations

import random
from functools import cache

from course.checking import check, fresh
from course.learner import Learner, Wrong
from tilelang.diagnostics import Sink, Source, Span
from tilelang.syntax import ast
from tilelang.syntax.grammar import load_grammar, terminal_names
from tilelang.syntax.lexing import Token, lex
from tilelang.syntax.parsing import parse

AT = Span(0, 1)


def _brackets(text: str) -> list[Token]:
    return [Token("symbol", char, AT) for char in text]


def _expression(text: str) -> ast.Expr:
    module = parse(Source(f"const C = {text};"), Sink())
    return module.consts[0].value


# --- _is_open ---------------------------------------------------------------------------------------


def test_an_open_bracket(_is_open: Learner) -> None:
    check(_is_open, "(", _brackets("(["), gives=True, why="the `(` is open, further out")
    check(_is_open, "[", _brackets("(["), gives=True, why="the `[` is the innermost")
    check(_is_open, "(", _brackets("[["), gives=False, why="there is no `(`")
    check(_is_open, "(", [], gives=False, why="nothing is open")


def test_a_block_hides_what_is_around_it(_is_open: Learner) -> None:
    check(_is_open, "(", _brackets("({["), gives=False, why="the `(` is outside of the innermost block")
    check(_is_open, "(", _brackets("{{("), gives=True, why="the `(` is inside of it")
    check(_is_open, "[", _brackets("[{(["), gives=True, why="one is inside, and that one counts")


def test_the_block_itself(_is_open: Learner) -> None:
    check(_is_open, "{", _brackets("({"), gives=True, why="the block itself is open")
    check(_is_open, "{", _brackets("{("), gives=True, why="the block is open around the `(`")
    check(_is_open, "{", _brackets("(["), gives=False, why="no block is open")


# --- describe ---------------------------------------------------------------------------------------


def test_kinds_of_tokens(describe: Learner) -> None:
    check(describe, Token("end", "", AT), gives="the end of the file", why="the end has no text")
    check(describe, Token("keyword", "grid", AT), gives="the keyword `grid`", why="a keyword is named as one")
    check(describe, Token("string", '"a secret"', AT), gives="a string", why="the text of a string is of no interest")
    for kind, text in (("name", "row"), ("int", "12"), ("symbol", "+:"), ("float", "1.0")):
        check(describe, Token(kind, text, AT), gives=f"`{text}`", why="other tokens stand between backticks")


def test_long_tokens_are_cut(describe: Learner) -> None:
    check(describe, Token("name", "a" * 30, AT), gives=f"`{'a' * 30}`", why="30 characters are shown whole")
    check(describe, Token("name", "a" * 31, AT), gives=f"`{'a' * 29}…`", why="31 are cut to 29 and `…`")
    check(describe, Token("int", "7" * 500, AT), gives=f"`{'7' * 29}…`", why="500 are cut to 29 and `…`")


# --- left_spine -------------------------------------------------------------------------------------


def _spine(expr: ast.Expr) -> tuple[ast.Expr, list[ast.Expr]]:
    return (expr, []) if not isinstance(expr, ast.Binary) else (_spine(expr.left)[0], [*_spine(expr.left)[1], expr])


def test_a_sum_leans_to_the_left(left_spine: Learner) -> None:
    for text in ("a + b", "a + b + c + d", "a * b + c - d * e", "1 - 2 - 3"):
        expr = _expression(text)
        check(left_spine, expr, gives=_spine(expr), why="the leftmost operand, and the operators from the inside out")


def test_right_sides_are_left_alone(left_spine: Learner) -> None:
    for text in ("a + (b + c)", "a - (b - (c - d))", "-a + b", "(a + b) * (c + d)", "f(a + b) + c"):
        expr = _expression(text)
        check(left_spine, expr, gives=_spine(expr), why="only the left side is followed, as far as it is a Binary")


def test_a_very_long_sum(left_spine: Learner) -> None:
    rng = fresh()
    names = [ast.Name(rng.choice("abc")) for _ in range(60)]
    expr: ast.Expr = names[0]
    nodes: list[ast.Expr] = []
    for name in names[1:]:
        expr = ast.Binary(rng.choice("+-*"), expr, name)
        nodes.append(expr)
    check(left_spine, expr, gives=(names[0], nodes), why="60 terms in a row")
    count, first = check(left_spine.via("deep_spine"), 4000)
    if (count, first) != (3999, "a"):
        raise Wrong(f"left_spine of a sum of 4000 terms: {count} operators, first operand {first}")


# --- _split_at_operators ----------------------------------------------------------------------------


def test_the_loosest_operator_is_cut_at(_split_at_operators: Learner) -> None:
    pieces = _split_at_operators.via("pieces")
    check(pieces, "a * b + c * d", gives=["a * b", "+ c * d"], why="`+` binds more loosely than `*`")
    check(pieces, "a + b < c + d", gives=["a + b", "< c + d"], why="a comparison binds more loosely than `+`")
    check(pieces, "a and b or c and d", gives=["a and b", "or c and d"], why="`or` is the loosest")
    check(pieces, "x[i] where m else 0.0", gives=["x[i]", "where m", "else 0.0"], why="clauses are cut off first")


def test_all_operators_of_the_loosest_kind(_split_at_operators: Learner) -> None:
    pieces = _split_at_operators.via("pieces")
    check(pieces, "a + b - c + d", gives=["a", "+ b", "- c", "+ d"], why="`+` and `-` are one kind")
    check(pieces, "a * b / c % d", gives=["a", "* b", "/ c", "% d"], why="`*`, `/` and `%` are one kind")


def test_brackets_are_not_opened(_split_at_operators: Learner) -> None:
    pieces = _split_at_operators.via("pieces")
    check(pieces, "(a + b) * (c + d)", gives=["(a + b)", "* (c + d)"], why="what is in brackets is not looked at")
    check(pieces, "f(a + b)", gives=["f(a + b)"], why="the only operator is in brackets: one piece")
    check(pieces, "x[i + 1, j * 2] + y", gives=["x[i + 1, j * 2]", "+ y"], why="what is in brackets is not looked at")


def test_the_depth_of_the_first_word_counts(_split_at_operators: Learner) -> None:
    pieces = _split_at_operators.via("pieces")
    check(pieces, "a * (b + c", gives=["a", "* (b + c"], why="the first word is outside of the bracket")


def test_signs_are_no_operators(_split_at_operators: Learner) -> None:
    pieces = _split_at_operators.via("pieces")
    check(pieces, "-a", gives=["-a"], why="a sign is part of its number")
    check(pieces, "a * -b", gives=["a", "* -b"], why="a sign is part of its number")
    check(pieces, "abc", gives=["abc"], why="no operator: one piece")


def test_the_else_of_an_if_is_no_operator(_split_at_operators: Learner) -> None:
    pieces = _split_at_operators.via("pieces")
    check(pieces, "if c { } else { }", gives=["if c {} else {}"], why="`else` after a `}` belongs to an `if`")
    check(pieces, "m } else a", gives=["m } else a"], why="`else` after a `}` belongs to an `if`")


# --- _attach_to_read --------------------------------------------------------------------------------

INDEX, M, V = ast.Name("i"), ast.Name("m"), ast.FloatLit(1.0)


def _shown(mask: ast.Expr | None, other: ast.Expr | None) -> str:
    from tilelang.syntax.printing import show_ast

    return show_ast(ast.Index(ast.Name("x"), (INDEX,), mask=mask, other=other))


def test_clauses_find_their_place(_attach_to_read: Learner) -> None:
    clauses = _attach_to_read.via("clauses")
    check(clauses, "x[i] where m", gives=(_shown(M, None), []), why="`where` goes into mask")
    check(clauses, "x[i] else 1.0", gives=(_shown(None, V), []), why="`else` goes into other")
    check(clauses, "x[i] where m else 1.0", gives=(_shown(M, V), []), why="both, in this order")


def test_clauses_that_come_twice(_attach_to_read: Learner) -> None:
    clauses = _attach_to_read.via("clauses")
    check(clauses, "x[i] where m where i", gives=(_shown(M, None), ["E0120"]), why="a second `where`: the first stays")
    check(clauses, "x[i] else 1.0 else 2.0", gives=(_shown(None, V), ["E0120"]), why="a second `else`: the first stays")


def test_where_comes_before_else(_attach_to_read: Learner) -> None:
    clauses = _attach_to_read.via("clauses")
    check(clauses, "x[i] else 1.0 where m", gives=(_shown(None, V), ["E0120"]), why="`where` comes before `else`")
    expected = (_shown(M, V), ["E0120"])
    check(clauses, "x[i] where m else 1.0 where i", gives=expected, why="one clause too many is one report")


def test_the_span_reaches_to_the_end(_attach_to_read: Learner) -> None:
    check(
        _attach_to_read.via("spans_of_clauses"),
        gives=[(10, 30), (10, 40), (10, 50)],
        why="the read's span from 10 to 20 grows to the end of the clause: 30, 40; both clauses: 50",
    )


# --- climb ------------------------------------------------------------------------------------------


def _climbed(climb: Learner, text: str, why: str) -> None:
    check(climb, lex(Source(text), Sink()), gives=(_expression(text), []), why=f"{text}: {why}")


def test_operators_that_bind_tighter(climb: Learner) -> None:
    for text in ("a + b * c", "a * b + c", "a or b and c", "a < b + c", "a +: b + c", "a | b & c ^ d", "a << b + c"):
        _climbed(climb, text, "the tighter operator takes its operands first")


def test_equal_operators_lean_to_the_left(climb: Learner) -> None:
    for text in ("a - b - c", "a // b * c", "a - b + c - d", "a << b >> c", "a and b and c"):
        _climbed(climb, text, "operators of one kind associate to the left")


def test_brackets_come_first(climb: Learner) -> None:
    for text in ("(a + b) * c", "a - (b - c)", "((a))", "(a or b) and (c or d)", "2 * ((1 + x) * 3)"):
        _climbed(climb, text, "brackets come first")


def test_prefix_operators(climb: Learner) -> None:
    for text in (
        "-a + b",
        "-a * b",
        "~a & b",
        "- -a",
        "a * -b + c",
        "not a and b",
        "not a < b",
        "not not a",
        "-(a + b)",
    ):
        _climbed(climb, text, "`-` and `~` take what is next to them, `not` takes a whole comparison")


def test_what_is_behind_is_handed_back(climb: Learner) -> None:
    tokens = lex(Source("a + b , c"), Sink())
    check(
        climb, tokens, gives=(_expression("a + b"), tokens[3:]), why="the comma ends the expression, and is left over"
    )
    tokens = lex(Source("a * b + c"), Sink())
    check(climb, tokens, 11, gives=(_expression("a * b"), tokens[3:]), why="with loosest=11, `+` is not part of it")


def _random_expression(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(("a", "b", "7", "x_1"))
    kind = rng.random()
    if kind < 0.15:
        return f"({_random_expression(rng, depth - 1)})"
    if kind < 0.25:
        return f"-{_random_expression(rng, 0)}"
    operator = rng.choice(("+", "-", "*", "//", "%", "&", "|", "^", "<<", "or", "and"))
    return f"{_random_expression(rng, depth - 1)} {operator} {_random_expression(rng, depth - 1)}"


def test_random_expressions(climb: Learner) -> None:
    rng = fresh()
    for _ in range(30):
        _climbed(climb, _random_expression(rng, 4), "as the compiler's parser reads it")


# --- accepts ----------------------------------------------------------------------------------------

HEAD = "kernel k(x: f32[N], out y: f32[N]) grid (N) {"


@cache
def _by_trying(text: str) -> frozenset[str]:
    """The terminals that Lark's own parser accepts, which tries each on a copy of itself."""
    parser = load_grammar().parse_interactive(text)
    parser.exhaust_lexer()
    return frozenset(parser.accepts())


def _asked(accepts: Learner, text: str, why: str) -> None:
    names = sorted({*terminal_names().values(), "NAME", "INT", "FLOAT", "STRING", "ERROR", "$END"})
    expected = [name in _by_trying(text) for name in names]
    found = check(accepts.via("could_follow"), text, names, why=why)
    for name, right, said in zip(names, expected, found, strict=True):
        if said is not right:
            raise Wrong(
                f"behind {text!r}: accepts({name!r})\n  expected  {right}\n  found     {said}\n  why       {why}"
            )


def test_at_the_beginning(accepts: Learner) -> None:
    _asked(accepts, "", "a file begins with a kernel, a fn or a const, or it is empty")


def test_where_a_token_can_be_shifted_at_once(accepts: Learner) -> None:
    for text in ("const", "const N", "const N =", "kernel k(", HEAD, f"{HEAD} let"):
        _asked(accepts, text, "no rule is finished here: what the topmost state shifts is what may come")


def test_where_rules_must_be_reduced_first(accepts: Learner) -> None:
    for text in ("const N = 1", "const N = 1 + 2 * 3", f"{HEAD} let v = x[i]", f"{HEAD} f(a, -b", "const A = (1 + 2"):
        _asked(accepts, text, "finished rules are reduced until the token can be shifted, or is seen to be wrong")


def test_at_the_end(accepts: Learner) -> None:
    for text in ("const N = 1;", f"{HEAD} }}", "const A = 1; fn f(a) { return a; }"):
        _asked(accepts, text, "at $END everything is reduced to the whole file")
    _asked(accepts, HEAD, "a file does not end in an open block")


def test_asking_changes_nothing(accepts: Learner) -> None:
    for text in ("const N = 1 + 2", f"{HEAD} if a {{ }}", f"{HEAD} y[i] = x[i] else 0.0"):
        _asked(accepts, text, "a rule without parts (an empty list) takes no state off; asking twice gives the same")
