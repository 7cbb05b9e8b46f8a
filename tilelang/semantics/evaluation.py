"""Constant expressions: lowered once to a Python closure, then evaluated as often as needed.

A launch evaluates dims, metas and the grid every time it runs, so nothing here walks the tree twice. The
environment of a closure maps the names of dims and metas to their values; `const`s are substituted when
lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilelang.diagnostics import Span
from tilelang.near import nearest
from tilelang.semantics import constants
from tilelang.semantics.constants import CONSTANT_FUNCTIONS, NAMED, ConstantError, Value
from tilelang.semantics.definitions import Definition, Role
from tilelang.semantics.mistakes import Mistake, known, mistake
from tilelang.syntax import ast

Environment = Mapping[str, Value]
Closure = Callable[[Environment], Value]


def lower(expr: ast.Expr, meanings: Mapping[int, Definition], consts: Mapping[str, Value]) -> Closure:
    """A function from the values of dims and metas to the value of `expr`.

    Raises `Mistake` where `expr` is not a constant expression; the closure raises it for undefined
    arithmetic.
    """

    def lowered(node: ast.Expr) -> Closure:
        return lower(node, meanings, consts)

    match expr:
        case ast.IntLit(value=value) | ast.FloatLit(value=value) | ast.BoolLit(value=value):
            return lambda env: value
        case ast.Name():
            return _lower_name(expr, meanings, consts)
        case ast.Unary(op=op, operand=operand):
            inner = lowered(operand)
            return _guarded(lambda env: constants.unary(op, inner(env)), expr.span)
        case ast.Binary():
            return _lower_binary(expr, lowered)
        case ast.Call():
            return _lower_call(expr, lowered)
    raise mistake(
        "E0406",
        "this is not a constant expression",
        expr.span,
        label="computed while the kernel runs",
        notes=("only numbers, `const`s, metas, dims, operators and functions such as `cdiv` are allowed here",),
    )


def evaluate(
    expr: ast.Expr, meanings: Mapping[int, Definition], consts: Mapping[str, Value], env: Environment
) -> Value:
    """The value of a constant expression, once."""
    return lower(expr, meanings, consts)(env)


def left_spine(expr: ast.Binary) -> tuple[ast.Expr, list[ast.Binary]]:
    """`((a + b) + c) + d` as `a` and the three nodes, innermost first. A sum is as deep as it is long."""
    nodes: list[ast.Binary] = []
    node: ast.Expr = expr
    while isinstance(node, ast.Binary):
        nodes.append(node)
        node = node.left
    return node, nodes[::-1]


def _lower_name(expr: ast.Name, meanings: Mapping[int, Definition], consts: Mapping[str, Value]) -> Closure:
    meaning = meanings.get(id(expr))
    if meaning is None:
        raise known()
    name = meaning.name
    if meaning.role is Role.BUILTIN:
        return lambda env: NAMED[name]
    if meaning.role is Role.CONST:
        if name not in consts:
            raise known()
        value = consts[name]
        return lambda env: value
    if meaning.role in (Role.DIM, Role.META):
        return lambda env: _look_up(env, name)
    raise mistake(
        "E0406",
        f"`{name}` is not known before the kernel runs",
        expr.span,
        label=f"a {meaning.role}",
        notes=("only numbers, `const`s, metas and dims are allowed here",),
    )


def _look_up(env: Environment, name: str) -> Value:
    if name not in env:
        raise known()
    return env[name]


def _lower_binary(expr: ast.Binary, lowered: Callable[[ast.Expr], Closure]) -> Closure:
    first, nodes = left_spine(expr)
    start = lowered(first)
    steps = [(node.op, lowered(node.right)) for node in nodes]
    for node in nodes:
        if node.op == "+:":
            raise mistake("E0406", "an index tile is not a constant", node.span, help="write a single number here")
    if len(steps) == 1:
        op, right = steps[0]
        return _guarded(lambda env: constants.binary(op, start(env), right(env)), expr.span)

    def run(env: Environment) -> Value:
        value = start(env)
        for op, right in steps:
            value = constants.binary(op, value, right(env))
        return value

    return _guarded(run, expr.span)


def _lower_call(expr: ast.Call, lowered: Callable[[ast.Expr], Closure]) -> Closure:
    function = expr.func.text
    if function not in CONSTANT_FUNCTIONS:
        near = {"min": "minimum", "max": "maximum"}.get(function) or nearest(function, CONSTANT_FUNCTIONS)
        raise mistake(
            "E0406",
            f"`{function}` cannot be computed before the kernel runs",
            expr.func.span,
            notes=(f"constant expressions may call {', '.join(sorted(CONSTANT_FUNCTIONS))}",),
            help=f"did you mean `{near}`?" if near else "",
        )
    count = CONSTANT_FUNCTIONS[function]
    if len(expr.args) != count or expr.keywords:
        given = len(expr.args) + len(expr.keywords)
        raise mistake(
            "E0318",
            f"`{function}` takes {count} argument{'s' if count > 1 else ''}, {given} given",
            expr.span,
        )
    args = [lowered(a) for a in expr.args]
    return _guarded(lambda env: constants.call(function, [a(env) for a in args]), expr.span)


def _guarded(run: Closure, span: Span) -> Closure:
    """`run`, with undefined arithmetic reported at `span`."""

    def guarded(env: Environment) -> Value:
        try:
            return run(env)
        except ConstantError as wrong:
            raise constant_mistake(wrong, span) from None

    return guarded


def constant_mistake(wrong: ConstantError, span: Span) -> Mistake:
    return mistake("E0407", wrong.title, span, help=wrong.help)
