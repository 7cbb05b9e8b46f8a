"""Writing into tensors: `y[i] = v;` and `y[i] += v;`."""

from __future__ import annotations

from dataclasses import replace

from tilelang.diagnostics import Label
from tilelang.semantics.accesses import check_access, check_mask, fitting_help, tensor_of
from tilelang.semantics.broadcasting import broadcasts_to
from tilelang.semantics.builtins.declare import Access
from tilelang.semantics.calls import require_inout
from tilelang.semantics.context import Checker
from tilelang.semantics.definitions import Role
from tilelang.semantics.expressions import check_expr, check_exprs, check_value
from tilelang.semantics.literals import article, coerce
from tilelang.semantics.mistakes import known, mistake
from tilelang.semantics.operators import check_binary
from tilelang.semantics.typed import Bind, Const, Dim, Load, Read, Statement, Store, TensorParam, Typed
from tilelang.semantics.types import TileType
from tilelang.syntax import ast


def check_store(cx: Checker, stmt: ast.Store) -> list[Statement]:
    meaning = cx.names.meaning(stmt.target.base)
    if meaning is None:
        check_exprs(cx, stmt.value)
        raise known()
    name = meaning.name
    if meaning.role is not Role.TENSOR:
        raise mistake(
            "E0338",
            f"`{name}` is no tensor, and only tensors are written to in part",
            stmt.target.span,
            label=f"`{name}` is a {meaning.role}",
            others=(Label(meaning.span, "declared here"),),
            notes=("tiles never change; a `var` is replaced as a whole",),
            help=f"choose elements with `select`: `{name} = select(mask, new, {name});`",
        )
    tensor = tensor_of(cx, stmt.target.base)
    if tensor.mode == "in":
        raise mistake(
            "E0314",
            f"`{name}` is read-only",
            stmt.target.span,
            label="written to here",
            others=(Label(meaning.span, "the parameter"),),
            help=f"declare it `out {name}: ...` or `inout {name}: ...`",
        )
    if stmt.op is not None:
        require_inout(cx, name, tensor.mode, f"`{stmt.op}=`", stmt.target.span)
    access = check_access(cx, stmt.target, tensor, check_value)
    mask = check_mask(cx, stmt.mask, access.shape, check_value)
    value = check_expr(cx, stmt.value)
    return _stored(cx, stmt, tensor, replace(access, mask=mask), value)


def _stored(cx: Checker, stmt: ast.Store, tensor: TensorParam, access: Access, value: Typed) -> list[Statement]:
    before: list[Statement] = []
    if stmt.op is not None:
        before, access, value = _read_modify(cx, stmt, access, value)
    value = coerce(value, tensor.dtype, f"the store to `{tensor.name}`")
    if not broadcasts_to(value.type.shape, access.shape):
        raise mistake(
            "E0313",
            "the value does not fit the shape that is written",
            stmt.value.span,
            label=f"this is {article(str(value.type))}",
            notes=(f"the store covers {TileType(tensor.dtype, access.shape)}",),
            help=fitting_help("v", value.type.shape, access.shape),
        )
    return [*before, Store(tensor.name, access.indices, value, access.pointwise, access.mask, span=stmt.span)]


def _read_modify(cx: Checker, stmt: ast.Store, access: Access, value: Typed) -> tuple[list[Statement], Access, Typed]:
    """`y[i] += v` is a load, an addition and a store; its indices and mask are computed once."""
    before: list[Statement] = []

    def once(part: Typed) -> Typed:
        if isinstance(part, (Const, Read, Dim)):
            return part
        var = cx.new_var("index", part.type)
        before.append(Bind((var,), part, span=part.span))
        return Read(var, type=var.type, span=part.span)

    indices = tuple(once(index) for index in access.indices)
    mask = once(access.mask) if access.mask is not None else None
    type = cx.tile(access.dtype, access.shape, access.span)
    old = Load(access.tensor, indices, access.pointwise, mask, type=type, span=access.span)
    new = apply_operator(cx, stmt.op or "", old, value, stmt)
    return before, replace(access, indices=indices, mask=mask), new


def apply_operator(cx: Checker, op: str, old: Typed, value: Typed, stmt: ast.Stmt) -> Typed:
    # The spans in messages are those of the statement: the operands have none in common.
    node = ast.Binary(op, ast.BoolLit(True), ast.BoolLit(True), span=stmt.span)
    return check_binary(cx, op, old, value, node, stmt.span)
