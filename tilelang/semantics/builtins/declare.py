"""How a built-in function is declared: parameters in a small notation, a checker, a line of documentation.

`"sum(v, *, axis: ints?, keepdims: flag?)"` says: a value, then a list of constant ints and a constant bool
that may both be left out. Every argument may be given by keyword, as in Python; those after `*` must be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from tilelang.diagnostics import Span
from tilelang.dtypes import DType
from tilelang.semantics.extents import Extent
from tilelang.semantics.typed import Typed
from tilelang.syntax import ast

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker


class Kind(StrEnum):
    """What an argument may be. The texts are the words of the notation."""

    VALUE = "value"
    VALUES = "values"  # one list of values, or all the positional arguments
    SHAPE = "shape"  # a list of constant extents, or one
    DTYPE = "dtype"
    INT = "int"  # a constant int
    INTS = "ints"  # a list of constant ints, or one
    FLAG = "flag"  # true or false
    TEXT = "text"
    ACCESS = "access"  # an element or tile of a tensor: y[i, j]


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: Kind
    optional: bool = False
    keyword_only: bool = False


@dataclass(frozen=True)
class Access:
    """A checked `y[i, j]`, and what it covers."""

    tensor: str
    dtype: DType
    indices: tuple[Typed, ...]
    shape: tuple[Extent, ...]
    pointwise: bool
    mask: Typed | None
    span: Span


@dataclass(frozen=True)
class Arguments:
    """The checked arguments of one call, by parameter name; what was left out is missing from `given`."""

    call: ast.Call
    given: Mapping[str, object] = field(default_factory=dict)
    spans: Mapping[str, Span] = field(default_factory=dict)

    @property
    def span(self) -> Span:
        return self.call.span

    @property
    def function(self) -> str:
        return self.call.func.text

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def span_of(self, name: str) -> Span:
        return self.spans.get(name, self.call.span)

    def value(self, name: str) -> Typed:
        return self.given[name]  # type: ignore[return-value]

    def values(self, name: str) -> tuple[Typed, ...]:
        return self.given[name]  # type: ignore[return-value]

    def optional(self, name: str) -> Typed | None:
        return self.given.get(name)  # type: ignore[return-value]

    def shape(self, name: str) -> tuple[Extent, ...]:
        return self.given[name]  # type: ignore[return-value]

    def dtype(self, name: str) -> DType | None:
        return self.given.get(name)  # type: ignore[return-value]

    def integer(self, name: str) -> int | None:
        return self.given.get(name)  # type: ignore[return-value]

    def integers(self, name: str) -> tuple[int, ...] | None:
        return self.given.get(name)  # type: ignore[return-value]

    def flag(self, name: str) -> bool:
        return bool(self.given.get(name, False))

    def text(self, name: str) -> str:
        return self.given[name]  # type: ignore[return-value]

    def access(self, name: str) -> Access:
        return self.given[name]  # type: ignore[return-value]


CheckFunction = Callable[["Checker", Arguments], Typed]


@dataclass(frozen=True)
class Builtin:
    """One built-in function. `check` types a call, or raises `Mistake`; a `statement` gives no value."""

    name: str
    parameters: tuple[Parameter, ...]
    check: CheckFunction
    doc: str
    statement: bool = False

    def show(self) -> str:
        """The call as one would write it: `sum(v, axis=, keepdims=)`."""
        shown = [f"{p.name}=" if p.optional else p.name for p in self.parameters]
        return f"{self.name}({', '.join(shown)})"


def declare(signature: str, check: CheckFunction, doc: str, *, statement: bool = False) -> Builtin:
    """Read the notation: `name(param: kind?, ...)`; a parameter without a kind is a value."""
    name, _, rest = signature.removesuffix(")").partition("(")
    positional, _, keyword_only = rest.partition("*, ")
    parameters = [_parameter(text, False) for text in positional.split(", ") if text]
    parameters += [_parameter(text, True) for text in keyword_only.split(", ") if text]
    return Builtin(name, tuple(parameters), check, doc, statement)


def _parameter(text: str, keyword_only: bool) -> Parameter:
    name, _, kind = text.removesuffix("?").partition(": ")
    return Parameter(name, Kind(kind or "value"), text.endswith("?"), keyword_only)
