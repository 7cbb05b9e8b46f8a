"""One function per kind of statement. A statement gives the typed statements it stands for, usually one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tilelang.diagnostics import Label
from tilelang.dtypes import I64, DType, wider
from tilelang.semantics.broadcasting import broadcasts_to, same_shape
from tilelang.semantics.builtins import BUILTINS
from tilelang.semantics.builtins.effects import assertion, printing
from tilelang.semantics.calls import check_arguments, check_builtin
from tilelang.semantics.context import Checker
from tilelang.semantics.expressions import check_expr, check_exprs, check_value
from tilelang.semantics.inlining import check_fn_call, settled_results
from tilelang.semantics.literals import Literal, article, coerce, convert, literal, settle
from tilelang.semantics.mistakes import Mistake, known, mistake
from tilelang.semantics.operators import unify
from tilelang.semantics.stores import apply_operator, check_store
from tilelang.semantics.typed import (
    Atomic,
    Bind,
    Evaluate,
    For,
    If,
    Inlined,
    Read,
    Return,
    Statement,
    Typed,
    Var,
    While,
)
from tilelang.syntax import ast


def check_statements(cx: Checker, stmts: Sequence[ast.Stmt]) -> tuple[Statement, ...]:
    """All statements; one that is wrong is reported and left out, and the names it declares stay unusable."""
    result: list[Statement] = []
    for place, stmt in enumerate(stmts):
        try:
            cx.count_inlined(stmt.span)
            result += _RULES[type(stmt)](cx, stmt)
        except Mistake as wrong:
            cx.report(wrong)
        if isinstance(stmt, ast.Return) and not cx.call_stack and place + 1 < len(stmts):
            cx.warn(
                "W0103",
                "this can never run",
                stmts[place + 1].span.to(stmts[-1].span),
                others=(Label(stmt.span, "the program ends here"),),
                help="remove it",
            )
    return tuple(result)


def check_block(cx: Checker, block: ast.Block | None) -> tuple[Statement, ...]:
    return check_statements(cx, block.body) if block is not None else ()


# --- variables -------------------------------------------------------------------------------------


def _let(cx: Checker, stmt: ast.Let) -> list[Statement]:
    for ident in stmt.names:
        _set(cx, ident, None)
    value, results = _right_side(cx, stmt.value, len(stmt.names), stmt)
    made: list[Var] = []
    for ident, result in zip(stmt.names, results, strict=True):
        var = cx.new_var(ident.text, settle(result).type)
        made.append(var)
        _set(cx, ident, Read(var, type=var.type, span=ident.span))
        number = cx.constant(result)
        if number is not None and not stmt.mutable:
            cx.constants[var] = number
    bound = settled_results(value) if isinstance(value, Inlined) else settle(value)
    return [Bind(tuple(made), bound, span=stmt.span)]


def _set(cx: Checker, ident: ast.Ident, value: Typed | None) -> None:
    meaning = cx.names.meaning(ident)
    if meaning is not None:
        cx.values[meaning] = value


def _right_side(cx: Checker, expr: ast.Expr, count: int, stmt: ast.Stmt) -> tuple[Typed, tuple[Typed, ...]]:
    """The value of `let a, b = f(x);` and one result per name."""
    if isinstance(expr, ast.Call) and expr.func.text in cx.names.fns and expr.func.text not in BUILTINS:
        if expr.func.text in cx.names.recursive:
            raise known()
        call = check_fn_call(cx, expr)
        if len(call.results) == count != 1:
            return call, call.results
        if len(call.results) != 1:
            raise _wrong_count(count, len(call.results), expr, stmt)
    if count != 1:
        check_expr(cx, expr)
        raise _wrong_count(count, 1, expr, stmt)
    value = check_expr(cx, expr)
    return value, (value,)


def _wrong_count(names: int, values: int, expr: ast.Expr, stmt: ast.Stmt) -> Mistake:
    given = "no value" if values == 0 else "one value" if values == 1 else f"{values} values"
    helps = "" if values else "add a `return` to the fn, or call it as a statement"
    return mistake(
        "E0317",
        f"{names} {'name' if names == 1 else 'names'} on the left, {given} on the right",
        stmt.span,
        help=helps or f"write {values} {'name' if values == 1 else 'names'}, with `_` for what you do not need",
    )


def _assign(cx: Checker, stmt: ast.Assign) -> list[Statement]:
    targets = [_target(cx, ident) for ident in stmt.names]
    if stmt.op is not None:
        value = _compound(cx, stmt, targets)
        results: tuple[Typed, ...] = (value,)
    else:
        value, results = _right_side(cx, stmt.value, len(stmt.names), stmt)
    if any(t is None for t in targets):
        raise known()
    variables = [t for t in targets if t is not None]
    fitted = [_fit(result, var, stmt) for result, var in zip(results, variables, strict=True)]
    several = isinstance(value, Inlined) and len(fitted) != 1
    bound: Typed = replace(value, results=tuple(fitted)) if several else fitted[0]  # type: ignore[call-arg]
    return [Bind(tuple(variables), bound, declares=False, span=stmt.span)]


def _target(cx: Checker, ident: ast.Ident) -> Var | None:
    meaning = cx.names.meaning(ident)
    value = cx.values.get(meaning) if meaning is not None else None
    return value.var if isinstance(value, Read) else None


def _compound(cx: Checker, stmt: ast.Assign, targets: list[Var | None]) -> Typed:
    """`a += v` is `a = a + v`."""
    value = check_expr(cx, stmt.value)
    if len(targets) != 1:
        raise mistake("E0317", f"`{stmt.op}=` changes one variable at a time", stmt.span)
    if targets[0] is None:
        raise known()
    old = Read(targets[0], type=targets[0].type, span=stmt.names[0].span)
    return apply_operator(cx, stmt.op or "", old, value, stmt)


def _fit(value: Typed, var: Var, stmt: ast.Stmt) -> Typed:
    """The value in the type of the variable it is assigned to: same shape, no narrowing."""
    fitted = coerce(value, var.type.dtype, f"the variable `{var.name}`")
    if not same_shape(fitted.type.shape, var.type.shape):
        helps = "declare the variable with the shape it will have, for example with `zeros([...], f32)`"
        if fitted.type.is_scalar or broadcasts_to(fitted.type.shape, var.type.shape):
            shape = ", ".join(map(str, var.type.shape))
            helps = f"to fill the variable, write `broadcast_to(..., [{shape}])`"
        raise mistake(
            "E0316",
            f"`{var.name}` keeps its shape, and the new value has another",
            stmt.span,
            notes=(f"`{var.name}` is {article(str(var.type))}", f"the value is {article(str(fitted.type))}"),
            help=helps,
        )
    return fitted


# --- calls as statements ---------------------------------------------------------------------------


def _expr_stmt(cx: Checker, stmt: ast.ExprStmt) -> list[Statement]:
    call = stmt.value
    if not isinstance(call, ast.Call):
        check_expr(cx, call)
        raise mistake("E0334", "this computes a value and drops it", stmt.span, help="bind it with `let`, or remove it")
    name = call.func.text
    if name in ("assert", "print"):
        args = check_arguments(cx, BUILTINS[name], call)
        return [assertion(args) if name == "assert" else printing(args)]
    if name in BUILTINS:
        value = check_builtin(cx, BUILTINS[name], call)
        if isinstance(value, Atomic):
            return [Evaluate(value, span=stmt.span)]
        raise mistake(
            "E0334",
            f"`{name}` computes a value, which is dropped here",
            stmt.span,
            help=f"bind it: `let v = {name}(...);`",
        )
    if name not in cx.names.fns or name in cx.names.recursive:
        raise known()
    return [Evaluate(settled_results(check_fn_call(cx, call)), span=stmt.span)]


# --- control flow ----------------------------------------------------------------------------------


def check_condition(cx: Checker, expr: ast.Expr, what: str) -> Typed:
    """The condition of `if` or `while`: a scalar bool, or E0306."""
    value = check_value(cx, expr)
    type = value.type
    if not type.is_scalar:
        title = f"the condition of `{what}` is a tile, and a program goes one way as a whole"
        helps = "write `any(...)` or `all(...)`; to choose element by element, `select(mask, a, b)`"
        raise mistake("E0306", title, expr.span, label=f"this is {article(str(type))}", help=helps)
    if not type.dtype.is_bool:
        helps = "compare it: `... != 0`" if type.dtype.is_integer else "compare it: `... != 0.0`"
        raise mistake("E0306", f"the condition of `{what}` must be bool, not {type.dtype}", expr.span, help=helps)
    return value


def _if(cx: Checker, stmt: ast.If) -> list[Statement]:
    condition = cx.attempt(lambda: check_condition(cx, stmt.condition, "if"))
    then, orelse = check_block(cx, stmt.then), check_block(cx, stmt.orelse)
    return [If(condition, then, orelse, span=stmt.span)] if condition is not None else []


def _while(cx: Checker, stmt: ast.While) -> list[Statement]:
    condition = cx.attempt(lambda: check_condition(cx, stmt.condition, "while"))
    body = check_block(cx, stmt.body)
    return [While(condition, body, span=stmt.span)] if condition is not None else []


def _for(cx: Checker, stmt: ast.For) -> list[Statement]:
    bounds = cx.attempt(lambda: _bounds(cx, stmt))
    if bounds is None:
        _set(cx, stmt.var, None)
        check_block(cx, stmt.body)
        return []
    var = cx.new_var(stmt.var.text, bounds[0].type)
    _set(cx, stmt.var, Read(var, type=var.type, span=stmt.var.span))
    return [For(var, *bounds, check_block(cx, stmt.body), span=stmt.span)]


def _bounds(cx: Checker, stmt: ast.For) -> tuple[Typed, Typed, Typed]:
    """`lo`, `hi`, `step` of `range(hi)`, `range(lo, hi)` or `range(lo, hi, step)`, in one integer type."""
    values = check_exprs(cx, *stmt.args)
    for value in values:
        if not value.type.is_scalar or not value.type.dtype.is_integer:
            helps = "round it down first: `floor(v) as i32`" if value.type.dtype.is_float else ""
            raise mistake(
                "E0329",
                "the arguments of `range` are integer scalars",
                value.span,
                label=f"this is {article(str(value.type))}",
                help=helps,
            )
    if len(values) == 3 and cx.constant(values[2]) == 0:
        raise mistake(
            "E0330",
            "the step of `range` is zero",
            values[2].span,
            label="the loop would never end",
            help="a positive step counts up, a negative one down",
        )
    zero, one = literal(0, stmt.var.span), literal(1, stmt.var.span)
    lo, hi, step = {1: [zero, *values, one], 2: [*values, one], 3: values}[len(values)]
    if all(isinstance(v, Literal) for v in values):
        dtype = _loop_type(values)
        return convert(lo, dtype), convert(hi, dtype), convert(step, dtype)
    lo, hi, step = unify((lo, hi, step), "the arguments of `range`", stmt.args[0].span.to(stmt.args[-1].span))
    return lo, hi, step


def _loop_type(values: Sequence[Typed]) -> DType:
    """The type of a loop over literals alone: i32, or i64 if one of them needs it."""
    dtype = values[0].type.dtype
    for value in values[1:]:
        dtype = wider(dtype, value.type.dtype) or I64
    return dtype


def _return(cx: Checker, stmt: ast.Return) -> list[Statement]:
    if cx.call_stack:
        raise mistake(
            "E0331",
            "`return` is the last statement of a fn",
            stmt.span,
            label="not the last statement here",
            notes=("a fn is copied into its caller, and has one end",),
            help="assign to a `var` in the branches and return it at the end",
        )
    if stmt.values:
        raise mistake(
            "E0331",
            "a kernel returns no values",
            stmt.span,
            help="store results into an `out` tensor: `y[i] = v;`",
        )
    return [Return(span=stmt.span)]


_RULES: dict[type[ast.Stmt], Callable[[Checker, Any], list[Statement]]] = {
    ast.Let: _let,
    ast.Assign: _assign,
    ast.Store: check_store,
    ast.ExprStmt: _expr_stmt,
    ast.For: _for,
    ast.While: _while,
    ast.If: _if,
    ast.Return: _return,
}
