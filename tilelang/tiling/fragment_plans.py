"""Which tiles stay in the layout of a dot's accumulator while elementwise ops and row reductions work on them.

    %s = dot %q, %k, %zero                      %s: fragments
    %m = reduce %s {axes = (1,), max}     ->    %m: a number for each row, in the threads that have the row
    %p = exp (%s - %m)                          %p: fragments, and as it is the operand A of
    %acc = dot %p, %v, %scaled                  %acc: fragments, from trip to trip of the loop around

An analysis: it reads the tile kernel and changes nothing. Such a chain wants dots whose warps stand one above the
other, so that a warp has whole rows. It begins with dots on tensor cores and follows what is computed from them,
element by element and row by row. A tile is kept in fragments only if in the end a dot or the next trip of a loop takes
it from there: others gain nothing, and what leaves a chain passes through shared memory once. The rows must be a
multiple of 16 for each warp. What `if` and `while` hand on is not followed, nor a reduction along another axis.

The idea is that of FlashAttention-2 (Dao, 2023): the scores never leave the registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilelang.dtypes import F32
from tilelang.ir.core import Kernel, Op, Value
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.row_layout import RowLayout, rows_of
from tilelang.tiling.uses import Uses

Layout = AccumulatorLayout | RowLayout


@dataclass
class FragmentPlans:
    """`layouts`: of each tile that stays in fragments. `views`: what shows others of these in another shape, by
    its result. `narrowed`: halves that only operands A are made of, and what they are rounded from when those are
    made."""

    layouts: dict[Value, Layout] = field(default_factory=dict)
    views: dict[Value, Op] = field(default_factory=dict)
    narrowed: dict[Value, Value] = field(default_factory=dict)

    def holds(self, value: Value) -> bool:
        return value in self.layouts or value in self.views or value in self.narrowed


def plan_fragments(kernel: Kernel, dots: Sequence[Op], carried: frozenset[Value], warps: int) -> FragmentPlans:
    """The chains that begin with `dots`, which can all be done by `warps` warps one above the other. Block arguments
    in `carried` are accumulators that stay in fragments anyway: they are no part of a chain."""
    heights = {dot.result.shape[0] for dot in dots}
    found = FragmentPlans()
    for rows in sorted(heights):
        if rows % (16 * warps) == 0:
            chain = _Chain(kernel, [dot for dot in dots if dot.result.shape[0] == rows], carried, rows)
            chain.close()
            _add(found, chain, warps)
    return found


class _Chain:
    """The values of tiles with so many `rows`; first all that might be, then without those that cannot or need not."""

    def __init__(self, kernel: Kernel, dots: Sequence[Op], carried: frozenset[Value], rows: int):
        self.dots = {id(dot) for dot in dots}
        self.rows = rows
        self.shapes = {dot.result.shape for dot in dots}
        self.uses = Uses(kernel)
        self.definitions: dict[Value, Op] = {}
        self.loops: dict[Value, Op] = {}  # of a block argument or a result, the loop
        self.pairs: dict[Value, tuple[Value, Value, Value]] = {}  # of an argument: first, handed on, result
        for op in kernel.walk():
            self.definitions.update((value, op) for value in op.results)
            if op.name == "for":
                self._loop(op)
        self.values = {v for v in (*self.definitions, *self.pairs) if self._has_shape(v) and v not in carried
                       and not self._adds_to(v, carried)}

    def _loop(self, op: Op) -> None:
        (body,) = op.blocks
        for first, argument, handed, result in zip(op.operands[3:], body.args[1:], body.ops[-1].operands, op.results,
                                                   strict=True):
            self.pairs[argument] = first, handed, result
            self.loops[argument] = self.loops[result] = op

    def _has_shape(self, value: Value) -> bool:
        shape = value.type.shape  # type: ignore[union-attr]
        return shape in self.shapes or shape in ((self.rows,), (self.rows, 1))

    def _adds_to(self, value: Value, carried: frozenset[Value]) -> bool:
        op = self.definitions.get(value)
        return op is not None and id(op) in self.dots and op.operands[2] in carried

    def close(self) -> None:
        """Drop values until all that are left can be computed in fragments, and are wanted there."""
        while True:
            kept = {value for value in self.values if self._is_possible(value) and self._is_wanted(value)}
            if kept == self.values:
                return
            self.values = kept

    # ---------------------------------------------------------------- can it be computed there?

    def _is_possible(self, value: Value) -> bool:
        if value in self.pairs:
            _, handed, result = self.pairs[value]
            return handed in self.values and not self.is_view(handed) and result in self.values
        op = self.definitions[value]
        if op.name == "for":
            return self._argument(value) in self.values
        if op.name == "dot":
            return id(op) in self.dots
        if op.name == "reduce":
            return op.attrs["axes"] == (1,) and op.operands[0].shape in self.shapes and op.operands[0] in self.values
        if self.is_view(value):
            return op.operands[0] in self.values
        return TILE_OPS[op.name].elementwise and any(operand in self.values for operand in op.operands)

    def _argument(self, result: Value) -> Value:
        loop = self.loops[result]
        return loop.blocks[0].args[1 + loop.results.index(result)]

    def is_view(self, value: Value) -> bool:
        """A number for each row, seen as a column or in all columns."""
        op = self.definitions.get(value)
        if op is None or op.name not in ("reshape", "broadcast"):
            return False
        source = op.operands[0].type.shape  # type: ignore[union-attr]
        if op.name == "reshape":
            return source in ((self.rows,), (self.rows, 1)) and value.shape in ((self.rows,), (self.rows, 1))
        return source == (self.rows, 1) or source == value.shape

    # ---------------------------------------------------------------- does anybody want it there?

    def _is_wanted(self, value: Value) -> bool:
        op = self.definitions.get(value)
        if op is not None and op.name == "for":
            return True  # it is the argument, after the last trip
        return any(self._takes(user, value) for user in self.uses.of(value))

    def _takes(self, user: Op, value: Value) -> bool:
        if user.name == "dot":
            return id(user) in self.dots and value != user.operands[1] and (
                value == user.operands[0] or user.result in self.values)
        if user.name == "yield":
            return any(handed == value and argument in self.values for argument, (_, handed, _) in self.pairs.items())
        if user.name == "for":
            return any(first == value and argument in self.values for argument, (first, _, _) in self.pairs.items())
        return any(result in self.values for result in user.results)


def _add(found: FragmentPlans, chain: _Chain, warps: int) -> None:
    for value in chain.values:
        op = chain.definitions.get(value)
        if op is not None and chain.is_view(value):
            found.views[value] = op
        elif op is not None and _is_narrowed(op, chain):
            found.narrowed[value] = op.operands[0]
        elif value.shape in chain.shapes:
            found.layouts[value] = AccumulatorLayout((value.shape[0], value.shape[1]), (warps, 1))
        else:
            found.layouts[value] = rows_of(AccumulatorLayout((chain.rows, 8), (warps, 1)))


def _is_narrowed(op: Op, chain: _Chain) -> bool:
    """A rounding to halves, of which only operands A are made."""
    if op.name != "cast" or op.operands[0].dtype != F32 or op.result.dtype.bits != 16 or not op.result.dtype.is_float:
        return False
    return all(user.name == "dot" and user.operands[0] == op.result and op.result not in user.operands[1:]
               for user in chain.uses.of(op.result))
