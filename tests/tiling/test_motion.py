"""How index tiles move with a loop."""

from __future__ import annotations

import pytest

from tilelang.dtypes import I32, I64
from tilelang.ir.core import Op, Value
from tilelang.passes.ranges import Range
from tilelang.semantics.types import TileType
from tilelang.tiling.motion import MOST_ADDED, Motion

K, FIRST = Value("k", TileType(I64)), Value("first", TileType(I64))
LARGE, UNKNOWN = Value("large", TileType(I64)), Value("unknown", TileType(I64))
RANGES = {"first": Range(0, 64), "large": Range(0, MOST_ADDED + 1), "i": Range(0, 31), "wide": Range(0, 31)}


def tile(name: str, dtype=I64) -> Value:
    return Value(name, TileType(dtype, (32,)))


def of(*ops: Op) -> int | None:
    """How the result of the last op moves."""
    return Motion(K, ops, RANGES).of(ops[-1].result)


IOTA = Op("iota", (), (tile("i", I32),))
WIDE = Op("cast", (tile("i", I32),), (tile("wide"),))
SPLAT = Op("broadcast", (K,), (tile("k32"),))
SUM = Op("add", (tile("k32"), tile("wide")), (tile("sum"),))


def test_what_moves_and_what_stays():
    assert of(IOTA) == 0 and of(IOTA, WIDE) == 0 and of(SPLAT) == 1
    assert of(IOTA, WIDE, SPLAT, SUM) == 1
    assert of(Op("broadcast", (FIRST,), (tile("f"),))) == 0  # from outside the loop


@pytest.mark.parametrize("other", [LARGE, UNKNOWN, K])
def test_only_what_is_known_to_be_small_may_be_added(other):
    """Or a number near the largest would wrap; and what is added twice moves twice as fast."""
    assert of(Op("add", (K, other), (Value("sum", TileType(I64)),))) is None
    assert of(Op("add", (K, FIRST), (Value("sum", TileType(I64)),))) == 1
    assert of(Op("add", (FIRST, K), (Value("sum", TileType(I64)),))) == 1


@pytest.mark.parametrize("op", [
    Op("mul", (tile("k32"), tile("wide")), (tile("r"),)), Op("sub", (tile("wide"), tile("k32")), (tile("r"),)),
    Op("cast", (tile("k32"),), (tile("r", I32),)), Op("neg", (tile("k32"),), (tile("r"),))])
def test_anything_else_is_not_looked_into(op):
    assert of(IOTA, WIDE, SPLAT, op) is None
