"""`dot` on tensor cores: operands in shared memory, fragments in registers, one warp-wide instruction for 16 x 8 x 16.

    for each 16 along k:                         (of bytes, 32)
        for each 16 rows of my warp's part:      load_matrix  a_shared -> a fragments
        for each 16 columns:                     load_matrix  b_shared -> b fragments
        for each piece of 16 x 8:                mma          accumulator += a fragment * b fragment

Bytes whose rows do not run along k are sorted in registers (`tilelang.tiling.mma_bytes`). Of a batch of products a warp
has a part of one, or some of them one after another.

An operand A that is in the accumulator's layout of another dot is where it is needed: two neighbours at a time become a
register of its fragment. The layouts of fragments and accumulator are those of `tilelang.tiling.mma`. Which dots come
here says `tilelang.tiling.dot_plans`. Those planned for warp groups are handed on (`tilelang.tiling.warpgroups`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tilelang.diagnostics import InternalError
from tilelang.dtypes import DTYPES
from tilelang.ir.core import Op, Value
from tilelang.ir.thread_ops import MMA_KINDS
from tilelang.semantics.types import TileType
from tilelang.tiling.accumulators import Accumulators
from tilelang.tiling.batches import each_product, pieces_of
from tilelang.tiling.dot_plans import MmaPlan
from tilelang.tiling.fusion import Fusion
from tilelang.tiling.homes import Homes
from tilelang.tiling.mma import FRAGMENT, WARP, AccumulatorLayout, MatrixRead
from tilelang.tiling.mma_bytes import WOVEN_FRAGMENTS, TransposedRead, selector
from tilelang.tiling.numbers import Number
from tilelang.tiling.warpgroup_layout import Panels
from tilelang.tiling.warpgroups import Packed, PanelOperand, WarpGroups
from tilelang.tiling.writer import ThreadWriter

U32 = DTYPES["u32"]


@dataclass(frozen=True)
class Staged:
    """An operand in shared memory, and how to read it. `start`: where it begins in the array; in a batch the next of
    its matrices is `size` elements further on. `placed`: see `tilelang.ir.thread_ops`."""

    array: Value
    read: MatrixRead
    size: int
    start: Number | int = 0
    placed: bool = False

    def matrix(self, number: Number) -> Staged:
        """One matrix of the batch."""
        return replace(self, start=number * self.size + self.start)


class TensorCores:
    """Writes the dots that have a plan."""

    def __init__(self, write: ThreadWriter, homes: Homes, fusion: Fusion, accumulators: Accumulators):
        self.write = write
        self.homes = homes
        self.fusion = fusion
        self.accumulators = accumulators
        self.groups = WarpGroups(write)

    def dot(self, op: Op, plan: MmaPlan) -> None:
        (a, b, _), (stored_a, stored_b) = op.operands, plan.stored
        left = self._packed(a, plan) if self.homes.plans.holds(a) else self._staged(a, stored_a, True)
        right = self._staged(b, stored_b, False)
        fragments = self.accumulators.take(op, plan.layout)
        if plan.together:
            self._together(plan, fragments, left, right)
        else:
            self.accumulators.by_threads(plan.layout, lambda: self._multiply(plan, fragments, left, right))
        self.homes.fragments[op.result] = fragments

    def _staged(self, operand: Value, stored: Value, of_a: bool) -> Staged:
        """The operand, or what it is the transpose of, in shared memory. Rows along k: A as it is, B transposed."""
        array, swizzle = self.fusion.in_shared(stored), self.homes.swizzles[stored]
        k_last = of_a == (stored == operand)
        kind = TransposedRead if operand.dtype.bytes == 1 and not k_last else MatrixRead
        read, slot, size = kind(swizzle, of_a, k_last), self.homes.slots.get(stored), prod(stored.shape[-2:])
        return Staged(array, read, size) if slot is None else Staged(array, read, size, slot, placed=True)

    def _packed(self, operand: Value, plan: MmaPlan) -> Packed:
        """The accumulators of two pieces of 16 x 8, side by side, are a fragment of 16 x 16 of A."""
        source = self.homes.plans.narrowed.get(operand, operand)
        layout = AccumulatorLayout((operand.shape[0], operand.shape[1]), plan.layout.warps)
        held, (down, across) = self.accumulators.held(source, layout), layout.pieces
        fragments = self.write.local(f"{operand.name}_packed", U32, FRAGMENT * down * across // 2)

        def pair(piece: Number) -> None:
            for rows in range(2):
                at = piece * 4 + rows * 2
                halves = [self.write.read(held, (at + n).value, hint=operand.name) for n in range(2)]
                both = self.write.emit.op("pack", *halves, type=TileType(U32), hint="both", half=operand.dtype.name)
                self.write.write(fragments, (piece * 2 + rows).value, both)

        self.accumulators.each(down * across, "m", pair)
        return Packed(fragments)

    # ---------------------------------------------------------------- the product

    def _together(self, plan: MmaPlan, acc: Value, left: Staged | Packed, right: Staged) -> None:
        """Warp groups add the product. What a pipelined loop has fetched is published."""
        a, b = left if isinstance(left, Packed) else _in_panels(left), _in_panels(right)
        if not all(operand.placed for operand in (a, b) if isinstance(operand, PanelOperand)):
            self.groups.publish()
        self.groups.multiply(plan.layout, plan.kind, plan.depth, acc, a, b)

    def _multiply(self, plan: MmaPlan, acc: Value, left: Staged | Packed, right: Staged) -> None:
        """Add one warp's part of the products of a dot's operands to the fragments `acc`."""
        def one(matrix: Number | None, rows: Number, first: Number | int) -> None:
            if matrix is None or isinstance(left, Packed):
                self._product(plan, (acc, first), left, right, rows)
            else:
                self._product(plan, (acc, first), left.matrix(matrix), right.matrix(matrix), rows)

        each_product(self.accumulators, plan, one)

    def _product(self, plan: MmaPlan, acc: tuple[Value, Number | int], left: Staged | Packed, right: Staged,
                 rows: Number) -> None:
        """Add what a warp has of one product, from `rows` of it on, to its fragments."""
        down, across = pieces_of(plan)
        thread, each = self.accumulators.thread, self.accumulators.each
        lane, columns = thread % WARP, thread // WARP % plan.layout.warps[1] * plan.layout.part[1]
        steps, packed = plan.depth // plan.step, isinstance(left, Packed)
        pace = steps if packed else 1  # how far apart the fragments of 16 rows and of the next 16 are
        a = left.array if isinstance(left, Packed) else self.write.local("a_fragments", U32, FRAGMENT * down)
        b = self.write.local("b_fragments", U32, FRAGMENT * (across // 2))

        def step(k: Value) -> None:
            depth, first = self.accumulators.number(k) * plan.step, self.accumulators.number(k) * packed
            if isinstance(left, Staged):
                each(down, "m", lambda m: self._load(left, a, m, lane, rows + m * 16, depth))
            each(across // 2, "n", lambda n: self._load(right, b, n, lane, columns + n * 16, depth))
            each(down, "m", lambda m: each(across, "n", lambda n: self._mma(
                plan.kind, (acc[0], (m * across + n) * 4 + acc[1]), (a, (m * pace + first) * FRAGMENT), (b, n * 2))))

        self.write.count(steps, (), step, hint="k")

    def _load(self, operand: Staged, fragments: Value, number: Number, lane: Number, outer: Number, k: Number) -> None:
        at, emit = operand.read.position(lane, outer, k) + operand.start, self.write.emit
        attrs = {"placed": True} if operand.placed else {}
        sorted_later = isinstance(operand.read, TransposedRead)
        target = (self.write.local("pairs", U32, FRAGMENT), self.write.index.number(0)) if sorted_later else (
            fragments, (number * FRAGMENT).value)
        emit.effect("shared.load_matrix", operand.array, at.value, *target, trans=operand.read.trans, **attrs)
        if sorted_later:
            self._sort(target[0], fragments, number * FRAGMENT, lane, operand.read.of_a)

    def _sort(self, pairs: Value, fragments: Value, first: Number, lane: Number, of_a: bool) -> None:
        """Four matrices of bytes that were transposed two by two become fragments."""
        chosen = self.write.emit.op("cast", selector(lane).value, type=TileType(U32), hint="even")
        odd = self.write.emit.op("add", chosen, self.write.constant(0x1111, U32), hint="odd")
        for half in range(2):
            matrices = [self.write.read(pairs, self.write.index.number(half * 2 + n), hint="pair") for n in range(2)]
            for which, bytes_ in enumerate((chosen, odd)):
                word = self.write.emit.op("permute_bytes", *matrices, bytes_, type=TileType(U32), hint="word")
                at = WOVEN_FRAGMENTS[of_a].index(half * 2 + which)
                self.write.write(fragments, (first + at).value, word)

    def _mma(self, kind: str, acc: tuple[Value, Number], a: tuple[Value, Number], b: tuple[Value, Number]) -> None:
        """16 along k: by two instructions if each does 8. A fragment's first registers are its first 8 along k."""
        registers = MMA_KINDS[kind]
        for half in range(FRAGMENT // registers[0]):
            self.write.emit.effect("mma", acc[0], acc[1].value, a[0], (a[1] + half * registers[0]).value,
                                   b[0], (b[1] + half * registers[1]).value, kind=kind)


def _in_panels(operand: Staged | Packed) -> PanelOperand:
    if not isinstance(operand, Staged) or not isinstance(operand.read.swizzle, Panels):
        raise InternalError("lowering", f"%{operand.array.name} is no operand of a warp group")
    return PanelOperand(operand.array, operand.read.swizzle, operand.read.k_last, operand.start, operand.placed)
