"""Dead code: what neither reaches memory nor a message is dropped.

    %a: f32[8] = exp %x                                        (gone: nothing uses %a)
    %s: f32, %n: i32 = for %lo, %hi, %st, %s0, %n0             %s: f32 = for %lo, %hi, %st, %s0
                         (%k: i64, %p: f32, %q: i32) {   ==>                   (%k: i64, %p: f32) {
      %p1: f32 = add %p, %one                                    %p1: f32 = add %p, %one
      %q1: i32 = add %q, %k1                                     yield %p1
      yield %p1, %q1                                           }
    }                                                          store %y, %i, %s
    store %y, %i, %s

Precondition: none.

Mark and sweep. An op with an effect is needed; what a needed op reads is needed; a carried value of a loop is
needed if its result is, or if the needed part of the body reads it. A value that only feeds itself from trip
to trip is not: marking starts from effects, so a dead circle is never reached.

It refuses to drop stores, atomics, asserts, prints, what holds one of them, and `while` loops (one that
never ends would suddenly end). Loads go: they cannot fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.passes.effects import has_effect


def dce(kernel: Kernel) -> Kernel:
    """Drop ops, results and carried values that nothing needs."""
    needed = _Marking(kernel).needed
    return replace(kernel, body=Block(kernel.body.args, _sweep(kernel.body.ops, needed)))


class _Marking:
    """Finds the names of all needed values."""

    def __init__(self, kernel: Kernel):
        self.needed: set[str] = set()
        self.sources: dict[str, tuple[Value, ...]] = {}
        self.pending: list[Value] = []
        self.scan(kernel.body, ())
        while self.pending:
            value = self.pending.pop()
            if value.name not in self.needed:
                self.needed.add(value.name)
                self.pending.extend(self.sources.get(value.name, ()))

    def scan(self, block: Block, around: tuple[Value, ...]) -> None:
        """Note what each value comes from. `around`: the conditions that decide whether the block runs."""
        for op in block.ops:
            if op.blocks:
                self.scan_nested(op, around)
                continue
            for result in op.results:
                self.sources[result.name] = (*op.operands, *around)
            if has_effect(op):
                self.pending.extend((*op.operands, *around))

    def scan_nested(self, op: Op, around: tuple[Value, ...]) -> None:
        """One slot of a loop or branch is a result, an argument in each block, what is handed over to it."""
        inits = _inits(op)
        control = op.operands[:len(op.operands) - len(inits)]
        conditions = [b.ops[-1].operands[0] for b in op.blocks if b.ops[-1].name == "condition"]
        inside = (*around, *control, *conditions)
        for slot, result in enumerate(op.results):
            sources = [*inside, *(_handed(block)[slot] for block in op.blocks)]
            arguments = [_arguments(op, block)[slot] for block in op.blocks] if inits else []
            if inits:
                sources.append(inits[slot])
            for value in (result, *arguments):
                self.sources[value.name] = (*sources, result, *arguments)
        if op.name == "for":
            self.sources[op.blocks[0].args[0].name] = control
        if has_effect(op):
            self.pending.extend(inside)
        for block in op.blocks:
            self.scan(block, inside)


def _inits(op: Op) -> tuple[Value, ...]:
    """The first values of what a loop carries."""
    return {"for": op.operands[3:], "while": op.operands}.get(op.name, ())


def _arguments(op: Op, block: Block) -> tuple[Value, ...]:
    """The carried values as the block sees them."""
    return block.args[1:] if op.name == "for" else block.args


def _handed(block: Block) -> tuple[Value, ...]:
    """The values a block hands over, without the condition of a `while`."""
    last = block.ops[-1]
    return last.operands[1:] if last.name == "condition" else last.operands


def _sweep(ops: Sequence[Op], needed: set[str]) -> tuple[Op, ...]:
    """The ops that stay, each without the slots that go."""
    kept = []
    for op in ops:
        if op.name in ("yield", "condition"):
            kept.append(op)
        elif has_effect(op) or any(result.name in needed for result in op.results):
            kept.append(_slim(op, needed) if op.blocks else op)
    return tuple(kept)


def _slim(op: Op, needed: set[str]) -> Op:
    """A loop or branch with its needed slots only."""
    inits = _inits(op)
    slots = [slot for slot, result in enumerate(op.results) if result.name in needed]
    blocks = tuple(_slim_block(op, block, slots, needed) for block in op.blocks)
    control = op.operands[:len(op.operands) - len(inits)]
    operands = (*control, *(inits[slot] for slot in slots)) if inits else op.operands
    return replace(op, operands=operands, results=tuple(op.results[slot] for slot in slots), blocks=blocks)


def _slim_block(op: Op, block: Block, slots: list[int], needed: set[str]) -> Block:
    arguments = block.args
    if op.name != "if":
        carried = _arguments(op, block)
        arguments = (*block.args[:len(block.args) - len(carried)], *(carried[slot] for slot in slots))
    last = block.ops[-1]
    handed = _handed(block)
    fixed = last.operands[:len(last.operands) - len(handed)]
    terminator = last.with_operands(*fixed, *(handed[slot] for slot in slots))
    return Block(arguments, (*_sweep(block.ops[:-1], needed), terminator))
