"""The typing rule of every thread op: see `tilelang.ir.rules`, which rules the ops that both levels share."""

from __future__ import annotations

from collections.abc import Callable

from tilelang.dtypes import BF16, BOOL, DTYPES, F16, F32, I32, I64, DType
from tilelang.ir.core import Attr, LocalType, Op, SharedType, TensorType, Type, Value
from tilelang.ir.rules import ATOMIC_DTYPES, RULES, IllFormed, own_result, require
from tilelang.ir.thread_ops import MMA_KINDS, MOST_PENDING, THREAD_OPS, WGMMA_KINDS
from tilelang.ir.tile_ops import ATOMIC_KINDS, TILE_OPS
from tilelang.semantics.types import TileType

Rule = Callable[[Op], tuple[Type, ...]]

INDEX, OFFSET = TileType(I32), TileType(I64)
ARRAYS = (LocalType, SharedType)
U32 = DTYPES["u32"]
VECTOR_BYTES, WORD_BYTES = 16, 4
"""What a thread moves at once, at most."""
WARP = 32
"""Threads of a warp, on every GPU so far."""


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


def load_matrix(op: Op) -> tuple[Type, ...]:
    require(array(op).dtype in (F16, BF16, DTYPES["i8"]), "the elements must be f16, bf16 or i8")
    require(isinstance(op.attrs.get("trans"), bool), "{trans} must be true or false")
    fragment(op, 2, U32, 4)
    return ()


def mma(op: Op) -> tuple[Type, ...]:
    kind = op.attrs.get("kind")
    require(kind in MMA_KINDS, f"{{kind}} must be one of {', '.join(MMA_KINDS)}")
    number = I32 if kind == "i8" else F32
    for place, dtype, registers in zip((0, 2, 4), (number, U32, U32), (4, *MMA_KINDS[str(kind)]), strict=True):
        fragment(op, place, dtype, registers)
    return ()


def wgmma(op: Op) -> tuple[Type, ...]:
    kind, columns = op.attrs.get("kind"), op.attrs.get("columns")
    require(kind in WGMMA_KINDS, f"{{kind}} must be one of {', '.join(WGMMA_KINDS)}")
    require(isinstance(columns, int) and columns in range(8, 257, 8), "{columns} must be a multiple of 8 up to 256")
    in_registers = isinstance(op.operands[0].type, LocalType)
    if in_registers:
        fragment(op, 0, U32, MMA_KINDS[str(kind)][0])
        require("a" not in op.attrs, "{a} describes shared memory")
    for place, name in ((2, "b"),) if in_registers else ((0, "a"), (2, "b")):
        operand = op.operands[place].type
        require(isinstance(operand, SharedType) and operand.dtype.name == kind,
                f"operand {place} must be an array of {kind} in shared memory, not a {operand}")
        expect(op.operands[place + 1], INDEX, "an operand's index")
        descriptor(op.attrs.get(name), name)
    fragment(op, 4, F32, int(columns) // 2)  # type: ignore[arg-type]
    return ()


def accumulators(op: Op) -> tuple[Type, ...]:
    """`wgmma.fence` and `wgmma.wait`."""
    type, dtypes = op.operands[0].type, (F32, U32) if op.name == "wgmma.fence" else (F32,)
    names = " or ".join(map(str, dtypes))
    fits = isinstance(type, LocalType) and type.dtype in dtypes
    require(fits, f"operand 0 must be a local array of {names}, not a {type}")
    return wait(op) if op.name == "wgmma.wait" else ()


def descriptor(given: Attr | None, name: str) -> None:
    """(bytes of a row, leading offset, stride offset, do rows run along k?)"""
    require(isinstance(given, tuple) and len(given) == 4 and given[0] in (32, 64, 128) and isinstance(given[3], bool),
            f"{{{name}}} must be a row of 32, 64 or 128 bytes, two offsets, and true or false")
    require(all(isinstance(offset, int) and offset % 16 == 0 and 0 <= offset < 1 << 18
                for offset in given[1:3]),  # type: ignore[index]
            f"the offsets in {{{name}}} must be multiples of 16 below {1 << 18}")


def pack(op: Op) -> tuple[Type, ...]:
    half = {"f16": F16, "bf16": BF16}.get(str(op.attrs.get("half")))
    if half is None:
        raise IllFormed("{half} must be f16 or bf16")
    for value in op.operands:
        require(value.type in (TileType(F32), TileType(half)), f"{value} must be an f32 or {half}, not a {value.type}")
    return (TileType(U32),)


def round_tf32(op: Op) -> tuple[Type, ...]:
    expect(op.operands[0], TileType(F32), "the operand")
    return (TileType(U32),)


def permute_bytes(op: Op) -> tuple[Type, ...]:
    for value in op.operands:
        expect(value, TileType(U32), "an operand")
    return (TileType(U32),)


def fragment(op: Op, place: int, dtype: DType, registers: int) -> None:
    """Operand `place` is a local array of this type with room for a fragment, the next an index."""
    type = op.operands[place].type
    fits = isinstance(type, LocalType) and type.dtype == dtype and type.size >= registers
    require(fits, f"operand {place} must be a local array of {registers} {dtype} or more, not a {type}")
    expect(op.operands[place + 1], INDEX, "a fragment's index")


def shuffle(op: Op) -> tuple[Type, ...]:
    """A scalar of any type; from a thread whose distance, or number in the warp, is fixed."""
    ways = "{xor}, {lane}, {up} or {down}"
    require(len(op.attrs) == 1 and op.attrs.keys() <= {"xor", "lane", "up", "down"}, f"has one of {ways}")
    (number,) = op.attrs.values()
    require(isinstance(number, int) and 0 <= number < WARP, f"{ways} must be from 0 to {WARP - 1}")
    (value,) = op.operands
    require(isinstance(value.type, TileType) and value.type.is_scalar, f"{value} must be a scalar, not a {value.type}")
    return (value.type,)


def copy_async(op: Op) -> tuple[Type, ...]:
    require(array(op).dtype.bits in (8, 16), "the elements must have 8 or 16 bits")
    require(tensor(op, 2).dtype == array(op).dtype, "array and tensor must have one element type")
    expect(op.operands[3], OFFSET, "the offset")
    expect(op.operands[4], INDEX, "the count")
    return ()


def load_chunk(op: Op) -> tuple[Type, ...]:
    require(tensor(op).dtype.bits in (8, 16), "the elements must have 8 or 16 bits")
    expect(op.operands[1], OFFSET, "the offset")
    expect(op.operands[2], TileType(BOOL), "the condition")
    fragment(op, 3, U32, 4)
    return ()


def store_chunk(op: Op) -> tuple[Type, ...]:
    require(array(op).dtype.bits in (8, 16), "the elements must have 8 or 16 bits")
    fragment(op, 2, U32, 4)
    return ()


def wait(op: Op) -> tuple[Type, ...]:
    """`async.wait` and `wgmma.wait`."""
    pending = op.attrs.get("pending")
    require(isinstance(pending, int) and 0 <= pending <= MOST_PENDING, f"{{pending}} must be from 0 to {MOST_PENDING}")
    return ()


def is_aligned(op: Op) -> tuple[Type, ...]:
    tensor(op)
    return (TileType(BOOL),)


def tensor(op: Op, place: int = 0) -> TensorType:
    type = op.operands[place].type
    if not isinstance(type, TensorType):
        raise IllFormed(f"operand {place} must be a tensor, not a {type}")
    return type


def global_load(op: Op) -> tuple[Type, ...]:
    expect(op.operands[1], OFFSET, "the offset")
    return (TileType(tensor(op).dtype),)


def global_store(op: Op) -> tuple[Type, ...]:
    require(tensor(op).mode != "in", "the tensor is read-only")
    expect(op.operands[1], OFFSET, "the offset")
    expect(op.operands[2], TileType(tensor(op).dtype), "the value")
    return ()


def global_vector(op: Op) -> tuple[Type, ...]:
    """`global.load_vector` and `global.store_vector`."""
    type = tensor(op)
    require(op.name == "global.load_vector" or type.mode != "in", "the tensor is read-only")
    expect(op.operands[1], OFFSET, "the offset")
    _vector(op, type.dtype)
    return ()


def shared_vector(op: Op) -> tuple[Type, ...]:
    """`shared.load_vector` and `shared.store_vector`."""
    type = op.operands[0].type
    require(isinstance(type, SharedType), f"operand 0 must be a shared array, not a {type}")
    expect(op.operands[1], INDEX, "the index")
    require(_vector(op, type.dtype) * type.dtype.bytes >= WORD_BYTES, f"moves {WORD_BYTES} bytes at least")
    return ()


def _vector(op: Op, dtype: DType) -> int:
    """The width of an access that moves elements of this type to or from a local array."""
    array, width = op.operands[2].type, op.attrs.get("width")
    require(width in (2, 4, 8, 16), "{width} must be 2, 4, 8 or 16")
    require(int(width) * dtype.bytes <= VECTOR_BYTES, f"moves {VECTOR_BYTES} bytes at most")  # type: ignore[arg-type]
    require(isinstance(array, LocalType) and array.dtype == dtype,
            f"operand 2 must be a local array of {dtype}, not a {array}")
    expect(op.operands[3], INDEX, "the index")
    return int(width)  # type: ignore[arg-type]


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
    "global.load_chunk": load_chunk, "shared.store_chunk": store_chunk,
    "shared.copy_async": copy_async, "async.commit": barrier, "async.wait": wait, "is_aligned": is_aligned,
    "async.fence": barrier, "shared.wgmma": wgmma, "wgmma.fence": accumulators, "wgmma.commit": barrier,
    "wgmma.wait": accumulators,
    "shared.load_matrix": load_matrix, "mma": mma, "pack": pack, "permute_bytes": permute_bytes,
    "round_tf32": round_tf32, "shuffle": shuffle,
    "shared.load_vector": shared_vector, "shared.store_vector": shared_vector,
    "global.load_vector": global_vector, "global.store_vector": global_vector,
    "global.load": global_load, "global.store": global_store, "global.atomic": global_atomic,
    "barrier": barrier, "assert": report, "print": report, "for": for_loop, "const": constant,
}
