"""How far an index moves from trip to trip of a loop: not at all, with the loop's index, or who knows.

    for %k in %lo .. %hi step 32 {
      %k32   = broadcast %k                          moves with %k
      %depth = add %k32, %iota                       moves with %k, and starts at %iota
      %rows  = add %first, %iota                     stays
      %odd   = mul %k32, %two                        None: it is not looked into

An analysis on tile IR, for the copies of a pipelined loop (`tilelang.tiling.steady`): where all that changes is one
number that is added, addresses and bounds are made ready before the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilelang.ir.core import Op, Value
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.passes.ranges import Range

MOVED = ("broadcast", "reshape", "permute")
MOST_ADDED = 1 << 20
"""What is added to the loop's index is no larger, so that the sum of two 31-bit numbers has a place in 32."""


class Motion:
    """Answers for what a loop's body computes. `ops`: those of the body that compute indices; `ranges`: what is known
    of the values."""

    def __init__(self, index: Value, ops: Sequence[Op], ranges: Mapping[str, Range]):
        self.index = index
        self.inside = {value: op for op in ops for value in op.results}
        self.ranges = ranges

    def of(self, value: Value) -> int | None:
        """0: the same in all trips. 1: the loop's index is added once, and nothing else changes. None: not known."""
        if value == self.index:
            return 1
        op = self.inside.get(value)
        if op is None:
            return 0
        moves = [self.of(operand) for operand in op.operands]
        if all(move == 0 for move in moves):
            return 0 if op.name in ("const", "iota", *MOVED) or TILE_OPS[op.name].elementwise else None
        if op.name in MOVED or (op.name == "cast" and op.result.dtype.is_signed
                                and op.result.dtype.bits >= op.operands[0].dtype.bits):
            return moves[0]
        if op.name == "add" and sorted(m for m in moves if m is not None) == [0, 1]:
            return 1 if self._is_small(op.operands[moves.index(0)]) else None
        return None

    def _is_small(self, value: Value) -> bool:
        known = self.ranges.get(value.name)
        return known is not None and known.lo >= 0 and known.hi <= MOST_ADDED
