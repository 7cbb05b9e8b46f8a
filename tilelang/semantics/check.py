"""Checking kernels: one specialisation for the builder, or a whole file for `tilec check`."""

from __future__ import annotations

from collections.abc import Mapping

from tilelang.diagnostics import Diagnostic, Sink
from tilelang.dtypes import DType
from tilelang.semantics.binding import Binding
from tilelang.semantics.constants import Value
from tilelang.semantics.context import Checker
from tilelang.semantics.evaluation import evaluate
from tilelang.semantics.extents import Sym, SymBool
from tilelang.semantics.mistakes import LimitedSink, Mistake, mistake
from tilelang.semantics.names import Names
from tilelang.semantics.spaces import show, spaces
from tilelang.semantics.statements import check_block
from tilelang.semantics.typed import Read, ScalarParam, Statement, TensorParam, TypedKernel
from tilelang.semantics.types import MAX_RANK, TileType
from tilelang.semantics.variants import Variant, dim_symbols, merge, variants
from tilelang.syntax import ast
from tilelang.syntax.limits import deep_trees


def check_kernel(names: Names, kernel: ast.KernelDef, binding: Binding, sink: Sink) -> TypedKernel:
    """The kernel typed for one binding of its metas; what is wrong is reported and left out."""
    spaces(names, kernel, sink)
    own = LimitedSink()
    typed = check_specialised(names, kernel, binding.metas, own)
    for diagnostic in own.diagnostics:
        sink.report(diagnostic)
    return typed


def check_module(names: Names, sink: Sink) -> list[TypedKernel]:
    """Every kernel of a file without arguments, as `tilec check` does; gives each for its default metas.

    Dims are unknown and metas computed from them symbolic, so that only what holds for no size is an
    error. The choices of metas are tried one at a time, see `tilelang.semantics.variants`.
    """
    checked: list[TypedKernel] = []
    for kernel in names.module.kernels:
        found = spaces(names, kernel, sink)
        results: list[tuple[Variant, list[Diagnostic]]] = []
        for variant in variants(names, kernel, found, sink):
            own = LimitedSink()
            typed = check_specialised(names, kernel, variant.metas, own)
            _check_grid(names, kernel, variant.metas, own)
            if variant.changed is None:
                checked.append(typed)
            results.append((variant, own.diagnostics))
        merge(results, sink)
    return checked


def _check_grid(names: Names, kernel: ast.KernelDef, metas: Mapping[str, Value], sink: Sink) -> None:
    """Every grid extent is an int, as far as that can be known without arguments."""
    env = {**dim_symbols(names, kernel), **metas}
    for extent in kernel.grid:
        try:
            value = evaluate(extent, names.meanings, names.consts, env)
            if isinstance(value, (bool, float, SymBool, DType)) or (isinstance(value, int) and value < 0):
                raise mistake(
                    "E0408",
                    f"the grid cannot have {show(value)} programs along an axis",
                    extent.span,
                    help="grid extents are ints from 0 on, such as `M` or `cdiv(N, BLOCK)`",
                )
        except Mistake as wrong:
            for diagnostic in wrong.diagnostics:
                sink.report(diagnostic)


def check_specialised(names: Names, kernel: ast.KernelDef, metas: Mapping[str, Value], sink: Sink) -> TypedKernel:
    """As `check_kernel`, from the metas alone; a meta that depends on dims may be a `Sym`."""
    with deep_trees():
        cx = Checker(names, kernel, metas, sink)
        params: list[TensorParam | ScalarParam] = []
        hidden: list[str] = []
        for param in kernel.params:
            typed = cx.attempt(lambda param=param: _param(cx, param, hidden))  # type: ignore[misc]
            if typed is not None:
                params.append(typed)
        body = _body(cx, kernel)
    dims = (*names.dims[kernel.name.text], *hidden)
    grid = tuple(_grid_fact(names, kernel, extent, metas) for extent in kernel.grid)
    values: Mapping = dict(metas)  # with symbols only while a file is checked without arguments
    return TypedKernel(kernel.name.text, tuple(params), dims, body, values, grid, span=kernel.span)


def _grid_fact(names: Names, kernel: ast.KernelDef, extent: ast.Expr, metas: Mapping[str, Value]) -> int | str | None:
    """What is known of a grid extent before launch: a number, the dim that it is, or None."""
    if isinstance(extent, ast.Name) and extent.text in names.dims[kernel.name.text]:
        return extent.text
    try:
        value = evaluate(extent, names.meanings, names.consts, {**dim_symbols(names, kernel), **metas})
    except Mistake:
        return None  # reported when the grid is checked
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _body(cx: Checker, kernel: ast.KernelDef) -> tuple[Statement, ...]:
    try:
        return check_block(cx, kernel.body)
    except RecursionError:  # nesting adds up along inlined calls; each file alone is bounded by the parser
        cx.sink.error(
            "E0601",
            f"the fns that `{kernel.name.text}` calls are nested too deep",
            kernel.name.span,
            help="use intermediate `let`s, and fewer calls of fns inside fns",
        )
        return ()


def _param(cx: Checker, param: ast.Param, hidden: list[str]) -> TensorParam | ScalarParam:
    name, dtype = param.name.text, cx.dtype(param.dtype)
    if param.dims is None:
        if param.mode != "in":
            raise mistake(
                "E0402",
                f"the scalar `{name}` cannot be `{param.mode}`",
                param.span,
                help=f"results go into tensors: `{param.mode} {name}: {dtype}[1]`",
            )
        var = cx.new_var(name, TileType(dtype))
        meaning = cx.names.meaning(param.name)
        if meaning is not None:
            cx.values[meaning] = Read(var, type=var.type, span=param.name.span)
        return ScalarParam(var)
    if len(param.dims) > MAX_RANK:
        raise mistake(
            "E0309",
            f"a tensor has at most {MAX_RANK} axes",
            param.span,
            label=f"`{name}` has {len(param.dims)}",
        )
    dims = tuple(_dim(cx, extent, f"{name}.{axis}", hidden) for axis, extent in enumerate(param.dims))
    tensor = TensorParam(name, dtype, dims, param.mode)
    cx.tensors[name] = tensor
    return tensor


def _dim(cx: Checker, extent: ast.Expr, hidden_name: str, hidden: list[str]) -> int | str:
    """One extent of a tensor: an int, a dim's name, or a hidden name for an expression over dims."""
    dims = cx.names.dims[cx.kernel.name.text]
    if isinstance(extent, ast.Name) and extent.text in dims:
        return extent.text
    env = {**dim_symbols(cx.names, cx.kernel), **cx.metas}
    value = evaluate(extent, cx.names.meanings, cx.names.consts, env)
    if isinstance(value, Sym):
        hidden.append(hidden_name)
        return hidden_name
    if isinstance(value, bool) or not isinstance(value, int):
        raise mistake("E0402", "the extent of a tensor is an int", extent.span)
    if value < 0:
        raise mistake("E0402", f"the extent of a tensor cannot be {value}", extent.span)
    return value
