"""`assert` and `print`: statements that look like calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang.semantics.builtins.declare import Arguments, Builtin, declare
from tilelang.semantics.literals import settle
from tilelang.semantics.mistakes import known
from tilelang.semantics.operators import require_bool
from tilelang.semantics.typed import Assert, Print, Statement, Typed

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker


def assertion(args: Arguments) -> Statement:
    condition = settle(args.value("condition"))
    require_bool(condition, "`assert`")
    return Assert(condition, args.text("text"), span=args.span)


def printing(args: Arguments) -> Statement:
    value = args.optional("value")
    return Print(args.text("text"), settle(value) if value is not None else None, span=args.span)


def no_value(cx: Checker, args: Arguments) -> Typed:
    """These are statements; a call inside an expression was refused before this."""
    raise known()


TABLE: list[Builtin] = [
    declare(
        "assert(condition, text: text)",
        no_value,
        "stop with the text, the program and the line if some element is false",
        statement=True,
    ),
    declare(
        "print(text: text, value?)",
        no_value,
        "print the text and a value, program by program",
        statement=True,
    ),
]
