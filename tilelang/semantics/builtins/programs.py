"""Which program this is, and integer helpers for grids and extents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang.dtypes import BOOL, I64
from tilelang.semantics import constants
from tilelang.semantics.builtins.declare import Arguments, Builtin, declare
from tilelang.semantics.constants import ConstantError
from tilelang.semantics.evaluation import constant_mistake
from tilelang.semantics.literals import Literal, article, convert, literal
from tilelang.semantics.mistakes import mistake
from tilelang.semantics.operators import elementwise, unify
from tilelang.semantics.typed import Cast, Elementwise, Inlined, NumPrograms, ProgramId, Read, Typed
from tilelang.semantics.types import TileType

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker


def _grid_axis(cx: Checker, args: Arguments) -> int:
    """The axis, which the kernel's grid must have."""
    axis = args.integer("axis") or 0
    rank = len(cx.kernel.grid)
    if not 0 <= axis < rank:
        raise mistake(
            "E0320",
            f"the grid of `{cx.kernel.name.text}` has no axis {axis}",
            args.span_of("axis"),
            notes=(f"it has {rank} {'axis, numbered 0' if rank == 1 else f'axes, numbered 0 to {rank - 1}'}",),
            help="add an extent after `grid`, or use another axis",
        )
    return axis


def program_id(cx: Checker, args: Arguments) -> Typed:
    return ProgramId(_grid_axis(cx, args), type=TileType(I64), span=args.span)


def num_programs(cx: Checker, args: Arguments) -> Typed:
    return NumPrograms(_grid_axis(cx, args), type=TileType(I64), span=args.span)


def cdiv(cx: Checker, args: Arguments) -> Typed:
    """`-((-a) // b)`: rounded up. Of literals a literal."""
    a, b = args.value("a"), args.value("b")
    if isinstance(a, Literal) and isinstance(b, Literal):
        return fold_call(args, [a, b])
    a, b = unify((a, b), "the arguments of `cdiv`", args.span)
    dtype = a.type.dtype
    if not dtype.is_integer:
        raise mistake(
            "E0319",
            f"`cdiv` is for integers, and this is {article(str(dtype))}",
            args.span,
            help="for floats write `ceil(a / b)`" if dtype.is_float else "",
        )
    if dtype.is_signed:
        down = elementwise(cx, "floordiv", (_negated(a), b), dtype, "the arguments of `cdiv`", args.span)
        return _negated(down)
    return _unsigned_cdiv(cx, args, a, b)


def _unsigned_cdiv(cx: Checker, args: Arguments, a: Typed, b: Typed) -> Typed:
    """Unsigned numbers have no negatives: a // b, plus one where there is a remainder (0 where b is 0).

    Both are used twice, so they are bound to variables first, as if this were a `fn`.
    """
    what, dtype = "the arguments of `cdiv`", a.type.dtype
    params = (cx.new_var("a", a.type), cx.new_var("b", b.type))
    read_a, read_b = (Read(var, type=var.type, span=args.span) for var in params)
    down = elementwise(cx, "floordiv", (read_a, read_b), dtype, what, args.span)
    rest = elementwise(cx, "mod", (read_a, read_b), dtype, what, args.span)
    zero = convert(literal(0, args.span), dtype)
    more = elementwise(cx, "ne", (rest, zero), BOOL, what, args.span)
    one = Cast(more, type=more.type.with_dtype(dtype), span=args.span)
    total = elementwise(cx, "add", (down, one), dtype, what, args.span)
    return Inlined("cdiv", params, (a, b), (), (total,), type=total.type, span=args.span)


def _negated(value: Typed) -> Typed:
    return Elementwise("neg", (value,), type=value.type, span=value.span)


def next_pow2(cx: Checker, args: Arguments) -> Typed:
    value = args.value("n")
    if isinstance(value, Literal):
        return fold_call(args, [value])
    raise mistake(
        "E0310",
        "`next_pow2` works on compile-time constants",
        args.span_of("n"),
        label="computed while the kernel runs",
        help="move it to a meta: `[BLOCK = next_pow2(N)]`",
    )


def fold_call(args: Arguments, literals: list[Literal]) -> Typed:
    """A built-in of literals, computed exactly."""
    try:
        value = constants.call(args.function, [v.value for v in literals])
    except ConstantError as wrong:
        raise constant_mistake(wrong, args.span) from None
    return literal(value, args.span)


TABLE: list[Builtin] = [
    declare("program_id(axis: int?)", program_id, "the number of this program along a grid axis, i64"),
    declare("num_programs(axis: int?)", num_programs, "the extent of the grid along an axis, i64"),
    declare("cdiv(a, b)", cdiv, "a / b rounded up, on integers; 0 where b is 0"),
    declare("next_pow2(n)", next_pow2, "the smallest power of two that is at least n; of constants only"),
]
