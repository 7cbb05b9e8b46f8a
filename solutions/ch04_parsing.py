"""Chapter 4, Parsing: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

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


# tilelang/syntax/parsing.py
def _is_open(opener: str, brackets: list[Token]) -> bool:
    """Is a bracket of this kind open, within the innermost block?"""
    for bracket in reversed(brackets):
        if bracket.text == opener:
            return True
        if bracket.text == "{":
            return False
    return False


# tilelang/syntax/mistakes.py
def describe(token: Token) -> str:
    """The token in words, for "found ..."."""
    if token.kind == "end":
        return "the end of the file"
    if token.kind == "keyword":
        return f"the keyword `{token.text}`"
    if token.kind == "string":
        return "a string"
    return f"`{token.text if len(token.text) <= 30 else token.text[:29] + '…'}`"


# tilelang/semantics/evaluation.py
def left_spine(expr: ast.Binary) -> tuple[ast.Expr, list[ast.Binary]]:
    """`((a + b) + c) + d` as `a` and the three nodes, innermost first. A sum is as deep as it is long."""
    nodes: list[ast.Binary] = []
    node: ast.Expr = expr
    while isinstance(node, ast.Binary):
        nodes.append(node)
        node = node.left
    return node, nodes[::-1]


# tilelang/syntax/layout.py
def _split_at_operators(words: Sequence[Word]) -> list[Sequence[Word]]:
    """Cut before each operator of the loosest kind there is outside brackets."""
    depth = words[0].depth
    for operators in _BREAKS:
        starts = [
            i
            for i, word in enumerate(words)
            if i and word.depth == depth and word.operator in operators and words[i - 1].text != "}"
        ]
        if starts:
            return _cut(words, starts)
    return [words]


# tilelang/syntax/build_expressions.py
def _attach_to_read(self: ExpressionRules, clause: Clause, read: ast.Index) -> ast.Index:
    if clause.keyword == "where" and read.mask is None and read.other is None:
        return replace(read, mask=clause.value, span=read.span.to(clause.span))
    if clause.keyword == "else" and read.other is None:
        return replace(read, other=clause.value, span=read.span.to(clause.span))
    repeated = clause.keyword == "else" or read.mask is not None
    title = f"a second `{clause.keyword}`" if repeated else "`where` comes before `else`"
    help_ = "combine masks with `and`" if clause.keyword == "where" and repeated else ""
    self.sink.error(
        "E0120",
        title,
        clause.span,
        help=help_,
        notes=("a read is `x[i] where mask else value`, either clause at most once",),
    )
    return read


# course/extra.py
def climb(tokens: Sequence[Token], loosest: int = 1) -> tuple[ast.Expr, Sequence[Token]]:
    """The longest expression at the front of `tokens`, and the tokens behind it.

    Only operators that bind at least as tightly as `loosest` belong to it. Precedence climbing; M. Richards and
    C. Whitby-Strevens, "BCPL: the language and its compiler", 1979.
    """
    first, rest = tokens[0], tokens[1:]
    left: ast.Expr
    if first.text == "(":
        left, rest = climb(rest)
        rest = rest[1:]  # the `)`
    elif first.text in ("-", "~", "not"):
        operand, rest = climb(rest, 3 if first.text == "not" else 12)
        left = ast.Unary(first.text, operand)
    else:
        left = ast.IntLit(int(first.text)) if first.kind == "int" else ast.Name(first.text)
    while rest and BINDING.get(rest[0].text, 0) >= loosest:
        operator = rest[0].text
        right, rest = climb(rest[1:], BINDING[operator] + 1)
        left = ast.Binary(operator, left, right)
    return left, rest


# tilelang/syntax/machine.py
def accepts(self: Machine, terminal_name: str) -> bool:
    """Would the machine, after the reductions that this terminal calls for, shift it? Changes nothing."""
    stack = self._state.state_stack
    height = len(stack)  # how much of the real stack is still in place
    pushed: list[int] = []  # states that the reductions would put on top of it
    while True:
        entry = self._table[pushed[-1] if pushed else stack[height - 1]].get(terminal_name)
        if entry is None:
            return False
        action, argument = entry
        if action is Shift:
            return True
        size = len(argument.expansion)
        from_pushed = min(size, len(pushed))
        del pushed[len(pushed) - from_pushed :]
        height -= size - from_pushed
        below = pushed[-1] if pushed else stack[height - 1]
        pushed.append(self._table[below][argument.origin.name][1])
        if terminal_name == "$END" and pushed[-1] == self._state.parse_conf.end_state:
            return True
