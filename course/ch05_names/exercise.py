"""Chapter 5, Names: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch05
    tilec course hint ch05 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tilelang.diagnostics import Sink
from tilelang.near import LONGEST_NAME, _closest, _first, _squeezed
from tilelang.semantics import name_errors
from tilelang.semantics.call_graph import Calls, _report
from tilelang.semantics.definitions import Definition, Role
from tilelang.semantics.resolving import Resolver, Scope
from tilelang.syntax import ast


# --- warm-up: look_up ---------------------------------------------------------------------------------------
def look_up(scopes: Sequence[Scope], name: str) -> Definition | None:
    """What `name` means where `scopes` are open, outermost first; None if nothing of that name is visible.

    A `Scope` has `names`, a dict from a name to its `Definition`.

    >>> outer, inner = Scope(), Scope()
    >>> outer.names["x"] = Definition(Role.LET, "x", Span(0, 1))
    >>> look_up([outer, inner], "x").role, look_up([outer, inner], "y")
    (<Role.LET: 'let'>, None)
    """
    raise NotImplementedError


# --- warm-up: _is_swap --------------------------------------------------------------------------------------
def _is_swap(a: str, b: str) -> bool:
    """True if `a` and `b` differ by two neighbouring characters changing places.

    >>> _is_swap("acc", "cac"), _is_swap("acc", "cca")
    (True, False)
    """
    raise NotImplementedError


# --- core: declarations -------------------------------------------------------------------------------------
def declarations(block: ast.Block) -> Iterator[ast.Ident]:
    """Every name that the statements of a block declare, inner blocks included.

    Three statements introduce names or hold blocks: `ast.Let` has `names`; `ast.For` and `ast.While` have a
    `body`; `ast.If` has `then` and `orelse`, a block or None. A loop's own variable is not declared by a
    statement of the block and does not count. The order is free.

    >>> row, total = ast.Ident("row"), ast.Ident("total")
    >>> inner = ast.Block((ast.Let((total,), ast.IntLit(0)),))
    >>> loop = ast.For(ast.Ident("k"), (ast.IntLit(8),), inner)
    >>> block = ast.Block((ast.Let((row,), ast.IntLit(0)), loop))
    >>> sorted(ident.text for ident in declarations(block))
    ['row', 'total']
    """
    raise NotImplementedError


# --- core: nearest ------------------------------------------------------------------------------------------
def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` was most likely meant to be, or None if nothing is close.

    The order of preference: the same letters in another case (`Sum` for `sum`), the same letters without
    underscores (`programid` for `program_id`), two neighbouring letters swapped (`acc` for `cac`), and then
    the closest by Ratcliff and Obershelp's measure (`difflib`). Ties go to the name that sorts first.

    Never the name itself, and nothing for an empty name or one longer than `LONGEST_NAME`; candidates that
    are empty or longer do not count either. `_first(names, matches)` gives the first that matches,
    `_squeezed` takes underscores out and capitals away, `_is_swap` and `_closest(name, known)` do what they
    say.

    >>> nearest("programid", ["program_id", "num_programs"])
    'program_id'
    """
    raise NotImplementedError


# --- core: declare ------------------------------------------------------------------------------------------
def declare(self: Resolver, role: Role, ident: ast.Ident) -> Definition:
    """Introduce a name into the innermost scope; reports one that is taken. `_` is never taken.

    Make a `Definition` and note it in `self.meanings` under `id(ident)`. The name `_` is thrown away: it
    goes into no scope. Any other name that is visible already, in this scope or one around it, is reported
    with `name_errors.redeclared(ident, before, same_scope, self.sink)`, where `same_scope` says whether the
    innermost scope itself has it; then both definitions count as used, so that no warning follows the
    error. Whatever happened, the innermost scope holds the new definition afterwards.

    >>> resolver = Resolver(ast.Module(()), Sink())
    >>> definition = declare(resolver, Role.LET, ast.Ident("row", span=Span(4, 7)))
    >>> resolver.look_up("row") is definition
    True
    """
    raise NotImplementedError


# --- hard: report_recursion ---------------------------------------------------------------------------------
def report_recursion(fns: Mapping[str, ast.FnDef], calls: Calls, sink: Sink) -> tuple[tuple[str, ...], frozenset[str]]:
    """(fns with callees before callers, fns that cannot be inlined); every cycle found is reported once.

    Depth-first search with an explicit stack: a call of a fn that is still being visited closes a cycle.

    `calls[name]` are the calls in the body of the fn `name`. A fn is recursive if it is part of a cycle, or
    calls one that is. `_report(cycle, call, fns, sink)` writes the message: `cycle` is the list of names
    from the fn that is entered first to the one whose call closes the circle. Take the fns, and the calls
    of each, in the order in which they stand.

    >>> from tilelang.syntax.parsing import parse
    >>> fns = {fn.name.text: fn for fn in parse(Source("fn f(a) { return f(a); }"), Sink()).fns}
    >>> call = fns["f"].body.body[0].values[0]
    >>> report_recursion(fns, {"f": [call]}, Sink())
    (('f',), frozenset({'f'}))
    """
    raise NotImplementedError
