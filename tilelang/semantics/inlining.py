"""Calls of `fn`s: the body is checked anew for the types of every call, and becomes part of the caller."""

from __future__ import annotations

from tilelang.diagnostics import Span
from tilelang.dtypes import BOOL
from tilelang.near import nearest
from tilelang.semantics.context import Checker
from tilelang.semantics.definitions import Definition
from tilelang.semantics.expressions import check_expr
from tilelang.semantics.literals import Literal, coerce, settle
from tilelang.semantics.mistakes import Mistake, gather, mistake
from tilelang.semantics.typed import Const, Inlined, Read, Statement, Typed, Var
from tilelang.semantics.types import TileType
from tilelang.syntax import ast


def check_fn_call(cx: Checker, call: ast.Call) -> Inlined:
    """The inlined call, with any number of results.

    A literal argument for a parameter without annotation stays a free literal inside the fn: `scale(x,
    2.0)` works for every float type, and `tile(BM)` may use its parameter as an extent.
    """
    fn = cx.names.fns[call.func.text]
    exprs = _match(fn, call)
    args = gather(lambda pair: _argument(cx, *pair), list(zip(fn.params, exprs, strict=True)))
    with cx.inlining(fn, call.span):
        cx.count_inlined(call.span)
        params: list[Var] = []
        passed: list[Typed] = []
        for param, arg in zip(fn.params, args, strict=True):
            if isinstance(arg, Literal):
                _set(cx, param.name, arg)
                continue
            var = cx.new_var(param.name.text, arg.type)
            if isinstance(arg, Const):
                cx.constants[var] = arg.value
            _set(cx, param.name, Read(var, type=arg.type, span=param.name.span))
            params.append(var)
            passed.append(arg)
        body, results = _body(cx, fn)
    type = results[0].type if results else TileType(BOOL)
    return Inlined(fn.name.text, tuple(params), tuple(passed), body, results, type=type, span=call.span)


def single_result(call: Inlined) -> Typed:
    """The value of a call with one result; a fn that only computes a constant gives a free literal."""
    result = call.results[0]
    if isinstance(result, Literal) and not call.body and not call.params:
        return result
    return settled_results(call)


def settled_results(call: Inlined) -> Inlined:
    """The call with results that are literals settled."""
    results = tuple(settle(r) for r in call.results)
    type = results[0].type if results else call.type
    return Inlined(call.fn, call.params, call.args, call.body, results, type=type, span=call.span)


def _match(fn: ast.FnDef, call: ast.Call) -> list[ast.Expr]:
    """One expression per parameter, by place or by keyword."""
    names = [p.name.text for p in fn.params]
    if len(call.args) > len(names):
        given = f"{len(names)} argument{'' if len(names) == 1 else 's'}, and {len(call.args)} are given"
        raise _wrong_call(fn, f"takes {given}", call.args[len(names)].span)
    matched = dict(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        name = keyword.name.text
        if name not in names:
            near = nearest(name, names)
            help = f"did you mean `{near}`?" if near else ""
            raise _wrong_call(fn, f"has no parameter `{name}`", keyword.name.span, help)
        if name in matched:
            raise _wrong_call(fn, f"is given the argument `{name}` twice", keyword.span)
        matched[name] = keyword.value
    missing = [n for n in names if n not in matched]
    if missing:
        raise _wrong_call(fn, f"needs an argument for `{missing[0]}`", call.span)
    return [matched[n] for n in names]


def _wrong_call(fn: ast.FnDef, what: str, span: Span, help: str = "") -> Mistake:
    params = ", ".join(p.name.text for p in fn.params)
    note = f"it is fn {fn.name.text}({params})"
    return mistake("E0318", f"`{fn.name.text}` {what}", span, notes=(note,), help=help)


def _argument(cx: Checker, param: ast.FnParam, expr: ast.Expr) -> Typed:
    if param.dtype is None:
        return check_expr(cx, expr)
    dtype = cx.dtype(param.dtype)
    return coerce(check_expr(cx, expr), dtype, f"the parameter `{param.name.text}`")


def _set(cx: Checker, ident: ast.Ident, value: Typed) -> None:
    meaning: Definition | None = cx.names.meaning(ident)
    if meaning is not None:
        cx.values[meaning] = value


def _body(cx: Checker, fn: ast.FnDef) -> tuple[tuple[Statement, ...], tuple[Typed, ...]]:
    """The statements before the final `return`, and its values. A fn with a mistake in it gives no values."""
    from tilelang.semantics.statements import check_statements

    stmts = fn.body.body
    last = stmts[-1] if stmts else None
    before = stmts[:-1] if isinstance(last, ast.Return) else stmts
    body = check_statements(cx, before)
    if not isinstance(last, ast.Return):
        return body, ()
    cx.count_inlined(last.span)
    return body, tuple(gather(lambda value: check_expr(cx, value), last.values))
