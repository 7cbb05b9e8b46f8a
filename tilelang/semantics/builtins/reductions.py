"""Built-ins that fold a tile along axes, and prefix scans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilelang.dtypes import I32, accumulator
from tilelang.semantics.builtins.declare import Arguments, Builtin, declare
from tilelang.semantics.extents import Extent
from tilelang.semantics.literals import article, settle
from tilelang.semantics.mistakes import mistake
from tilelang.semantics.typed import Reduce, Scan, Typed

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker


def one_axis(args: Arguments, axis: int, rank: int) -> int:
    """The axis counted from the front; E0320 if the tile has no such axis."""
    if not -rank <= axis < rank:
        has = f"the axes are 0 to {rank - 1}, or -{rank} to -1 from the end"
        if rank < 2:
            has = "the tile has one axis, numbered 0" if rank == 1 else "a scalar has no axes"
        raise mistake("E0320", f"there is no axis {axis}", args.span_of("axis"), notes=(has,))
    return axis % rank


def normal_axes(args: Arguments, rank: int) -> tuple[int, ...]:
    """The axes to reduce, sorted; all of them if none are given."""
    given = args.integers("axis")
    if given is None:
        return tuple(range(rank))
    axes = [one_axis(args, axis, rank) for axis in given]
    if len(set(axes)) < len(axes):
        raise mistake("E0320", "an axis is named twice", args.span_of("axis"))
    if not axes:
        raise mistake("E0320", "no axis is named", args.span_of("axis"), help="leave `axis` out to reduce all of them")
    return tuple(sorted(axes))


def reduced_shape(shape: Sequence[Extent], axes: Sequence[int], keepdims: bool) -> tuple[Extent, ...]:
    """The shape without the reduced axes, or with extents of 1 there.

    >>> reduced_shape((4, 8, 2), (1,), True)
    (4, 1, 2)
    """
    if keepdims:
        return tuple(1 if i in axes else extent for i, extent in enumerate(shape))
    return tuple(extent for i, extent in enumerate(shape) if i not in axes)


def reduce(cx: Checker, args: Arguments) -> Typed:
    kind = args.function
    value = settle(args.value("v"))
    dtype = value.type.dtype
    if kind in ("any", "all"):
        if not dtype.is_bool:
            raise mistake(
                "E0319",
                f"`{kind}` takes bool, not {dtype}",
                args.span_of("v"),
                label=f"this is {article(str(value.type))}",
                help=f"compare first: `{kind}(v != 0)`",
            )
    elif dtype.is_bool and kind not in ("sum", "prod"):
        raise mistake(
            "E0319",
            f"`{kind}` does not work on bool",
            args.span_of("v"),
            help={"max": "write `any(v)`", "min": "write `all(v)`"}.get(kind, "convert it: `v as i32`"),
        )
    axes = normal_axes(args, value.type.rank)
    shape = reduced_shape(value.type.shape, axes, args.flag("keepdims"))
    result = {"sum": accumulator(dtype), "prod": accumulator(dtype), "argmax": I32, "argmin": I32}.get(kind, dtype)
    return Reduce(kind, value, axes, args.flag("keepdims"), type=cx.tile(result, shape, args.span), span=args.span)


def arg_reduce(cx: Checker, args: Arguments) -> Typed:
    """`argmax`, `argmin`: along one axis, or over the flattened tile."""
    given = args.integers("axis")
    if given is not None and len(given) != 1:
        raise mistake(
            "E0320",
            f"`{args.function}` works along one axis, or none for the whole tile",
            args.span_of("axis"),
        )
    return reduce(cx, args)


def scan(cx: Checker, args: Arguments) -> Typed:
    kind = args.function.removeprefix("cum")
    value = settle(args.value("v"))
    dtype = value.type.dtype
    if dtype.is_bool and kind not in ("sum", "prod"):
        raise mistake(
            "E0319",
            f"`{args.function}` does not work on bool",
            args.span_of("v"),
            help="convert it: `v as i32`",
        )
    rank = value.type.rank
    if rank == 0:
        raise mistake(
            "E0319",
            f"`{args.function}` runs along an axis of a tile",
            args.span_of("v"),
            label="this is a scalar",
        )
    axis = args.integer("axis")
    if axis is None and rank > 1:
        raise mistake(
            "E0318",
            f"`{args.function}` needs an axis here",
            args.span,
            notes=(f"the tile is {article(str(value.type))}",),
            help=f"write `{args.function}(v, axis={rank - 1})`",
        )
    place = one_axis(args, axis or 0, rank)
    result = accumulator(dtype) if kind in ("sum", "prod") else dtype
    return Scan(kind, value, place, args.flag("reverse"), type=value.type.with_dtype(result), span=args.span)


def _reduction(name: str, doc: str) -> Builtin:
    return declare(f"{name}(v, *, axis: ints?, keepdims: flag?)", arg_reduce if name.startswith("arg") else reduce, doc)


def _scan(name: str, doc: str) -> Builtin:
    return declare(f"{name}(v, *, axis: int?, reverse: flag?)", scan, doc)


TABLE: list[Builtin] = [
    _reduction("sum", "the sum along axes; bool counts; integers narrower than 32 bits give i32 or u32"),
    _reduction("prod", "the product along axes"),
    _reduction("max", "the largest element along axes; NaN if there is one"),
    _reduction("min", "the smallest element along axes; NaN if there is one"),
    _reduction("argmax", "the first position of the largest element, i32; a NaN counts as the largest"),
    _reduction("argmin", "the first position of the smallest element, i32; a NaN counts as the smallest"),
    _reduction("any", "true where some element is, of bool"),
    _reduction("all", "true where every element is, of bool"),
    _scan("cumsum", "running sums along an axis"),
    _scan("cumprod", "running products along an axis"),
    _scan("cummax", "the largest element so far along an axis"),
    _scan("cummin", "the smallest element so far along an axis"),
]
