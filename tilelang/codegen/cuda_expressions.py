"""Thread ops as Python expressions that mean the same to numba.cuda and to NumPy scalars in the simulator.

Three habits keep the two in step. numba computes signed integers in 64 bits, NumPy in their own width: what matters is
when a result is brought back to its type (`Form`). Half floats are f32 values that a half float can hold, rounded after
every op by `f16(...)`: so they compute in f32. Whatever Python and the language see differently is a function of
`tilelang.runtime.device_math`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tilelang.diagnostics import InternalError
from tilelang.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, I32, I64, DType, compute_type
from tilelang.ir.core import Attr, Op

ALIASES = {"bool": "boolean"}
"""Names of element types in generated code, where they differ: `bool` is a Python builtin."""

COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
BY_CONSTANT = {"floordiv": "//", "mod": "%", "shl": "<<", "shr": ">>"}


class Level(IntEnum):
    """How loosely the outermost operator of a text binds."""

    ATOM = 0
    ARITHMETIC = 1
    COMPARISON = 2
    NOT = 3
    AND = 4
    OR = 5
    CONDITIONAL = 6


BELOW_AND = (Level.ATOM, Level.ARITHMETIC, Level.COMPARISON, Level.NOT)

PRODUCT = re.compile(r"[\w.]+(\([\w.]*\))? \* [\w.]+(\([\w.]*\))?")
"""A product of two names, numbers, or simple calls: it needs no parentheses in a sum."""

SUM = re.compile(rf"({PRODUCT.pattern}|[\w.]+)( \+ ({PRODUCT.pattern}|[\w.]+))+")
"""A sum of such: adding one more to its right needs no parentheses."""


class Form(IntEnum):
    """What an integer expression is, seen as a value of its IR type.

    TYPED has the type. CLEAN has the value, in a type that may be wider. LOOSE may differ above the type's bits:
    good for adding, multiplying and masking, where those bits never come back down.
    """

    TYPED = 0
    CLEAN = 1
    LOOSE = 2


@dataclass(frozen=True)
class Expression:
    """Python text for a value of type `dtype`. `impure`: it reads memory."""

    text: str
    dtype: DType
    level: Level = Level.ATOM
    form: Form = Form.TYPED
    impure: bool = False

    def inside(self, level: Level) -> str:
        """The text as an operand where operators up to `level` need no parentheses."""
        return self.text if self.level <= level else f"({self.text})"


def type_name(dtype: DType) -> str:
    """The generated module's name for an element type."""
    return ALIASES.get(dtype.name, dtype.name)


class Expressions:
    """Makes expressions and remembers which library functions and types they use.

    `nan_extremes`: there are instructions for the maximum and the minimum of f32 that keep NaN.
    """

    def __init__(self, nan_extremes: bool = False) -> None:
        self.nan_extremes = nan_extremes
        self.called: set[str] = set()
        self.types: set[DType] = set()

    # ---------------------------------------------------------------- pieces

    def call(self, function: str, *arguments: str) -> str:
        """A call of a library function."""
        self.called.add(function)
        return f"{function}({', '.join(arguments)})"

    def converted(self, dtype: DType, text: str) -> str:
        """`i32(text)`: to an integer type it wraps, to a float it rounds."""
        if dtype in (F16, BF16):
            return self.call(dtype.name, text)
        self.types.add(dtype)
        return f"{type_name(dtype)}({text})"

    def typed(self, value: Expression) -> str:
        """The text of a value in its own type."""
        return value.text if value.form == Form.TYPED else self.converted(value.dtype, value.text)

    def clean(self, value: Expression) -> Expression:
        """The value without bits above its type's."""
        if value.form != Form.LOOSE:
            return value
        return Expression(self.converted(value.dtype, value.text), value.dtype, impure=value.impure)

    def array_type(self, dtype: DType, place: str) -> str:
        """The element type of an array: half floats are f32 in registers and bits in memory."""
        if dtype in (F16, BF16):
            dtype = F32 if place == "local" else DTYPES["u16"]
        self.types.add(dtype)
        return type_name(dtype)

    def constant(self, value: int | float | bool, dtype: DType) -> Expression:
        """Signed integers are bare numbers; next to unsigned ones numba would make floats of them."""
        if dtype == BOOL:
            return Expression(str(bool(value)), dtype)
        if dtype.is_signed:
            return Expression(str(value), dtype, Level.ARITHMETIC if value < 0 else Level.ATOM, Form.CLEAN)
        if dtype.is_integer:
            return Expression(self.converted(dtype, str(value)), dtype)
        number = float(value)
        text = repr(number) if math.isfinite(number) else f"np.{'nan' if math.isnan(number) else 'inf'}"
        if number == -math.inf:
            text = f"-{text}"
        return Expression(self.converted(compute_type(dtype), text), dtype)

    def to_memory(self, value: Expression) -> str:
        """A value as it is stored in shared or global memory."""
        if value.dtype in (F16, BF16):
            return self.call(f"{value.dtype}_bits", value.text)
        return self.clean(value).text

    def from_memory(self, dtype: DType, text: str) -> Expression:
        if dtype in (F16, BF16):
            text = self.call(f"{dtype}_value", text)
        return Expression(text, dtype, impure=True)

    # ---------------------------------------------------------------- elementwise ops

    def elementwise(self, op: Op, operands: Sequence[Expression], constant: object) -> Expression:
        """An op on scalars; `constant` is the value of the last operand, if it is one."""
        made = self._elementwise(op, operands, constant)
        if any(operand.impure for operand in operands):
            return Expression(made.text, made.dtype, made.level, made.form, True)
        return made

    def _elementwise(self, op: Op, operands: Sequence[Expression], constant: object) -> Expression:
        dtype, name = op.result.dtype, op.name
        if name == "cast":
            return self._cast(operands[0], dtype)
        if name in COMPARE:
            a, b = (self.clean(e).inside(Level.ARITHMETIC) for e in operands)
            return Expression(f"{a} {COMPARE[name]} {b}", dtype, Level.COMPARISON)
        if name == "select":
            condition, then, other = (Expression(self.typed(e), e.dtype, e.level).inside(Level.OR) for e in operands)
            return Expression(f"{then} if {condition} else {other}", dtype, Level.CONDITIONAL)
        if name in ("isnan", "isinf", "rand", "randn", "randint"):
            return self._call(name, dtype, operands)
        if dtype.is_bool:
            return self._logic(name, operands)
        if dtype.is_integer:
            return self._integer(op, operands, constant)
        if "approx" in op.attrs:
            return self._approximate(name, dtype, operands)
        return self._float(name, dtype, operands)

    def _approximate(self, name: str, dtype: DType, operands: Sequence[Expression]) -> Expression:
        """Half floats too are computed in f32, and rounded."""
        text = self.call(f"{name}_approx", *(e.text for e in operands))
        return Expression(text if dtype == F32 else self.converted(dtype, text), dtype)

    def _call(self, function: str, dtype: DType, operands: Sequence[Expression]) -> Expression:
        return Expression(self.call(function, *(self.typed(e) for e in operands)), dtype)

    def _logic(self, name: str, operands: Sequence[Expression]) -> Expression:
        if name in ("not", "invert"):
            return Expression(f"not {operands[0].inside(Level.COMPARISON)}", BOOL, Level.NOT)
        if name == "xor":
            return Expression(" != ".join(e.inside(Level.ATOM) for e in operands), BOOL, Level.COMPARISON)
        own = Level.AND if name == "and" else Level.OR
        parts = (e.text if e.level in (own, *BELOW_AND) else f"({e.text})" for e in operands)
        return Expression(f" {name} ".join(parts), BOOL, own)

    def _integer(self, op: Op, operands: Sequence[Expression], constant: object) -> Expression:
        dtype, name = op.result.dtype, op.name
        if name in SIGNS or name in ("neg", "invert"):
            return self._low_bits(name, dtype, operands)
        if name in BY_CONSTANT and isinstance(constant, int) and self._is_plain(name, dtype, constant):
            value, number = operands
            if name == "shl":
                return self._wrapped(dtype, f"{value.inside(Level.ATOM)} << {number.text}")
            text = f"{self.clean(value).inside(Level.ATOM)} {BY_CONSTANT[name]} {number.text}"
            if dtype.is_signed:
                return Expression(text, dtype, Level.ARITHMETIC, Form.CLEAN)
            return self._wrapped(dtype, text)
        if name == "abs" and not dtype.is_signed:
            return operands[0]
        if name in ("abs", "maximum", "minimum"):
            function = {"abs": "abs", "maximum": "max", "minimum": "min"}[name]
            text = f"{function}({', '.join(self.typed(e) for e in operands)})"
            return self._wrapped(dtype, text, Level.ATOM)
        if name in (*BY_CONSTANT, "pow", "sign"):
            return self._call(f"{name}_{dtype}", dtype, operands)
        raise InternalError("cuda", f"no integer `{name}`")

    def _is_plain(self, name: str, dtype: DType, constant: int) -> bool:
        """Is Python's own operator right for this divisor or shift?"""
        return constant > 0 if name in ("floordiv", "mod") else 0 <= constant < dtype.bits

    def _low_bits(self, name: str, dtype: DType, operands: Sequence[Expression]) -> Expression:
        """Ops whose lower bits depend on the operands' lower bits alone."""
        if not dtype.is_signed:
            operands = [self.clean(e) for e in operands]
        if name in ("neg", "invert"):
            return self._wrapped(dtype, f"{'-' if name == 'neg' else '~'}{operands[0].inside(Level.ATOM)}")
        a, b = (e.text if name in ("add", "sub") and PRODUCT.fullmatch(e.text) else e.inside(Level.ATOM)
                for e in operands)
        if name == "add" and SUM.fullmatch(operands[0].text):
            a = operands[0].text
        made = self._wrapped(dtype, f"{a} {SIGNS[name]} {b}")
        if name == "and" and dtype.is_signed and all(e.form != Form.LOOSE for e in operands):
            return Expression(made.text, dtype, made.level, min(made.form, Form.CLEAN))
        return made

    def _wrapped(self, dtype: DType, text: str, level: Level = Level.ARITHMETIC) -> Expression:
        """Signed: loose for now (i64 wraps by itself, everywhere). Unsigned: into its type at once."""
        if dtype == I64:
            return Expression(text, dtype, level)
        if dtype.is_signed:
            return Expression(text, dtype, level, Form.LOOSE)
        return Expression(self.converted(dtype, text), dtype)

    def _float(self, name: str, dtype: DType, operands: Sequence[Expression]) -> Expression:
        half, wide = dtype in (F16, BF16), compute_type(dtype)
        inner = [e.inside(Level.ATOM) for e in operands]
        plain = [e.text for e in operands]
        if name == "neg":
            return Expression(f"-{inner[0]}", dtype, Level.ARITHMETIC)
        if name == "abs":
            return Expression(f"abs({plain[0]})", dtype)
        if name in ("maximum", "minimum"):
            kind = "nan" if self.nan_extremes and wide == F32 else "float"
            return Expression(self.call(f"{name}_{kind}", *plain), dtype)
        if name == "sign":
            return Expression(self.call(f"sign_{wide}", *plain), dtype)
        if name in ("add", "sub", "div") or (name == "mul" and half):
            text = f"{inner[0]} {({**SIGNS, 'div': '/'})[name]} {inner[1]}"
            return Expression(self.converted(dtype, text), dtype) if half else Expression(
                text, dtype, Level.ARITHMETIC)
        text = self.call(f"{name}_{wide}", *plain)
        return Expression(self.converted(dtype, text) if half else text, dtype)

    def shuffle(self, value: Expression, attrs: Mapping[str, Attr]) -> Expression:
        """What another thread of the warp has. Narrow and unsigned integers travel as signed ones of 32 or 64 bits."""
        (way, number), dtype = *attrs.items(), value.dtype
        wide = I64 if dtype.bits == 64 else I32
        text = self.typed(value)
        if not dtype.is_float and dtype != wide:
            text = self.converted(wide, text)
        text = self.call(f"shuffle_{way}", text, str(number))
        if dtype.is_bool:
            return Expression(f"{text} != 0", dtype, Level.COMPARISON)
        return Expression(text if dtype.is_float or dtype == wide else self.converted(dtype, text), dtype)

    # ---------------------------------------------------------------- conversions

    def _cast(self, value: Expression, dtype: DType) -> Expression:
        """`as`. Half floats are f32 values already."""
        source, text = value.dtype, self.clean(value).text
        if dtype == source:
            return value
        if dtype.is_bool:
            zero = self.constant(0, source).text
            return Expression(f"{self.clean(value).inside(Level.ARITHMETIC)} != {zero}", dtype, Level.COMPARISON)
        if not source.is_float:
            return Expression(self._from_integer(source, dtype, text), dtype)
        if dtype.is_integer:
            return Expression(self.call(f"{dtype}_from_{compute_type(source)}", text), dtype)
        if dtype in (F16, BF16):
            return Expression(self.call(f"{dtype}_from_f64" if source == F64 else dtype.name, text), dtype)
        if dtype == F32 and source in (F16, BF16):
            return Expression(value.text, dtype, value.level)
        return Expression(self.converted(dtype, text), dtype)

    def _from_integer(self, source: DType, dtype: DType, text: str) -> str:
        if dtype == BF16 and source.bits > 16:
            return self.call(f"bf16_from_{source}", text)
        if dtype in (F16, BF16):
            return self.call(dtype.name, self.converted(F32, text))  # exact, or beyond f16's range in f32 too
        return self.converted(dtype, text)
