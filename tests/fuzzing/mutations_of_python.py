"""Mutants of a Python function: the same function with one small mistake in it.

The operators are the usual ones (R. DeMillo, R. Lipton, F. Sayward, "Hints on test data selection", Computer 1978):
another operator, another constant, one more or one less, a condition turned round, a statement left out, arguments
or branches that have changed places.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

OTHER_OPERATOR: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Add,), ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.FloorDiv,),
    ast.Div: (ast.Mult,), ast.Pow: (ast.Mult,), ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.BitXor: (ast.BitOr,),
}  # fmt: skip
SYMMETRIC = ("max", "min", "gcd")
"""Functions whose arguments may change places."""
OTHER_NAME = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil"}

PROSE = ("notes", "help", "label")
"""What a message says beside its code and place is the learner's to word: that is left alone, and so is any text with
blanks."""

Edit = Callable[[], None]
"""Changes a function in place."""


@dataclass(frozen=True)
class Mutant:
    """`change` shows the lines that differ; `text` is the whole function."""

    change: str
    text: str


def mutants(function: ast.FunctionDef) -> Iterator[Mutant]:
    """Every mutant of the function, each text once."""
    plain = _plain(function)
    seen = {plain}
    count = sum(1 for _ in _edits(copy.deepcopy(function)))
    for number in range(count):
        changed = copy.deepcopy(function)
        list(_edits(changed))[number]()
        text = _plain(changed)
        if text not in seen:
            seen.add(text)
            yield Mutant(_difference(plain, text), text)


def _plain(function: ast.FunctionDef) -> str:
    return ast.unparse(ast.fix_missing_locations(function))


def _difference(old: str, new: str) -> str:
    lines = [line for line in difflib.unified_diff(old.split("\n"), new.split("\n"), n=0, lineterm="")][3:]
    return " | ".join(" ".join(line.split()) for line in lines)


def _edits(function: ast.FunctionDef) -> Iterator[Edit]:
    """All edits, always in the same order."""
    for owner in _code(function):
        for name, value in ast.iter_fields(owner):
            if isinstance(value, list) and name in ("body", "orelse") and value and isinstance(value[0], ast.stmt):
                yield from _without_statements(owner, name, value)
        yield from _on_node(owner)


def _code(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes that are run: no annotations, no docstrings."""
    for statement in function.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        yield from _run_nodes(statement)
    yield function


def _run_nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            alone = isinstance(child, ast.keyword) and child.arg in (*PROSE, "strict")
            if isinstance(child, ast.AST) and not alone:
                yield from _run_nodes(child)


def _without_statements(owner: ast.AST, name: str, body: list[ast.stmt]) -> Iterator[Edit]:
    for at, statement in enumerate(body):
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_text = is_text or (isinstance(statement, ast.AnnAssign) and statement.value is None)
        if not is_text and not isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass, ast.FunctionDef)):
            instead = [] if len(body) > 1 else [ast.Pass()]
            yield lambda at=at, instead=instead: setattr(owner, name, [*body[:at], *instead, *body[at + 1 :]])


def _on_node(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                for other in OTHER_OPERATOR.get(type(op), ()):
                    yield lambda at=at, other=other: ops.__setitem__(at, other())
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op):
            for other in OTHER_OPERATOR.get(type(op), ()):
                yield lambda other=other: setattr(node, "op", other())
        case ast.Constant():
            for value in _other_constants(node.value):
                yield lambda value=value: setattr(node, "value", value)
        case ast.If() | ast.IfExp() | ast.While():
            yield lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
        case ast.Return(value=ast.expr()):
            yield lambda: setattr(node, "value", ast.Constant(None))
        case ast.comprehension(ifs=[*ifs]):
            for at in range(len(ifs)):
                yield lambda at=at: setattr(node, "ifs", [*ifs[:at], *ifs[at + 1 :]])
        case ast.Call():
            yield from _on_call(node)
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield lambda: setattr(node, "op", ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not())
            if isinstance(node.op, ast.Not):
                yield lambda: setattr(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
        case _:
            pass


def _on_call(call: ast.Call) -> Iterator[Edit]:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if len(call.args) >= 2 and name not in SYMMETRIC and not any(isinstance(a, ast.Starred) for a in call.args[:2]):
        yield lambda: setattr(call, "args", [call.args[1], call.args[0], *call.args[2:]])
    if name in OTHER_NAME:
        yield lambda: setattr(call.func, "id", OTHER_NAME[name])
    if name == "range":
        for off in (1, -1):
            yield lambda off=off: setattr(
                call, "args", [*call.args[:-1], ast.BinOp(call.args[-1], ast.Add(), ast.Constant(off))]
            )
    for at, keyword in enumerate(call.keywords):
        if keyword.arg in (*PROSE, "strict"):  # `strict=True` is a check of what never happens
            continue
        yield lambda at=at: setattr(call, "keywords", [*call.keywords[:at], *call.keywords[at + 1 :]])


def _other_constants(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1)
    if isinstance(value, float):
        return (value + 1.0,)
    if isinstance(value, str) and not any(blank in value for blank in " \n"):
        return (value + "x",) if value else ("x",)
    return ()
