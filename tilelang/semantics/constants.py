"""Arithmetic at compile time and at launch: `const`s, metas, dims, extents and the grid.

Numbers are exact Python ints and doubles, or a `Sym` for an int that is not known yet. The rules are the
language's: `//` floors, dividing an int by zero gives 0, an int meets a float only if the float can hold it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tilelang.dtypes import DType
from tilelang.semantics.extents import Extent, Sym, SymBool, divided_exactly, opaque

Number = int | float | bool | Sym | SymBool
Value = Number | DType
"""What a const or meta can be."""

LARGEST = 1 << 128
"""Compile-time ints stay below this magnitude: wide enough for every product of two 64-bit numbers."""


class ConstantError(Exception):
    """This arithmetic is not defined; `title` says why, `help` what to write instead."""

    def __init__(self, title: str, help: str = ""):
        self.title = title
        self.help = help
        super().__init__(title)


def floor_div(a: int, b: int) -> int:
    """`a // b` rounded down; 0 if `b` is 0."""
    return a // b if b else 0


def floor_mod(a: int, b: int) -> int:
    """`a % b` with the sign of `b`; 0 if `b` is 0."""
    return a % b if b else 0


def ceil_div(a: int, b: int) -> int:
    """`a / b` rounded up; 0 if `b` is 0."""
    return -(-a // b) if b else 0


def next_pow2(n: int) -> int:
    """The smallest power of two that is at least `max(n, 1)`."""
    return 1 << (n - 1).bit_length() if n > 1 else 1


def shift_left(a: int, b: int) -> int:
    """`a << b`, exact. A negative or huge amount has no exact result."""
    if not 0 <= b <= 128:
        raise ConstantError(f"a constant cannot be shifted by {b}", "shift by 0 to 63")
    return a << b


def shift_right(a: int, b: int) -> int:
    """`a >> b`, rounding down; amounts below 0 count as huge."""
    return a >> (b if 0 <= b <= 256 else 256)


INT_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": floor_div,
    "%": floor_mod,
    "<<": shift_left,
    ">>": shift_right,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def binary(op: str, a: Value, b: Value) -> Number:
    """The constant `a op b`; raises `ConstantError` where the language does not define it."""
    if type(a) is int and type(b) is int and op in INT_OPERATORS:  # the only case at nearly every launch
        return in_range(INT_OPERATORS[op](a, b))
    if isinstance(a, DType) or isinstance(b, DType):
        raise ConstantError(f"`{op}` does not work on element types")
    if isinstance(a, (bool, SymBool)) or isinstance(b, (bool, SymBool)):
        return _binary_bool(op, a, b)
    if isinstance(a, float) or isinstance(b, float):
        result = _binary_float(op, as_double(a), as_double(b))
        unknown = isinstance(a, Sym) or isinstance(b, Sym)
        return SymBool(f"{a} {op} {b}") if unknown and isinstance(result, bool) else result
    if op in ("and", "or"):
        raise ConstantError(f"`{op}` needs bool on both sides", "compare with 0 first: `n != 0`")
    if op == "/":
        raise ConstantError("`/` is for floats", "write `//` for whole numbers, or make one side a float: `1.0`")
    if isinstance(a, Sym) or isinstance(b, Sym):
        return _binary_sym(op, a, b)
    return COMPARISONS[op](a, b)


def unary(op: str, a: Value) -> Number:
    """The constant `op a`."""
    if isinstance(a, DType):
        raise ConstantError(f"`{op}` does not work on element types")
    if op == "not":
        if isinstance(a, SymBool):
            return SymBool(f"not ({a})")
        if not isinstance(a, bool):
            raise ConstantError("`not` is for bool", "compare with 0 first: `n == 0`")
        return not a
    if isinstance(a, (bool, SymBool)):
        raise ConstantError(f"`{op}` does not work on bool", "write `not`" if op == "~" else "")
    if op == "-":
        return -a
    if isinstance(a, float):
        raise ConstantError("`~` is for integers")
    return -a - 1


def as_double(value: Number) -> float:
    """An int as the double that equals it."""
    if isinstance(value, float):
        return value
    if isinstance(value, (Sym, SymBool)):
        return math.nan  # of unknown value; it is computed when the kernel is specialised
    double = float(value)
    if int(double) != value:
        raise ConstantError(f"the int {value} is no float exactly", f"write it as a float: `{double!r}`")
    return double


def in_range(value: Number) -> Number:
    """`value`, unless it is an int too large to be of use."""
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise ConstantError("this constant has more than 128 bits", "element types have 64 bits at most")
    return value


def _binary_bool(op: str, a: Number, b: Number) -> bool | SymBool:
    if not (isinstance(a, (bool, SymBool)) and isinstance(b, (bool, SymBool))):
        raise ConstantError(f"`{op}` cannot mix bool with numbers")
    results = {
        "and": a and b,
        "or": a or b,
        "&": a and b,
        "|": a or b,
        "^": a != b,
        "==": a == b,
        "!=": a != b,
    }
    if op not in results:
        raise ConstantError(f"`{op}` does not work on bool")
    unknown = isinstance(a, SymBool) or isinstance(b, SymBool)
    return SymBool(f"({a}) {op} ({b})") if unknown else bool(results[op])


def _binary_float(op: str, a: float, b: float) -> Number:
    if op in COMPARISONS:
        return COMPARISONS[op](a, b)
    if op == "/":
        return _divide(a, b)
    if op not in ("+", "-", "*"):
        more = {"//": "write `floor(a / b)`", "%": "write `a - floor(a / b) * b`"}
        raise ConstantError(f"`{op}` is for integers", more.get(op, ""))
    return {"+": a + b, "-": a - b, "*": a * b}[op]


def _divide(a: float, b: float) -> float:
    """IEEE division, which Python's `/` refuses by zero."""
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _binary_sym(op: str, a: Extent, b: Extent) -> Number:
    if op == "+":
        return a + b
    if op == "-":
        return a - b
    if op == "*":
        return a * b
    if op in ("//", "%"):
        quotient = divided_exactly(a, b)
        if quotient is not None:
            return quotient if op == "//" else 0
    return SymBool(f"{a} {op} {b}") if op in COMPARISONS else opaque(op, a, b)


# --- functions -------------------------------------------------------------------------------------


def call(function: str, args: list[Value]) -> Number:
    """The constant `function(args)`, with `function` and the count of args as in `CONSTANT_FUNCTIONS`."""
    if len(args) == 2 and type(args[0]) is int and type(args[1]) is int:  # as above
        return INT_FUNCTIONS[function](*args)
    numbers = [_number(function, a) for a in args]
    if any(isinstance(n, Sym) for n in numbers) and not any(isinstance(n, float) for n in numbers):
        return _call_sym(function, [n for n in numbers if not isinstance(n, float)])
    if any(isinstance(n, float) for n in numbers) or function in FLOAT_FUNCTIONS:
        return _call_float(function, [as_double(n) for n in numbers])
    return INT_FUNCTIONS[function](*numbers)


def _number(function: str, value: Value) -> int | float | Sym:
    if isinstance(value, (bool, SymBool, DType)):
        raise ConstantError(f"`{function}` takes numbers")
    return value


def _call_sym(function: str, args: list[Extent]) -> Number:
    if function in FLOAT_FUNCTIONS:
        return math.nan
    if function == "cdiv":
        exact = divided_exactly(*args)
        if exact is not None:
            return exact
    if function in ("minimum", "maximum") and args[0] == args[1]:
        return args[0]
    return opaque(function, *args)


def _call_float(function: str, args: list[float]) -> float:
    if function not in FLOAT_FUNCTIONS:
        if function in ("cdiv", "next_pow2"):
            raise ConstantError(f"`{function}` is for integers")
        if any(math.isnan(a) for a in args):
            return math.nan
        return float(INT_FUNCTIONS[function](*args))  # type: ignore[arg-type]
    try:
        return FLOAT_FUNCTIONS[function](*args)
    except OverflowError:
        return math.inf
    except ValueError:
        if function.startswith("log") and args[0] == 0:
            return -math.inf
        return args[0] if function in ("floor", "ceil") else math.nan


INT_FUNCTIONS: dict[str, Callable[..., int]] = {
    "cdiv": ceil_div,
    "next_pow2": next_pow2,
    "minimum": min,
    "maximum": max,
    "abs": abs,
}

FLOAT_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "exp2": lambda a: 2.0**a,
    "log": math.log,
    "log2": math.log2,
    "floor": lambda a: float(math.floor(a)),
    "ceil": lambda a: float(math.ceil(a)),
}

CONSTANT_FUNCTIONS: dict[str, int] = {
    **{name: 1 for name in ("next_pow2", "abs", *FLOAT_FUNCTIONS)},
    **{name: 2 for name in ("cdiv", "minimum", "maximum")},
}
"""The built-ins that constant expressions may call, with their number of arguments."""

NAMED: dict[str, float] = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
"""Constants that every program has."""
