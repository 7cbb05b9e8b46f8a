"""Approximate division multiplies by the reciprocal, which can be shared and moved as the quotient could not.

                                                     %c: f32[8] = const {value = 1.0}
    %d: f32[8] = broadcast %s                        %d: f32[8] = broadcast %s
    %q: f32[8] = div %v, %d {approx = true}   ==>    %r: f32[8] = div %c, %d {approx = true}
                                                     %q: f32[8] = mul %v, %r

What follows is the other passes' work: `fold` computes the reciprocal of what is repeated once, `cse` shares it, `licm`
takes it out of a loop. So a tile divided by its sum costs one reciprocal, and a multiplication an element.

Precondition: none. The two roundings, and on a GPU the error of the reciprocal, are within what the language reference
allows an approximate division: a relative error of 2^-22, or 3 * 2^-23 where the reciprocal is subnormal.

It refuses: divisions without `approx`, since a / b rounded once is not a * (1 / b) rounded twice; f16 and bf16, whose
reciprocal would be rounded to the half float it is not allowed to be.
"""

from __future__ import annotations

from tilelang.dtypes import F32
from tilelang.ir.core import Kernel, Op
from tilelang.passes.rewrite import Rewriter


def reciprocals(kernel: Kernel) -> Kernel:
    """Turn approximate divisions into multiplications by a reciprocal."""
    return _Multiplying(kernel).run()


class _Multiplying(Rewriter):
    def visit(self, op: Op) -> None:
        approximate = op.name == "div" and "approx" in op.attrs and op.result.dtype == F32
        if not approximate or self.constant(op.operands[0]) == 1.0:
            self.keep(op)
            return
        dividend, divisor = op.operands
        one = self.out.const(1.0, divisor.type)  # type: ignore[arg-type]
        reciprocal = self.out.op("div", one, divisor, hint="reciprocal", approx=True)
        self.replace(op, self.out.op("mul", dividend, reciprocal, hint=op.result.name))
