"""How big and how deep a program may be. Each limit has its own error, so that no input ends in a crash.

Two of them bound how deep a tree can get. `MAX_NESTING` counts what a reader would call nesting: brackets,
blocks, unary operators and casts inside each other. `MAX_TREE_HEIGHT` bounds the parse tree itself: the sum
`a + b + c + ...` is not nested to a reader, but its tree leans to the left and grows one level a term, and an
`else if` chain leans to the right (its AST grows two levels a link). Python's own recursion limit is about
1000, so a stage that walks the tree recursively either goes along such chains in a loop or runs inside
`deep_trees()`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_TOKENS = 500_000
MAX_NAME_LENGTH = 255
MAX_INTEGER = 2**64 - 1  # the largest u64; -2**63 is written as the negation of 2**63, which fits too
MAX_NESTING = 200
MAX_TREE_HEIGHT = 4_000
MAX_ERRORS = 100  # per stage; what follows the hundredth mistake is rarely read

# A recursive walk spends a few Python frames a level. Pure Python frames live on the heap since 3.11.
_FRAMES_PER_LEVEL = 8


@contextmanager
def deep_trees() -> Iterator[None]:
    """Raise Python's recursion limit so that a recursive walk over any accepted tree fits; restore it.

    The walk must be Python all the way: for calls that pass through C, as when dataclasses are compared, by `map`, or
    in a tuple made of a generator, Python 3.12 has a limit of its own that nothing raises.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, MAX_TREE_HEIGHT * _FRAMES_PER_LEVEL + before))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
