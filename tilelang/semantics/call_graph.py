"""Which fn calls which: an order to inline them in, and a clear error for recursion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilelang.diagnostics import Label, Sink
from tilelang.syntax import ast

Calls = Mapping[str, Sequence[ast.Call]]


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


def _report(cycle: list[str], call: ast.Call, fns: Mapping[str, ast.FnDef], sink: Sink) -> None:
    names = cycle if len(cycle) <= 8 else [*cycle[:7], "..."]
    shown = " → ".join([*names, cycle[0]])
    title = f"`{cycle[0]}` calls itself" if len(cycle) == 1 else f"these fns call each other: {shown}"
    others = tuple(Label(fns[name].name.span, f"fn `{name}`") for name in cycle[:8])
    sink.error(
        "E0206",
        title,
        call.span,
        label="this call closes the cycle",
        others=others,
        notes=("a fn is copied into its caller, so a fn that reaches itself would never end",),
        help="write the repetition as a `for` or `while` loop",
    )
