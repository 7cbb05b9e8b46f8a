"""Algebraic identities, one small function for each family: `x + 0`, `x & x`, `not not c`, casts of casts.

A rule gets the folder and an op. It returns the value that equals the op's result, or None. It may emit ops.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.dtypes import DType
from tilelang.ir.core import Op, Value
from tilelang.passes.rewrite import Number, Rewriter
from tilelang.semantics.types import TileType

Rule = Callable[[Rewriter, Op], Value | None]


def simplify(here: Rewriter, op: Op) -> Value | None:
    """The value that equals the result of `op`, if a rule knows one."""
    for rule in RULES.get(op.name, ()):
        value = rule(here, op)
        if value is not None:
            return value
    return None


# --- arithmetic ----------------------------------------------------------------------------------

RIGHT_NEUTRAL: dict[str, Number] = {
    "add": 0, "sub": 0, "mul": 1, "floordiv": 1, "shl": 0, "shr": 0, "or": 0, "xor": 0}
"""x op neutral is x, for integers."""

FLOAT_RIGHT_NEUTRAL: dict[str, str] = {"add": "-0.0", "sub": "0.0", "mul": "1.0", "div": "1.0"}
"""The same for floats, as text, for the sign of zero matters: -0.0 + 0.0 is 0.0, so 0.0 is not neutral."""

COMMUTES = ("add", "mul", "and", "or", "xor", "maximum", "minimum")


def neutral(here: Rewriter, op: Op) -> Value | None:
    """x + 0, 0 + x, x * 1, x / 1.0, x - 0.0, x or false, ..."""
    left, right = op.operands
    if is_neutral(op.name, right.dtype, here.constant(right)):
        return left
    if op.name in COMMUTES and is_neutral(op.name, left.dtype, here.constant(left)):
        return right
    return None


def is_neutral(name: str, dtype: DType, number: Number | None) -> bool:
    """Does `x name number` equal x for every x of this type?"""
    if number is None:
        return False
    if dtype.is_float:
        return repr(number) == FLOAT_RIGHT_NEUTRAL.get(name)
    if name == "and":
        return number is True if dtype.is_bool else number == (-1 if dtype.is_signed else dtype.max_int)
    return name in RIGHT_NEUTRAL and number == RIGHT_NEUTRAL[name]


def absorbing(here: Rewriter, op: Op) -> Value | None:
    """x * 0, x & 0, x or true, x % 1 on integers and bool: the constant decides."""
    for operand, other in (op.operands, op.operands[::-1]):
        number = here.constant(other)
        if number is None or operand.dtype.is_float:
            continue
        if op.name in ("mul", "and") and number == 0:
            return other
        if op.name == "or" and is_neutral("and", operand.dtype, number):
            return other
        if op.name == "mod" and other is op.operands[1] and number in (0, 1):
            return here.out.const(0, operand.type)  # type: ignore[arg-type]
    return None


def same_operands(here: Rewriter, op: Op) -> Value | None:
    """x - x, x ^ x, x & x, x == x, ... where both operands are one value."""
    left, right = op.operands
    if left != right:
        return None
    if op.name in ("maximum", "minimum") or op.name in ("and", "or"):
        return left
    if left.dtype.is_float:
        return None
    if op.name in ("sub", "xor"):
        return here.out.const(0, left.type)  # type: ignore[arg-type]
    if op.name in ("eq", "le", "ge", "ne", "lt", "gt"):
        return here.out.const(op.name in ("eq", "le", "ge"), op.result.type)  # type: ignore[arg-type]
    return None


def regroup(here: Rewriter, op: Op) -> Value | None:
    """(x + 2) + 3 is x + 5 on integers: addition modulo 2^n is associative."""
    left, right = op.operands
    if here.constant(left) is not None:
        left, right = right, left
    inner = here.definition(left)
    if left.dtype.is_float or here.constant(right) is None or inner is None or inner.name != op.name:
        return None
    for known, other in (inner.operands, inner.operands[::-1]):
        if here.constant(known) is not None:
            return here.out.op(op.name, other, here.out.op(op.name, known, right))
    return None


def twice(here: Rewriter, op: Op) -> Value | None:
    """neg(neg x), not(not x), invert(invert x) are x; abs(abs x), floor(floor x), ... are the inner one."""
    inner = here.definition(op.operands[0])
    if inner is None or inner.name != op.name:
        return None
    return inner.operands[0] if op.name in ("neg", "not", "invert") else op.operands[0]


# --- conditions ----------------------------------------------------------------------------------

OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
"""not (a < b) is a >= b."""

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""a < b is b > a."""


def negated_comparison(here: Rewriter, op: Op) -> Value | None:
    """not (a < b) is a >= b; not for floats, where NaN makes both false (== and != are opposites there)."""
    inner = here.definition(op.operands[0])
    if inner is None or inner.name not in OPPOSITE:
        return None
    if inner.operands[0].dtype.is_float and inner.name not in ("eq", "ne"):
        return None
    return here.out.op(OPPOSITE[inner.name], *inner.operands)


def decided_select(here: Rewriter, op: Op) -> Value | None:
    """select(true, a, b), select(c, a, a) are a; select(c, true, false) is c; select(not c, a, b) turns."""
    condition, then, other = op.operands
    known = here.constant(condition)
    if known is not None:
        return then if known else other
    if then == other:
        return then
    if here.constant(then) is True and here.constant(other) is False:
        return condition
    inner = here.definition(condition)
    if inner is not None and inner.name == "not":
        return here.out.op("select", inner.operands[0], other, then)
    return None


# --- casts ---------------------------------------------------------------------------------------


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


def cast_of_cast(here: Rewriter, op: Op) -> Value | None:
    """A cast of an exact cast is one cast; of integers, narrowing twice is narrowing once.

    Not where an integer goes by way of a float to an integer that is too small for it: the float saturates, and
    an integer would wrap.
    """
    inner = here.definition(op.operands[0])
    if inner is None or inner.name != "cast":
        return None
    first, middle, last = inner.operands[0].dtype, inner.result.dtype, op.result.dtype
    low_bits = first.is_integer and middle.is_integer and last.is_integer and last.bits <= middle.bits
    saturates = first.is_integer and middle.is_float and last.is_integer and not is_exact(first, last)
    if saturates or (not is_exact(first, middle) and not low_bits):
        return None
    return here.out.cast(inner.operands[0], last)


# --- shapes --------------------------------------------------------------------------------------


def same_shape(here: Rewriter, op: Op) -> Value | None:
    """A broadcast or reshape to the shape the operand has; a cast to its type."""
    return op.operands[0] if op.operands[0].type == op.result.type else None


def reshape_of_reshape(here: Rewriter, op: Op) -> Value | None:
    inner = here.definition(op.operands[0])
    if inner is None or inner.name != op.name:
        return None
    if op.name == "reshape":
        return here.out.reshape(inner.operands[0], op.result.shape)
    return here.out.broadcast(inner.operands[0], op.result.shape)


def permute_rules(here: Rewriter, op: Op) -> Value | None:
    """The identity permutation; a permutation of a permutation is one."""
    axes: tuple[int, ...] = op.attrs["axes"]  # type: ignore[assignment]
    if axes == tuple(range(len(axes))):
        return op.operands[0]
    inner = here.definition(op.operands[0])
    if inner is None or inner.name != "permute":
        return None
    first: tuple[int, ...] = inner.attrs["axes"]  # type: ignore[assignment]
    return here.out.op("permute", inner.operands[0], axes=tuple(first[axis] for axis in axes))


def single_cat(here: Rewriter, op: Op) -> Value | None:
    return op.operands[0] if len(op.operands) == 1 else None


def narrow_broadcast(here: Rewriter, op: Op) -> Value | None:
    """broadcast(a) + broadcast(b) is broadcast(a + b): compute what is repeated once."""
    sources = [_source(here, operand) for operand in op.operands]
    shapes = {source.shape for source in sources if isinstance(source, Value)}
    if len(shapes) != 1 or None in sources:
        return None
    (shape,) = shapes
    narrow = [source if isinstance(source, Value) else here.out.const(source, TileType(operand.dtype, shape))
              for source, operand in zip(sources, op.operands, strict=True) if source is not None]
    kind = TileType(op.result.dtype, shape) if op.name == "cast" else None
    result = here.out.again(op, *narrow, type=kind)
    return here.out.broadcast(result, op.result.shape)


def _source(here: Rewriter, value: Value) -> Value | Number | None:
    """What a broadcast repeats, or the number that fills a tile."""
    op = here.definition(value)
    if op is None:
        return None
    return op.operands[0] if op.name == "broadcast" else here.constant(value)


RULES: dict[str, tuple[Rule, ...]] = {
    "add": (neutral, regroup), "sub": (neutral, same_operands), "mul": (neutral, absorbing, regroup),
    "div": (neutral,), "floordiv": (neutral,), "mod": (absorbing,), "shl": (neutral,), "shr": (neutral,),
    "and": (neutral, absorbing, same_operands), "or": (neutral, absorbing, same_operands),
    "xor": (neutral, same_operands), "maximum": (same_operands,), "minimum": (same_operands,),
    **{name: (same_operands,) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: (twice,) for name in ("neg", "invert", "abs", "floor", "ceil", "round", "sign")},
    "not": (twice, negated_comparison), "select": (decided_select,), "cast": (same_shape, cast_of_cast),
    "reshape": (same_shape, reshape_of_reshape), "broadcast": (same_shape, reshape_of_reshape),
    "permute": (permute_rules,), "cat": (single_cat,),
}
"""In this order; the last resort of every elementwise op is `narrow_broadcast`."""

_ELEMENTWISE = [name for name in RULES if name not in ("reshape", "broadcast", "permute", "cat")]
_UNLISTED = ("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf",
             "sigmoid", "isnan", "isinf", "pow", "fma")
RULES.update({name: (*RULES.get(name, ()), narrow_broadcast) for name in (*_ELEMENTWISE, *_UNLISTED)})
