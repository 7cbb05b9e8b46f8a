"""What the assembler moves out of loops, so that its instructions are not counted once a trip.

    for %c0, %c32, %c1 (%k: i32) {
      for %c0, %c8, %c1 {unroll = true} (%r: i32) {
        %e: i32 = add %at, %t         depends on %r alone: moved out of the loop over %k, computed 8 times in all
        %row: i32 = mul %k, %c64      depends on %k alone: moved out of the loop over %r
        %x: f32 = shared.load ...     reads memory: stays

Each value is given the set of loops in which it changes: those whose index it is computed from, and for what is
carried around a loop or read from memory all loops around. An op leaves loops from the inside out, up to the first in
which it changes. It passes an unrolled one even so: its trips become separate instructions, each with its register.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.ir.thread_ops import THREAD_OPS

Loops = frozenset[int]
"""Loops by `id` of their op."""


def movable(kernel: Kernel) -> dict[int, tuple[Op, ...]]:
    """For ops (by `id`) that can leave loops around them: which ones."""
    walk = _Walk()
    walk.block(kernel.body, ())
    return walk.found


def _left(loops: tuple[Op, ...], changing: Loops) -> Iterator[Op]:
    """The loops that an op leaves, innermost first."""
    for loop in reversed(loops):
        if id(loop) not in changing:
            yield loop
        elif not loop.attrs.get("unroll"):
            return


class _Walk:
    def __init__(self) -> None:
        self.changes: dict[str, Loops] = {}
        self.found: dict[int, tuple[Op, ...]] = {}

    def block(self, block: Block, loops: tuple[Op, ...]) -> Loops:
        """Go through a block; the loops in which what it hands over changes."""
        around = frozenset(id(loop) for loop in loops)
        for op in block.ops:
            changing = self._of(op.operands)
            if THREAD_OPS[op.name].terminator:
                return changing
            if op.blocks:
                changing |= self._control(op, loops)
            elif not THREAD_OPS[op.name].pure:
                changing = around
            else:
                self.found[id(op)] = tuple(_left(loops, changing))
            self.changes.update((result.name, changing) for result in op.results)
        return frozenset()

    def _control(self, op: Op, loops: tuple[Op, ...]) -> Loops:
        if op.name == "if":
            return frozenset().union(*(self.block(inner, loops) for inner in op.blocks))
        inside = (*loops, op)
        everywhere = frozenset(id(loop) for loop in inside)
        handed: Loops = frozenset()
        for inner in op.blocks:
            self.changes.update((arg.name, everywhere) for arg in inner.args)
            if op.name == "for":  # the index follows from the bounds alone
                self.changes[inner.args[0].name] = frozenset((id(op),)) | self._of(op.operands[:3])
            handed |= self.block(inner, inside)
        return handed - {id(op)}

    def _of(self, values: tuple[Value, ...]) -> Loops:
        return frozenset().union(*(self.changes.get(value.name, frozenset()) for value in values))
