"""Mutants of a Python function: the same function with one small mistake in it.

The operators are the usual ones (R. DeMillo, R. Lipton, F. Sayward, "Hints on test data selection", Computer 1978):
another operator, another constant, one more or one less, a condition turned round, a statement left out, arguments
or branches that have changed places.
"""

from __future__ import annotations

import ast
import copy
import difflib
import re
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
CODE = re.compile(r"[EW]\d{4}")
"""Behind the code of a message stands its title."""

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
    for owner in _code(function, _wording(function)):
        for name, value in ast.iter_fields(owner):
            if isinstance(value, list) and name in ("body", "orelse") and value and isinstance(value[0], ast.stmt):
                yield from _without_statements(owner, name, value)
        yield from _on_node(owner)


def _wording(function: ast.FunctionDef) -> set[ast.AST]:
    """What only makes the words of a message: its title, its notes, and the variables that go nowhere else.

    `strict=True` is in it too: a check of what never happens.
    """
    found: set[ast.AST] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            found.update(keyword for keyword in node.keywords if keyword.arg in (*PROSE, "strict"))
            match node.args:
                case [ast.Constant(str(code)), title, *_] if CODE.fullmatch(code):
                    found.add(title)
    while more := _used_only_in(found, function) - found:
        found |= more
    return found


def _used_only_in(places: set[ast.AST], function: ast.FunctionDef) -> set[ast.AST]:
    """The assignments to names that are read nowhere but inside these nodes."""
    inside = {node for place in places for node in ast.walk(place)}
    read = {n.id for n in ast.walk(function)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in inside}  # fmt: skip
    return {node for node in ast.walk(function) if _assigned(node) and _assigned(node) not in read}


def _assigned(node: ast.AST) -> str:
    """The name that a statement `name = ...` is for; empty for any other node."""
    return node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else ""


def _code(function: ast.FunctionDef, wording: set[ast.AST]) -> Iterator[ast.AST]:
    """The nodes that are run and decide something: no annotations, no docstrings, no words of messages."""
    for statement in function.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        yield from _run_nodes(statement, wording)
    yield function


def _run_nodes(node: ast.AST, wording: set[ast.AST]) -> Iterator[ast.AST]:
    if node in wording:
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _run_nodes(child, wording)


def _without_statements(owner: ast.AST, name: str, body: list[ast.stmt]) -> Iterator[Edit]:
    for at, statement in enumerate(body):
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_text = is_text or (isinstance(statement, ast.AnnAssign) and statement.value is None)
        last = isinstance(owner, ast.FunctionDef) and at == len(body) - 1
        nothing = last and isinstance(statement, ast.Return) and ast.unparse(statement) in ("return", "return None")
        kinds = (ast.Import, ast.ImportFrom, ast.Pass, ast.FunctionDef)
        if not is_text and not nothing and not isinstance(statement, kinds):
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
        if keyword.arg not in (*PROSE, "strict"):
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
