"""Built-ins that make tiles, and that change their shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang.diagnostics import Span
from tilelang.dtypes import DType
from tilelang.semantics.broadcasting import broadcasts_to, same_shape, show_shape
from tilelang.semantics.builtins.declare import Arguments, Builtin, declare
from tilelang.semantics.builtins.reductions import one_axis
from tilelang.semantics.extents import Extent, equal, product
from tilelang.semantics.literals import article, coerce, convert, literal, settle
from tilelang.semantics.mistakes import mistake
from tilelang.semantics.operators import unify
from tilelang.semantics.typed import Broadcast, Cat, Const, Permute, Reshape, Typed
from tilelang.semantics.types import TileType

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker


# --- making tiles ----------------------------------------------------------------------------------


def zeros(cx: Checker, args: Arguments) -> Typed:
    return _filled(cx, args, 0)


def ones(cx: Checker, args: Arguments) -> Typed:
    return _filled(cx, args, 1)


def _filled(cx: Checker, args: Arguments, number: int) -> Typed:
    dtype = args.dtype("dtype")
    if dtype is None:
        raise mistake(
            "E0318",
            f"`{args.function}` needs an element type",
            args.span,
            help=f"write `{args.function}([...], f32)`",
        )
    return _splat(cx, args, _constant(number, dtype, args.span))


def _constant(number: int, dtype: DType, span: Span) -> Typed:
    if dtype.is_bool:
        return Const(bool(number), type=TileType(dtype), span=span)
    return convert(literal(number, span), dtype)


def full(cx: Checker, args: Arguments) -> Typed:
    dtype = args.dtype("dtype")
    value = args.value("value")
    value = settle(value) if dtype is None else coerce(value, dtype, "`full`")
    if not value.type.is_scalar:
        raise mistake(
            "E0319",
            "`full` repeats a scalar",
            args.span_of("value"),
            label=f"this is {article(str(value.type))}",
            help="to stretch a tile, write `broadcast_to(v, [...])`",
        )
    return _splat(cx, args, value)


def _splat(cx: Checker, args: Arguments, value: Typed) -> Typed:
    return Broadcast(value, type=cx.tile(value.type.dtype, args.shape("shape"), args.span), span=args.span)


# --- changing shapes -------------------------------------------------------------------------------


def reshape(cx: Checker, args: Arguments) -> Typed:
    value, shape = settle(args.value("v")), args.shape("shape")
    if equal(product(value.type.shape), product(shape)) is False:
        raise mistake(
            "E0321",
            "`reshape` keeps the number of elements",
            args.span,
            notes=(
                f"{value.type} has {product(value.type.shape)}",
                f"{show_shape(shape)} has {product(shape)}",
            ),
            help="to repeat elements, write `broadcast_to(v, [...])`",
        )
    return Reshape(value, type=cx.tile(value.type.dtype, shape, args.span), span=args.span)


def permute(cx: Checker, args: Arguments) -> Typed:
    value, axes = settle(args.value("v")), args.integers("axes") or ()
    rank = value.type.rank
    places = tuple(a + rank if a < 0 else a for a in axes)
    if sorted(places) != list(range(rank)):
        raise mistake(
            "E0322",
            "`permute` needs every axis exactly once",
            args.span_of("axes"),
            notes=(f"the tile is {article(str(value.type))}: its axes are {list(range(rank))}",),
            help=f"for example `permute(v, {list(range(rank))[::-1]})`" if rank else "",
        )
    return permuted(value, places, args.span)


def transpose(cx: Checker, args: Arguments) -> Typed:
    value = settle(args.value("v"))
    rank = value.type.rank
    if rank < 2:
        raise mistake(
            "E0322",
            "`transpose` swaps the last two axes",
            args.span_of("v"),
            label=f"this is {article(str(value.type))}",
            help="add an axis: `v[:, None]` is a column, `v[None, :]` a row" if rank else "",
        )
    return permuted(value, (*range(rank - 2), rank - 1, rank - 2), args.span)


def permuted(value: Typed, axes: tuple[int, ...], span: Span) -> Typed:
    """Result axis i is axis `axes[i]` of the value."""
    return Permute(value, axes, type=value.type.with_shape(tuple(value.type.shape[a] for a in axes)), span=span)


def broadcast_to(cx: Checker, args: Arguments) -> Typed:
    value, shape = settle(args.value("v")), args.shape("shape")
    if not broadcasts_to(value.type.shape, shape):
        raise mistake(
            "E0323",
            f"{value.type} does not stretch to {show_shape(shape)}",
            args.span,
            notes=("axes are aligned on the right, and only extents of 1 stretch",),
            help="add an axis first: `broadcast_to(v[:, None], [...])`" if value.type.rank == 1 else "",
        )
    return Broadcast(value, type=cx.tile(value.type.dtype, shape, args.span), span=args.span)


def cat(cx: Checker, args: Arguments) -> Typed:
    values = unify(args.values("tiles"), "the tiles of `cat`", args.span)
    rank = values[0].type.rank
    axis = cat_axis(args, rank)
    joined: Extent = 0
    for value in values:
        if value.type.rank != rank or not same_shape(_without(value, axis), _without(values[0], axis)):
            raise mistake(
                "E0324",
                "`cat` joins tiles that differ in one axis only",
                value.span,
                notes=(
                    f"the first is {article(str(values[0].type))}, this one {article(str(value.type))}",
                    f"they are joined along axis {axis}",
                ),
                help="name the axis: `cat([a, b], axis=1)`" if rank > 1 and "axis" not in args else "",
            )
        joined = joined + value.type.shape[axis]
    shape = (*values[0].type.shape[:axis], joined, *values[0].type.shape[axis + 1 :])
    return Cat(tuple(values), axis, type=cx.tile(values[0].type.dtype, shape, args.span), span=args.span)


def cat_axis(args: Arguments, rank: int) -> int:
    if rank == 0:
        raise mistake(
            "E0324",
            "`cat` joins tiles, and this is a scalar",
            args.span_of("tiles"),
            help="make it a tile: `full([1], v)`",
        )
    return one_axis(args, args.integer("axis") or 0, rank)


def _without(value: Typed, axis: int) -> tuple[Extent, ...]:
    return value.type.shape[:axis] + value.type.shape[axis + 1 :]


TABLE: list[Builtin] = [
    declare("zeros(shape: shape, dtype: dtype?)", zeros, "a tile of zeros: `zeros([BM, BN], f32)`"),
    declare("ones(shape: shape, dtype: dtype?)", ones, "a tile of ones"),
    declare("full(shape: shape, value, dtype: dtype?)", full, "a tile of one scalar: `full([BM], -inf, f32)`"),
    declare("reshape(v, shape: shape)", reshape, "the same elements in row-major order, in another shape"),
    declare("transpose(v)", transpose, "the last two axes swapped"),
    declare("permute(v, axes: ints)", permute, "axes in another order: result axis i is axis `axes[i]`"),
    declare("broadcast_to(v, shape: shape)", broadcast_to, "stretched to a shape, as in arithmetic"),
    declare("cat(tiles: values, axis: int?)", cat, "tiles joined along an axis: `cat(a, b, axis=0)`"),
]
