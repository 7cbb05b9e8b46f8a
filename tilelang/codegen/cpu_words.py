"""How each elementwise op is said in the generated CPU source, and the words that source may use.

A word is a function of `tilelang.runtime.cpu_vocabulary`. Where numba's own operator means exactly what the op
does, the operator is written instead, for the reader's sake: on floats. Narrow integers it would widen, and where i64
overflows it leaves the result undefined (LLVM's `nsw`), while the language says that it wraps.
"""

from __future__ import annotations

from tilelang.dtypes import BF16, DTYPES, F16, DType, accumulator, compute_type
from tilelang.ir.core import Op

OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/",
             "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
WITH_OPERATORS = ("f16", "bf16", "f32", "f64")
"""Element types on which numba's operators do what the ops do (half floats are f32 in registers)."""

WORDS = {
    "neg": "neg", "not": "bit_not", "invert": "bit_not", "abs": "absolute", "sign": "sign", "floor": "floor",
    "ceil": "ceil", "round": "round_even", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log",
    "log2": "log2", "log1p": "log1p", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "tanh": "tanh",
    "erf": "erf", "sigmoid": "sigmoid", "isnan": "isnan", "isinf": "isinf", "add": "add", "sub": "sub",
    "mul": "mul", "div": "div", "floordiv": "floordiv", "mod": "mod", "and": "bit_and", "or": "bit_or",
    "xor": "bit_xor", "shl": "shl", "shr": "shr", "maximum": "maximum", "minimum": "minimum", "eq": "eq", "ne": "ne",
    "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "fma": "fma", "select": "select", "rand": "rand",
    "randn": "randn", "randint": "randint",
}
"""Elementwise op -> word; `cast` and `pow` depend on the type, see `expression`."""

EXACT = {"neg", "abs", "sign", "floor", "ceil", "round", "maximum", "minimum", "select", "isnan", "isinf",
         "eq", "ne", "lt", "le", "gt", "ge", "cast"}
"""Ops whose result on half floats needs no rounding: it is one of the operands, a small integer, or no float
(`cast` rounds by itself)."""

OTHER_WORDS = (
    "accumulate_prod", "accumulate_sum", "add_private", "allocate", "argument", "atomic_add", "atomic_cas",
    "atomic_max", "atomic_min", "atomic_xchg", "beats_max", "beats_min", "copy_row", "discard_private", "dot",
    "inf", "inside", "int_power", "length", "load", "load_if", "log_failure", "log_print", "merge_private", "nan",
    "payload", "power", "prefetch_row", "private_copy", "private_room", "release", "report_trouble", "room_got",
    "row_target", "scalar_argument", "scratch", "settle_streams", "stopped", "store", "store_if", "stream_row",
    "streams", "stride", "tensor", "transpose", "trips",
    *(f"to_{name}" for name in DTYPES),
    *(name for name in DTYPES if name not in ("bool", "f16", "bf16")),
)

VOCABULARY = frozenset((*WORDS.values(), *OTHER_WORDS))

COST = {"div": 4, "floordiv": 8, "mod": 8, "sqrt": 4, "rsqrt": 8, "pow": 30, "sin": 20, "cos": 20, "erf": 20,
        "exp": 8, "exp2": 8, "expm1": 15, "log": 15, "log2": 15, "log1p": 15, "tanh": 20, "sigmoid": 15,
        "rand": 30, "randn": 60, "randint": 30}
"""Rough cost of computing one element again, in simple instructions; 1 where it is not said."""


def register_type(dtype: DType) -> DType:
    """The type in which a register, and so scratch memory, holds an element."""
    return compute_type(dtype)


def expression(op: Op, operands: list[str]) -> str:
    """The Python expression of an elementwise op on these operand texts."""
    dtype = op.operands[-1].dtype
    text = _call(op, dtype, operands)
    result = op.result.dtype
    return f"to_{result}({text})" if result in (F16, BF16) and op.name not in EXACT else text


def _call(op: Op, dtype: DType, operands: list[str]) -> str:
    if op.name == "cast":
        return f"to_{op.result.dtype}({operands[0]})"
    if op.name == "pow":
        return f"{'power' if dtype.is_float else 'int_power'}({operands[0]}, {operands[1]})"
    if op.name in OPERATORS and dtype.name in WITH_OPERATORS:
        return f"{operands[0]} {OPERATORS[op.name]} {operands[1]}"
    return f"{WORDS[op.name]}({', '.join(operands)})"


def identity(kind: str, dtype: DType) -> int | float | bool:
    """The value that a reduction or scan of `kind` over `dtype` elements starts from."""
    match kind:
        case "sum":
            return 0.0 if dtype.is_float else 0
        case "prod":
            return 1.0 if dtype.is_float else 1
        case "any" | "all":
            return kind == "all"
        case "max" | "argmax":
            return _lowest(dtype)
        case _:
            return -_lowest(dtype) if dtype.is_float else (True if dtype.is_bool else dtype.max_int)


def _lowest(dtype: DType) -> int | float | bool:
    if dtype.is_float:
        return float("-inf")
    return False if dtype.is_bool else dtype.min_int


COMBINE = {"sum": "accumulate_sum", "prod": "accumulate_prod", "max": "maximum", "min": "minimum",
           "any": "bit_or", "all": "bit_and", "argmax": "beats_max", "argmin": "beats_min"}
"""The word for one step of a reduction or scan."""


def combined_type(kind: str, dtype: DType) -> DType:
    """The type in which a reduction or scan adds up: halves in f32, narrow integers in 32 bits."""
    return register_type(accumulator(dtype)) if kind in ("sum", "prod") else register_type(dtype)
