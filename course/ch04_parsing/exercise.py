"""Chapter 4, Parsing: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch04
    tilec course hint ch04 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lark.parsers.lalr_analysis import Shift

from course.extra import BINDING
from tilelang.syntax import ast
from tilelang.syntax.build_expressions import Clause, ExpressionRules
from tilelang.syntax.layout import _BREAKS, Word, _cut
from tilelang.syntax.lexing import Token
from tilelang.syntax.machine import Machine


# --- warm-up: _is_open --------------------------------------------------------------------------------------
def _is_open(opener: str, brackets: list[Token]) -> bool:
    """Is a bracket of this kind open, within the innermost block?

    `brackets` are the open ones, outermost first. Brackets outside of the innermost `{` do not count:
    nobody closes them from inside a block. For `opener` `{` itself the innermost block is the answer.

    >>> at = Span(0, 1)
    >>> _is_open("(", [Token("symbol", "(", at), Token("symbol", "[", at)])
    True
    >>> _is_open("(", [Token("symbol", "(", at), Token("symbol", "{", at)])
    False
    """
    raise NotImplementedError


# --- warm-up: describe --------------------------------------------------------------------------------------
def describe(token: Token) -> str:
    """The token in words, for "found ...".

    Four cases: the kind `end` is "the end of the file"; a keyword is "the keyword `let`"; a string is "a
    string", without its text; any other token is its text between backticks, of which at most 30 characters
    are shown: a longer one is cut to 29 and `…`.

    >>> describe(Token("keyword", "let", Span(0, 3)))
    'the keyword `let`'
    """
    raise NotImplementedError


# --- core: left_spine ---------------------------------------------------------------------------------------
def left_spine(expr: ast.Binary) -> tuple[ast.Expr, list[ast.Binary]]:
    """`((a + b) + c) + d` as `a` and the three nodes, innermost first. A sum is as deep as it is long.

    Walk down with a loop, not by calling yourself: a sum of 4000 terms is 4000 deep. Parentheses have left
    no trace in the tree; only the left side is followed.

    >>> a, b, c = ast.Name("a"), ast.Name("b"), ast.Name("c")
    >>> inner = ast.Binary("+", a, b)
    >>> left_spine(ast.Binary("+", inner, c)) == (a, [inner, ast.Binary("+", inner, c)])
    True
    """
    raise NotImplementedError


# --- core: _split_at_operators ------------------------------------------------------------------------------
def _split_at_operators(words: Sequence[Word]) -> list[Sequence[Word]]:
    """Cut before each operator of the loosest kind there is outside brackets.

    A formatter breaks a long line where the operators bind most loosely. `_BREAKS` lists the operators by
    how loosely they bind, loosest first. Only words at the depth of the first word count (`word.depth`:
    brackets around it), not the first word itself, and not one behind a `}`. `_cut(words, edges)` cuts in
    front of each index in `edges`. Where there is no operator, the whole line is the one piece.

    >>> words = words_of(lex(Source("a * b + c * d"), Sink()))
    >>> [join(piece) for piece in _split_at_operators(words)]
    ['a * b', '+ c * d']
    """
    raise NotImplementedError


# --- core: _attach_to_read ----------------------------------------------------------------------------------
def _attach_to_read(self: ExpressionRules, clause: Clause, read: ast.Index) -> ast.Index:
    """`x[i] where m else v`: the grammar takes any clauses in any order, here they find their place. `where`
    goes into `mask`, `else` into `other`, with `dataclasses.replace`; the read's span then reaches to the
    end of the clause. Each may come once, and `where` comes first: for anything else report E0120 at the
    clause with `self.sink.error` and give the read back as it was.

    >>> rules = ExpressionRules(Sink())
    >>> read = ast.Index(ast.Name("x"), (ast.Name("i"),), span=Span(0, 4))
    >>> done = _attach_to_read(rules, Clause("else", ast.IntLit(0), Span(5, 11)), read)
    >>> done.other, done.span
    (IntLit(value=0), Span(start=0, end=11))
    """
    raise NotImplementedError


# --- hard: climb --------------------------------------------------------------------------------------------
def climb(tokens: Sequence[Token], loosest: int = 1) -> tuple[ast.Expr, Sequence[Token]]:
    """The longest expression at the front of `tokens`, and the tokens behind it.

    Only operators that bind at least as tightly as `loosest` belong to it. Precedence climbing; M. Richards and
    C. Whitby-Strevens, "BCPL: the language and its compiler", 1979.

    An operator whose number in `BINDING` is larger binds tighter. All of them associate to the left: `a - b
    - c` is `(a - b) - c`. The prefix operators: the operand of `not` is a whole comparison (at least 3),
    that of `-` and `~` binds tighter than any operator (at least 12). The tokens are names, whole numbers,
    operators and round brackets, without mistakes. Spans need not be given.

    >>> tree, rest = climb(lex(Source("a + b * c"), Sink()))
    >>> tree.op, tree.right.op, list(rest)
    ('+', '*', [])
    """
    raise NotImplementedError


# --- hard: accepts ------------------------------------------------------------------------------------------
def accepts(self: Machine, terminal_name: str) -> bool:
    """Would the machine, after the reductions that this terminal calls for, shift it? Changes nothing.

    An LALR parser meets a token by reducing finished rules until it can shift the token.
    `self._state.state_stack` is the stack of states, innermost last. `self._table[state].get(terminal)` is
    None (the token is wrong), `(Shift, state)`, or an action with the rule to reduce: `len(rule.expansion)`
    states go, then `self._table[below][rule.origin.name][1]` is pushed, where `below` is the topmost state
    left. For `$END` the answer is also True once the topmost state is `self._state.parse_conf.end_state`.
    Play it through without touching the machine's own stack.

    >>> machine = Machine()
    >>> for token in lex(Source("const N ="), Sink()):
    ...     _ = machine.feed(token)
    >>> accepts(machine, "INT"), accepts(machine, "SEMICOLON")
    (True, False)
    """
    raise NotImplementedError
