"""What typing rules are written with: `require` and what can be asked of a value's type."""

from __future__ import annotations

from collections.abc import Callable

from tilelang.ir.core import Op, Type, Value
from tilelang.semantics.types import MAX_RANK, MAX_TILE_ELEMENTS, TileType


class IllFormed(Exception):
    """An op breaks the typing rule that the message states."""


Rule = Callable[[Op], tuple[Type, ...]]


def require(holds: bool, rule: str) -> None:
    if not holds:
        raise IllFormed(rule)


def tile(value: Value) -> TileType:
    """The type of a value that must be a tile or scalar."""
    require(isinstance(value.type, TileType), f"{value} must be a tile, not a {value.type}")
    return value.type  # type: ignore[return-value]


def own_result(op: Op) -> TileType:
    """The one result that an op of the kind that brings its type along must have."""
    require(len(op.results) == 1, "has one result")
    return tile(op.results[0])


def check_size(type: TileType) -> None:
    """Extents are positive, the rank is at most 4, the tile has at most 2^20 elements."""
    require(type.rank <= MAX_RANK, f"{type} has a rank above {MAX_RANK}")
    require(all(isinstance(e, int) and e > 0 for e in type.shape), f"extents of {type} must be positive")
    require(type.size <= MAX_TILE_ELEMENTS, f"{type} has more than {MAX_TILE_ELEMENTS} elements")


def types_of(values: tuple[Value, ...]) -> tuple[TileType, ...]:
    """The types of values that must be tiles."""
    return tuple(tile(v) for v in values)
