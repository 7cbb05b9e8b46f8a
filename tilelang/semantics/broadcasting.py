"""NumPy's broadcasting rule, on extents that may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.semantics.extents import Extent, Sym, equal

Shape = tuple[Extent, ...]


def broadcast_shapes(a: Shape, b: Shape) -> Shape | None:
    """The shape that tiles of shapes `a` and `b` have together, or None if there is none.

    Axes are aligned on the right, missing ones count as 1, and an extent of 1 stretches to the other's.

    >>> broadcast_shapes((8, 1), (4,))
    (8, 4)
    """
    rank = max(len(a), len(b))
    padded_a = (1,) * (rank - len(a)) + a
    padded_b = (1,) * (rank - len(b)) + b
    result: list[Extent] = []
    for extent_a, extent_b in zip(padded_a, padded_b, strict=True):
        extent = broadcast_extents(extent_a, extent_b)
        if extent is None:
            return None
        result.append(extent)
    return tuple(result)


def broadcast_extents(a: Extent, b: Extent) -> Extent | None:
    """One axis of `broadcast_shapes`. Where equality is unknown, the extents are taken to be equal."""
    if a == 1:
        return b
    if b == 1:
        return a
    if equal(a, b) is False:
        return None
    return b if isinstance(a, Sym) else a


def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """True if a tile of `shape` stretches to exactly `target`."""
    together = broadcast_shapes(shape, target)
    return together is not None and len(together) == len(target) and same_shape(together, target)


def same_shape(a: Sequence[Extent], b: Sequence[Extent]) -> bool:
    """True unless the shapes surely differ."""
    return len(a) == len(b) and all(equal(x, y) is not False for x, y in zip(a, b, strict=True))


def show_shape(shape: Sequence[Extent]) -> str:
    """`[8, BLOCK]`; a scalar's is `[]`."""
    return f"[{', '.join(map(str, shape))}]"
