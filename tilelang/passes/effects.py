"""What an op does besides computing its results: the questions that more than one pass asks.

Two tensors never overlap where one of them is written: the launcher refuses such arguments. So a write to `y`
changes what is read from `y` and nothing else. Atomics are the one exception: they order programs, and what
another program wrote before may be read after.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilelang.ir.core import Block, Op, TensorType, Value
from tilelang.ir.tile_ops import TILE_OPS

ANY = "*"
"""In a set of written tensors: every tensor that is not read-only."""


def written(ops: Iterable[Op]) -> frozenset[str]:
    """The names of the tensors that ops, or ops in their blocks, write; `ANY` if an atomic is among them."""
    names: set[str] = set()
    for op in ops:
        if op.name == "atomic":
            names.add(ANY)
        elif op.name == "store":
            names.add(op.operands[0].name)
        for block in op.blocks:
            names |= written(block.ops)
    return frozenset(names)


def clobbers(writes: frozenset[str], tensor: Value) -> bool:
    """May those writes change what a load from `tensor` gives?"""
    if isinstance(tensor.type, TensorType) and tensor.type.mode == "in":
        return False
    return ANY in writes or tensor.name in writes


def is_pure(op: Op) -> bool:
    """True if the op computes its results from its operands alone. Ops with blocks count as impure."""
    return TILE_OPS[op.name].pure


def has_effect(op: Op) -> bool:
    """True if the op must stay even where nothing uses its results.

    A `while` stays because it may never end. A load may go: it cannot fault, outside of its tensor it gives
    the `other` value.
    """
    if op.name in ("store", "atomic", "assert", "print", "while"):
        return True
    return any(has_effect(inner) for block in op.blocks for inner in block.ops)


def defined_in(block: Block) -> set[str]:
    """The names of all values that are defined inside a block, its arguments included."""
    names = {argument.name for argument in block.args}
    for op in block.walk():
        names.update(result.name for result in op.results)
        names.update(argument.name for inner in op.blocks for argument in inner.args)
    return names
