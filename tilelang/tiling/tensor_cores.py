"""`dot` on tensor cores: operands in shared memory, fragments in registers, one warp-wide instruction for 16 x 8 x 16.

    for each 16 along k:
        for each 16 rows of my warp's part:      load_matrix  a_shared -> a fragments
        for each 16 columns:                     load_matrix  b_shared -> b fragments
        for each piece of 16 x 8:                mma          accumulator += a fragment * b fragment

The layouts of fragments and accumulator are those of `tilelang.tiling.mma`. Which dots come here says
`tilelang.tiling.dot_plans`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.dtypes import DTYPES
from tilelang.ir.core import Op, Value
from tilelang.ir.thread_ops import MMA_KINDS
from tilelang.tiling.accumulators import Accumulators
from tilelang.tiling.dot_plans import MmaPlan, is_transpose
from tilelang.tiling.fusion import Fusion
from tilelang.tiling.homes import Homes
from tilelang.tiling.mma import DEPTH, WARP, MatrixRead
from tilelang.tiling.numbers import Number
from tilelang.tiling.writer import ThreadWriter

U32 = DTYPES["u32"]
FRAGMENT = 4
"""Registers that one `load_matrix` fills."""


@dataclass(frozen=True)
class Staged:
    """An operand in shared memory, and how to read it. `start`: where it begins in the array. `placed`: see
    `tilelang.ir.thread_ops`."""

    array: Value
    read: MatrixRead
    start: Number | int = 0
    placed: bool = False


class TensorCores:
    """Writes the dots that have a plan."""

    def __init__(self, write: ThreadWriter, homes: Homes, fusion: Fusion, accumulators: Accumulators):
        self.write = write
        self.homes = homes
        self.fusion = fusion
        self.accumulators = accumulators

    def dot(self, op: Op, plan: MmaPlan) -> None:
        a, b, acc = op.operands
        left, right = self._staged(a, True), self._staged(b, False)
        fragments = self.accumulators.take(acc, plan.layout)
        self.multiply(plan, fragments, left, right)
        self.accumulators.give(op.result, acc, fragments)

    def _staged(self, operand: Value, of_a: bool) -> Staged:
        """The operand, or what it is the transpose of, in shared memory. Rows along k: A as it is, B transposed."""
        array, turned, source = self.homes.shared.get(operand), False, operand
        view = self.homes.recipes.get(operand)
        if array is None and view is not None and is_transpose(view) and view.operands[0] in self.homes.shared:
            source, turned = view.operands[0], True
            array = self.homes.shared[source]
        if array is None:
            array = self.fusion.in_shared(operand)
        return Staged(array, MatrixRead(self.homes.swizzles[source], of_a, k_last=of_a != turned))

    # ---------------------------------------------------------------- the product

    def multiply(self, plan: MmaPlan, acc: Value, left: Staged, right: Staged) -> None:
        """Add the product of a dot's operands to the fragments `acc`."""
        self.accumulators.by_threads(plan.layout, lambda: self._multiply(plan, acc, left, right))

    def _multiply(self, plan: MmaPlan, acc: Value, left: Staged, right: Staged) -> None:
        """One warp's part of the product."""
        down, across = plan.layout.pieces
        thread, each = self.accumulators.thread, self.accumulators.each
        warp, lane = thread // WARP, thread % WARP
        rows = warp // plan.layout.warps[1] * plan.layout.part[0]
        columns = warp % plan.layout.warps[1] * plan.layout.part[1]
        a = self.write.local("a_fragments", U32, FRAGMENT * down)
        b = self.write.local("b_fragments", U32, FRAGMENT * (across // 2))

        def step(k: Value) -> None:
            depth = self.accumulators.number(k) * DEPTH
            each(down, "m", lambda m: self._load(left, a, m, lane, rows + m * 16, depth))
            each(across // 2, "n", lambda n: self._load(right, b, n, lane, columns + n * 16, depth))
            each(down, "m", lambda m: each(across, "n", lambda n: self._mma(
                plan.kind, (acc, (m * across + n) * 4), (a, m * FRAGMENT), (b, n * 2))))

        self.write.count(plan.depth // DEPTH, (), step, hint="k")

    def _load(self, operand: Staged, fragments: Value, number: Number, lane: Number, outer: Number, k: Number) -> None:
        at = operand.read.position(lane, outer, k) + operand.start
        attrs = {"placed": True} if operand.placed else {}
        self.write.emit.effect("shared.load_matrix", operand.array, at.value, fragments, (number * FRAGMENT).value,
                               trans=operand.read.trans, **attrs)

    def _mma(self, kind: str, acc: tuple[Value, Number], a: tuple[Value, Number], b: tuple[Value, Number]) -> None:
        """16 along k: by two instructions if each does 8. A fragment's first registers are its first 8 along k."""
        registers = MMA_KINDS[kind]
        for half in range(FRAGMENT // registers[0]):
            self.write.emit.effect("mma", acc[0], acc[1].value, a[0], (a[1] + half * registers[0]).value,
                                   b[0], (b[1] + half * registers[1]).value, kind=kind)
