"""Dots of f32 on tensor cores, rounded to tf32: fragments are made word by word.

    for each 8 words along k:
        for each 16 rows of my warp's part:      four words of a -> a fragment
        for each 8 columns:                      two words of b  -> b fragment
        for each piece of 16 x 8:                mma  accumulator += a fragment * b fragment

A word is an element of an operand, rounded, where the program allows that (`dot(a, b, acc, tf32=true)`). The layouts
are those of `tilelang.tiling.mma_words`, and of `tilelang.tiling.mma` for the accumulator.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.dtypes import DTYPES
from tilelang.ir.core import Op, Value
from tilelang.semantics.types import TileType
from tilelang.tiling.accumulators import Accumulators
from tilelang.tiling.batches import each_product, pieces_of
from tilelang.tiling.dot_plans import MmaPlan
from tilelang.tiling.elements import Elements
from tilelang.tiling.fusion import Fusion
from tilelang.tiling.homes import Homes
from tilelang.tiling.mma import WARP
from tilelang.tiling.mma_words import DEPTH, a_word, b_word
from tilelang.tiling.numbers import Number
from tilelang.tiling.writer import ThreadWriter

U32 = DTYPES["u32"]
A_REGISTERS, B_REGISTERS = 4, 2


class WordCores:
    """Writes the dots of f32 that have a plan for tensor cores."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, fusion: Fusion,
                 accumulators: Accumulators):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.fusion = fusion
        self.accumulators = accumulators

    def dot(self, op: Op, plan: MmaPlan) -> None:
        a, b, _ = op.operands
        for operand in (a, b):
            if not self.homes.reads_shared(operand):
                self.fusion.in_shared(operand)
        fragments = self.accumulators.take(op, plan.layout)
        self.accumulators.by_threads(plan.layout, lambda: each_product(
            self.accumulators, plan, lambda *part: self._product(plan, fragments, (a, b), *part)))
        self.homes.fragments[op.result] = fragments

    def _product(self, plan: MmaPlan, acc: Value, operands: tuple[Value, Value], matrix: Number | None, rows: Number,
                 first: Number | int) -> None:
        """Add what a warp has of one product, from `rows` of it on, to its fragments from register `first` on."""
        down, across = pieces_of(plan)
        thread, each = self.accumulators.thread, self.accumulators.each
        lane, columns = thread % WARP, thread // WARP % plan.layout.warps[1] * plan.layout.part[1]
        left = self.write.local("a_fragments", U32, A_REGISTERS * down)
        right = self.write.local("b_fragments", U32, B_REGISTERS * across)
        a, b = operands

        def step(k: Value) -> None:
            depth = self.accumulators.number(k) * DEPTH

            def of_a(m: Number, register: int) -> tuple[Number, Number]:
                row, along = a_word(lane, register)
                return rows + m * 16 + row, depth + along

            def of_b(n: Number, register: int) -> tuple[Number, Number]:
                along, column = b_word(lane, register)
                return depth + along, columns + n * 8 + column

            each(down, "m", lambda m: self._fetch((a, matrix), left, m, A_REGISTERS, of_a))
            each(across, "n", lambda n: self._fetch((b, matrix), right, n, B_REGISTERS, of_b))
            each(down, "m", lambda m: each(across, "n", lambda n: self.write.emit.effect(
                "mma", acc, ((m * across + n) * 4 + first).value, left, (m * A_REGISTERS).value, right,
                (n * B_REGISTERS).value, kind=plan.kind)))

        self.write.count(plan.depth // DEPTH, (), step, hint="k")

    def _fetch(self, source: tuple[Value, Number | None], fragments: Value, number: Number, registers: int,
               place: Callable[[Number, int], tuple[Number, Number]]) -> None:
        """A fragment of an operand, or of a matrix of it, word by word."""
        operand, matrix = source
        batch = () if matrix is None else self.write.index.delinearize(matrix.value, operand.shape[:-2])
        for register in range(registers):
            row, column = place(number, register)
            element = self.elements.at_coordinates(operand, (*batch, row.value, column.value), {})
            word = self.write.emit.op("round_tf32", element, type=TileType(U32), hint="word")
            self.write.write(fragments, (number * registers + register).value, word)
