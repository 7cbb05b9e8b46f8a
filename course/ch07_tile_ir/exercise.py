"""Chapter 7, Tile IR: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch07
    tilec course hint ch07 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

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


# --- warm-up: reachable -------------------------------------------------------------------------------------
def reachable(statements: Sequence[typed.Statement]) -> Sequence[typed.Statement]:
    """The statements up to and including the first `return;` of this block.

    >>> stop = typed.Return()
    >>> show = typed.Print("hello")
    >>> reachable((show, stop, show)) == (show, stop)
    True
    """
    raise NotImplementedError


# --- core: floor_divide -------------------------------------------------------------------------------------
def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rounds down; by zero gives 0; the smallest integer by -1 wraps to itself.

    The arrays are of one integer type and have one shape, or broadcast. Division must not happen where it
    is undefined: put a harmless divisor there first, and choose the right result with `np.where`
    afterwards. `_like(value, array)` is a value in an array's type; `_is_minus_one(b)` is true where a
    signed divisor is -1.

    >>> floor_divide(np.array([7, -7, 7], np.int32), np.array([2, 2, 0], np.int32)).tolist()
    [3, -4, 0]
    """
    raise NotImplementedError


# --- core: _float_to_integer --------------------------------------------------------------------------------
def _float_to_integer(array: np.ndarray, dtype: DType) -> np.ndarray:
    """f64 to an integer type. Both bounds, as floats, are exact powers of two (or 0).

    Truncate towards zero; what is above the type's largest integer becomes the largest, what is below the
    smallest becomes the smallest, and NaN becomes 0. `float(dtype.max_int)` rounds up for 64 bits, so
    compare with `float(dtype.max_int + 1)`, which is exact. NumPy's conversion of what is outside is
    undefined, and warns: it must not happen. `numpy_dtype(dtype)` is NumPy's type.

    >>> _float_to_integer(np.array([1.9, -1.9, 300.0, float("nan")]), I8).tolist()
    [1, -1, 127, 0]
    """
    raise NotImplementedError


# --- core: broadcast ----------------------------------------------------------------------------------------
def broadcast(op: Op) -> tuple[Type, ...]:
    """The typing rule of the op `broadcast`, as the verifier asks for it. `tile(value)` is an operand's
    `TileType`, `own_result(op)` that of the one result. `require(holds, sentence)` raises if something does
    not hold. Give back the result types, a tuple of one: the element type stays, and the shape stretches by
    NumPy's rule, but only from operand to result.

    >>> v, w = Value("v", TileType(F32, (8,))), Value("w", TileType(F32, (4, 8)))
    >>> str(broadcast(Op("broadcast", (v,), (w,)))[0])
    'f32[4, 8]'
    """
    raise NotImplementedError


# --- core: dot ----------------------------------------------------------------------------------------------
def dot(op: Op) -> tuple[Type, ...]:
    """The operands are `a`, `b`, `acc`. Both of one number type (not bool); both of rank 2, or of rank 3 with
    the same batch; the last extent of `a` is the one before the last of `b`. `acc` is exactly the product's
    type: its element type is `dot_accumulator(a.dtype)`. The attribute `tf32` is a bool, and true for f32
    only. Give back the type of the product, in a tuple.

    >>> a, b = Value("a", TileType(F16, (4, 8))), Value("b", TileType(F16, (8, 2)))
    >>> acc = Value("acc", TileType(F32, (4, 2)))
    >>> str(dot(Op("dot", (a, b, acc), attrs={"tf32": False}))[0])
    'f32[4, 2]'
    """
    raise NotImplementedError


# --- core: locate -------------------------------------------------------------------------------------------
def locate(tensor: np.ndarray, indexes: tuple[np.ndarray, ...], mask: np.ndarray | None,
           checked: tuple[bool, ...], trusting: bool = False) -> Place:
    """Test the indexes against the tensor's extents. They broadcast together, and with the mask.

    Raises:
        InternalError: an index is outside along an axis that the compiler promised not to need a test; if
            `trusting`, such an element is merely not touched.

    `tensor[indexes]` must never be read outside. For each axis give an index array that is safe to use (0
    where the index is outside), and put into `valid` where the access touches memory: where the mask holds
    and every checked axis is inside. An axis whose check was dropped must be inside wherever the others are
    valid: if it is not, that is a bug of the compiler, an `InternalError("interpreter", ...)`; with
    `trusting`, the element is merely not touched. Negative indexes are outside. Compare as i64.

    >>> place = locate(np.zeros(4), (np.array([-1, 3, 4]),), None, (True,))
    >>> place.indexes[0].tolist(), place.valid.tolist()
    ([0, 3, 0], [False, True, False])
    """
    raise NotImplementedError


# --- hard: block --------------------------------------------------------------------------------------------
def block(self: _Verifier, block: Block) -> None:
    """A nested block: what it defines is visible inside it only.

    `self.visible` maps names to the values that may be used at this point, in the order in which they came.
    `self.define(value)` adds one and refuses a name that was ever used; `self.op(op, last)` checks an op,
    where `last` says whether it is the last of its block. After the block nothing that it defined may be
    visible.

    >>> from tilelang.ir.verifier import vocabulary
    >>> verifier = _Verifier(*vocabulary("tile"))
    >>> one = Op("const", (), (Value("one", TileType(F32)),), {"value": 1.0})
    >>> block(verifier, Block((), (one, Op("yield"))))
    >>> list(verifier.visible), "one" in verifier.defined
    ([], True)
    """
    raise NotImplementedError


# --- hard: _scan --------------------------------------------------------------------------------------------
def _scan(block: Block, deaths: Deaths) -> set[str]:
    """Fill in `deaths`; the names used in the block.

    For each op of the block, `deaths[id(block)][number]` are the names, as a tuple, of the block's own
    values (its arguments and its ops' results) that are used by op `number`, or made by it, and by no later
    op of the block. What the blocks inside an op use counts as used by that op. Leave out ops after which
    nothing dies. Give back the names that the block uses and does not define. Do the blocks inside as well.

    >>> a, b = Value("a", TileType(F32)), Value("b", TileType(F32))
    >>> body = Block((), (Op("const", (), (a,), {"value": 1.0}), Op("neg", (a,), (b,))))
    >>> found = {}
    >>> _scan(body, found)
    set()
    >>> {number: sorted(names) for number, names in found[id(body)].items()}
    {1: ['a', 'b']}
    """
    raise NotImplementedError
