"""Counter-based random numbers: Philox 4x32-10.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang.dtypes import F32, I64, U32, DType
from tilelang.semantics.builtins.declare import Arguments, Builtin, declare
from tilelang.semantics.literals import Literal, adapt, article, convert, settle
from tilelang.semantics.mistakes import mistake
from tilelang.semantics.typed import Elementwise, Typed

if TYPE_CHECKING:
    from tilelang.semantics.context import Checker


def rand(cx: Checker, args: Arguments) -> Typed:
    """The seed is one scalar; the result has the shape of the offsets."""
    seed = _word(args, "seed")
    offsets = _word(args, "offsets")
    if not seed.type.is_scalar:
        raise mistake(
            "E0319",
            "the seed is a scalar",
            args.span_of("seed"),
            label=f"this is {article(str(seed.type))}",
            help="vary the offsets instead: each offset has its own number",
        )
    result: DType = U32 if args.function == "randint" else F32
    return Elementwise(args.function, (seed, offsets), type=offsets.type.with_dtype(result), span=args.span)


def _word(args: Arguments, name: str) -> Typed:
    """An integer, as i64; u64 keeps its bits."""
    value = args.value(name)
    if not value.type.dtype.is_integer:
        raise mistake(
            "E0319",
            f"`{name}` of `{args.function}` is an integer, not {value.type.dtype}",
            args.span_of(name),
            help="convert it: `... as i64`",
        )
    if isinstance(value, Literal) and isinstance(value.value, int):
        wrapped = (value.value + (1 << 63)) % (1 << 64) - (1 << 63)
        return adapt(Literal(wrapped, type=value.type, span=value.span), I64)
    return convert(settle(value), I64)


TABLE: list[Builtin] = [
    declare("rand(seed, offsets)", rand, "f32 in [0, 1), one number per offset, the same on every device"),
    declare("randn(seed, offsets)", rand, "f32, normally distributed (mean 0, deviation 1)"),
    declare("randint(seed, offsets)", rand, "u32, all 32 bits random"),
]
