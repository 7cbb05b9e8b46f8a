"""`--emit types`: every statement with the types of its variables and of every expression in it.

    5 | let v = x[row, cols] where m < 4;
      |     v: f32[64]
      |     m < 4    bool[64]

Conversions that the checker put in are shown as `row -> i64`.
"""

from __future__ import annotations

from tilelang.diagnostics import Source, Span
from tilelang.dtypes import DType
from tilelang.semantics import typed
from tilelang.semantics.literals import show_number
from tilelang.semantics.typed import ScalarParam, Statement, Typed, TypedKernel
from tilelang.semantics.walking import inner_first, typed_fields
from tilelang.syntax.limits import deep_trees

LONGEST = 60
"""Expressions are cut to this many characters."""


def show_types(kernel: TypedKernel, source: Source) -> str:
    """The listing of one kernel, as text that ends in a newline."""
    lines = [f"kernel {kernel.name}"]
    lines += [f"  {_meta(name, value)}" for name, value in kernel.metas.items()]
    for param in kernel.params:
        lines.append(f"  {_param(param)}")
    lines += [f"  {dim}: i64, a dim" for dim in kernel.dims]
    listing = _Listing(source, lines)
    with deep_trees():
        listing.statements(kernel.body, 0)
    return "\n".join(lines) + "\n"


def _meta(name: str, value: object) -> str:
    shown = value.name if isinstance(value, DType) else show_number(value)  # type: ignore[arg-type]
    return f"{name} = {shown}, a meta"


def _param(param: typed.TensorParam | ScalarParam) -> str:
    if isinstance(param, ScalarParam):
        return f"{param.name}: {param.var.type}, a scalar"
    mode = f"{param.mode} " if param.mode != "in" else ""
    return f"{mode}{param.name}: {param.dtype}[{', '.join(map(str, param.dims))}], a tensor"


class _Listing:
    def __init__(self, source: Source, lines: list[str]):
        self.source = source
        self.lines = lines

    def statements(self, body: tuple[Statement, ...], depth: int) -> None:
        for statement in body:
            self.statement(statement, depth)

    def statement(self, statement: Statement, depth: int) -> None:
        indent = "    " * depth
        line, _ = self.source.position(statement.span.start)
        self.lines.append(f"{line:4} | {indent}{self._first_line(statement.span)}")
        below = f"     | {indent}    "
        match statement:
            case typed.Bind(vars=names):
                self.lines += [f"{below}{var.name}: {var.type}" for var in names]
            case typed.For(var=var):
                self.lines.append(f"{below}{var.name}: {var.type}")
        for expression in typed_fields(statement):
            # What a variable is bound to has the variable's type.
            self._expression(expression, below, depth, hide=isinstance(statement, typed.Bind))
        for block in _blocks(statement):
            self.statements(block, depth + 1)

    def _expression(self, expression: Typed, below: str, depth: int, hide: bool = False) -> None:
        """Inner expressions first; names and numbers have been shown where they were declared."""
        shown: set[str] = set()
        for node in inner_first(expression):
            text = f"{self._text(node)}    {node.type}"
            if isinstance(node, (typed.Const, typed.Read, typed.Dim)) or text in shown:
                continue
            shown.add(text)
            if not (hide and node is expression):
                self.lines.append(below + text)
            if isinstance(node, typed.Inlined):
                self._inlined(node, below, depth)

    def _inlined(self, call: typed.Inlined, below: str, depth: int) -> None:
        self.lines += [f"{below}    {var.name}: {var.type}" for var in call.params]
        self.statements(call.body, depth + 2)
        for result in call.results:
            self._expression(result, below + "    ", depth + 1)

    def _text(self, node: Typed) -> str:
        """The source of an expression, on one line."""
        text = self._source_text(node.span)
        if isinstance(node, typed.Cast) and node.operand.span == node.span:
            return f"{text} -> {node.type.dtype}"
        return text

    def _source_text(self, span: Span) -> str:
        text = " ".join(self.source.text[span.start : span.end].split())
        return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."

    def _first_line(self, span: Span) -> str:
        return self.source.text[span.start : span.end].partition("\n")[0].rstrip()


def _blocks(statement: Statement) -> list[tuple[Statement, ...]]:
    match statement:
        case typed.For(body=body) | typed.While(body=body):
            return [body]
        case typed.If(then=then, orelse=orelse):
            return [then, orelse]
    return []
