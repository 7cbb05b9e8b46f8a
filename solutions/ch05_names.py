"""Chapter 5, Names: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tilelang.diagnostics import Sink
from tilelang.near import LONGEST_NAME, _closest, _first, _squeezed
from tilelang.semantics import name_errors
from tilelang.semantics.call_graph import Calls, _report
from tilelang.semantics.definitions import Definition, Role
from tilelang.semantics.resolving import Resolver, Scope
from tilelang.syntax import ast


# tilelang/semantics/resolving.py
def look_up(scopes: Sequence[Scope], name: str) -> Definition | None:
    """What `name` means where `scopes` are open, outermost first; None if nothing of that name is visible."""
    for scope in reversed(scopes):
        if name in scope.names:
            return scope.names[name]
    return None


# tilelang/near.py
def _is_swap(a: str, b: str) -> bool:
    """True if `a` and `b` differ by two neighbouring characters changing places."""
    if len(a) != len(b):
        return False
    places = [i for i in range(len(a)) if a[i] != b[i]]
    if len(places) != 2:
        return False
    i, j = places
    return j == i + 1 and a[i] == b[j] and a[j] == b[i]


# tilelang/semantics/walking.py
def declarations(block: ast.Block) -> Iterator[ast.Ident]:
    """Every name that the statements of a block declare, inner blocks included."""
    todo: list[ast.Stmt] = list(block.body)
    while todo:
        stmt = todo.pop()
        match stmt:
            case ast.Let(names=names):
                yield from names
            case ast.For(body=body) | ast.While(body=body):
                todo += body.body
            case ast.If(then=then, orelse=orelse):
                todo += then.body + (orelse.body if orelse is not None else ())


# tilelang/near.py
def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` was most likely meant to be, or None if nothing is close.

    The order of preference: the same letters in another case (`Sum` for `sum`), the same letters without
    underscores (`programid` for `program_id`), two neighbouring letters swapped (`acc` for `cac`), and then
    the closest by Ratcliff and Obershelp's measure (`difflib`). Ties go to the name that sorts first.
    """
    if not name or len(name) > LONGEST_NAME:
        return None
    known = sorted({c for c in candidates if c and len(c) <= LONGEST_NAME} - {name})
    return (
        _first(known, lambda c: c.lower() == name.lower())
        or _first(known, lambda c: _squeezed(c) == _squeezed(name))
        or _first(known, lambda c: _is_swap(c, name))
        or _closest(name, known)
    )


# tilelang/semantics/resolving.py
def declare(self: Resolver, role: Role, ident: ast.Ident) -> Definition:
    """Introduce a name into the innermost scope; reports one that is taken. `_` is never taken."""
    definition = Definition(role, ident.text, ident.span)
    self.meanings[id(ident)] = definition
    if ident.text == "_":
        return definition
    before = self.look_up(ident.text)
    if before is not None:
        name_errors.redeclared(ident, before, ident.text in self.scopes[-1].names, self.sink)
        self._used |= {before, definition}
    self.scopes[-1].names[ident.text] = definition
    return definition


# tilelang/semantics/call_graph.py
def report_recursion(fns: Mapping[str, ast.FnDef], calls: Calls, sink: Sink) -> tuple[tuple[str, ...], frozenset[str]]:
    """(fns with callees before callers, fns that cannot be inlined); every cycle found is reported once.

    Depth-first search with an explicit stack: a call of a fn that is still being visited closes a cycle.
    """
    order: list[str] = []
    recursive: set[str] = set()
    done: set[str] = set()
    for root in fns:
        visiting: dict[str, Iterator[ast.Call]] = {} if root in done else {root: iter(calls.get(root, ()))}
        while visiting:
            name = next(reversed(visiting))
            call = next(visiting[name], None)
            if call is None:
                del visiting[name]
                done.add(name)
                order.append(name)
                if any(c.func.text in recursive for c in calls.get(name, ())):
                    recursive.add(name)
            elif call.func.text in visiting:
                path = list(visiting)
                cycle = path[path.index(call.func.text) :]
                recursive.update(cycle)
                _report(cycle, call, fns, sink)
            elif call.func.text not in done:
                visiting[call.func.text] = iter(calls.get(call.func.text, ()))
    return tuple(order), frozenset(recursive)
