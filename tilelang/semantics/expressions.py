"""The type of every expression: one function per kind of node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilelang.diagnostics import InternalError
from tilelang.dtypes import BOOL, I64
from tilelang.semantics.accesses import check_access, check_indexed_tile, check_mask, check_view, tensor_of
from tilelang.semantics.broadcasting import broadcasts_to
from tilelang.semantics.constants import NAMED
from tilelang.semantics.context import Checker
from tilelang.semantics.definitions import Definition, Role
from tilelang.semantics.evaluation import left_spine
from tilelang.semantics.extents import Extent, Sym, SymBool
from tilelang.semantics.literals import Literal, article, coerce, convert, fits, literal, settle
from tilelang.semantics.mistakes import Mistake, gather, known, mistake
from tilelang.semantics.operators import check_binary, check_unary
from tilelang.semantics.typed import Cast, Const, Dim, IndexRange, Load, Typed
from tilelang.semantics.types import TileType
from tilelang.semantics.walking import inner_first
from tilelang.syntax import ast


def check_expr(cx: Checker, expr: ast.Expr) -> Typed:
    """The typed form of an expression, which may be a free `Literal`; raises `Mistake`."""
    return _RULES[type(expr)](cx, expr)


def check_value(cx: Checker, expr: ast.Expr) -> Typed:
    """As `check_expr`, with a literal settled to the type it has alone."""
    return settle(check_expr(cx, expr))


def check_exprs(cx: Checker, *exprs: ast.Expr) -> list[Typed]:
    """All of them, with the mistakes of all."""
    return gather(lambda expr: check_expr(cx, expr), exprs)


def constant_extent(cx: Checker, expr: ast.Expr, what: str) -> Extent:
    """A compile-time int: an extent of a tile, after `+:` or in a shape; E0310 otherwise."""
    value = check_expr(cx, expr)
    number = cx.constant(value)
    if number is None:
        raise _not_constant(expr, value, what)
    if isinstance(number, (bool, float, SymBool)):
        raise mistake("E0310", f"{what} must be an int", expr.span, label=f"this is {article(str(value.type))}")
    return number


def _not_constant(expr: ast.Expr, value: Typed, what: str) -> Mistake:
    notes = ("a tile's extents are fixed when the kernel is compiled",)
    dim = next((node.name for node in inner_first(value) if isinstance(node, Dim)), None)
    if dim is not None:
        return mistake(
            "E0310",
            f"{what} must be known when the kernel is compiled",
            expr.span,
            label=f"the dim `{dim}` is known at launch only",
            notes=notes,
            help=f"add a meta, `[BLOCK = next_pow2({dim})]`, and write `BLOCK` here; "
            "what lies outside a tensor is not read or written",
        )
    return mistake(
        "E0310",
        f"{what} must be known when the kernel is compiled",
        expr.span,
        label="computed while the kernel runs",
        notes=notes,
        help="use a number, a `const`, a meta, or an expression over these",
    )


# --- leaves ----------------------------------------------------------------------------------------


def _number(cx: Checker, expr: ast.IntLit | ast.FloatLit) -> Typed:
    return literal(expr.value, expr.span)


def _bool(cx: Checker, expr: ast.BoolLit) -> Typed:
    return Const(expr.value, type=TileType(BOOL), span=expr.span)


def _string(cx: Checker, expr: ast.StrLit) -> Typed:
    raise mistake(
        "E0336",
        "a text is no value",
        expr.span,
        help='texts stand in `assert(condition, "text")` and `print("text", value)` only',
    )


def _list(cx: Checker, expr: ast.ListExpr) -> Typed:
    raise mistake(
        "E0337",
        "a list is no value",
        expr.span,
        help="lists are shapes, axes and the operands of `cat`; an index tile is `0 +: N`",
    )


def _name(cx: Checker, expr: ast.Name) -> Typed:
    meaning = cx.names.meaning(expr)
    if meaning is None:
        raise known()
    if meaning.role in (Role.CONST, Role.META, Role.BUILTIN):
        return _constant_name(cx, expr, meaning)
    if meaning.role is Role.DIM:
        return Dim(meaning.name, type=TileType(I64), span=expr.span)
    if meaning.role is Role.TENSOR:
        raise _bare_tensor(cx, expr)
    value = cx.values.get(meaning)
    if value is None:
        raise known()
    return cx.placed(value, expr.span)


def _constant_name(cx: Checker, expr: ast.Name, meaning: Definition) -> Typed:
    constants = {Role.CONST: cx.names.consts, Role.META: cx.metas, Role.BUILTIN: NAMED}[meaning.role]
    if meaning.name not in constants:
        raise known()
    value = constants[meaning.name]
    if isinstance(value, (bool, SymBool)):
        return Const(value, type=TileType(BOOL), span=expr.span)  # type: ignore[arg-type]
    if isinstance(value, (int, float, Sym)):
        return literal(value, expr.span)
    raise mistake(
        "E0211",
        f"`{expr.text}` is an element type, not a value",
        expr.span,
        help=f"to convert a value, write `value as {expr.text}`",
    )


def _bare_tensor(cx: Checker, expr: ast.Name) -> Mistake:
    tensor = cx.tensors.get(expr.text)
    rank = len(tensor.dims) if tensor is not None else 1
    tiles = ", ".join("0 +: BLOCK" for _ in range(rank))
    return mistake(
        "E0210",
        f"`{expr.text}` is a tensor, and a tensor is no value",
        expr.span,
        label="read a tile of it first",
        help=f"read a part of it: `{expr.text}[{tiles}]`; its extents have names: the dims of the parameter",
    )


# --- operators -------------------------------------------------------------------------------------


def _unary(cx: Checker, expr: ast.Unary) -> Typed:
    return check_unary(cx, expr.op, check_expr(cx, expr.operand), expr.span)


def _binary(cx: Checker, expr: ast.Binary) -> Typed:
    """Down the left spine in a loop: a sum of 2,000 terms is as deep as it is long."""
    first, nodes = left_spine(expr)
    terms = gather(lambda node: _term(cx, node), [first, *nodes])
    value = terms[0]
    for node, right in zip(nodes, terms[1:], strict=True):
        span = first.span.to(node.span)
        if node.op == "+:":
            value = _index_range(cx, node, value, right)
        else:
            value = check_binary(cx, node.op, value, right, node, span)
    return value


def _term(cx: Checker, node: ast.Expr) -> Typed:
    """The first term of a spine, or the right operand of a node; what follows `+:` is an extent."""
    if not isinstance(node, ast.Binary):
        return check_expr(cx, node)
    if node.op == "+:":
        return literal(constant_extent(cx, node.right, "the extent after `+:`"), node.right.span)
    return check_expr(cx, node.right)


def _index_range(cx: Checker, node: ast.Binary, start: Typed, length: Typed) -> Typed:
    """`start +: N`: an integer scalar makes a tile of its own type; a literal makes i32."""
    extent = cx.constant(length)
    if not isinstance(extent, (int, Sym)):
        raise InternalError("semantics", f"the extent {extent} is no int")
    start = settle(start)
    if not start.type.is_scalar or not start.type.dtype.is_integer:
        helps = "convert it: `... as i32`" if start.type.is_scalar else "to shift an index tile, add to it: `tile + k`"
        raise mistake(
            "E0328",
            "`+:` starts at an integer scalar",
            node.left.span,
            label=f"this is {article(str(start.type))}",
            help=helps,
        )
    return IndexRange(start, type=cx.tile(start.type.dtype, (extent,), node.span), span=node.span)


def _cast(cx: Checker, expr: ast.Cast) -> Typed:
    value = check_expr(cx, expr.value)
    dtype = cx.dtype(expr.dtype)
    if isinstance(value, Literal) and fits(value.value, dtype):
        return cx.placed(convert(value, dtype), expr.span)
    # `300 as u8` and `1.5 as i32` are conversions like any other.
    value = settle(value)
    if value.type.dtype == dtype:
        return cx.placed(value, expr.span)
    return Cast(value, type=value.type.with_dtype(dtype), span=expr.span)


# --- index brackets --------------------------------------------------------------------------------


def _index(cx: Checker, expr: ast.Index) -> Typed:
    meaning = cx.names.meaning(expr.base)
    if meaning is None:
        raise known()
    if meaning.role is not Role.TENSOR:
        return check_indexed_tile(cx, expr, check_value(cx, expr.base))
    return _load(cx, expr)


def _view(cx: Checker, expr: ast.View) -> Typed:
    return check_view(cx, expr, check_value(cx, expr.value))


def _load(cx: Checker, expr: ast.Index) -> Typed:
    tensor = tensor_of(cx, expr.base)
    access = check_access(cx, expr, tensor, check_value)
    mask = check_mask(cx, expr.mask, access.shape, check_value)
    other = None
    if expr.other is not None:
        other = coerce(check_expr(cx, expr.other), tensor.dtype, "the `else` value")
        if not broadcasts_to(other.type.shape, access.shape):
            raise mistake(
                "E0313",
                "the `else` value does not fit the shape that is read",
                expr.other.span,
                label=f"this is {article(str(other.type))}",
                notes=(f"the read gives {TileType(tensor.dtype, access.shape)}",),
            )
    type = cx.tile(tensor.dtype, access.shape, expr.span)
    return Load(tensor.name, access.indices, access.pointwise, mask, other, type=type, span=expr.span)


def _call(cx: Checker, expr: ast.Call) -> Typed:
    from tilelang.semantics.calls import check_call

    return check_call(cx, expr)


_RULES: dict[type[ast.Expr], Callable[[Checker, Any], Typed]] = {
    ast.IntLit: _number,
    ast.FloatLit: _number,
    ast.BoolLit: _bool,
    ast.StrLit: _string,
    ast.Name: _name,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Cast: _cast,
    ast.ListExpr: _list,
    ast.Call: _call,
    ast.Index: _index,
    ast.View: _view,
}
