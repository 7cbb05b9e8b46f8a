"""Where each value of the tile kernel lives in the thread kernel.

A scalar lives in every thread, the same everywhere. A tile has one or more of four homes:

* registers: a local array in the linear layout, element `e` in register `e // threads` of thread `e % threads`;
* fragments: a local array too, in the layout of a dot's accumulator;
* shared: an array in shared memory, in row-major order or one that suits its banks, a copy that any thread may read;
* recipe: nowhere. It can be computed from an element's coordinates (`const`, `iota`, index arithmetic) or read out
  of another tile's shared copy (`broadcast`, `permute`), and is, wherever it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tilelang.ir.core import Op, Value
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.tiling.anywhere import COSTLY, DEEPEST_RECIPE, VIEWS
from tilelang.tiling.bank_layout import BankLayout
from tilelang.tiling.fragment_plans import FragmentPlans
from tilelang.tiling.mma import Swizzle
from tilelang.tiling.mma_words import WordSwizzle
from tilelang.tiling.numbers import Number


@dataclass
class Homes:
    """The homes known at this point of the kernel."""

    scalars: dict[Value, Value] = field(default_factory=dict)
    registers: dict[Value, Value] = field(default_factory=dict)
    shared: dict[Value, Value] = field(default_factory=dict)
    recipes: dict[Value, Op] = field(default_factory=dict)
    depths: dict[Value, int] = field(default_factory=dict)
    known_twice: set[Value] = field(default_factory=set)
    """Local arrays that hold several values of the tile kernel (a tile and its reshape)."""
    fragments: dict[Value, Value] = field(default_factory=dict)
    """Tiles in local arrays in a dot's layout (`tilelang.tiling.accumulators`)."""
    plans: FragmentPlans = field(default_factory=FragmentPlans)
    """Which tiles are to be in fragments (`tilelang.tiling.fragments`)."""
    swizzles: dict[Value, Swizzle] = field(default_factory=dict)
    word_swizzles: dict[Value, WordSwizzle] = field(default_factory=dict)
    """Operands of dots whose shared copy is not in row-major order."""
    slots: dict[Value, Number] = field(default_factory=dict)
    """Tiles whose shared array is a ring of several trips' tiles: where this trip's begins
    (`tilelang.tiling.pipelines`)."""
    banks: Mapping[Value, BankLayout] = field(default_factory=dict)
    """Other tiles of which that is true (`tilelang.tiling.bank_plans`)."""

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Homes found inside a branch or a loop's body are forgotten after it: not every path passes there."""
        kept = dict(self.registers), dict(self.shared), dict(self.recipes), dict(self.fragments), dict(self.slots)
        yield
        self.registers, self.shared, self.recipes, self.fragments, self.slots = kept

    def settled(self, value: Value) -> bool:
        """True if the value can be had now, in some way."""
        homes = (self.scalars, self.registers, self.shared, self.recipes)
        return any(value in home for home in homes)

    def follow_recipe(self, op: Op) -> None:
        """Make `op` the way to compute its result."""
        self.recipes[op.result] = op
        self.depths[op.result] = 1 + max((self.depths.get(v, 0) for v in op.operands), default=0)

    def reads_shared(self, value: Value) -> bool:
        """Is `value` another view of a tile in shared memory (a `permute` of it, say), to be read without a copy?"""
        while value not in self.shared:
            op = self.recipes.get(value)
            if op is None or op.name not in VIEWS:
                return False
            (value,) = op.operands
        return True

    def is_cheap_recipe(self, op: Op) -> bool:
        """Can `op` be computed at any coordinates without keeping its operands, and is that cheap?"""
        if op.name in COSTLY or not (TILE_OPS[op.name].elementwise or op.name in VIEWS):
            return False
        if any(v not in self.recipes and v not in self.scalars for v in op.operands):
            return False
        return all(self.depths.get(v, 0) < DEEPEST_RECIPE for v in op.operands)
