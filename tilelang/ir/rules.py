"""The typing rule of every tile op: what its operands and attributes must be, and what its results are.

One function for each family, one table. The `Emitter` asks it for the result types of an op it is about to
make, the verifier compares the results an op has with those it should have. A rule raises `IllFormed` with
the sentence that was broken.

Some results cannot be told from the operands (`const`, `iota`, `broadcast`, `reshape`, `cast`): there the op
brings its result along and the rule only judges it.
"""

from __future__ import annotations

from tilelang.dtypes import BOOL, F32, F64, I32, I64, U32, U64, DType, accumulator
from tilelang.ir.control_rules import assertion, for_loop, if_op, printing, terminator, while_loop
from tilelang.ir.core import Op, Type
from tilelang.ir.memory_rules import ATOMIC_DTYPES, atomic, load, store
from tilelang.ir.requirements import IllFormed, Rule, own_result, require, tile
from tilelang.ir.tile_ops import APPROXIMATE, COMPARE, REDUCE_KINDS, SCAN_KINDS, TILE_OPS
from tilelang.semantics.types import TileType

__all__ = ["ATOMIC_DTYPES", "RULES", "IllFormed", "accepts", "own_result", "require", "result_types"]


def result_types(op: Op) -> tuple[Type, ...]:
    """The result types a tile op must have.

    Raises:
        IllFormed: the op's operands, attributes or (where it brings them along) results break its rule.
    """
    info = TILE_OPS.get(op.name)
    if info is None:
        raise IllFormed("no such tile op")
    require(info.operands in (None, len(op.operands)), f"takes {info.operands} operands")
    return RULES[op.name](op)


# ------------------------------------------------------------------------------------ elementwise

INTEGER_OR_BOOL = ("invert", "and", "or", "xor")
INTEGER_ONLY = ("floordiv", "mod", "shl", "shr")
NUMBER = ("neg", "abs", "sign", "add", "sub", "mul", "maximum", "minimum", "pow", "lt", "le", "gt", "ge")
ANY_DTYPE = ("eq", "ne", "cast")


def accepts(name: str, dtype: DType) -> bool:
    """Is `dtype` one that the elementwise op computes on? What no list names is for floats alone."""
    if name == "not":
        return dtype.is_bool
    if name in INTEGER_OR_BOOL:
        return not dtype.is_float
    if name in INTEGER_ONLY:
        return dtype.is_integer
    if name in NUMBER:
        return not dtype.is_bool
    return name in ANY_DTYPE or dtype.is_float


def elementwise(op: Op) -> tuple[Type, ...]:
    """All operands of one type (element type and shape); a comparison or `isnan`, `isinf` gives bool."""
    first = tile(op.operands[0])
    require(all(tile(v) == first for v in op.operands), "operands must all have one type")
    require(accepts(op.name, first.dtype), f"is not defined on {first.dtype}")
    if "approx" in op.attrs:
        require(op.attrs["approx"] is True, "{approx} is true or not there")
        require(op.name in APPROXIMATE and first.dtype != F64, f"has no approximation on {first.dtype}")
    if op.name in COMPARE or op.name in ("isnan", "isinf"):
        return (first.with_dtype(BOOL),)
    return (first,)


def cast(op: Op) -> tuple[Type, ...]:
    result = own_result(op)
    require(tile(op.operands[0]).shape == result.shape, "keeps the shape")
    return (result,)


def select(op: Op) -> tuple[Type, ...]:
    condition, then, other = map(tile, op.operands)
    require(condition.dtype.is_bool, "the condition must be bool")
    require(then == other and condition.shape == then.shape, "then- and else-value must agree, in one shape")
    return (then,)


def random(op: Op) -> tuple[Type, ...]:
    seed, offsets = map(tile, op.operands)
    require(seed == TileType(I64), "the seed must be an i64 scalar")
    require(offsets.dtype == I64, "the offsets must be i64")
    return (offsets.with_dtype(U32 if op.name == "randint" else F32),)


# ------------------------------------------------------------------------------------ shapes


def const(op: Op) -> tuple[Type, ...]:
    """`value` must be of the result's kind and, for an integer, fit."""
    result, value = own_result(op), op.attrs.get("value")
    if result.dtype.is_bool:
        require(isinstance(value, bool), "{value} of a bool must be true or false")
    elif result.dtype.is_float:
        require(isinstance(value, float), "{value} of a float must be a float")
    else:
        whole = isinstance(value, int) and not isinstance(value, bool)
        require(whole, "{value} of an integer must be an integer")
        require(result.dtype.min_int <= int(value) <= result.dtype.max_int,  # type: ignore[arg-type]
                f"{{value}} must fit {result.dtype}")
    return (result,)


def iota(op: Op) -> tuple[Type, ...]:
    result = own_result(op)
    require(result.rank == 1 and result.dtype.is_integer, "the result must be a rank-1 integer tile")
    return (result,)


def program_axis(op: Op) -> tuple[Type, ...]:
    require(op.attrs.get("axis") in (0, 1, 2), "{axis} must be 0, 1 or 2")
    return (TileType(I64),)


def broadcast(op: Op) -> tuple[Type, ...]:
    operand, result = tile(op.operands[0]), own_result(op)
    missing = result.rank - operand.rank
    require(operand.dtype == result.dtype, "keeps the element type")
    aligned = (1,) * missing + operand.shape
    stretches = missing >= 0 and all(a in (1, r) for a, r in zip(aligned, result.shape, strict=True))
    require(stretches, f"{operand} does not stretch to {result}")
    return (result,)


def reshape(op: Op) -> tuple[Type, ...]:
    operand, result = tile(op.operands[0]), own_result(op)
    require(operand.dtype == result.dtype, "keeps the element type")
    require(operand.size == result.size, "keeps the number of elements")
    return (result,)


def convert_layout(op: Op) -> tuple[Type, ...]:
    require(isinstance(op.attrs.get("layout"), str), "{layout} must be a string")
    return (tile(op.operands[0]),)


def permute(op: Op) -> tuple[Type, ...]:
    operand, axes = tile(op.operands[0]), op.attrs.get("axes")
    require(isinstance(axes, tuple), "{axes} must be a tuple")
    require(sorted(axes) == list(range(operand.rank)), "{axes} must name each axis once")  # type: ignore
    return (operand.with_shape(tuple(operand.shape[a] for a in axes)),)  # type: ignore


def cat(op: Op) -> tuple[Type, ...]:
    require(len(op.operands) > 0, "takes at least one operand")
    axis, first = op.attrs.get("axis"), tile(op.operands[0])
    require(isinstance(axis, int) and 0 <= axis < first.rank, "{axis} must be an axis of the operands")
    total = 0
    for operand in map(tile, op.operands):
        require(operand.dtype == first.dtype and operand.rank == first.rank, "operands must agree")
        require(_without(operand, axis) == _without(first, axis), "operands may differ along {axis} only")
        total += int(operand.shape[axis])  # type: ignore
    shape = list(first.shape)
    shape[axis] = total  # type: ignore[index]
    return (first.with_shape(tuple(shape)),)


def _without(type: TileType, *axes: object) -> tuple:
    return tuple(extent for axis, extent in enumerate(type.shape) if axis not in axes)


# ------------------------------------------------------------------------------------ reductions


def reduce(op: Op) -> tuple[Type, ...]:
    operand, kind, axes = tile(op.operands[0]), op.attrs.get("kind"), op.attrs.get("axes")
    require(kind in REDUCE_KINDS, f"{{kind}} must be one of {', '.join(REDUCE_KINDS)}")
    require(isinstance(axes, tuple), "{axes} must be a tuple")
    in_range = [a for a in range(operand.rank) if a in axes]  # type: ignore[operator]
    require(list(axes) == in_range, "{axes} must be sorted axes of the operand")  # type: ignore[arg-type]
    shape = _without(operand, *axes)  # type: ignore[misc]
    if kind in ("argmax", "argmin"):
        require(len(axes) == 1, "argmax and argmin take one axis")  # type: ignore[arg-type]
        require(not operand.dtype.is_bool, "is not defined on bool")
        return (TileType(I32, shape),)
    return (TileType(_folded(str(kind), operand.dtype), shape),)


def scan(op: Op) -> tuple[Type, ...]:
    operand, kind, axis = tile(op.operands[0]), op.attrs.get("kind"), op.attrs.get("axis")
    require(kind in SCAN_KINDS, f"{{kind}} must be one of {', '.join(SCAN_KINDS)}")
    require(isinstance(axis, int) and 0 <= axis < operand.rank, "{axis} must be an axis of the operand")
    require(isinstance(op.attrs.get("reverse"), bool), "{reverse} must be true or false")
    return (operand.with_dtype(_folded(str(kind), operand.dtype)),)


def _folded(kind: str, dtype: DType) -> DType:
    """The element type of a reduction or scan of `dtype`."""
    if kind in ("any", "all"):
        require(dtype.is_bool, "any and all take bool")
        return BOOL
    if kind in ("sum", "prod"):
        return accumulator(dtype)
    require(not dtype.is_bool, "is not defined on bool")
    return dtype


def dot_accumulator(dtype: DType) -> DType:
    """The element type in which `dot` of `dtype` operands adds up."""
    if dtype.is_float:
        return F64 if dtype == F64 else F32
    if dtype.is_signed:
        return I64 if dtype == I64 else I32
    return U64 if dtype == U64 else U32


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


RULES: dict[str, Rule] = {
    **{name: elementwise for name, info in TILE_OPS.items() if info.elementwise},
    "cast": cast, "select": select, "rand": random, "randn": random, "randint": random,
    "const": const, "iota": iota, "program_id": program_axis, "num_programs": program_axis,
    "broadcast": broadcast, "reshape": reshape, "convert_layout": convert_layout, "permute": permute, "cat": cat,
    "reduce": reduce, "scan": scan, "dot": dot,
    "load": load, "store": store, "atomic": atomic, "assert": assertion, "print": printing,
    "for": for_loop, "while": while_loop, "if": if_op, "yield": terminator, "condition": terminator,
}
