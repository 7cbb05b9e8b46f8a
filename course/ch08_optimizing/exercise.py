"""Chapter 8, Optimizing: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch08
    tilec course hint ch08 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

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


# --- warm-up: wrap ------------------------------------------------------------------------------------------
def wrap(number: int, bits: int, signed: bool) -> int:
    """An integer's low bits, read as the type reads them.

    >>> wrap(130, 8, True), wrap(130, 8, False), wrap(-1, 8, False)
    (-126, 130, 255)
    """
    raise NotImplementedError


# --- warm-up: clobbers --------------------------------------------------------------------------------------
def clobbers(writes: frozenset[str], tensor: Value) -> bool:
    """May those writes change what a load from `tensor` gives?

    `writes` are names of tensors, perhaps with `ANY` among them: an atomic, after which any tensor that is
    not read-only may hold something new. A tensor of mode `in` is read-only.

    >>> x = Value("x", TensorType(F32, (8,), "inout"))
    >>> clobbers(frozenset({"x"}), x), clobbers(frozenset({"y"}), x), clobbers(frozenset({ANY}), x)
    (True, False, True)
    """
    raise NotImplementedError


# --- core: written ------------------------------------------------------------------------------------------
def written(ops: Iterable[Op]) -> frozenset[str]:
    """The names of the tensors that ops, or ops in their blocks, write; `ANY` if an atomic is among them.

    Operand 0 of a `store` is the tensor. An `atomic` counts as `ANY`, and as nothing else. Look into the
    blocks of loops and branches, and the blocks in those.

    >>> y = Value("y", TensorType(F32, (8,), "inout"))
    >>> written([Op("store", (y,)), Op("load", (y,))])
    frozenset({'y'})
    """
    raise NotImplementedError


# --- core: is_neutral ---------------------------------------------------------------------------------------
def is_neutral(name: str, dtype: DType, number: Number | None) -> bool:
    """Does `x name number` equal x for every x of this type?

    `number` is the right operand, None if it is not known. For integers and bool `RIGHT_NEUTRAL` says which
    number that is for an op; `and` is not in it, because its neutral number has all bits set, which depends
    on the type: True, -1, or the largest. For floats `FLOAT_RIGHT_NEUTRAL` gives the number's `repr`,
    because 0.0 and -0.0 are equal and yet not the same.

    >>> is_neutral("add", I32, 0), is_neutral("add", F32, 0.0), is_neutral("and", U8, 255)
    (True, False, True)
    """
    raise NotImplementedError


# --- core: is_exact -----------------------------------------------------------------------------------------
def is_exact(source: DType, target: DType) -> bool:
    """Does every value of `source` survive the cast to `target` unchanged?

    Where it is, two casts in a row are one. Nothing but bool survives a cast to bool; bool survives every
    cast. A float needs at least as many bits of mantissa and of exponent. An integer survives in a float if
    all its digits fit into `mantissa + 1` bits (a signed one has a digit less than bits) and its range is
    in reach: `bits < 2 ** (exponent - 1)`. No float survives as an integer.

    >>> is_exact(I16, F32), is_exact(I32, F32), is_exact(F16, BF16), is_exact(U8, I16)
    (True, False, False, True)
    """
    raise NotImplementedError


# --- core: _mul ---------------------------------------------------------------------------------------------
def _mul(op: Op, operands: list[Range]) -> Range:
    """A `Range` is `lo <= v <= hi`; `limits` says below which dims a value stays, which a product does not
    keep. The type's overflow is dealt with elsewhere.

    >>> found = _mul(Op("mul"), [Range(-2, 3), Range(4, 5)])
    >>> found.lo, found.hi
    (-10, 15)
    """
    raise NotImplementedError


# --- core: find ---------------------------------------------------------------------------------------------
def find(self: _Sharing, key: Key) -> Value | None:
    """Common subexpressions: `self.scopes` is a list of tables from a key (what makes two ops the same) to the
    value that has it already, one table for each open block, the outermost first. An earlier value may be
    used if its block is open: those are the ones that are surely computed before.

    >>> from tilelang.ir.parser import parse_kernel
    >>> sharing = _Sharing(parse_kernel("kernel @k() dims() tile { }"))
    >>> sharing.scopes = [{"a * b": "outer"}, {}]
    >>> find(sharing, "a * b"), find(sharing, "a + b")
    ('outer', None)
    """
    raise NotImplementedError


# --- hard: decide -------------------------------------------------------------------------------------------
def decide(name: str, a: Range, b: Range, dim: str | None = None) -> bool | None:
    """What `a name b` gives for all values in the ranges, or None. `dim`: b is exactly that dim.

    The names are `lt`, `le`, `gt`, `ge`; for any other the answer is None. `a.limits[dim]` is an offset
    with `a <= dim + offset`: with it `a < dim` may be certain although nobody knows how large the dim is.
    Decide only what holds for all pairs of values.

    >>> decide("lt", Range(0, 7), Range(8, 9)), decide("lt", Range(8, 9), Range(0, 8))
    (True, False)
    >>> decide("lt", Range(0, 100), Range(0, 1 << 40), "N") is None
    True
    >>> decide("lt", Range(0, 100, {"N": -1}), Range(0, 1 << 40), "N")
    True
    """
    raise NotImplementedError


# --- hard: _hoist -------------------------------------------------------------------------------------------
def _hoist(loop: Op) -> tuple[list[Op], Op]:
    """The ops that can stand before the loop, in order, and the loop without them.

    Loop-invariant code motion on one loop (`for` or `while`, whose blocks are `loop.blocks`). An op may
    move if it is pure (`is_pure`), or a `load` from a tensor that nothing in the loop `clobbers`; and if
    none of its operands is made inside (`defined_in(block)`: all names that a block defines, arguments
    included). What moved is not inside any more. `written((loop,))` are the loop's writes.

    >>> k, v, e = Value("k", TileType(I64)), Value("v", TileType(F32)), Value("e", TileType(F32))
    >>> loop = Op("for", (k, k, k), (), {}, (Block((k,), (Op("exp", (v,), (e,)), Op("yield"))),))
    >>> moved, rest = _hoist(loop)
    >>> [op.name for op in moved], [op.name for op in rest.blocks[0].ops]
    (['exp'], ['yield'])
    """
    raise NotImplementedError
