"""Element types and shapes of operators, and of the elementwise built-ins that follow the same rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilelang.diagnostics import Span
from tilelang.dtypes import BOOL, DType, wider
from tilelang.semantics import constants
from tilelang.semantics.broadcasting import broadcast_shapes
from tilelang.semantics.constants import ConstantError
from tilelang.semantics.evaluation import constant_mistake
from tilelang.semantics.extents import Extent, SymBool
from tilelang.semantics.literals import Literal, adapt, article, coerce, convert, literal
from tilelang.semantics.mistakes import Mistake, mistake
from tilelang.semantics.typed import Const, Elementwise, Typed
from tilelang.semantics.types import TileType
from tilelang.syntax import ast

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker

ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod"}
BITWISE = {"&": "and", "|": "or", "^": "xor"}
SHIFTS = {"<<": "shl", ">>": "shr"}
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
LOGICAL = {"and": "and", "or": "or"}

ADJUSTED = "the operands of `{}`"


def unify(values: Sequence[Typed], what: str, span: Span) -> list[Typed]:
    """The values with one element type: the widest of a kind, which literals take.

    Free literals among themselves become f32 if one of them is a float. `what` names the values in messages.
    """
    typed = [v for v in values if not isinstance(v, Literal)]
    if not typed:
        return _unify_literals(values)
    dtype = common_dtype([v.type.dtype for v in typed])
    if dtype is None:
        raise _mixed(typed, what, span)
    return [convert(v, dtype) for v in values]


def common_dtype(dtypes: Sequence[DType]) -> DType | None:
    """The element type that operands of these types have together, or None if they do not mix.

    >>> str(common_dtype([F16, F32]))
    'f32'
    """
    together = dtypes[0]
    for dtype in dtypes[1:]:
        wide = wider(together, dtype)
        if wide is None:
            return None
        together = wide
    return together


def _unify_literals(values: Sequence[Typed]) -> list[Typed]:
    floats = [v.type.dtype for v in values if v.type.dtype.is_float]
    if floats:
        return [convert(v, floats[0]) for v in values]
    widest = max((v.type.dtype for v in values), key=lambda d: (d.bits, not d.is_signed))
    return [convert(v, widest) for v in values]


def _mixed(values: Sequence[Typed], what: str, span: Span) -> Mistake:
    """E0302 for the first value that does not mix with the first of all."""
    first = values[0]
    second = next(v for v in values if wider(first.type.dtype, v.type.dtype) is None)
    dtype, other = first.type.dtype, second.type.dtype
    if {dtype.name, other.name} == {"f16", "bf16"}:
        target, which = "f32", "both sides"
    elif dtype.is_float or other.is_float:
        target, which = (str(dtype), "the second") if dtype.is_float else (str(other), "the first")
    elif dtype.is_bool or other.is_bool:
        target, which = (str(other), "the first") if dtype.is_bool else (str(dtype), "the second")
    else:
        wide = dtype if dtype.bits >= other.bits else other
        target, which = str(wide), "the second" if wide is dtype else "the first"
    return mistake(
        "E0302",
        f"{what} mix {dtype} and {other}",
        span,
        notes=(
            f"the first is {article(str(first.type))}, the second {article(str(second.type))}",
            "only types of one kind mix: signed with signed, unsigned with unsigned, float with float",
        ),
        help=f"convert {which}: `... as {target}`",
    )


def broadcast(cx: Checker, values: Sequence[Typed], what: str, span: Span) -> tuple[Extent, ...]:
    """The common shape of the values, or E0305."""
    shape: tuple[Extent, ...] = values[0].type.shape
    for value in values[1:]:
        together = broadcast_shapes(shape, value.type.shape)
        if together is None:
            raise mistake(
                "E0305",
                f"{what} have shapes that do not broadcast",
                span,
                notes=(
                    f"{TileType(values[0].type.dtype, shape)} with {value.type}",
                    "axes are aligned on the right; two extents must be equal, or one of them 1",
                ),
                help=_broadcast_help(shape, value.type.shape),
            )
        shape = together
    return shape


def _broadcast_help(a: tuple[Extent, ...], b: tuple[Extent, ...]) -> str:
    """Which new axis would make the shapes fit."""
    for first, second, which in ((a, b, "first"), (b, a, "second")):
        if len(first) == 1 and len(second) == 1:
            return "for all pairs, add an axis: `v[:, None]` for rows and `w[None, :]` for columns"
        if len(first) == 1 and len(second) == 2 and broadcast_shapes((first[0], 1), second) is not None:
            return f"add an axis to the {which}: `v[:, None]`"
    if len(a) == len(b) == 2 and a == b[::-1]:
        return "transpose one of them: `transpose(v)`"
    return ""


def elementwise(
    cx: Checker, op: str, values: Sequence[Typed], dtype: DType, what: str, span: Span, approx: bool = False
) -> Typed:
    """`op` on values whose element types are right already; the result has `dtype`."""
    shape = broadcast(cx, values, what, span)
    return Elementwise(op, tuple(values), approx, type=cx.tile(dtype, shape, span), span=span)


# --- binary operators ------------------------------------------------------------------------------


def check_binary(cx: Checker, op: str, left: Typed, right: Typed, node: ast.Binary, span: Span) -> Typed:
    """The typed `left op right`; `+:` is not an operator on values and is checked elsewhere."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        return fold_binary(op, left, right, span)
    what = ADJUSTED.format(op)
    if op in LOGICAL:
        return _logical(cx, op, (left, right), span)
    if op in SHIFTS:
        return _shift(cx, op, left, right, span)
    if op in ARITHMETIC:
        for value in (left, right):
            if value.type.dtype.is_bool:
                check_operator(op, value.type.dtype, span)
    operands = unify((left, right), what, node.op_span if node.op_span.end else span)
    dtype = operands[0].type.dtype
    if op in COMPARISONS:
        if dtype.is_bool and op not in ("==", "!="):
            raise mistake("E0304", f"`{op}` does not order bool values", span, help="compare bool with `==` or `!=`")
        return elementwise(cx, COMPARISONS[op], operands, BOOL, what, span)
    check_operator(op, dtype, span)
    return elementwise(cx, (ARITHMETIC | BITWISE)[op], operands, dtype, what, span)


def check_operator(op: str, dtype: DType, span: Span) -> None:
    """E0304 unless the arithmetic or bitwise operator is defined for the element type."""
    if op in BITWISE:
        if dtype.is_float:
            helps = "convert to an integer with `as i32`"
            helps = "for a power write `pow(a, b)`; bits are those of integers: `as i32`" if op == "^" else helps
            raise mistake("E0304", f"`{op}` does not work on {dtype}", span, help=helps)
    elif dtype.is_bool:
        raise mistake(
            "E0304",
            f"`{op}` does not work on bool",
            span,
            help="use `and`, `or`, `not`; or convert with `as i32` to count",
        )
    elif op == "/" and dtype.is_integer:
        raise mistake(
            "E0304",
            f"`/` is for floats, and this divides {dtype} values",
            span,
            help="write `//` to round down, or convert both sides with `as f32`",
        )
    elif op in ("//", "%") and dtype.is_float:
        instead = "floor(a / b)" if op == "//" else "a - floor(a / b) * b"
        raise mistake("E0304", f"`{op}` is for integers, and this is {dtype}", span, help=f"write `{instead}`")


def fold_binary(op: str, left: Literal, right: Literal, span: Span) -> Typed:
    """Two literals make a literal, exactly; a comparison makes a bool."""
    try:
        value = constants.binary(op, left.value, right.value)
    except ConstantError as wrong:
        raise constant_mistake(wrong, span) from None
    if isinstance(value, (bool, SymBool)):
        return Const(value, type=TileType(BOOL), span=span)  # type: ignore[arg-type]
    return literal(value, span)


def _logical(cx: Checker, op: str, values: tuple[Typed, Typed], span: Span) -> Typed:
    for value in values:
        require_bool(value, f"`{op}`")
    return elementwise(cx, LOGICAL[op], values, BOOL, ADJUSTED.format(op), span)


def require_bool(value: Typed, what: str) -> None:
    """E0304 unless the value is bool (of any shape)."""
    if not value.type.dtype.is_bool:
        helps = "compare with 0: `!= 0`" if value.type.dtype.is_integer else "compare it: `!= 0.0`"
        raise mistake(
            "E0304",
            f"{what} needs bool, not {value.type.dtype}",
            value.span,
            label=f"this is {article(str(value.type))}",
            help=helps,
        )


def _shift(cx: Checker, op: str, left: Typed, right: Typed, span: Span) -> Typed:
    """The amount takes the type of the value that is shifted."""
    if isinstance(left, Literal):
        left = adapt(left, right.type.dtype)
    for value in (left, right):
        if not isinstance(value, Literal) and not value.type.dtype.is_integer:
            title = f"`{op}` is for integers, and this is {value.type.dtype}"
            raise mistake("E0304", title, value.span, help="to scale by a power of two, multiply: `x * exp2(n)`")
    right = coerce(right, left.type.dtype, f"the amount of `{op}`")
    return elementwise(cx, SHIFTS[op], (left, right), left.type.dtype, ADJUSTED.format(op), span)


# --- unary operators -------------------------------------------------------------------------------


def check_unary(cx: Checker, op: str, operand: Typed, span: Span) -> Typed:
    if isinstance(operand, Literal):
        try:
            value = constants.unary(op, operand.value)
        except ConstantError as wrong:
            raise constant_mistake(wrong, span) from None
        return literal(value, span)
    if op == "not":
        require_bool(operand, "`not`")
        if isinstance(operand, Const) and isinstance(operand.value, bool):
            return Const(not operand.value, type=operand.type, span=span)
        return Elementwise("not", (operand,), type=operand.type, span=span)
    dtype = operand.type.dtype
    if dtype.is_bool:
        raise mistake(
            "E0304",
            f"`{op}` does not work on bool",
            span,
            help="write `not`" if op == "~" else "convert with `as i32`",
        )
    if op == "~" and not dtype.is_integer:
        title = f"`~` is for integers, and this is {dtype}"
        raise mistake("E0304", title, span, help="to change the sign write `-x`; for the bits of an integer, `as i32`")
    return Elementwise("neg" if op == "-" else "invert", (operand,), type=operand.type, span=span)
