"""Which values are the same in all threads of a block, and which vary.

What depends on the thread's number varies; so does what was in a thread's own registers. All else is uniform:
constants, dims, program ids, and whatever all threads read from one place. A barrier may stand only where all threads
come, that is under conditions and bounds that are uniform.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.ir.thread_rules import WARP

SOURCES = ("thread_id", "local.load", "global.atomic")
"""Ops whose results differ between threads whatever their operands."""


def varying_values(kernel: Kernel) -> frozenset[Value]:
    """All values of a thread kernel that may differ between the threads of a block."""
    analysis = _Varying(one_warp=kernel.attrs["threads"] == WARP)
    while analysis.changed:  # a value carried around a loop can make an earlier one vary
        analysis.changed = False
        analysis.block(kernel.body)
    return frozenset(analysis.found)


class _Varying:
    def __init__(self, one_warp: bool) -> None:
        self.one_warp = one_warp
        self.found: set[Value] = set()
        self.changed = True

    def mark(self, values: Sequence[Value], because: bool) -> None:
        if because and not self.found.issuperset(values):
            self.found.update(values)
            self.changed = True

    def any(self, values: Sequence[Value]) -> bool:
        return not self.found.isdisjoint(values)

    def block(self, block: Block) -> None:
        for op in block.ops:
            match op.name:
                case "for":
                    self.loop(op)
                case "while":
                    self.while_loop(op)
                case "if":
                    self.branch(op)
                case "shuffle" if self.one_warp and "lane" in op.attrs:
                    pass  # all threads get the one value
                case _:
                    self.mark(op.results, op.name in SOURCES or self.any(op.operands))

    def loop(self, op: Op) -> None:
        (body,) = op.blocks
        uneven = self.any(op.operands[:3])
        self.mark(body.args[:1], uneven)
        self.carry(op.operands[3:], body.args[1:], uneven)
        self.block(body)
        handed = body.ops[-1].operands
        self.carry(handed, body.args[1:], uneven)
        self.carry(body.args[1:], op.results, uneven)

    def while_loop(self, op: Op) -> None:
        test, body = op.blocks
        self.carry(op.operands, test.args, False)
        self.block(test)
        condition, *handed = test.ops[-1].operands
        uneven = self.any([condition])
        self.carry(handed, body.args, uneven)
        self.carry(handed, op.results, uneven)
        self.block(body)
        self.carry(body.ops[-1].operands, test.args, uneven)

    def branch(self, op: Op) -> None:
        uneven = self.any(op.operands)
        for block in op.blocks:
            self.block(block)
            self.carry(block.ops[-1].operands, op.results, uneven)

    def carry(self, sources: Sequence[Value], targets: Sequence[Value], uneven: bool) -> None:
        for source, target in zip(sources, targets, strict=True):
            self.mark([target], uneven or source in self.found)
