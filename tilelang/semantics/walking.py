"""Going over trees without recursion, which may be deep: syntax trees as they are written, and typed ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from tilelang.semantics.builtins import BUILTINS
from tilelang.semantics.builtins.declare import Kind
from tilelang.semantics.typed import Inlined, Statement, Typed
from tilelang.syntax import ast


def declarations(block: ast.Block) -> Iterator[ast.Ident]:
    """Every name that the statements of a block declare, inner blocks included."""
    todo: list[ast.Stmt] = list(block.body)
    while todo:
        stmt = todo.pop()
        match stmt:
            case ast.Let(names=names):
                yield from names
            case ast.For(body=body) | ast.While(body=body):
                todo += body.body
            case ast.If(then=then, orelse=orelse):
                todo += then.body + (orelse.body if orelse is not None else ())


def walk(expr: ast.Expr) -> Iterator[ast.Expr]:
    """`expr` and all expressions in it, in the order of the text.

    Element types among the arguments of a built-in (`zeros([4], f32)`) are names of another name space,
    left out.
    """
    todo: list[ast.Expr] = [expr]
    while todo:
        node = todo.pop()
        yield node
        todo += reversed(children(node))


def children(expr: ast.Expr) -> list[ast.Expr]:
    match expr:
        case ast.Unary(operand=operand):
            return [operand]
        case ast.Binary(left=left, right=right):
            return [left, right]
        case ast.Cast(value=value) | ast.View(value=value):
            return [value]
        case ast.ListExpr(items=items):
            return list(items)
        case ast.Call(args=args, keywords=keywords):
            dtype = dtype_argument(expr)
            return [a for a in (*args, *(k.value for k in keywords)) if a is not dtype]
        case ast.Index(base=base, items=items, mask=mask, other=other):
            parts = [base, *(i for i in items if isinstance(i, ast.Expr)), mask, other]
            return [p for p in parts if p is not None]
    return []


def dtype_argument(call: ast.Call) -> ast.Name | None:
    """The argument of a call of a built-in that names an element type: `f32` of `zeros([4], f32)`."""
    builtin = BUILTINS.get(call.func.text)
    if builtin is None:
        return None
    for place, parameter in enumerate(builtin.parameters):
        if parameter.kind is Kind.DTYPE:
            given = call.args[place] if place < len(call.args) else None
            given = next((k.value for k in call.keywords if k.name.text == parameter.name), given)
            return given if isinstance(given, ast.Name) else None
    return None


def inner_first(expression: Typed) -> Iterator[Typed]:
    """An expression and all inside it, operands before what uses them, without recursion."""
    todo: list[tuple[Typed, bool]] = [(expression, False)]
    while todo:
        node, expanded = todo.pop()
        if expanded:
            yield node
        else:
            todo.append((node, True))
            todo += [(child, False) for child in reversed(operands(node))]


def operands(node: Typed) -> list[Typed]:
    """The operands of an expression in order; of an inlined call its arguments, not its body."""
    if isinstance(node, Inlined):
        return list(node.args)
    return typed_fields(node)


def typed_fields(node: Typed | Statement) -> list[Typed]:
    """The expressions that a node holds directly, in order."""
    found: list[Typed] = []
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Typed):
            found.append(value)
        elif isinstance(value, tuple):
            found += [item for item in value if isinstance(item, Typed)]
    return found
