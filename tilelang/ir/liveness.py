"""Where values are used for the last time, so that the interpreter can free their memory."""

from __future__ import annotations

from tilelang.ir.core import Block

Deaths = dict[int, dict[int, tuple[str, ...]]]
"""For a block (by `id`), for the number of an op in it: the values of the block not used after that op."""


def last_uses(body: Block) -> Deaths:
    """The deaths in a block and in all blocks inside it."""
    deaths: Deaths = {}
    _scan(body, deaths)
    return deaths


def _scan(block: Block, deaths: Deaths) -> set[str]:
    """Fill in `deaths`; the names used in the block."""
    used: set[str] = set()
    dying: dict[int, tuple[str, ...]] = {}
    uses = [{operand.name for operand in op.operands} for op in block.ops]
    for op, names in zip(block.ops, uses, strict=True):
        for inner in op.blocks:
            names |= _scan(inner, deaths)
    local = {arg.name for arg in block.args} | {r.name for op in block.ops for r in op.results}
    for number in reversed(range(len(block.ops))):
        names = uses[number] | {result.name for result in block.ops[number].results}
        last = (names - used) & local
        if last:
            dying[number] = tuple(last)
        used |= names
    deaths[id(block)] = dying
    return used - local
