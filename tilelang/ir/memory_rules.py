"""The typing rules of `load`, `store` and `atomic`; see `tilelang.ir.rules`.

Their operands are a tensor, one index for each of its axes, and then what the attributes promise.
"""

from __future__ import annotations

from tilelang.dtypes import BOOL, F32, F64, I32, I64, U32, U64, DType
from tilelang.ir.core import Op, TensorType, Type
from tilelang.ir.requirements import IllFormed, require, tile
from tilelang.ir.tile_ops import ATOMIC_KINDS
from tilelang.semantics.types import TileType

ATOMIC_DTYPES = (I32, I64, U32, U64, F32, F64)


def accessed(op: Op) -> tuple[TensorType, tuple[int, ...], list[TileType]]:
    """The tensor, the accessed shape, and the types of what follows the indexes."""
    require(len(op.operands) > 0, "operand 0 must be a tensor")
    tensor = op.operands[0].type
    if not isinstance(tensor, TensorType):
        raise IllFormed("operand 0 must be a tensor")
    for flag in ("pointwise", "mask"):
        require(isinstance(op.attrs.get(flag), bool), f"{{{flag}}} must be true or false")
    checked = op.attrs.get("checked")
    right = isinstance(checked, tuple) and len(checked) == tensor.rank
    require(right and all(isinstance(c, bool) for c in checked),  # type: ignore[union-attr]
            "{checked} must hold one bool for each axis of the tensor")
    indexes = [tile(v) for v in op.operands[1:1 + tensor.rank]]
    require(len(indexes) == tensor.rank, "needs one index for each axis of the tensor")
    require(all(i.dtype.is_integer for i in indexes), "indexes must be integers")
    rest = [tile(v) for v in op.operands[1 + tensor.rank:]]
    return tensor, _accessed_shape(indexes, bool(op.attrs["pointwise"])), rest


def _accessed_shape(indexes: list[TileType], pointwise: bool) -> tuple[int, ...]:
    if pointwise:
        require(len(indexes) > 0, "a pointwise access needs an index")
        require(all(i.shape == indexes[0].shape for i in indexes), "pointwise indexes must have one shape")
        return indexes[0].shape  # type: ignore[return-value]
    require(all(i.rank <= 1 for i in indexes), "an index must be a scalar or of rank 1")
    return tuple(extent for i in indexes for extent in i.shape)  # type: ignore[misc]


def _optional(op: Op, rest: list[TileType], wanted: list[tuple[str, DType]], shape: tuple[int, ...]) -> None:
    """Check the operands after the indexes against the (name, dtype) they should be."""
    names = ", ".join(name for name, _ in wanted) or "nothing"
    require(len(rest) == len(wanted), f"needs {names} after the indexes")
    for have, (name, dtype) in zip(rest, wanted, strict=True):
        expected = TileType(dtype, shape)
        require(have == expected, f"{name} must be {expected}, not {have}")


def load(op: Op) -> tuple[Type, ...]:
    tensor, shape, rest = accessed(op)
    require(isinstance(op.attrs.get("other"), bool), "{other} must be true or false")
    wanted = [("the mask", BOOL)] * bool(op.attrs["mask"])
    wanted += [("the other value", tensor.dtype)] * bool(op.attrs["other"])
    _optional(op, rest, wanted, shape)
    return (TileType(tensor.dtype, shape),)


def store(op: Op) -> tuple[Type, ...]:
    tensor, shape, rest = accessed(op)
    require(tensor.mode != "in", "the tensor is read-only")
    _optional(op, rest, [("the value", tensor.dtype)] + [("the mask", BOOL)] * bool(op.attrs["mask"]), shape)
    return ()


def atomic(op: Op) -> tuple[Type, ...]:
    tensor, shape, rest = accessed(op)
    kind = op.attrs.get("kind")
    require(kind in ATOMIC_KINDS, f"{{kind}} must be one of {', '.join(ATOMIC_KINDS)}")
    require(tensor.mode != "in", "the tensor is read-only")
    require(tensor.dtype in ATOMIC_DTYPES, f"is not defined on {tensor.dtype}")
    wanted = [("the value", tensor.dtype)] + [("the expected value", tensor.dtype)] * (kind == "cas")
    _optional(op, rest, wanted + [("the mask", BOOL)] * bool(op.attrs["mask"]), shape)
    return (TileType(tensor.dtype, shape),)
