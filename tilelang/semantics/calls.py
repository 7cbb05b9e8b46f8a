"""Calls: matching arguments with parameters, for built-ins and `fn`s."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.diagnostics import Label, Span
from tilelang.dtypes import DTYPES
from tilelang.near import nearest
from tilelang.semantics.accesses import check_access, check_mask, tensor_of
from tilelang.semantics.builtins import BUILTINS
from tilelang.semantics.builtins.declare import Access, Arguments, Builtin, Kind, Parameter
from tilelang.semantics.context import Checker
from tilelang.semantics.definitions import Role
from tilelang.semantics.expressions import check_expr, check_value, constant_extent
from tilelang.semantics.literals import article
from tilelang.semantics.mistakes import Mistake, gather, known, mistake
from tilelang.semantics.typed import Const, Typed
from tilelang.semantics.walking import walk
from tilelang.syntax import ast

Given = tuple[Parameter, list[ast.Expr]]

LESS_EXACT = ("approx", "tf32")
"""Flags that allow another result."""


def check_call(cx: Checker, call: ast.Call) -> Typed:
    """A call as an expression, which must give one value."""
    from tilelang.semantics.inlining import check_fn_call, single_result

    name = call.func.text
    builtin = BUILTINS.get(name)
    if builtin is not None:
        if builtin.statement:
            raise mistake(
                "E0333",
                f"`{name}` gives no value",
                call.span,
                help=f"write it as a statement: `{name}(...);`",
            )
        return check_builtin(cx, builtin, call)
    if name not in cx.names.fns or name in cx.names.recursive:
        raise known()
    result = check_fn_call(cx, call)
    if len(result.results) != 1:
        count = len(result.results)
        what = "no value" if count == 0 else f"{count} values"
        helps = (
            "call it as a statement"
            if count == 0
            else f"bind them all: `let {', '.join('abcdefgh'[:count])} = {name}(...);`"
        )
        raise mistake("E0333", f"`{name}` gives {what}, and one is needed here", call.span, help=helps)
    return single_result(result)


def check_builtin(cx: Checker, builtin: Builtin, call: ast.Call) -> Typed:
    """Check the arguments, then the built-in's own rule."""
    return builtin.check(cx, check_arguments(cx, builtin, call))


def check_arguments(cx: Checker, builtin: Builtin, call: ast.Call) -> Arguments:
    """Match the arguments with the parameters, and check each for what its parameter may be."""
    matched = match_arguments(builtin, call)
    checked = gather(lambda given: _argument(cx, builtin, *given), matched)
    given = {parameter.name: value for (parameter, _), value in zip(matched, checked, strict=True)}
    spans = {parameter.name: exprs[0].span.to(exprs[-1].span) for parameter, exprs in matched if exprs}
    return Arguments(call, given, spans)


def match_arguments(builtin: Builtin, call: ast.Call) -> list[Given]:
    """Each parameter that is given, with its expressions (one, or for `values` all positional ones)."""
    parameters = list(builtin.parameters)
    matched: dict[str, Given] = {}
    if parameters and parameters[0].kind is Kind.VALUES:
        matched[parameters[0].name] = (parameters[0], list(call.args))
    else:
        if len(call.args) > _most_positional(builtin):
            raise _too_many(builtin, call)
        matched = {p.name: (p, [arg]) for p, arg in zip(parameters, call.args, strict=False)}
    by_name = {p.name: p for p in parameters}
    for keyword in call.keywords:
        name = keyword.name.text
        if name not in by_name:
            near = "axis" if name in ("dim", "axes", "dims") and "axis" in by_name else nearest(name, by_name)
            raise mistake(
                "E0318",
                f"`{builtin.name}` has no argument `{name}`",
                keyword.name.span,
                notes=(f"it is called {builtin.show()}",),
                help=f"did you mean `{near}`?" if near else "",
            )
        if name in matched and matched[name][1]:
            raise mistake("E0318", f"the argument `{name}` is given twice", keyword.span)
        matched[name] = (by_name[name], [keyword.value])
    missing = [p.name for p in parameters if not p.optional and not matched.get(p.name, (p, []))[1]]
    if missing:
        raise mistake(
            "E0318",
            f"`{builtin.name}` needs {_and(missing)}",
            call.span,
            notes=(f"it is called {builtin.show()}: {builtin.doc}",),
        )
    return list(matched.values())


def _most_positional(builtin: Builtin) -> int:
    return sum(not parameter.keyword_only for parameter in builtin.parameters)


def _too_many(builtin: Builtin, call: ast.Call) -> Mistake:
    most, given = _most_positional(builtin), len(call.args)
    helps = f"write it as {builtin.show()}"
    named = next((p for p in builtin.parameters if p.keyword_only), None)
    if named is not None and given == most + 1:
        before = "".join(f"{parameter.name}, " for parameter in builtin.parameters[:most])
        helps = f"name the last one: `{builtin.name}({before}{named.name}=...)`"
    elif builtin.name == "print":
        helps = "print one value at a time"
    elif builtin.name == "reshape":
        helps = "put the extents in square brackets: `reshape(v, [M, N])`"
    if builtin.name in ("max", "min"):
        two = f"`{builtin.name}imum(a, b)`"
        helps = f"`{builtin.name}` reduces one tile; for the larger or smaller of two, write {two}"
    elif builtin.name in ("maximum", "minimum") and given > 2:
        helps = f"nest them: `{builtin.name}(a, {builtin.name}(b, c))`"
    return mistake(
        "E0318",
        f"`{builtin.name}` takes {most} argument{'' if most == 1 else 's'}, and {given} are given",
        call.args[most].span,
        label="one too many",
        help=helps,
    )


def _and(names: Sequence[str]) -> str:
    quoted = [f"`{n}`" for n in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


# --- one argument ----------------------------------------------------------------------------------


def _argument(cx: Checker, builtin: Builtin, parameter: Parameter, exprs: list[ast.Expr]) -> object:
    expr = exprs[0]
    match parameter.kind:
        case Kind.VALUE:
            return check_expr(cx, expr)
        case Kind.VALUES:
            items = list(expr.items) if len(exprs) == 1 and isinstance(expr, ast.ListExpr) else exprs
            return tuple(gather(lambda item: check_expr(cx, item), items))
        case Kind.SHAPE:
            return tuple(gather(lambda item: constant_extent(cx, item, "an extent"), _items(expr)))
        case Kind.DTYPE:
            return _dtype(cx, builtin, expr)
        case Kind.INT:
            return _constant_int(cx, expr, f"`{parameter.name}`")
        case Kind.INTS:
            return tuple(gather(lambda item: _constant_int(cx, item, f"`{parameter.name}`"), _items(expr)))
        case Kind.FLAG:
            return _flag(cx, expr, parameter)
        case Kind.TEXT:
            return _text(builtin, expr)
        case Kind.ACCESS:
            return _access(cx, builtin, expr)


def _items(expr: ast.Expr) -> tuple[ast.Expr, ...]:
    """A list's items; anything else stands for a list of one."""
    return expr.items if isinstance(expr, ast.ListExpr) else (expr,)


def _dtype(cx: Checker, builtin: Builtin, expr: ast.Expr) -> object:
    if isinstance(expr, ast.Name):
        return cx.dtype(expr)
    raise mistake(
        "E0319",
        f"`{builtin.name}` takes an element type here",
        expr.span,
        help=f"name one of {', '.join(DTYPES)}, or a meta that ranges over element types",
    )


def _constant_int(cx: Checker, expr: ast.Expr, what: str) -> int:
    value = constant_extent(cx, expr, what)
    if not isinstance(value, int):
        raise mistake("E0310", f"{what} must be a plain number", expr.span, label="depends on a dim")
    return value


def _flag(cx: Checker, expr: ast.Expr, parameter: Parameter) -> bool:
    value = check_expr(cx, expr)
    if isinstance(value, Const) and value.type.dtype.is_bool:
        if parameter.name in LESS_EXACT:
            _warn_tuned(cx, expr, parameter)
        return value.value is True  # what is not known yet counts as false
    late = value.type.dtype.is_bool and not value.type.shape
    label = "this is no compile-time constant" if late else f"this is {article(str(value.type))}"
    helps = "write it out, or let a meta decide" if late else ""
    raise mistake("E0319", f"`{parameter.name}` is `true` or `false`", expr.span, label=label, help=helps)


def _warn_tuned(cx: Checker, expr: ast.Expr, parameter: Parameter) -> None:
    """Tuning keeps the fastest configuration: it would choose the arithmetic too."""
    choices = {meta.name.text: meta for meta in cx.kernel.metas if len(meta.choices) > 1}
    for name in walk(expr):
        meta = choices.get(name.text) if isinstance(name, ast.Name) else None
        if meta is not None:
            cx.warn(
                "W0105",
                f"tuning would choose `{parameter.name}`, and with it how exact the result is",
                expr.span,
                others=(Label(meta.name.span, "several choices"),),
                help=f"give the meta a default alone, so that whoever launches decides: `{meta.name.text} = ...`",
            )


def _text(builtin: Builtin, expr: ast.Expr) -> str:
    if isinstance(expr, ast.StrLit):
        return expr.value
    example = 'print("v =", v);' if builtin.name == "print" else 'assert(cond, "what went wrong");'
    raise mistake("E0336", f"`{builtin.name}` needs a text here", expr.span, help=f"write `{example}`")


def _access(cx: Checker, builtin: Builtin, expr: ast.Expr) -> Access:
    """`y[i]` or `y[i] where m`, on a tensor that may be read and written."""
    name = builtin.name
    meaning = cx.names.meaning(expr.base) if isinstance(expr, ast.Index) else None
    if isinstance(expr, ast.Index) and meaning is None:
        raise known()
    if not isinstance(expr, ast.Index) or meaning is None or meaning.role is not Role.TENSOR:
        raise mistake(
            "E0319", f"`{name}` works on an element of a tensor", expr.span, help=f"write `{name}(y[i], ...)`"
        )
    tensor = tensor_of(cx, expr.base)
    require_inout(cx, tensor.name, tensor.mode, f"`{name}`", expr.span)
    if expr.other is not None:
        raise mistake(
            "E0319",
            f"`{name}` has no `else`",
            expr.other.span,
            notes=("masked-off and outside elements give 0",),
        )
    access = check_access(cx, expr, tensor, check_value)
    mask = check_mask(cx, expr.mask, access.shape, check_value)
    return Access(access.tensor, access.dtype, access.indices, access.shape, access.pointwise, mask, access.span)


def require_inout(cx: Checker, tensor: str, mode: str, what: str, span: Span) -> None:
    """E0314 for a read-only tensor, E0315 for an `out` one, whose old values are unknown."""
    if mode == "in":
        raise mistake(
            "E0314",
            f"{what} writes to `{tensor}`, which is read-only",
            span,
            help=f"declare it `inout {tensor}: ...`",
        )
    if mode == "out":
        raise mistake(
            "E0315",
            f"{what} reads the old values of `{tensor}`, which is `out`",
            span,
            notes=("an `out` tensor holds nothing yet when the kernel starts",),
            help=f"declare it `inout {tensor}: ...`",
        )
