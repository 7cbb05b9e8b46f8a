"""The typing rules of control flow, its terminators, `assert` and `print`; see `tilelang.ir.rules`."""

from __future__ import annotations

from tilelang.dtypes import BOOL
from tilelang.ir.core import Op, Type
from tilelang.ir.requirements import require, tile, types_of
from tilelang.semantics.types import TileType


def for_loop(op: Op) -> tuple[Type, ...]:
    require(len(op.operands) >= 3, "needs lo, hi and step")
    lo, hi, step = (tile(v) for v in op.operands[:3])
    integers = lo.is_scalar and lo.dtype.is_integer
    require(integers and lo == hi == step, "lo, hi, step must be scalars of one integer type")
    carried = types_of(op.operands[3:])
    require(len(op.blocks) == 1, "has one block")
    right = types_of(op.blocks[0].args) == (lo, *carried)
    require(right, "the block's arguments must be the index, then the carried values")
    _hands_over(op, 0, "yield", carried)
    return carried


def while_loop(op: Op) -> tuple[Type, ...]:
    carried = types_of(op.operands)
    require(len(op.blocks) == 2, "has two blocks")
    for block in op.blocks:
        require(types_of(block.args) == carried, "the blocks' arguments must be the carried values")
    _hands_over(op, 0, "condition", (TileType(BOOL), *carried))
    _hands_over(op, 1, "yield", carried)
    return carried


def if_op(op: Op) -> tuple[Type, ...]:
    require(tile(op.operands[0]) == TileType(BOOL), "the condition must be a bool scalar")
    require(len(op.blocks) == 2, "has two blocks")
    require(not op.blocks[0].args and not op.blocks[1].args, "the blocks take no arguments")
    for number, block in enumerate(op.blocks):
        require(len(block.ops) > 0, "each block must end in yield")
        _hands_over(op, number, "yield", types_of(op.blocks[0].ops[-1].operands))
    return types_of(op.blocks[0].ops[-1].operands)


def terminator(op: Op) -> tuple[Type, ...]:
    for operand in op.operands:
        tile(operand)
    return ()


def _hands_over(op: Op, number: int, terminator: str, types: tuple[Type, ...]) -> None:
    """Block `number` ends in this terminator, whose operands have these types."""
    ops = op.blocks[number].ops
    require(len(ops) > 0 and ops[-1].name == terminator, f"block {number} must end in {terminator}")
    handed = ", ".join(map(str, types)) or "nothing"
    require(types_of(ops[-1].operands) == types, f"block {number} must hand over {handed}")


def assertion(op: Op) -> tuple[Type, ...]:
    require(tile(op.operands[0]).dtype.is_bool, "the condition must be bool")
    require(isinstance(op.attrs.get("text"), str), "{text} must be a string")
    return ()


def printing(op: Op) -> tuple[Type, ...]:
    require(len(op.operands) <= 1, "takes at most one operand")
    require(isinstance(op.attrs.get("text"), str), "{text} must be a string")
    for operand in op.operands:
        tile(operand)
    return ()
