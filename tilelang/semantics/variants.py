"""What `tilec check` tries without arguments: every choice of every meta, one at a time, and one report for
all.

Dims are symbols. A meta computed from dims (`BLOCK = next_pow2(N)`) is a symbol of its own name; all
others have their values. An error that some choices give and others do not says which: "when T = f16".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilelang.diagnostics import Diagnostic, Sink, Span
from tilelang.dtypes import DType
from tilelang.semantics.constants import Value
from tilelang.semantics.definitions import Role
from tilelang.semantics.extents import SymBool, symbol
from tilelang.semantics.mistakes import Mistake
from tilelang.semantics.names import Names
from tilelang.semantics.spaces import Space, check_compiler_meta, show
from tilelang.semantics.walking import walk
from tilelang.syntax import ast

MAX_VARIANTS = 64


@dataclass(frozen=True)
class Variant:
    """One set of metas; `changed` names the meta that differs from the default, with its value."""

    metas: Mapping[str, Value]
    changed: tuple[str, Value] | None = None


def variants(names: Names, kernel: ast.KernelDef, spaces: Sequence[Space], sink: Sink) -> list[Variant]:
    """The defaults, then each other choice of each meta with the rest at their defaults; 64 at most."""
    default = _evaluate(names, kernel, spaces, {}, sink)
    found = [Variant(default)]
    for space in spaces:
        for choice in space.choices:
            if choice != default.get(space.name) and len(found) < MAX_VARIANTS:
                metas = _evaluate(names, kernel, spaces, {space.name: choice}, sink)
                found.append(Variant(metas, (space.name, choice)))
    return found


def dim_symbols(names: Names, kernel: ast.KernelDef) -> dict[str, Value]:
    """The dims of a kernel as unknowns."""
    return {dim: symbol(dim) for dim in names.dims[kernel.name.text]}


def _evaluate(
    names: Names, kernel: ast.KernelDef, spaces: Sequence[Space], given: Mapping[str, Value], sink: Sink
) -> dict[str, Value]:
    metas: dict[str, Value] = {}
    env = dim_symbols(names, kernel)
    for space, meta in zip(spaces, kernel.metas, strict=True):
        try:
            value = given[space.name] if space.name in given else space.default_value(env)
            computed = space.name not in given and _mentions_dims(names, meta.default)
            if computed and not isinstance(value, (float, DType)):
                value = SymBool(space.name) if isinstance(value, (bool, SymBool)) else symbol(space.name)
            elif meta.default is not None:
                check_compiler_meta(space.name, value, meta.default.span)
        except Mistake as wrong:
            for diagnostic in wrong.diagnostics:
                sink.report(diagnostic)
            continue
        metas[space.name] = env[space.name] = value
    return metas


def _mentions_dims(names: Names, expr: ast.Expr | None) -> bool:
    for node in walk(expr) if expr is not None else ():
        meaning = names.meaning(node) if isinstance(node, ast.Name) else None
        if meaning is not None and meaning.role is Role.DIM:
            return True
    return False


def merge(found: Sequence[tuple[Variant, Sequence[Diagnostic]]], sink: Sink) -> None:
    """Report each message once, in the order of the text; if it depends on a choice, a note says which."""
    merged: dict[tuple[str, Span | None], Diagnostic] = {}
    seen_in: dict[tuple[str, Span | None], list[Variant]] = {}
    for variant, diagnostics in found:
        for diagnostic in diagnostics:
            key = (diagnostic.code, diagnostic.span)
            merged.setdefault(key, diagnostic)
            seen_in.setdefault(key, []).append(variant)
    for key, diagnostic in sorted(merged.items(), key=lambda item: item[1].span.start if item[1].span else -1):
        condition = _condition(seen_in[key], [v for v, _ in found])
        notes = (*diagnostic.notes, condition) if condition else diagnostic.notes
        sink.report(replace(diagnostic, notes=notes))


def _condition(seen: Sequence[Variant], everything: Sequence[Variant]) -> str:
    """ "when T = f16", or "" if every variant gives the message."""
    default = everything[0]
    if default not in seen:
        values: dict[str, list[str]] = {}
        for variant in seen:
            if variant.changed is not None:
                values.setdefault(variant.changed[0], []).append(show(variant.changed[1]))
        return "when " + ", or when ".join(f"{name} = {' or '.join(v)}" for name, v in values.items())
    # Each distinct meta whose other choices make it go away.
    cured = [v for v in everything if v not in seen and v.changed is not None]
    metas = list(dict.fromkeys(v.changed[0] for v in cured if v.changed is not None))
    parts: list[str] = []
    for name in metas:
        bad = [show(default.metas[name])] if name in default.metas else []
        bad += [show(v.changed[1]) for v in seen if v.changed is not None and v.changed[0] == name]
        parts.append(f"{name} = {' or '.join(bad)}")
    return "when " + " and ".join(parts) if parts else ""
