"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang.dtypes import F32, F64, I32, I64, U32, U64, DType
from tilelang.semantics.broadcasting import same_shape, show_shape
from tilelang.semantics.builtins.declare import Arguments, Builtin, declare
from tilelang.semantics.extents import Extent, equal
from tilelang.semantics.literals import article, coerce, settle
from tilelang.semantics.mistakes import Mistake, mistake
from tilelang.semantics.typed import Dot, Typed

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker

Shape = tuple[Extent, ...]


def dot_accumulator(dtype: DType) -> DType:
    """The element type that products of `dtype` are added up in: at least 32 bits, of the same kind."""
    if dtype.is_float:
        return F64 if dtype is F64 else F32
    narrow, wide = (I32, I64) if dtype.is_signed else (U32, U64)
    return wide if dtype.bits == 64 else narrow


def dot_shape(a: Shape, b: Shape) -> Shape | None:
    """`[M, K]` with `[K, N]` gives `[M, N]`, each with the same leading batch axis or none; else None.

    >>> dot_shape((2, 4, 8), (2, 8, 16))
    (2, 4, 16)
    """
    if len(a) != len(b) or len(a) not in (2, 3):
        return None
    if not same_shape(a[:-2], b[:-2]) or equal(a[-1], b[-2]) is False:
        return None
    return (*a[:-2], a[-2], b[-1])


def dot(cx: Checker, args: Arguments) -> Typed:
    a, b = settle(args.value("a")), settle(args.value("b"))
    shape = dot_shape(a.type.shape, b.type.shape)
    if shape is None:
        raise _shapes_do_not_fit(args, a, b)
    _check_dtypes(args, a, b)
    dtype = dot_accumulator(a.type.dtype)
    acc = args.optional("acc")
    if acc is not None:
        acc = _accumulate_into(args, acc, dtype, shape)
    if args.flag("tf32") and a.type.dtype != F32:
        raise mistake("E0326", "`tf32` is for products of f32", args.span_of("tf32"), label=f"these are {a.type.dtype}")
    return Dot(a, b, acc, args.flag("tf32"), type=cx.tile(dtype, shape, args.span), span=args.span)


def _check_dtypes(args: Arguments, a: Typed, b: Typed) -> None:
    first, second = a.type.dtype, b.type.dtype
    if first.is_bool:
        raise mistake("E0326", "`dot` does not work on bool", args.span, help="convert it: `... as i32`")
    if first != second:
        target = "f32" if {first.name, second.name} == {"f16", "bf16"} else str(first)
        raise mistake(
            "E0326",
            f"`dot` multiplies tiles of one element type, not {first} with {second}",
            args.span,
            notes=(f"a is {article(str(a.type))}, b {article(str(b.type))}",),
            help=f"convert one: `... as {target}`",
        )


def _accumulate_into(args: Arguments, acc: Typed, dtype: DType, shape: Shape) -> Typed:
    acc = coerce(acc, dtype, f"the accumulator of `dot` on {args.value('a').type.dtype}")
    if not same_shape(acc.type.shape, shape):
        raise mistake(
            "E0325",
            "the accumulator does not have the shape of the product",
            args.span_of("acc"),
            label=f"this is {article(str(acc.type))}",
            notes=(f"the product is {dtype}{show_shape(shape)}",),
            help=f"start it with `zeros({show_shape(shape)}, {dtype})`",
        )
    return acc


def _shapes_do_not_fit(args: Arguments, a: Typed, b: Typed) -> Mistake:
    notes = (
        f"a is {article(str(a.type))}, b {article(str(b.type))}",
        "`dot` takes a[M, K] and b[K, N], or both with one batch axis before them",
    )
    return mistake(
        "E0325",
        "the tiles of `dot` do not fit",
        args.span,
        notes=notes,
        help=_dot_help(a.type.shape, b.type.shape),
    )


def _dot_help(a: Shape, b: Shape) -> str:
    """Which transposition would make it fit."""
    if len(a) != len(b):
        return "give both the same number of axes"
    if len(a) == 1:
        return "for the inner product of two vectors, write `sum(a * b)`"
    if len(a) not in (2, 3):
        return ""
    a_turned, b_turned = (*a[:-2], a[-1], a[-2]), (*b[:-2], b[-1], b[-2])
    if dot_shape(a, b_turned) is not None:
        return "transpose the second: `dot(a, transpose(b))`"
    if dot_shape(a_turned, b) is not None:
        return "transpose the first: `dot(transpose(a), b)`"
    if dot_shape(b, a) is not None:
        return "swap them: `dot(b, a)`"
    return ""


TABLE: list[Builtin] = [
    declare(
        "dot(a, b, acc?, *, tf32: flag?)",
        dot,
        "the matrix product a[M, K] @ b[K, N], added to `acc` if given; f16, bf16 and f32 give f32",
    ),
]
