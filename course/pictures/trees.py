"""A tree, drawn from the top: parse trees, syntax trees."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tilelang.notebook import svg
from tilelang.syntax.ast import Ident, Node

STEP, HIGH, GAP, SIZE = 56.0, 26.0, 14.0, 12.0


@dataclass(frozen=True)
class Tree:
    """A node with its parts. A `leaf` is a word of the program; other nodes are rules."""

    label: str
    parts: tuple[Tree, ...] = ()
    leaf: bool = False


def draw_tree(tree: Tree, title: str = "") -> svg.Picture:
    """Leaves side by side in the order of the text, each rule above the middle of its parts."""
    drawn: list[str] = []
    top = 44.0 if title else 16.0
    _, right, depth = _draw(tree, 16.0, top, drawn)
    if title:
        drawn.insert(0, svg.text(16, 26, title, size=14, bold=True))
    return svg.Picture(
        max(right + 16, 300), top + STEP * depth + HIGH + 14, tuple(drawn), title or f"tree of {tree.label}"
    )


def _label_width(tree: Tree) -> float:
    return svg.columns(len(tree.label), SIZE) + 18


def _parts_width(tree: Tree) -> float:
    return sum(map(_width, tree.parts)) + GAP * max(0, len(tree.parts) - 1)


def _width(tree: Tree) -> float:
    """What a tree with all its parts takes from left to right."""
    return max(_label_width(tree), _parts_width(tree))


def _draw(tree: Tree, left: float, top: float, drawn: list[str]) -> tuple[float, float, int]:
    """Draw a tree whose leftmost part begins at `left`; (its root's middle, its right edge, its depth)."""
    middles, depth = [], 0
    x = left + (_width(tree) - _parts_width(tree)) / 2
    for part in tree.parts:
        middle, right, deep = _draw(part, x, top + STEP, drawn)
        middles.append(middle)
        depth = max(depth, deep + 1)
        x = right + GAP
    label = _label_width(tree)
    centre = (middles[0] + middles[-1]) / 2 if middles else left + label / 2
    centre = min(max(centre, left + label / 2), left + _width(tree) - label / 2)
    for middle in middles:
        drawn.insert(0, svg.line(centre, top + HIGH, middle, top + STEP, svg.FAINT, 1.2))
    fill, stroke = svg.colour(4 if tree.leaf else 0)
    drawn.append(svg.rect(centre - label / 2, top, label, HIGH, fill, stroke, radius=3 if tree.leaf else 12))
    drawn.append(svg.text(centre, top + 17, tree.label, size=SIZE, mono=True, anchor="middle"))
    return centre, left + _width(tree), depth


def syntax_tree(node: Node) -> Tree:
    """A node of the compiler's syntax tree as a tree to draw: its kind and plain fields, then the nodes in it."""
    words: list[str] = [type(node).__name__]
    parts: list[Tree] = []
    for field in fields(node):
        value = getattr(node, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Ident):
                words.append(item.text)
            elif isinstance(item, Node):
                parts.append(syntax_tree(item))
            elif isinstance(item, (str, int, float)) and not isinstance(item, bool):
                words.append(str(item))
    return Tree(" ".join(words), tuple(parts), leaf=not parts)
