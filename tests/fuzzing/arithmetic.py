"""What each operation on two numbers means, in plain Python: written from the language reference and from nothing else.

An integer is a Python `int`, a bool a `bool`, a float of any width a Python `float` that holds a value of that width.
So it can only be as wrong as the reference is, and shares no line with the interpreter that it judges.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

Number = int | float | bool

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTS = SIGNED + UNSIGNED
FLOATS = ("f16", "bf16", "f32", "f64")
PRECISION = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
LOWEST_BIT = {"f16": -24, "bf16": -133, "f32": -149, "f64": -1074}
"""The exponent of the smallest number above 0."""
TOO_LARGE = {"f16": 16, "bf16": 128, "f32": 128, "f64": 1024}
"""What would round to two to this power is infinite."""


def limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    bits = BITS[dtype]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype in SIGNED else (0, (1 << bits) - 1)


def wrap(value: int, dtype: str) -> int:
    """Keep the low bits, as two's complement."""
    low = value & ((1 << BITS[dtype]) - 1)
    return low - (1 << BITS[dtype]) if low > limits(dtype)[1] else low


def nearest(value: float, dtype: str) -> float:
    """The nearest value of a float type, ties to even: the definition, in exact arithmetic."""
    if dtype == "f64" or value == 0 or not math.isfinite(value):
        return value
    return nearest_of(Fraction(value), dtype)


def nearest_of(value: Fraction, dtype: str) -> float:
    """The nearest value of a float type to a number other than 0, ties to even."""
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()  # of the leading bit, or one too large
    exponent += size >= Fraction(2) ** exponent
    step = max(exponent - PRECISION[dtype], LOWEST_BIT[dtype])
    steps = round(size / Fraction(2) ** step)  # `round` of a Fraction is half to even
    near = math.inf if steps * Fraction(2) ** step >= 2 ** TOO_LARGE[dtype] else math.ldexp(steps, step)
    return near if value > 0 else -near


def rounded(value: float, dtype: str) -> float:
    """What arithmetic gives: half floats are computed in f32, so they are rounded twice."""
    return nearest(nearest(value, "f32"), dtype) if dtype in ("f16", "bf16") else nearest(value, dtype)


def float_of(value: int, dtype: str) -> float:
    """An integer rounded once, half to even, to the precision of a float type; too large ones are infinite."""
    spare = max(0, abs(value).bit_length() - PRECISION[dtype])
    whole = round(Fraction(abs(value), 1 << spare)) << spare
    if dtype == "f16" and whole >= 1 << TOO_LARGE[dtype]:
        return math.copysign(math.inf, value)
    return float(whole) if value >= 0 else -float(whole)


def convert(value: Number, source: str, target: str) -> Number:
    """`value as target`."""
    if target == "bool":
        return value != 0
    if target in INTS:
        if source in FLOATS:
            if math.isnan(value):
                return 0
            low, high = limits(target)
            return low if value <= low else high if value >= high else math.trunc(value)
        return wrap(int(value), target)
    if source not in FLOATS:
        return float_of(int(value), target)
    return nearest(float(value), target)


def _floor_divide(a: int, b: int) -> int:
    return a // b if b else 0


def _modulo(a: int, b: int) -> int:
    return a % b if b else 0


def _shift(a: int, amount: int, dtype: str, left: bool) -> int:
    gone = amount < 0 or amount >= BITS[dtype]
    if left:
        return 0 if gone else a << amount
    return a >> (BITS[dtype] if gone else amount)


def _power(a: int, b: int, dtype: str) -> int:
    if b >= 0:
        return pow(a, b, 1 << BITS[dtype])
    return 1 if a == 1 else (1 if b % 2 == 0 else -1) if a == -1 else 0


def _divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a) or math.isnan(b):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def extreme(larger: bool) -> Callable[[Number, Number], Number]:
    """`maximum` or `minimum`: a NaN wins."""

    def pick(a: Number, b: Number) -> Number:
        if a != a or b != b:
            return math.nan
        return a if (a > b) == larger or a == b else b

    return pick


EXACT: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": _floor_divide, "%": _modulo,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "cdiv": lambda a, b: -_floor_divide(-a, b),
}  # fmt: skip
"""On integers of any size; what a sized type gives is this, wrapped."""

ON_FLOATS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide,
}  # fmt: skip

COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def binary(op: str, a: Number, b: Number, dtype: str) -> Number:
    """`a op b`, or `op(a, b)`, where both are of `dtype`."""
    if op in COMPARISONS:
        return COMPARISONS[op](a, b)
    if op in ("maximum", "minimum"):
        return extreme(op == "maximum")(a, b)
    if dtype == "bool":
        return (a and b) if op == "and" else (a or b)
    if dtype in FLOATS:
        return rounded(ON_FLOATS[op](a, b), dtype)
    if op in ("<<", ">>"):
        return wrap(_shift(a, b, dtype, op == "<<"), dtype)
    if (
        op == "cdiv" and dtype in SIGNED
    ):  # by definition -((-a) // b), where the smallest integer has no negative
        return wrap(-_floor_divide(wrap(-a, dtype), b), dtype)
    return wrap(_power(a, b, dtype) if op == "pow" else EXACT[op](a, b), dtype)


def unary(op: str, a: Number, dtype: str) -> Number:
    """`op a`, or `op(a)`."""
    if op == "not":
        return not a
    if dtype in FLOATS:
        return rounded(_unary_float(op, a), dtype)
    value = {"-": -a, "~": ~a, "abs": abs(a), "sign": (a > 0) - (a < 0)}[op]
    return wrap(value, dtype)


def _unary_float(op: str, a: float) -> float:
    if op in ("-", "abs"):
        return -a if op == "-" else abs(a)
    if math.isnan(a):
        return math.nan
    if op == "sign":
        return float((a > 0) - (a < 0))
    if op == "sqrt":
        return math.sqrt(a) if a >= 0 else math.nan
    if math.isinf(a):
        return a
    return math.copysign({"floor": math.floor, "ceil": math.ceil, "round": round}[op](a), a)
