"""Which tiles need no layout, since any thread can have any element.

    %i: i64[64] = iota                       the number itself
    %m: bool[64] = lt %i, %n                 cheap arithmetic on it
    %b: f32[64, 64] = broadcast %bias        a look into a copy in shared memory, which the op needs anyway

An analysis on tile IR. It says beforehand what the lowering calls recipes (`tilelang.tiling.homes`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from tilelang.ir.core import Kernel, Op, Value
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.tiling.uses import reads_other_elements

DEEPEST_RECIPE = 24
"""A recipe of more nested ops is computed once and kept: the cost of computing it again grows with its depth."""

COSTLY = frozenset(("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf",
                    "sigmoid", "pow", "div", "rand", "randn", "randint"))
"""Elementwise ops worth keeping the result of."""

VIEWS = ("broadcast", "reshape", "permute")
"""Ops that only name elements of their operand in another way."""


class Anywhere:
    """Answers for the tiles of one kernel. `held`: those with a layout of their own, which are somewhere."""

    def __init__(self, kernel: Kernel, held: Container[Value] = ()):
        self.held = held
        self.definitions: Mapping[Value, Op] = {value: op for op in kernel.walk() for value in op.results}
        self._depths: dict[Value, int | None] = {}

    def has(self, value: Value) -> bool:
        """Can any thread have any element? True for scalars."""
        return not value.shape or (value not in self.held and self._depth(value) is not None)

    def _depth(self, value: Value) -> int | None:
        """How many ops are nested in the recipe of a tile; None if it has none."""
        if value not in self._depths:
            self._depths[value] = self._look(value)
        return self._depths[value]

    def _look(self, value: Value) -> int | None:
        op = self.definitions.get(value)
        if op is None or value in self.held:
            return None
        if op.name in ("const", "iota"):
            return 1
        if op.name in VIEWS and reads_other_elements(op, op.operands[0]):
            return 1
        if op.name in COSTLY or not (TILE_OPS[op.name].elementwise or op.name in VIEWS):
            return None
        depths = [self._depth(operand) if operand.shape else 0 for operand in op.operands]
        deepest = max((depth for depth in depths if depth is not None), default=0)
        return None if None in depths or deepest >= DEEPEST_RECIPE else deepest + 1
