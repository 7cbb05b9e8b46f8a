"""From the parse tree to the AST.

The parse tree has a node for every grammar rule that matched; the AST has what a later stage needs to
know. On the way, whatever the grammar lets through but the language does not is refused.

The tree is walked bottom-up with an explicit stack (Lark's `Transformer_NonRecursive`): a sum of two
thousand terms is a tree two thousand levels deep, and Python's recursion limit is about one thousand.
"""

from __future__ import annotations

from lark import Token, Tree

from tilelang.diagnostics import Sink, Span
from tilelang.syntax import ast
from tilelang.syntax.build_statements import ItemRules
from tilelang.syntax.limits import MAX_NESTING, MAX_TREE_HEIGHT

# Tree nodes that a reader would call one level of nesting.
_NESTING_RULES = {"block", "paren", "call", "list_expr", "index", "unary", "cast"}


def build_ast(tree: Tree[Token], sink: Sink) -> ast.Module:
    """The module that `tree`, a parse tree of the rule `start`, stands for.

    Reports E01xx. If the tree is too deep the module is empty, so that no later stage meets it.
    """
    if not _check_depth(tree, sink):
        return ast.Module(())
    return ItemRules(sink).transform(tree)


def _check_depth(tree: Tree[Token], sink: Sink) -> bool:
    """Walk down in source order; report the first node that is too deep. True if there is none."""
    pending: list[tuple[Tree[Token], int, int]] = [(tree, 0, 0)]
    while pending:
        node, height, nesting = pending.pop()
        nesting += node.data in _NESTING_RULES
        if nesting > MAX_NESTING or height > MAX_TREE_HEIGHT:
            span = Span(node.meta.start_pos, node.meta.start_pos + 1)
            if nesting > MAX_NESTING:
                sink.error(
                    "E0105",
                    f"nested more than {MAX_NESTING} levels deep",
                    span,
                    notes=("brackets, blocks, unary operators and casts count",),
                    help="give inner parts a name with `let`, or move them into a `fn`",
                )
            else:
                sink.error(
                    "E0123",
                    f"this chain has more than {MAX_TREE_HEIGHT} links",
                    span,
                    help="split it into several statements",
                )
            return False
        parts = [child for child in node.children if isinstance(child, Tree)]
        pending += [(part, height + 1, nesting) for part in reversed(parts)]
    return True
