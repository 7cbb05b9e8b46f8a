"""The typing rule of every thread op: see `tilelang.ir.rules`, which rules the ops that both levels share."""

from __future__ import annotations

from collections.abc import Callable

from tilelang.dtypes import BOOL, I32, I64
from tilelang.ir.core import LocalType, Op, SharedType, TensorType, Type, Value
from tilelang.ir.rules import ATOMIC_DTYPES, RULES, IllFormed, own_result, require
from tilelang.ir.thread_ops import THREAD_OPS
from tilelang.ir.tile_ops import ATOMIC_KINDS, TILE_OPS
from tilelang.semantics.types import TileType

Rule = Callable[[Op], tuple[Type, ...]]

INDEX, OFFSET = TileType(I32), TileType(I64)
ARRAYS = (LocalType, SharedType)


def result_types(op: Op) -> tuple[Type, ...]:
    """The result types a thread op must have.

    Raises:
        IllFormed: the op's operands, attributes or results break its rule.
    """
    info = THREAD_OPS.get(op.name)
    if info is None:
        raise IllFormed("no such thread op")
    require(info.operands in (None, len(op.operands)), f"takes {info.operands} operands")
    if op.name in THREAD_RULES:
        return THREAD_RULES[op.name](op)
    require(op.name in TILE_OPS, "has no rule")
    for value in (*op.operands, *op.results):
        is_scalar = isinstance(value.type, TileType) and value.type.is_scalar
        require(is_scalar, f"{value} must be a scalar, not a {value.type}")
    return RULES[op.name](op)


def thread_id(op: Op) -> tuple[Type, ...]:
    return (INDEX,)


def stride(op: Op) -> tuple[Type, ...]:
    axis = op.attrs.get("axis")
    require(isinstance(axis, int) and 0 <= axis < tensor(op).rank, "{axis} must be an axis of the tensor")
    return (OFFSET,)


def declaration(op: Op) -> tuple[Type, ...]:
    """`local` and `shared` bring their type along."""
    require(len(op.results) == 1, "has one result")
    wanted = LocalType if op.name == "local" else SharedType
    type = op.results[0].type
    require(isinstance(type, wanted) and type.size > 0, f"the result must be a {op.name} array")  # type: ignore[union-attr]
    return (type,)


def array(op: Op) -> LocalType | SharedType:
    """The array that is operand 0, at the place the op's name says, with an i32 index after it."""
    type = op.operands[0].type
    wanted = LocalType if op.name.startswith("local") else SharedType
    if not isinstance(type, wanted):
        raise IllFormed(f"operand 0 must be an array of {op.name.split('.')[0]} memory, not a {type}")
    expect(op.operands[1], INDEX, "the index")
    return type


def array_load(op: Op) -> tuple[Type, ...]:
    return (TileType(array(op).dtype),)


def array_store(op: Op) -> tuple[Type, ...]:
    expect(op.operands[2], TileType(array(op).dtype), "the value")
    return ()


def tensor(op: Op) -> TensorType:
    type = op.operands[0].type
    if not isinstance(type, TensorType):
        raise IllFormed(f"operand 0 must be a tensor, not a {type}")
    return type


def global_load(op: Op) -> tuple[Type, ...]:
    expect(op.operands[1], OFFSET, "the offset")
    return (TileType(tensor(op).dtype),)


def global_store(op: Op) -> tuple[Type, ...]:
    require(tensor(op).mode != "in", "the tensor is read-only")
    expect(op.operands[1], OFFSET, "the offset")
    expect(op.operands[2], TileType(tensor(op).dtype), "the value")
    return ()


def global_atomic(op: Op) -> tuple[Type, ...]:
    type, kind = tensor(op), op.attrs.get("kind")
    require(type.mode != "in", "the tensor is read-only")
    require(kind in ATOMIC_KINDS, f"{{kind}} must be one of {', '.join(ATOMIC_KINDS)}")
    require(type.dtype in ATOMIC_DTYPES, f"is not defined on {type.dtype}")
    require(len(op.operands) == (4 if kind == "cas" else 3), "has one value, `cas` two")
    expect(op.operands[1], OFFSET, "the offset")
    for value in op.operands[2:]:
        expect(value, TileType(type.dtype), "a value")
    return (TileType(type.dtype),)


def barrier(op: Op) -> tuple[Type, ...]:
    return ()


def report(op: Op) -> tuple[Type, ...]:
    """`assert`: a bool. `print`: nothing, or an element's number and value."""
    require(isinstance(op.attrs.get("text"), str), "{text} must be a string")
    require(isinstance(op.attrs.get("id"), int), "{id} must be the site's number")
    if op.name == "assert":
        expect(op.operands[0], TileType(BOOL), "the condition")
    elif op.operands:
        require(len(op.operands) == 2, "takes no operand, or an element's number and its value")
        expect(op.operands[0], INDEX, "the element's number")
    return ()


def expect(value: Value, type: Type, what: str) -> None:
    require(value.type == type, f"{what} must be {type}, not {value.type}")


def for_loop(op: Op) -> tuple[Type, ...]:
    require(isinstance(op.attrs.get("unroll", False), bool), "{unroll} must be true or false")
    return RULES["for"](op)


def constant(op: Op) -> tuple[Type, ...]:
    require(own_result(op).is_scalar, "must be a scalar")
    return RULES["const"](op)


THREAD_RULES: dict[str, Rule] = {
    "thread_id": thread_id, "stride": stride, "local": declaration, "shared": declaration,
    "local.load": array_load, "shared.load": array_load, "local.store": array_store, "shared.store": array_store,
    "global.load": global_load, "global.store": global_store, "global.atomic": global_atomic,
    "barrier": barrier, "assert": report, "print": report, "for": for_loop, "const": constant,
}
