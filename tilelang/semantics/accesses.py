"""Index brackets: which part of a tensor `x[i, j]` means, and `v[:, None]` on tiles."""

from __future__ import annotations

from collections.abc import Callable

from tilelang.diagnostics import Span
from tilelang.semantics.broadcasting import broadcast_shapes, broadcasts_to, show_shape
from tilelang.semantics.builtins.declare import Access
from tilelang.semantics.context import Checker
from tilelang.semantics.extents import Extent
from tilelang.semantics.literals import article
from tilelang.semantics.mistakes import Mistake, gather, known, mistake
from tilelang.semantics.typed import Reshape, TensorParam, Typed
from tilelang.syntax import ast

CheckValue = Callable[[Checker, ast.Expr], Typed]


def tensor_of(cx: Checker, base: ast.Name) -> TensorParam:
    """The tensor a name means; silent if its parameter was wrong."""
    tensor = cx.tensors.get(base.text)
    if tensor is None:
        raise known()
    return tensor


def check_access(cx: Checker, target: ast.Index, tensor: TensorParam, check: CheckValue) -> Access:
    """The indices of `x[i, j]` or `x[[i, j]]` and the shape they cover; `check` types one index."""
    items = [_index_expr(item, tensor) for item in target.items]
    rank = len(tensor.dims)
    if len(items) != rank:
        dims = ", ".join(map(str, tensor.dims))
        raise mistake(
            "E0307",
            f"`{tensor.name}` has {rank} {'axis' if rank == 1 else 'axes'}, and {len(items)} "
            f"{'index is' if len(items) == 1 else 'indices are'} given",
            target.span,
            notes=(f"the tensor is {tensor.name}: {tensor.dtype}[{dims}]",),
            help=f"give one index per axis: `{tensor.name}[{', '.join('ijkl'[:rank])}]`",
        )
    indices = gather(lambda item: _index_value(check(cx, item), target.pointwise), items)
    for index in indices:
        _warn_negative(cx, tensor, index)
    if target.pointwise:
        shape = _pointwise_shape(indices, target.span)
    else:
        shape = tuple(extent for index in indices for extent in index.type.shape)
    cx.tile(tensor.dtype, shape, target.span)
    return Access(tensor.name, tensor.dtype, tuple(indices), shape, target.pointwise, None, target.span)


def _index_expr(item: ast.Expr | ast.NewAxis | ast.FullAxis, tensor: TensorParam) -> ast.Expr:
    if isinstance(item, ast.NewAxis):
        raise mistake(
            "E0308",
            "`None` adds an axis to a tile, and this is a tensor",
            item.span,
            help="read first, then add the axis: `let v = x[i];` and `v[:, None]`",
        )
    if isinstance(item, ast.FullAxis):
        raise mistake(
            "E0308",
            "a tensor is read with explicit indices",
            item.span,
            label="no `:` here",
            help="name the indices of a tile: `0 +: BLOCK`, with a meta such as `BLOCK = next_pow2(N)`",
        )
    return item


def _index_value(index: Typed, pointwise: bool) -> Typed:
    """One index, of a type that an index may have; E0308 otherwise."""
    if not index.type.dtype.is_integer:
        helps = (
            "a bool selects nothing; mask the access: `x[i] where m`"
            if index.type.dtype.is_bool
            else "convert it: `... as i32`"
        )
        raise mistake(
            "E0308",
            f"an index is an integer, not {index.type.dtype}",
            index.span,
            label=f"this is {article(str(index.type))}",
            help=helps,
        )
    if index.type.rank > 1 and not pointwise:
        raise mistake(
            "E0308",
            "an index is a scalar or a tile with one axis",
            index.span,
            label=f"this is {article(str(index.type))}",
            help="leave the `[:, None]` out: tiles with one axis form all pairs, `x[i, j]`; to gather elements one by "
            "one, write double brackets: `x[[i, j]]`",
        )
    return index


def _warn_negative(cx: Checker, tensor: TensorParam, index: Typed) -> None:
    """`x[-1]` is the last element in Python, and outside the tensor here."""
    number = cx.constant(index)
    if isinstance(number, int) and number < 0:
        cx.warn(
            "W0104",
            f"the index {number} is outside of `{tensor.name}`",
            index.span,
            help="indices do not count from the end: for the last element, write `N - 1` with the dim's name",
        )


def _pointwise_shape(indices: list[Typed], span: Span) -> tuple[Extent, ...]:
    shape: tuple[Extent, ...] = ()
    for index in indices:
        together = broadcast_shapes(shape, index.type.shape)
        if together is None:
            raise mistake(
                "E0305",
                "the indices of a gather do not broadcast together",
                span,
                notes=(f"shapes {show_shape(shape)} and {show_shape(index.type.shape)}",),
                help="for all pairs of rows and columns, write single brackets: `x[i, j]`",
            )
        shape = together
    return shape


def check_mask(cx: Checker, mask: ast.Expr | None, shape: tuple[Extent, ...], check: CheckValue) -> Typed | None:
    """The `where` clause: bool, of a shape that broadcasts to the accessed one."""
    if mask is None:
        return None
    value = check(cx, mask)
    if not value.type.dtype.is_bool:
        helps = "compare it: `mask != 0`" if value.type.dtype.is_integer else "write a comparison, such as `i < N`"
        raise mistake(
            "E0312",
            "`where` needs a bool mask",
            mask.span,
            label=f"this is {article(str(value.type))}",
            help=helps,
        )
    if not broadcasts_to(value.type.shape, shape):
        raise mistake(
            "E0313",
            "the mask does not fit the shape that is accessed",
            mask.span,
            label=f"this is {article(str(value.type))}",
            notes=(f"the access covers {show_shape(shape)}",),
            help=fitting_help("mask", value.type.shape, shape),
        )
    return value


def fitting_help(name: str, shape: tuple[Extent, ...], target: tuple[Extent, ...]) -> str:
    """What would bring a value of `shape` into `target`, if something simple would."""
    if len(shape) == 1 and len(target) == 2 and shape[0] == target[0]:
        return f"add an axis: `{name}[:, None]`"
    if len(shape) == 2 and shape[::-1] == target:
        return f"turn it: `transpose({name})`"
    return ""


def check_indexed_tile(cx: Checker, expr: ast.Index, base: Typed) -> Typed:
    """`v[...]` where v is a tile: a view of it, if neither clauses nor a gather ask for more."""
    clause = expr.mask or expr.other
    if clause is not None:
        raise mistake(
            "E0335",
            f"`where` and `else` belong to reads of tensors, and `{expr.base.text}` is {article(str(base.type))}",
            clause.span,
            help="choose between two values with `select(mask, a, b)`",
        )
    if expr.pointwise:
        raise _not_a_view(expr, base, expr.span)
    return check_view(cx, expr, base)


def check_view(cx: Checker, expr: ast.Index | ast.View, base: Typed) -> Typed:
    """`v[:, None]`: every `:` keeps an axis, every `None` adds one of extent 1."""
    shape: list[Extent] = []
    rest = list(base.type.shape)
    for item in expr.items:
        if isinstance(item, ast.NewAxis):
            shape.append(1)
        elif not isinstance(item, ast.FullAxis):
            raise _not_a_view(expr, base, item.span)
        elif not rest:
            raise mistake(
                "E0335",
                f"{_called(expr)} has {base.type.rank} axes, and there are more `:`",
                expr.span,
                notes=(f"it is {article(str(base.type))}",),
            )
        else:
            shape.append(rest.pop(0))
    shape += rest
    return Reshape(base, type=cx.tile(base.type.dtype, tuple(shape), expr.span), span=expr.span)


def _called(expr: ast.Index | ast.View) -> str:
    """What a message calls the value that is indexed."""
    return f"`{expr.base.text}`" if isinstance(expr, ast.Index) else "this value"


def _not_a_view(expr: ast.Index | ast.View, base: Typed, span: Span) -> Mistake:
    return mistake(
        "E0335",
        f"{_called(expr)} is {article(str(base.type))}, and tiles are not indexed",
        span,
        notes=("only `:` and `None` may stand between the brackets: `v[:, None]` adds an axis",),
        help="index the tensor instead when you read it; to pick by position, use `select` or a reduction",
    )
