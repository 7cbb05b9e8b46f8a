"""Dumps of what lexing and parsing produce, for `--emit tokens`, `--emit tree` and `--emit ast`.

The trees are walked with explicit stacks: see `build_ast` for why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from lark import Token as LarkToken
from lark import Tree

from tilelang.diagnostics import Source, Span
from tilelang.syntax import ast
from tilelang.syntax.grammar import terminal_texts
from tilelang.syntax.lexing import Token


def show_tokens(tokens: Sequence[Token], source: Source) -> str:
    """One token a line: where it starts (line:column), its kind, its text."""
    lines = []
    for token in tokens:
        line, column = source.position(token.span.start)
        lines.append(f"{f'{line}:{column}':<8} {token.kind:<8} {token.text}\n")
    return "".join(lines)


def show_tree(tree: Tree[LarkToken]) -> str:
    """The parse tree: one grammar rule a line, its parts indented below it; tokens in quotes."""
    lines: list[str] = []
    pending: list[tuple[object, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, Tree):
            lines.append("  " * depth + node.data + "\n")
            pending += [(child, depth + 1) for child in reversed(node.children)]
        elif isinstance(node, LarkToken):
            kind = "" if node.type in terminal_texts() else f"{node.type} "
            lines.append("  " * depth + f"{kind}`{node}`\n")
        else:
            lines.append("  " * depth + "(absent)\n")  # an optional part that is not there
    return "".join(lines)


def show_ast(node: ast.Node, source: Source | None = None) -> str:
    """The AST: one node a line, its plain fields beside it, the nodes in it indented below it.

    With `source`, each line ends in the line:column at which the node begins.
    """
    lines: list[str] = []
    pending: list[tuple[str, object, int]] = [("", node, 0)]
    while pending:
        label, item, depth = pending.pop()
        head = "  " * depth + (f"{label}:" if label else "")
        if isinstance(item, ast.Node):
            plain, parts = _fields_of(item)
            lines.append(
                head
                + " " * bool(label)
                + " ".join([type(item).__name__, *plain])
                + _place(item, source)
                + "\n"
            )
            pending += [(name, part, depth + 1) for name, part in reversed(parts)]
        elif isinstance(item, tuple):
            lines.append(head + "\n")
            pending += [("", part, depth + 1) for part in reversed(item)]
    return "".join(lines)


def _fields_of(node: ast.Node) -> tuple[list[str], list[tuple[str, object]]]:
    """(fields to print on the node's own line, fields to print below it)."""
    plain: list[str] = []
    parts: list[tuple[str, object]] = []
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Span) or value is None or value == ():
            continue
        if isinstance(value, ast.Ident):
            plain.append(f"{field.name}={value.text}")
        elif isinstance(value, tuple) and all(isinstance(part, ast.Ident) for part in value):
            plain.append(f"{field.name}={', '.join(part.text for part in value)}")
        elif isinstance(value, ast.Node | tuple):
            parts.append((field.name, value))
        else:
            plain.append(f"{field.name}={value!r}")
    return plain, parts


def _place(node: ast.Node, source: Source | None) -> str:
    if source is None:
        return ""
    line, column = source.position(node.span.start)
    return f"  @{line}:{column}"
