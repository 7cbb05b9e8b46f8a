"""Atomic operations on tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang.dtypes import F32, F64, I32, I64, U32, U64
from tilelang.semantics.broadcasting import broadcasts_to, show_shape
from tilelang.semantics.builtins.declare import Access, Arguments, Builtin, declare
from tilelang.semantics.literals import article, coerce
from tilelang.semantics.mistakes import mistake
from tilelang.semantics.typed import Atomic, Typed

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker

ATOMIC_DTYPES = (I32, I64, U32, U64, F32, F64)
"""What devices can update in place: 32 or 64 bits."""


def atomic(cx: Checker, args: Arguments) -> Typed:
    access = args.access("target")
    if access.dtype not in ATOMIC_DTYPES:
        names = ", ".join(map(str, ATOMIC_DTYPES))
        raise mistake(
            "E0327",
            f"`{args.function}` does not work on {access.dtype}",
            access.span,
            notes=(f"atomics work on {names}",),
            help=f"declare the tensor as one of {names}",
        )
    expected = _fitting(args, "expected", access) if "expected" in args else None
    value = _fitting(args, "value", access)
    type = cx.tile(access.dtype, access.shape, args.span)
    return Atomic(
        args.function.removeprefix("atomic_"),
        access.tensor,
        access.indices,
        value,
        expected,
        access.pointwise,
        access.mask,
        type=type,
        span=args.span,
    )


def _fitting(args: Arguments, name: str, access: Access) -> Typed:
    """The value in the tensor's element type, of a shape that stretches to the accessed one."""
    value = coerce(args.value(name), access.dtype, f"`{args.function}` on `{access.tensor}`")
    if not broadcasts_to(value.type.shape, access.shape):
        raise mistake(
            "E0313",
            f"the {name} does not fit the shape that is updated",
            args.span_of(name),
            label=f"this is {article(str(value.type))}",
            notes=(f"the access covers {show_shape(access.shape)}",),
        )
    return value


TABLE: list[Builtin] = [
    declare("atomic_add(target: access, value)", atomic, "add to `y[i]`; gives the old values"),
    declare("atomic_max(target: access, value)", atomic, "keep the larger in `y[i]`; gives the old values"),
    declare("atomic_min(target: access, value)", atomic, "keep the smaller in `y[i]`; gives the old values"),
    declare("atomic_xchg(target: access, value)", atomic, "put a value into `y[i]`; gives the old values"),
    declare(
        "atomic_cas(target: access, expected, value)",
        atomic,
        "put a value where `y[i]` equals `expected`, bit by bit; gives the old values",
    ),
]
