"""Dead code at thread level: index arithmetic that the lowering wrote and nothing uses.

    %i: i32 = shr %e, %c5        (no use)      ->      nothing

Pure ops without uses go, from the end backwards, so that what only they used goes too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.ir.thread_ops import THREAD_OPS

DECLARATIONS = ("local", "shared")


def drop_unused(kernel: Kernel) -> Kernel:
    """The kernel without pure ops, and without arrays, that nothing uses."""
    uses = Counter(v for op in kernel.walk() for v in op.operands)
    return replace(kernel, body=_swept(kernel.body, uses))


def _swept(block: Block, uses: Counter[Value]) -> Block:
    kept: list[Op] = []
    for op in reversed(block.ops):
        droppable = (THREAD_OPS[op.name].pure and not THREAD_OPS[op.name].terminator) or op.name in DECLARATIONS
        if droppable and not any(uses[v] for v in op.results):
            uses.subtract(op.operands)
            continue
        kept.append(replace(op, blocks=tuple(_swept(b, uses) for b in reversed(op.blocks))[::-1]) if op.blocks else op)
    return Block(block.args, tuple(reversed(kept)))
