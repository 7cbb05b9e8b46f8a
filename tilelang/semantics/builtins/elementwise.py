"""Built-ins that work element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang.dtypes import BOOL, F64, DType
from tilelang.semantics.builtins.declare import Arguments, Builtin, declare
from tilelang.semantics.builtins.programs import fold_call
from tilelang.semantics.literals import Literal, article, settle
from tilelang.semantics.mistakes import mistake
from tilelang.semantics.operators import elementwise, require_bool, unify
from tilelang.semantics.typed import Elementwise, Typed

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker


def float_function(cx: Checker, args: Arguments) -> Typed:
    """`exp` and its like: floats only, same type and shape."""
    value = settle(args.value("v"))
    require_float(args, value, "v")
    return Elementwise(args.function, (value,), approximate(args, value.type.dtype), type=value.type, span=args.span)


def approximate(args: Arguments, dtype: DType) -> bool:
    """Does the call allow an approximation? E0339 for f64, which no GPU approximates."""
    if args.flag("approx") and dtype == F64:
        raise mistake(
            "E0339",
            f"there is no approximation of `{args.function}` for f64",
            args.span_of("approx"),
            notes=("`approx=true` is for f32, f16 and bf16",),
            help="leave it out, or compute in f32: `... as f32`",
        )
    return args.flag("approx")


def divide(cx: Checker, args: Arguments) -> Typed:
    """`a / b`, with a place for `approx`."""
    what = "the arguments of `divide`"
    for name in ("a", "b"):
        require_number(args, args.value(name), name)
    operands = unify((args.value("a"), args.value("b")), what, args.span)
    for name, value in zip(("a", "b"), operands, strict=True):
        require_float(args, value, name)
    dtype = operands[0].type.dtype
    return elementwise(cx, "div", operands, dtype, what, args.span, approximate(args, dtype))


def float_test(cx: Checker, args: Arguments) -> Typed:
    """`isnan`, `isinf`: floats to bool."""
    value = settle(args.value("v"))
    require_float(args, value, "v")
    return Elementwise(args.function, (value,), type=value.type.with_dtype(BOOL), span=args.span)


def require_float(args: Arguments, value: Typed, name: str) -> None:
    """E0319 unless the argument is a float."""
    dtype = value.type.dtype
    if dtype.is_float:
        return
    helps = "convert it: `... as f32`"
    given = args.value(name)
    if isinstance(given, Literal):
        helps = f"write it as a float: `{given.value}.0`"
    if args.function in ("floor", "ceil", "round") and dtype.is_integer:
        helps = "an integer is whole already: leave the call out"
    raise mistake(
        "E0319",
        f"`{args.function}` is for floats, not {dtype}",
        args.span_of(name),
        label=f"this is {article(str(value.type))}",
        help=helps,
    )


def require_number(args: Arguments, value: Typed, name: str) -> None:
    """E0319 for bool."""
    if value.type.dtype.is_bool:
        raise mistake(
            "E0319",
            f"`{args.function}` does not work on bool",
            args.span_of(name),
            help="use `and`, `or`, `not`, or convert with `as i32`",
        )


def number_function(cx: Checker, args: Arguments) -> Typed:
    """`abs`, `sign`: any number, same type."""
    value = args.value("v")
    if isinstance(value, Literal) and args.function == "abs":
        return fold_call(args, [value])
    value = settle(value)
    require_number(args, value, "v")
    return Elementwise(args.function, (value,), type=value.type, span=args.span)


def extremum(cx: Checker, args: Arguments) -> Typed:
    """`maximum`, `minimum` of two numbers; of literals a literal."""
    a, b = args.value("a"), args.value("b")
    if isinstance(a, Literal) and isinstance(b, Literal):
        return fold_call(args, [a, b])
    what = f"the arguments of `{args.function}`"
    for name, value in (("a", a), ("b", b)):
        require_number(args, value, name)
    a, b = unify((a, b), what, args.span)
    return elementwise(cx, args.function, (a, b), a.type.dtype, what, args.span)


def clamp(cx: Checker, args: Arguments) -> Typed:
    """`minimum(maximum(v, lo), hi)`."""
    what = "the arguments of `clamp`"
    for name in ("v", "lo", "hi"):
        require_number(args, args.value(name), name)
    v, lo, hi = unify((args.value("v"), args.value("lo"), args.value("hi")), what, args.span)
    raised = elementwise(cx, "maximum", (v, lo), v.type.dtype, what, args.span)
    return elementwise(cx, "minimum", (raised, hi), v.type.dtype, what, args.span)


def power(cx: Checker, args: Arguments) -> Typed:
    for name in ("a", "b"):
        require_number(args, args.value(name), name)
    a, b = unify((args.value("a"), args.value("b")), "the arguments of `pow`", args.span)
    return elementwise(cx, "pow", (a, b), a.type.dtype, "the arguments of `pow`", args.span)


def fma(cx: Checker, args: Arguments) -> Typed:
    what = "the arguments of `fma`"
    values = unify([args.value(name) for name in ("a", "b", "c")], what, args.span)
    for name, value in zip(("a", "b", "c"), values, strict=True):
        require_float(args, value, name)
    return elementwise(cx, "fma", values, values[0].type.dtype, what, args.span)


def select(cx: Checker, args: Arguments) -> Typed:
    condition = settle(args.value("condition"))
    require_bool(condition, "the condition of `select`")
    a, b = unify((args.value("a"), args.value("b")), "the values of `select`", args.span)
    return elementwise(cx, "select", (condition, a, b), a.type.dtype, "the arguments of `select`", args.span)


FLOAT_FUNCTIONS = {
    "floor": "rounded down",
    "ceil": "rounded up",
    "round": "rounded to the nearest whole number, halves to even",
    "exp": "e to the power of v",
    "exp2": "2 to the power of v",
    "expm1": "exp(v) - 1, exact near 0",
    "log": "the natural logarithm",
    "log2": "the logarithm to base 2",
    "log1p": "log(1 + v), exact near 0",
    "sqrt": "the square root",
    "rsqrt": "1 / sqrt(v)",
    "sin": "the sine, of radians",
    "cos": "the cosine, of radians",
    "tanh": "the hyperbolic tangent",
    "erf": "the error function",
    "sigmoid": "1 / (1 + exp(-v))",
}

APPROXIMATE = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid")
"""Functions with the keyword `approx`: those for which GPUs have an instruction that is right in the first digits."""

TABLE: list[Builtin] = [
    declare("select(condition, a, b)", select, "a where the condition is true, else b"),
    declare("maximum(a, b)", extremum, "the larger of two; NaN if one is"),
    declare("minimum(a, b)", extremum, "the smaller of two; NaN if one is"),
    declare("clamp(v, lo, hi)", clamp, "v kept between lo and hi: minimum(maximum(v, lo), hi)"),
    declare("abs(v)", number_function, "the magnitude; of the smallest signed integer, itself"),
    declare("sign(v)", number_function, "-1, 0 or 1; of NaN, NaN"),
    *(
        declare(f"{name}(v, *, approx: flag?)" if name in APPROXIMATE else f"{name}(v)", float_function, doc)
        for name, doc in FLOAT_FUNCTIONS.items()
    ),
    declare("divide(a, b, *, approx: flag?)", divide, "a / b of floats"),
    declare("pow(a, b)", power, "a to the power of b; integers wrap"),
    declare("fma(a, b, c)", fma, "a * b + c, rounded once, of floats"),
    declare("isnan(v)", float_test, "true where v is NaN"),
    declare("isinf(v)", float_test, "true where v is infinite"),
]
