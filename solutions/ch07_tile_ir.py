"""Chapter 7, Tile IR: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilelang.diagnostics import InternalError
from tilelang.dtypes import F32, DType
from tilelang.ir.core import Block, Op, Type
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.liveness import Deaths
from tilelang.ir.memory_access import Place
from tilelang.ir.numerics import _is_minus_one, _like
from tilelang.ir.requirements import own_result, require, tile
from tilelang.ir.rules import dot_accumulator
from tilelang.ir.verifier import _Verifier
from tilelang.semantics import typed
from tilelang.semantics.types import TileType


# tilelang/ir/flow.py
def reachable(statements: Sequence[typed.Statement]) -> Sequence[typed.Statement]:
    """The statements up to and including the first `return;` of this block."""
    for position, statement in enumerate(statements):
        if isinstance(statement, typed.Return):
            return statements[:position + 1]
    return statements


# tilelang/ir/numerics.py
def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rounds down; by zero gives 0; the smallest integer by -1 wraps to itself."""
    by_zero, wraps = b == 0, _is_minus_one(b)
    quotient = np.floor_divide(a, np.where(by_zero | wraps, _like(1, b), b))
    return np.where(by_zero, _like(0, a), np.where(wraps, np.negative(a), quotient))


# tilelang/ir/rounding.py
def _float_to_integer(array: np.ndarray, dtype: DType) -> np.ndarray:
    """f64 to an integer type. Both bounds, as floats, are exact powers of two (or 0)."""
    low, above = float(dtype.min_int), float(dtype.max_int + 1)
    whole = np.trunc(array)
    inside = (whole >= low) & (whole < above)
    result = np.where(inside, whole, 0.0).astype(numpy_dtype(dtype))
    result = np.where(whole >= above, numpy_dtype(dtype).type(dtype.max_int), result)
    return np.where(whole < low, numpy_dtype(dtype).type(dtype.min_int), result)


# tilelang/ir/rules.py
def broadcast(op: Op) -> tuple[Type, ...]:
    operand, result = tile(op.operands[0]), own_result(op)
    missing = result.rank - operand.rank
    require(operand.dtype == result.dtype, "keeps the element type")
    aligned = (1,) * missing + operand.shape
    stretches = missing >= 0 and all(a in (1, r) for a, r in zip(aligned, result.shape, strict=True))
    require(stretches, f"{operand} does not stretch to {result}")
    return (result,)


# tilelang/ir/rules.py
def dot(op: Op) -> tuple[Type, ...]:
    a, b, acc = map(tile, op.operands)
    require(a.dtype == b.dtype and not a.dtype.is_bool, "operands must be of one number type")
    require(a.rank in (2, 3) and a.rank == b.rank, "operands must have rank 2, or 3 with a batch axis")
    require(a.shape[:-2] == b.shape[:-2] and a.shape[-1] == b.shape[-2], f"{a} does not multiply {b}")
    expected = TileType(dot_accumulator(a.dtype), (*a.shape[:-1], b.shape[-1]))
    require(acc == expected, f"the accumulator must be {expected}")
    require(isinstance(op.attrs.get("tf32"), bool), "{tf32} must be true or false")
    require(not op.attrs["tf32"] or a.dtype == F32, "{tf32} is for f32 operands")
    return (expected,)


# tilelang/ir/memory_access.py
def locate(tensor: np.ndarray, indexes: tuple[np.ndarray, ...], mask: np.ndarray | None,
           checked: tuple[bool, ...], trusting: bool = False) -> Place:
    """Test the indexes against the tensor's extents. They broadcast together, and with the mask.

    Raises:
        InternalError: an index is outside along an axis that the compiler promised not to need a test; if
            `trusting`, such an element is merely not touched.
    """
    valid = np.asarray(True) if mask is None else mask
    safe, promises = [], []
    for axis, (index, extent) in enumerate(zip(indexes, tensor.shape, strict=True)):
        signed = index.astype(np.int64)  # a u64 beyond 2^63 turns negative: outside either way
        inside = (signed >= 0) & (signed < extent)
        if checked[axis] or trusting:
            valid = valid & inside
        else:
            promises.append((axis, inside))
        safe.append(np.where(inside, signed, 0))
    for axis, inside in promises:
        if np.any(valid & ~inside):
            raise InternalError("interpreter", f"an index of axis {axis} is outside; its test was dropped")
    return Place(tuple(safe), valid)


# tilelang/ir/verifier.py
def block(self: _Verifier, block: Block) -> None:
    """A nested block: what it defines is visible inside it only."""
    outside = len(self.visible)
    for arg in block.args:
        self.define(arg)
    for number, op in enumerate(block.ops):
        self.op(op, last=number == len(block.ops) - 1)
    while len(self.visible) > outside:
        self.visible.popitem()  # the newest first


# tilelang/ir/liveness.py
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
