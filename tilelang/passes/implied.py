"""Is a condition of a mask true wherever the access is inside its tensor anyway?

`x[rows, cols] where cols[None, :] < N`, with x of shape [M, N]: a column that passes the bounds check is below N. To
see it, the condition and the index are both followed back to the tile of rank 1 they come from.
"""

from __future__ import annotations

from tilelang.ir.access import Access
from tilelang.ir.core import TensorType, Value
from tilelang.passes.identities import MIRRORED, is_exact
from tilelang.passes.rewrite import Rewriter

Source = tuple[Value, int]
"""A value of rank 0 or 1, and the axis of the whole that it runs along, from the right, from 1; 0 for a scalar.
Two tiles with equal sources are equal where their shapes are. A value of higher rank stands for itself, axis -1."""

Step = tuple[str, tuple[int, ...], tuple[int, ...]]
"""A `broadcast` or `reshape`, the shape before and the shape after."""


def is_implied(here: Rewriter, parts: Access, condition: Value) -> bool:
    """Does `0 <= index < extent` on some axis imply the condition in the whole tile?"""
    condition, steps = follow(here, condition)
    op = here.definition(condition)
    if op is None or op.name not in MIRRORED or not isinstance(parts.tensor.type, TensorType):
        return False
    a, b = op.operands
    for axis, index in enumerate(parts.indices):
        place = _index_source(here, parts, axis, index)
        for relation, left, right in ((op.name, a, b), (MIRRORED[op.name], b, a)):
            same = place is not None and source(here, left, steps) == place
            if same and _follows(here, relation, right, parts.tensor.type.dims[axis]):
                return True
    return False


def _follows(here: Rewriter, relation: str, bound: Value, extent: int | str) -> bool:
    """Does `0 <= i < extent` imply `i relation bound`?"""
    root, _ = follow(here, bound)
    number = here.constant(root)
    if relation in ("lt", "le"):
        if isinstance(extent, str):
            return root.name == extent
        return number is not None and number >= extent - (relation == "le")
    return number is not None and number <= (0 if relation == "ge" else -1)


def _index_source(here: Rewriter, parts: Access, axis: int, index: Value) -> Source | None:
    """Where an index comes from, and the axis of the accessed shape that it runs along."""
    found = source(here, index, [])
    if found is None or parts.pointwise or found[1] <= 0:
        return found
    behind = sum(len(other.shape) for other in parts.indices[axis + 1:])
    return found[0], behind + found[1]


def source(here: Rewriter, value: Value, after: list[Step]) -> Source | None:
    """Where the elements of a value come from; `after` are steps that follow it. None if the way is lost."""
    root, before = follow(here, value)
    steps = [*before, *after]
    if len(root.shape) > 1:
        return None if steps else (root, -1)
    axis = len(root.shape)
    for name, old, new in steps:
        if name == "reshape" and axis:
            axis = _moved(old, new, axis)
    return (root, axis) if axis >= 0 else None


def follow(here: Rewriter, value: Value) -> tuple[Value, list[Step]]:
    """Back through what only repeats, reshapes or exactly converts; the steps in the order they are done."""
    steps: list[Step] = []
    while (op := here.definition(value)) is not None:
        exact = op.name == "cast" and is_exact(op.operands[0].dtype, value.dtype) and value.dtype.is_integer
        if op.name not in ("broadcast", "reshape") and not exact:
            break
        if not exact:
            steps.append((op.name, op.operands[0].shape, value.shape))
        value = op.operands[0]
    return value, steps[::-1]


def _moved(before: tuple[int, ...], after: tuple[int, ...], axis: int) -> int:
    """Where a reshape puts an axis, if it only adds or drops extents of 1; else -1."""
    if axis < 0 or [e for e in before if e > 1] != [e for e in after if e > 1]:
        return -1
    if before[-axis] == 1:
        return axis
    rank = sum(extent > 1 for extent in before[len(before) - axis:])
    positions = [place for place in range(1, len(after) + 1) if after[-place] > 1]
    return positions[rank - 1]
