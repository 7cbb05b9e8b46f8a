"""Two questions about typed statements that the IR builder asks before it builds a branch or a loop.

SSA has no variables. Where control flow splits, the builder must know which variables a branch or loop
assigns, to hand their new values out of it, and whether a `return;` inside makes what follows conditional.
Both answers come from one walk over the statements, with a stack of our own: a chain of 500 `else if` is as
deep as it is long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilelang.diagnostics import Span
from tilelang.dtypes import BOOL
from tilelang.semantics import typed
from tilelang.semantics.types import TileType

LIVE = typed.Var("live", -1, TileType(BOOL))
"""The builder's own variable: true until this program has executed a `return;`."""


def assigned(statements: Sequence[typed.Statement], tail: bool) -> list[typed.Var]:
    """The variables that `statements` assign but do not declare, in order of first assignment.

    Contains `LIVE` if the statements can end the program early. `tail`: nothing is left to do after them.
    """
    found: dict[int, typed.Var] = {}
    for statement, is_last in walk(statements, tail):
        if isinstance(statement, typed.Bind) and not statement.declares:
            found.update({var.uid: var for var in statement.vars})
        elif isinstance(statement, typed.Return) and not is_last:
            found[LIVE.uid] = LIVE
    return list(found.values())


def leaves_early(statements: Sequence[typed.Statement], tail: bool) -> bool:
    """True if a `return;` in `statements` can skip something. One with nothing left to skip costs nothing."""
    return any(isinstance(s, typed.Return) and not is_last for s, is_last in walk(statements, tail))


def walk(statements: Sequence[typed.Statement], tail: bool) -> Iterator[tuple[typed.Statement, bool]]:
    """All statements, outer before inner, in order; with each, whether the program ends after it."""
    stack = list(reversed(_with_tail(statements, tail)))
    while stack:
        statement, is_last = stack.pop()
        yield statement, is_last
        for body, body_tail in reversed(_bodies(statement, is_last)):
            stack.extend(reversed(_with_tail(body, body_tail)))


def reachable(statements: Sequence[typed.Statement]) -> Sequence[typed.Statement]:
    """The statements up to and including the first `return;` of this block."""
    for position, statement in enumerate(statements):
        if isinstance(statement, typed.Return):
            return statements[:position + 1]
    return statements


LONG_CHAIN = 12
"""`else if` links from which a chain is built flat instead of nested."""


def is_long_chain(statement: typed.If) -> bool:
    """True for `if c0 {} else if c1 {} else if ...` with more than `LONG_CHAIN` links."""
    for _ in range(LONG_CHAIN):
        if len(statement.orelse) != 1 or not isinstance(statement.orelse[0], typed.If):
            return False
        statement = statement.orelse[0]
    return True


def split_chain(statement: typed.If) -> list[typed.Statement]:
    """A long `else if` chain as statements side by side, so that nesting does not grow with its length.

        if c0 { A }                      var decided = false;
        else if c1 { B }       ==>       if c0 { decided = true; A }
        else { C }                       if not decided { if c1 { decided = true; B } }
                                         if not decided { C }
    """
    # No other variable has this uid: real ones are positive, and one statement has one place in the tree.
    decided = typed.Var("decided", -2 - statement.span.start, TileType(BOOL))
    chain: list[typed.Statement] = [_set(decided, False, statement.span, declares=True)]
    rest: Sequence[typed.Statement] = (statement,)
    while len(rest) == 1 and isinstance(rest[0], typed.If):
        link = rest[0]
        chosen = (_set(decided, True, link.span), *link.then)
        arm = typed.If(link.condition, chosen, span=link.span)
        chain.append(typed.If(_not(decided, link.span), (arm,), span=link.span))
        rest = link.orelse
    if rest:
        chain.append(typed.If(_not(decided, rest[0].span), tuple(rest), span=rest[0].span))
    return chain


def _set(variable: typed.Var, value: bool, span: Span, declares: bool = False) -> typed.Bind:
    return typed.Bind((variable,), typed.Const(value, type=variable.type, span=span), declares, span=span)


def _not(variable: typed.Var, span: Span) -> typed.Elementwise:
    operand = typed.Read(variable, type=variable.type, span=span)
    return typed.Elementwise("not", (operand,), type=variable.type, span=span)


def _with_tail(statements: Sequence[typed.Statement], tail: bool) -> list[tuple[typed.Statement, bool]]:
    live = reachable(statements)
    return [(s, tail and position == len(live) - 1) for position, s in enumerate(live)]


def _bodies(statement: typed.Statement, tail: bool) -> list[tuple[Sequence[typed.Statement], bool]]:
    """The blocks of a statement; the end of a loop's body is never the end of the program, it repeats."""
    match statement:
        case typed.If():
            return [(statement.then, tail), (statement.orelse, tail)]
        case typed.For() | typed.While():
            return [(statement.body, False)]
        case _:
            return []
