"""Names and scopes: what every name in a file means.

A file has one scope of `const`s; a kernel's header (dims, metas, parameters) is a scope inside it, and
every block is a scope inside the one around it. A name is visible from its declaration to the end of its
block, and may not hide a name of a scope around. Functions, values and element types are three separate
name spaces.

Nothing is typed here. The result is plain data; `check` looks meanings up by node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilelang.diagnostics import Sink
from tilelang.semantics.call_graph import report_recursion
from tilelang.semantics.constants import Value
from tilelang.semantics.definitions import Definition, Role
from tilelang.semantics.evaluation import evaluate
from tilelang.semantics.mistakes import LimitedSink, Mistake
from tilelang.semantics.name_errors import duplicate_top_level
from tilelang.semantics.resolving import Resolver
from tilelang.syntax import ast
from tilelang.syntax.limits import deep_trees


@dataclass(frozen=True)
class Names:
    """What `resolve` found out about a module.

    `meanings` maps `id(node)` of every `ast.Name` use, and of every `ast.Ident` that declares or assigns,
    to its definition; names that could not be resolved are missing (and were reported). `dims`: per
    kernel, its named dims in order of first appearance. `calls`: per fn, the fns it calls. `order`: fns,
    callees before callers; those in `recursive` are on or above a cycle and cannot be inlined.
    """

    module: ast.Module
    meanings: Mapping[int, Definition]
    consts: Mapping[str, Value]
    fns: Mapping[str, ast.FnDef]
    dims: Mapping[str, tuple[str, ...]]
    calls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    recursive: frozenset[str] = frozenset()

    def meaning(self, node: ast.Name | ast.Ident) -> Definition | None:
        """The definition that a use, declaration or assignment means; None if that was reported as wrong."""
        return self.meanings.get(id(node))

    def kernel(self, name: str) -> ast.KernelDef:
        """The kernel called `name`; raises KeyError."""
        for kernel in self.module.kernels:
            if kernel.name.text == name:
                return kernel
        raise KeyError(name)


def resolve(module: ast.Module, sink: Sink) -> Names:
    """Look every name up; report unknown, duplicate, hiding, unused names, and recursion."""
    own = LimitedSink()
    with deep_trees():
        duplicate_top_level(module, own)
        resolver = Resolver(module, own)
        consts = _consts(module, resolver, own)
        for fn in module.fns:
            resolver.fn(fn)
        for kernel in module.kernels:
            resolver.kernel(kernel)
        order, recursive = report_recursion(resolver.fns, resolver.calls, own)
    for diagnostic in sorted(own.diagnostics, key=lambda d: d.span.start if d.span else -1):
        sink.report(diagnostic)
    calls = {name: tuple(dict.fromkeys(call.func.text for call in found)) for name, found in resolver.calls.items()}
    return Names(module, resolver.meanings, consts, resolver.fns, resolver.dims, calls, order, recursive)


def _consts(module: ast.Module, resolver: Resolver, sink: Sink) -> dict[str, Value]:
    """Resolve and compute the `const`s, in order: each may use those before it."""
    values: dict[str, Value] = {}
    resolver.later = {c.name.text: c.name.span for c in module.consts}
    for const in module.consts:
        name = const.name.text
        resolver.expr(const.value)
        resolver.later.pop(name, None)
        try:
            values[name] = evaluate(const.value, resolver.meanings, values, {})
        except Mistake as wrong:
            for diagnostic in wrong.diagnostics:
                sink.report(diagnostic)
        resolver.declare(Role.CONST, const.name)
    resolver.later = {}
    return values
