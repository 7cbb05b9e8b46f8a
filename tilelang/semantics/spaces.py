"""Metas and their tuning spaces: which values each may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilelang.diagnostics import Sink, Span
from tilelang.dtypes import DTYPES, DType
from tilelang.semantics.constants import Value
from tilelang.semantics.definitions import Role
from tilelang.semantics.evaluation import Closure, lower
from tilelang.semantics.literals import show_number
from tilelang.semantics.mistakes import Mistake, known, mistake
from tilelang.semantics.names import Names
from tilelang.semantics.walking import walk
from tilelang.syntax import ast

WARPS = (1, 2, 4, 8, 16)
STAGES = (1, 2, 3, 4, 5)
COMPILER_METAS: dict[str, tuple[int, ...]] = {"warps": WARPS, "stages": STAGES}
"""The metas that the compiler itself reads, and what it can do."""

MAX_COMBINATIONS = 4096


@dataclass(frozen=True)
class Space:
    """One meta. `choices` is empty if any value will do; `default` computes the default from dims and earlier
    metas.

    `fixed` is the default if it is the same for every launch, else None.
    """

    name: str
    choices: tuple[Value, ...]
    default: Closure | None
    span: Span
    fixed: Value | None = None

    @property
    def is_dtype(self) -> bool:
        """True if it ranges over element types."""
        return bool(self.choices) and isinstance(self.choices[0], DType)

    def default_value(self, env: Mapping[str, Value]) -> Value:
        """The value when none is given: the default, or the first choice. Raises `Mistake`."""
        if self.default is not None:
            return self.default(env)
        if not self.choices:
            raise known()
        return self.choices[0]


def spaces(names: Names, kernel: ast.KernelDef, sink: Sink | None = None) -> list[Space]:
    """The metas of a kernel in order. With a sink, reports the choices and defaults that are left out."""
    result: list[Space] = []
    for meta in kernel.metas:
        wrong: list[Mistake] = []
        result.append(_space(names, meta, wrong))
        for mistaken in wrong if sink is not None else ():
            for diagnostic in mistaken.diagnostics:
                sink.report(diagnostic)  # type: ignore[union-attr]
    if sink is not None:
        _check_combinations(kernel, result, sink)
    return result


def _space(names: Names, meta: ast.Meta, wrong: list[Mistake]) -> Space:
    choices: list[Value] = []
    for choice in meta.choices:
        try:
            value = _choice(names, choice, meta)
            _check_choice(value, choices, choice.span, meta)
            choices.append(value)
        except Mistake as mistaken:
            wrong.append(mistaken)
    default, fixed = None, choices[0] if choices and meta.default is None else None
    try:
        default, fixed = _default(names, meta, choices) if meta.default is not None else (None, fixed)
    except Mistake as mistaken:
        wrong.append(mistaken)
    return Space(meta.name.text, tuple(choices), default, meta.name.span, fixed)


def _choice(names: Names, choice: ast.Expr, meta: ast.Meta) -> Value:
    """A choice is an element type or a constant."""
    if isinstance(choice, ast.Name) and choice.text in DTYPES:
        return DTYPES[choice.text]
    for node in walk(choice):
        meaning = names.meaning(node) if isinstance(node, ast.Name) else None
        if meaning is not None and meaning.role in (Role.DIM, Role.META):
            raise mistake(
                "E0403",
                f"a choice of `{meta.name.text}` cannot depend on the {meaning.role} `{meaning.name}`",
                choice.span,
                help=f"compute it: `{meta.name.text} = ...`, without braces",
            )
    return lower(choice, names.meanings, names.consts)({})


def _check_choice(value: Value, before: list[Value], span: Span, meta: ast.Meta) -> None:
    name = meta.name.text
    if before and _kind(value) != _kind(before[0]):
        raise mistake(
            "E0403",
            f"the choices of `{name}` are of different kinds",
            span,
            label=f"this is {_kind(value)}, the first {_kind(before[0])}",
        )
    if value in before:
        raise mistake("E0403", f"`{name}` has the choice {show(value)} twice", span, help="remove one of them")
    check_compiler_meta(name, value, span)


def check_compiler_meta(name: str, value: Value, span: Span) -> None:
    """E0404 for a number of warps or stages that the compiler does not know."""
    allowed = COMPILER_METAS.get(name)
    if allowed is not None and (isinstance(value, bool) or value not in allowed):
        listed = ", ".join(map(str, allowed[:-1])) + f" or {allowed[-1]}"
        raise mistake("E0404", f"`{name}` cannot be {show(value)}", span, help=f"`{name}` is {listed}")


def _default(names: Names, meta: ast.Meta, choices: list[Value]) -> tuple[Closure | None, Value | None]:
    """The default, and its value if it is a constant, which is checked against the choices."""
    expr = meta.default
    if expr is None:
        return None, None
    if isinstance(expr, ast.Name) and expr.text in DTYPES and names.meaning(expr) is None:
        dtype = DTYPES[expr.text]
        _check_default(dtype, choices, expr, meta)
        return (lambda env: dtype), dtype
    closure = lower(expr, names.meanings, names.consts)
    if not any(isinstance(n, ast.Name) and _is_launch_name(names, n) for n in walk(expr)):
        value = closure({})
        _check_default(value, choices, expr, meta)
        check_compiler_meta(meta.name.text, value, expr.span)
        return closure, value
    return closure, None


def _is_launch_name(names: Names, node: ast.Name) -> bool:
    meaning = names.meaning(node)
    return meaning is None or meaning.role in (Role.DIM, Role.META)


def _check_default(value: Value, choices: list[Value], expr: ast.Expr, meta: ast.Meta) -> None:
    if choices and value not in choices:
        raise mistake(
            "E0403",
            f"the default of `{meta.name.text}` is none of its choices",
            expr.span,
            label=f"this is {show(value)}",
            notes=(f"the choices are {', '.join(map(show, choices))}",),
        )


def _check_combinations(kernel: ast.KernelDef, found: list[Space], sink: Sink) -> None:
    total = 1
    for space in found:
        total *= max(1, len(space.choices))
    if total > MAX_COMBINATIONS:
        sink.error(
            "E0405",
            f"the metas of `{kernel.name.text}` have {total:,} combinations",
            kernel.name.span,
            notes=(f"at most {MAX_COMBINATIONS:,} are allowed, because tuning would have to try them",),
            help="give fewer choices, or compute some metas from others: `BN = BM`",
        )


def _kind(value: Value) -> str:
    if isinstance(value, DType):
        return "an element type"
    if isinstance(value, bool):
        return "a bool"
    return "a float" if isinstance(value, float) else "an int"


def show(value: Value) -> str:
    """As it would be written in `.tile`."""
    return value.name if isinstance(value, DType) else show_number(value)
