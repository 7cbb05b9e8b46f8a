"""A program with its names: every use has the colour of what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from tilelang.diagnostics import NOWHERE, Source
from tilelang.notebook import svg
from tilelang.semantics.definitions import Definition
from tilelang.semantics.names import Names
from tilelang.syntax.ast import Ident, Name, Node

SIZE, STEP, LEFT, TOP = 13.0, 22.0, 46.0, 16.0


def draw_names(source: Source, names: Names) -> svg.Picture:
    """The text; each name is boxed in the colour of its definition, which itself has a frame."""
    lines = source.text.rstrip("\n").split("\n")
    parts: list[str] = []
    colours: dict[Definition, int] = {}
    for node in name_nodes(names.module):
        definition = names.meaning(node)
        if definition is not None and definition.span != NOWHERE:
            shade = colours.setdefault(definition, len(colours))
            parts.append(_box(source, node, svg.colour(shade), node.span == definition.span))
    for number, line in enumerate(lines):
        y = TOP + STEP * number + 15
        parts.append(svg.text(LEFT - 12, y, str(number + 1), size=10, fill=svg.FAINT, anchor="end"))
        if line:
            parts.append(svg.text(LEFT, y, line, size=SIZE, mono=True))
    width = LEFT + svg.columns(max(map(len, lines)), SIZE) + 16
    says = "a program, each name in the colour of its meaning"
    return svg.Picture(width, TOP * 2 + STEP * len(lines), tuple(parts), says)


def name_nodes(node: Node) -> Iterator[Name | Ident]:
    """All nodes of a tree that are names, used or declared."""
    if isinstance(node, Name | Ident):
        yield node
    for field in fields(node):
        value = getattr(node, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Node):
                yield from name_nodes(item)


def _box(source: Source, node: Name | Ident, colours: tuple[str, str], declared: bool) -> str:
    line, column = source.position(node.span.start)
    fill, stroke = colours
    x = LEFT + svg.columns(column - 1, SIZE) - 1.5
    wide = svg.columns(node.span.end - node.span.start, SIZE) + 3
    return svg.rect(x, TOP + STEP * (line - 1), wide, 20, fill, stroke if declared else "none", radius=4,
                    says="declared here" if declared else "used here")
