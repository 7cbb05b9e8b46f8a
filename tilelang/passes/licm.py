"""Loop-invariant code motion: what is the same in every trip is computed before the loop.

    %s: f32[8] = for %lo, %hi, %st, %z (%k: i64, %a: f32[8]) {     %w: f32[8] = load %x, %i {...}
      %w: f32[8] = load %x, %i {...}                               %e: f32[8] = exp %w
      %e: f32[8] = exp %w                                    ==>   %s: f32[8] = for %lo, ... {
      %b: f32[8] = add %a, %e                                        %b: f32[8] = add %a, %e
      yield %b                                                       yield %b
    }                                                              }

Precondition: none. Inner loops go first, so an op may leave several loops.

Everything that moves may run although the loop makes no trip: pure ops have no undefined cases here, and a
load outside of its tensor gives the `other` value. So no test that the loop runs is needed.

It refuses: asserts, prints, stores, atomics; loads from a tensor that the loop writes, or, if it holds an
atomic, from any tensor that is not read-only (a program may be waiting there for another's write); ops inside an
`if` of the loop, which perhaps never run; loops inside of loops as a whole.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang.ir.core import Block, Kernel, Op
from tilelang.passes.effects import clobbers, defined_in, is_pure, written


def licm(kernel: Kernel) -> Kernel:
    """Move invariant ops out of their loops."""
    return replace(kernel, body=_block(kernel.body))


def _block(block: Block) -> Block:
    """The block with the invariant ops of its loops in front of them."""
    ops: list[Op] = []
    for op in block.ops:
        op = replace(op, blocks=tuple(map(_block, op.blocks))) if op.blocks else op
        if op.name in ("for", "while"):
            moved, op = _hoist(op)
            ops.extend(moved)
        ops.append(op)
    return Block(block.args, tuple(ops))


def _hoist(loop: Op) -> tuple[list[Op], Op]:
    """The ops that can stand before the loop, in order, and the loop without them."""
    inside: set[str] = set().union(*(defined_in(block) for block in loop.blocks))
    writes = written((loop,))
    moved: list[Op] = []
    blocks = []
    for block in loop.blocks:
        kept = []
        for op in block.ops:
            movable = is_pure(op) or (op.name == "load" and not clobbers(writes, op.operands[0]))
            if movable and not any(operand.name in inside for operand in op.operands):
                moved.append(op)
                inside.difference_update(result.name for result in op.results)
            else:
                kept.append(op)
        blocks.append(Block(block.args, tuple(kept)))
    return moved, replace(loop, blocks=tuple(blocks))
