"""Register blocking: each thread multiplies for a patch of the result, not for one element after another.

    for each k:
        my columns of b[k, :] into registers
        for each of my rows:  x = a[row, k];  for each of my columns:  acc[row, column] += x * b[k, column]

For a patch of m x n elements that is m + n reads of shared memory for m * n products; element by element it would be
nearly as many reads as products, or more. The layout is `tilelang.tiling.patch_layout`.
"""

from __future__ import annotations

from tilelang.ir.core import Op, Value
from tilelang.semantics.types import TileType
from tilelang.tiling.accumulators import Accumulators
from tilelang.tiling.elements import Elements
from tilelang.tiling.fusion import Fusion
from tilelang.tiling.homes import Homes
from tilelang.tiling.numbers import Number
from tilelang.tiling.patch_layout import PatchLayout
from tilelang.tiling.writer import ThreadWriter


class Patches:
    """Writes the dots that have a plan with a `PatchLayout`."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, fusion: Fusion,
                 accumulators: Accumulators):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.fusion = fusion
        self.accumulators = accumulators

    def dot(self, op: Op, layout: PatchLayout) -> None:
        a, b, _ = op.operands
        for operand in (a, b):
            if not self.homes.reads_shared(operand):
                self.fusion.in_shared(operand)
        fragments = self.accumulators.take(op, layout)
        columns = self.write.local(f"{b.name}_row", op.result.dtype, layout.patch[1])
        self.write.count(a.shape[1], (), lambda k: self._step(op, layout, k, fragments, columns), hint="k")
        self.homes.fragments[op.result] = fragments

    def _step(self, op: Op, layout: PatchLayout, k: Value, acc: Value, columns: Value) -> None:
        """One k: a column of `a` times a row of `b`."""
        a, b, _ = op.operands
        rows, across = layout.patch
        thread = self.accumulators.thread

        def fetch(j: Number) -> None:
            self.write.write(columns, j.value, self._element(b, (k, layout.column(thread, j).value), op))

        def multiply(i: Number) -> None:
            left = self._element(a, (layout.row(thread, i).value, k), op)
            self.accumulators.each(across, "n", lambda j: self._add(op, acc, i * across + j, left,
                                                                    self.write.read(columns, j.value, hint="right")))

        self.accumulators.each(across, "n", fetch)
        self.accumulators.each(rows, "m", multiply)

    def _element(self, operand: Value, coordinates: tuple[Value, Value], op: Op) -> Value:
        value = self.elements.at_coordinates(operand, coordinates, {})
        if value.dtype == op.result.dtype:
            return value
        return self.write.emit.op("cast", value, type=TileType(op.result.dtype), hint=operand.name)

    def _add(self, op: Op, acc: Value, register: Number, left: Value, right: Value) -> None:
        emit, so_far = self.write.emit, self.write.read(acc, register.value, hint="total")
        if op.result.dtype.is_float:
            total = emit.op("fma", left, right, so_far, hint="total")
        else:
            total = emit.op("add", so_far, emit.op("mul", left, right, hint="product"), hint="total")
        self.write.write(acc, register.value, total)
