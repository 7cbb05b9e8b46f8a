"""Constant folding and algebraic identities: what is known now need not be computed later.

    %a: i32 = const {value = 6}
    %b: i32 = const {value = 7}
    %c: i32 = mul %a, %b                         ==>   %c42: i32 = const {value = 42}
    %x: f32[8] = mul %v, %one                    ==>   (uses of %x become %v)
    %y: f32 = if %true { ... yield %p } else { ... yield %q }
                                                 ==>   ... (uses of %y become %p)

Precondition: none; it runs on any tile IR.

Every rewrite gives the same bits as before, on every input. So it refuses what holds on paper only:
`x + 0.0` (it turns -0.0 into 0.0), `x * 0.0` and `x - x` on floats (NaN, infinity), casts of casts where the
inner one loses something. Sums of floats stay: their order is the back end's.

The rules stand in three files: numbers here, `identities`, branches and loops in `fold_control`.
"""

from __future__ import annotations

import math

from tilelang.ir.core import Kernel, Op, Value
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.passes.fold_control import fold_control
from tilelang.passes.identities import simplify
from tilelang.passes.rewrite import Number, Rewriter
from tilelang.semantics.types import TileType

NOT_FOLDED = ("rand", "randn", "randint")
"""Elementwise, but not on operands of one type."""

SPLAT_KEEPING = ("broadcast", "reshape", "permute", "cat")
"""Ops that move elements: if all of them are one number, so are the result's."""


def fold(kernel: Kernel) -> Kernel:
    """Fold constants, identities, decided branches and loops without trips."""
    return _Folder(kernel).run()


class _Folder(Rewriter):
    def visit(self, op: Op) -> None:
        if op.blocks:
            fold_control(self, op)
        elif len(op.results) == 1:
            value = self.folded(op)
            if value is None:
                self.keep(op)
            else:
                self.replace(op, value)
        elif not (op.name == "assert" and self.constant(op.operands[0]) is True):
            self.keep(op)

    def folded(self, op: Op) -> Value | None:
        """The value to use instead of the op's result; None if the op stays."""
        constants = [self.constant(operand) for operand in op.operands]
        number = None
        if op.operands and None not in constants:
            number = _constant_result(op, constants)  # type: ignore[arg-type]
        if number is not None:
            return self.out.const(number, _tile(op.result))
        return simplify(self, op)


def _constant_result(op: Op, operands: list[Number]) -> Number | None:
    """The number that fills the result of an op on constant tiles, or None where the op is not folded."""
    if op.name in SPLAT_KEEPING:
        return operands[0] if all(_same(operands[0], other) for other in operands[1:]) else None
    if op.name == "reduce":
        return _reduced(op, operands[0])
    if TILE_OPS[op.name].elementwise and op.name not in NOT_FOLDED:
        return _evaluate(op, operands)
    return None


def _evaluate(op: Op, operands: list[Number]) -> Number:
    """By the interpreter's own arithmetic: folding cannot disagree with it."""
    from tilelang.ir.numerics import evaluate, python_number, scalar

    arrays = [scalar(number, value.dtype) for number, value in zip(operands, op.operands, strict=True)]
    return python_number(evaluate(op.name, arrays, op.result.dtype))


def _reduced(op: Op, number: Number) -> Number | None:
    """The reduction of a tile full of one number. The first of equals is at index 0."""
    kind, dtype = op.attrs["kind"], op.result.dtype
    if kind in ("max", "min", "any", "all"):
        return number
    if kind in ("argmax", "argmin"):
        return 0
    if kind == "sum" and not dtype.is_float:
        count = math.prod(op.operands[0].shape) // math.prod(op.result.shape)
        return wrap(int(number) * count, dtype.bits, dtype.is_signed)
    return None


def wrap(number: int, bits: int, signed: bool) -> int:
    """An integer's low bits, read as the type reads them."""
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if signed and low >> (bits - 1) else low


def _same(a: Number, b: Number) -> bool:
    """The same number to the bit: 0.0 is not -0.0; any NaN is any NaN."""
    return repr(a) == repr(b)


def _tile(value: Value) -> TileType:
    return value.type  # type: ignore[return-value]
