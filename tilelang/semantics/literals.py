"""Literals and conversions: the rules by which a value gets an element type it was not written with.

A `Literal` is a number that is still free: it takes the type of the operand it meets. Everything else
converts by one rule, `coerce`: within a kind, to a type at least as wide.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.diagnostics import Span
from tilelang.dtypes import F32, I32, I64, U64, DType, wider
from tilelang.semantics.extents import Sym, SymBool
from tilelang.semantics.mistakes import Mistake, mistake
from tilelang.semantics.rounding import holds_int, round_float
from tilelang.semantics.typed import Cast, Const, Typed
from tilelang.semantics.types import TileType

MAX_SUGGESTED = 1e15
"""Whole numbers beyond this are not written out in a help."""


@dataclass(frozen=True)
class Literal(Const):
    """A number known at compile time that has not met a typed operand yet. `type` is the one it has alone."""


def literal(value: int | float | Sym | SymBool, span: Span) -> Literal:
    """A free number; the checker settles it before it reaches the typed tree."""
    return Literal(value, type=TileType(type_alone(value)), span=span)  # type: ignore[arg-type]


def type_alone(value: int | float | Sym | SymBool) -> DType:
    """The element type of a literal that meets no operand: i32 (or i64, u64 if it needs more bits) or f32."""
    if isinstance(value, float):
        return F32
    if isinstance(value, (Sym, SymBool)):
        return I32
    return next((d for d in (I32, I64, U64) if holds_int(d, value)), I32)


def fits(value: int | float | Sym, dtype: DType) -> bool:
    """True if a literal may take the type.

    An int must be held exactly; a float is rounded, but not to infinity, and never becomes an int.
    """
    if isinstance(value, Sym):
        return not dtype.is_bool
    if isinstance(value, float):
        return dtype.is_float and (abs(round_float(value, dtype)) != float("inf") or abs(value) == float("inf"))
    return holds_int(dtype, value)


def adapt(value: Literal, dtype: DType) -> Const:
    """The literal with an element type, or E0301."""
    number: int | float | Sym = value.value
    if not fits(number, dtype):
        raise _does_not_fit(value, dtype)
    if dtype.is_float and not isinstance(number, Sym):
        number = round_float(float(number), dtype)
    return Const(number, type=TileType(dtype), span=value.span)  # type: ignore[arg-type]


def settle(value: Typed) -> Typed:
    """A literal alone takes i32 (i64, u64) or f32; other values are left as they are."""
    return adapt(value, value.type.dtype) if isinstance(value, Literal) else value


def converts(source: DType, target: DType) -> bool:
    """True if `source` becomes `target` without `as`: the same, or wider in the same kind."""
    return wider(source, target) == target


def convert(value: Typed, dtype: DType) -> Typed:
    """`value` with element type `dtype`: literals adapt, others get a `Cast` if needed."""
    if isinstance(value, Literal):
        return adapt(value, dtype)
    if value.type.dtype == dtype:
        return value
    return Cast(value, type=value.type.with_dtype(dtype), span=value.span)


def coerce(value: Typed, dtype: DType, what: str) -> Typed:
    """`value` where `what` ("the store to `y`") expects `dtype`; E0301 or E0303 if it does not convert."""
    if isinstance(value, Literal) or converts(value.type.dtype, dtype):
        return convert(value, dtype)
    raise mistake(
        "E0303",
        f"{what} needs {dtype}, not {value.type.dtype}",
        value.span,
        label=f"this is {article(str(value.type))}",
        notes=(_why(value.type.dtype, dtype),),
        help=_conversion_help(value.type.dtype, dtype, what),
    )


def _conversion_help(source: DType, target: DType, what: str) -> str:
    help = f"convert it: `... as {target}`"
    if what.startswith("the variable") and wider(source, target) == source:
        return f"declare the variable with {source}, as in `zeros([...], {source})`; or {help}"
    return help


def article(noun: str) -> str:
    """`an i32`, `an f16`, `a u8`, `a bool`: as one would say it."""
    return f"{'an' if noun[:1] in 'if' else 'a'} {noun}"


def _why(source: DType, target: DType) -> str:
    if source.kind is not target.kind:
        kinds = f"{source} is {_kind(source)} and {target} is {_kind(target)}"
        return f"{kinds}: nothing converts across kinds by itself"
    return f"{target} is narrower than {source}, or as wide and different: the value could change"


def _kind(dtype: DType) -> str:
    return {
        "bool": "bool",
        "signed": "a signed integer",
        "unsigned": "an unsigned integer",
        "float": "a float",
    }[dtype.kind]


def _does_not_fit(value: Literal, dtype: DType) -> Mistake:
    title = f"the literal {show_number(value.value)} does not fit {dtype}"
    label, notes, help = _reason(value.value, dtype)
    return mistake("E0301", title, value.span, label=label, notes=notes, help=help)


def _reason(number: int | float | Sym, dtype: DType) -> tuple[str, tuple[str, ...], str]:
    """Label, notes and help for a literal that does not fit."""
    if dtype.is_bool:
        return "", (), "write `true` or `false`, or compare: `!= 0`"
    if dtype.is_float:
        if isinstance(number, float):
            return "would round to infinity", (), f"write `inf`, or convert to a wider type than {dtype}"
        return f"{dtype} has no such number exactly", (), f"write it as a float to round it: `{number}.0`"
    if isinstance(number, float):
        whole = number.is_integer() and abs(number) < MAX_SUGGESTED
        help = f"write `{int(number)}`" if whole else "convert the other side to a float, such as `as f32`"
        return "a float literal", ("a float literal never becomes an integer by itself",), help
    return "", (f"{dtype} holds {dtype.min_int} to {dtype.max_int}",), "convert to a wider type with `as`"


def show_number(value: int | float | bool | Sym | SymBool) -> str:
    """As it would be written in `.tile`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
