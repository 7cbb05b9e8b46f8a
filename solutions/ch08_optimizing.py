"""Chapter 8, Optimizing: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilelang.dtypes import DType
from tilelang.ir.core import Block, Op, TensorType, Value
from tilelang.passes.cse import Key, _Sharing
from tilelang.passes.effects import ANY, defined_in, is_pure
from tilelang.passes.identities import FLOAT_RIGHT_NEUTRAL, RIGHT_NEUTRAL
from tilelang.passes.ranges import Range
from tilelang.passes.rewrite import Number


# tilelang/passes/fold.py
def wrap(number: int, bits: int, signed: bool) -> int:
    """An integer's low bits, read as the type reads them."""
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if signed and low >> (bits - 1) else low


# tilelang/passes/effects.py
def clobbers(writes: frozenset[str], tensor: Value) -> bool:
    """May those writes change what a load from `tensor` gives?"""
    if isinstance(tensor.type, TensorType) and tensor.type.mode == "in":
        return False
    return ANY in writes or tensor.name in writes


# tilelang/passes/effects.py
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


# tilelang/passes/identities.py
def is_neutral(name: str, dtype: DType, number: Number | None) -> bool:
    """Does `x name number` equal x for every x of this type?"""
    if number is None:
        return False
    if dtype.is_float:
        return repr(number) == FLOAT_RIGHT_NEUTRAL.get(name)
    if name == "and":
        return number is True if dtype.is_bool else number == (-1 if dtype.is_signed else dtype.max_int)
    return name in RIGHT_NEUTRAL and number == RIGHT_NEUTRAL[name]


# tilelang/passes/identities.py
def is_exact(source: DType, target: DType) -> bool:
    """Does every value of `source` survive the cast to `target` unchanged?"""
    if source == target:
        return True
    if target.is_bool:
        return False
    if source.is_bool:
        return True
    if source.is_float:
        return target.is_float and target.mantissa >= source.mantissa and target.exponent >= source.exponent
    if target.is_float:
        digits = source.bits - source.is_signed
        return digits <= target.mantissa + 1 and source.bits < (1 << (target.exponent - 1))
    return target.min_int <= source.min_int and source.max_int <= target.max_int


# tilelang/passes/ranges.py
def _mul(op: Op, operands: list[Range]) -> Range:
    a, b = operands
    corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Range(min(corners), max(corners))


# tilelang/passes/cse.py
def find(self: _Sharing, key: Key) -> Value | None:
    return next((scope[key] for scope in reversed(self.scopes) if key in scope), None)


# tilelang/passes/ranges.py
def decide(name: str, a: Range, b: Range, dim: str | None = None) -> bool | None:
    """What `a name b` gives for all values in the ranges, or None. `dim`: b is exactly that dim."""
    if name in ("gt", "ge"):
        opposite = decide("le" if name == "gt" else "lt", a, b, dim)
        return None if opposite is None else not opposite
    if name not in ("lt", "le"):
        return None
    strict = name == "lt"
    if a.hi < b.lo + (not strict) or (dim in a.limits and a.limits[dim] <= -strict):  # type: ignore[index]
        return True
    return False if a.lo >= b.hi + (not strict) else None


# tilelang/passes/licm.py
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
