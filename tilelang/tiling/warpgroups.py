"""`dot` by warp groups: operands stay in shared memory, one instruction multiplies 64 x 16 by 16 x n.

    async.fence                                 my part of the operands may be read by tensor cores ...
    barrier                                     ... and so may everybody's
    wgmma.fence                                 the accumulators have their values
    for each 64 rows of my group:
        for each 16 along k:                    shared.wgmma  accumulator += a_shared * b_shared
    wgmma.commit; wgmma.wait                    all of them are done: operands may be overwritten, accumulators read

An operand A that another product left in registers is read from there, and fenced as the accumulators are. A pipelined
loop has fence and barrier where it waits for its copies (`tilelang.tiling.pipelines`). Between `wgmma.fence` and
`wgmma.wait` nothing may touch the accumulators, not even a loop's counter that selects one: the steps are written one
after another.

Which dots come here says `tilelang.tiling.warpgroup_plans`, how operands lie `tilelang.tiling.warpgroup_layout`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.ir.core import Attr, Value
from tilelang.tiling.mma import DEPTH, FRAGMENT, AccumulatorLayout
from tilelang.tiling.numbers import Number
from tilelang.tiling.warpgroup_layout import GROUP, ROWS, Panels
from tilelang.tiling.writer import ThreadWriter


@dataclass(frozen=True)
class PanelOperand:
    """An operand in shared memory, in `panels`. `along_k`: do their rows run along k? `start`: where it begins in the
    array. `placed`: see `tilelang.ir.thread_ops`."""

    array: Value
    panels: Panels
    along_k: bool
    start: Number | int
    placed: bool

    def at(self, outer: Number, k: Number) -> Value:
        """The element where the part from (outer, k) on begins."""
        return ((self.panels.start(outer, k) if self.along_k else self.panels.start(k, outer)) + self.start).value

    @property
    def described(self) -> tuple[int, int, int, bool]:
        """Its matrix descriptor, as an attribute."""
        found = self.panels.descriptor(self.along_k)
        return found.row, found.leading, found.stride, found.along_k


@dataclass(frozen=True)
class Packed:
    """An operand A in registers: fragments of 16 x 16 for one step along k after another."""

    array: Value


class WarpGroups:
    """Writes products of which B, and A too or not, is in shared memory."""

    def __init__(self, write: ThreadWriter):
        self.write = write

    def publish(self) -> None:
        """What threads have written to shared memory, warp groups may read."""
        self.write.emit.effect("async.fence")
        self.write.emit.effect("barrier")

    def multiply(self, layout: AccumulatorLayout, kind: str, depth: int, acc: Value, a: PanelOperand | Packed,
                 b: PanelOperand) -> None:
        """Add the product to the fragments `acc`."""
        emit = self.write.emit
        attrs: dict[str, Attr] = {"kind": kind, "columns": layout.shape[1], "b": b.described, "placed_b": b.placed}
        if isinstance(a, PanelOperand):
            attrs |= {"a": a.described, "placed": a.placed}
        else:
            emit.effect("wgmma.fence", a.array)
        emit.effect("wgmma.fence", acc)
        down, across = layout.pieces
        for piece in range(down):
            register = self._number(piece * across * 4)
            for step in range(depth // DEPTH):
                k = self._number(step * DEPTH)
                left = (a.array, a.at(self._row(piece), k)) if isinstance(a, PanelOperand) else (
                    a.array, self._number((piece * (depth // DEPTH) + step) * FRAGMENT).value)
                emit.effect("shared.wgmma", *left, b.array, b.at(self._number(0), k), acc, register.value, **attrs)
        emit.effect("wgmma.commit")
        emit.effect("wgmma.wait", acc, pending=0)

    def _row(self, piece: int) -> Number:
        """The first of the 64 rows that my group's piece of this number has."""
        groups = self.write.threads // GROUP
        first = self._number(piece * groups * ROWS)
        return first if groups == 1 else Number(self.write.index, self.write.thread()) // GROUP * ROWS + first

    def _number(self, value: int) -> Number:
        return Number(self.write.index, self.write.index.number(value))
