"""An LLVM floating-point value with Python's operators, so that a formula in `cpu_math` reads like one."""

from __future__ import annotations

from llvmlite import ir

from tilelang.runtime.cpu_formats import F32, F64, I32, I64


class Real:
    """An f32 or f64 value under construction. Operators emit one instruction each, without fast-math flags."""

    def __init__(self, builder: ir.IRBuilder, value: ir.Value):
        self.builder, self.value = builder, value

    def lift(self, other: Real | float) -> Real:
        """A Python number as a constant of this type."""
        if isinstance(other, Real):
            return other
        return Real(self.builder, ir.Constant(self.value.type, other))

    def __add__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fadd(self.value, self.lift(other).value))

    def __sub__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fsub(self.value, self.lift(other).value))

    def __mul__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fmul(self.value, self.lift(other).value))

    def __truediv__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fdiv(self.value, self.lift(other).value))

    def __neg__(self) -> Real:
        return Real(self.builder, self.builder.fneg(self.value))

    def times_plus(self, factor: Real | float, term: Real | float) -> Real:
        """self * factor + term, with one rounding where the machine has an instruction for it."""
        return self._call("llvm.fmuladd", self.lift(factor), self.lift(term))

    def polynomial(self, *coefficients: float) -> Real:
        """Horner's rule; the highest power's coefficient comes first."""
        total = self.lift(coefficients[0])
        for coefficient in coefficients[1:]:
            total = total.times_plus(self, coefficient)
        return total

    def clamp(self, low: float, high: float) -> Real:
        """NaN stays NaN."""
        below = self._call("llvm.minimum", self.lift(high), flags="nsz")
        return below._call("llvm.maximum", below.lift(low), flags="nsz")

    def magnitude(self) -> Real:
        return self._call("llvm.fabs")

    def with_sign_of(self, other: Real) -> Real:
        return self._call("llvm.copysign", other)

    def sqrt(self) -> Real:
        return self._call("llvm.sqrt")

    def cos(self) -> Real:
        return self._call("llvm.cos")

    def below(self, other: Real | float) -> ir.Value:
        """self < other, false if one is NaN."""
        return self.builder.fcmp_ordered("<", self.value, self.lift(other).value)

    def equals(self, other: Real | float) -> ir.Value:
        return self.builder.fcmp_ordered("==", self.value, self.lift(other).value)

    def where(self, condition: ir.Value, other: Real | float) -> Real:
        """self where the condition holds, else `other`."""
        return Real(self.builder, self.builder.select(condition, self.value, self.lift(other).value))

    def bits(self) -> ir.Value:
        return self.builder.bitcast(self.value, I32 if self.value.type == F32 else I64)

    def wide(self) -> Real:
        """As f64."""
        return self if self.value.type == F64 else Real(self.builder, self.builder.fpext(self.value, F64))

    def narrow(self, type: ir.Type) -> Real:
        """As f32 or f64, rounded once."""
        return self if self.value.type == type else Real(self.builder, self.builder.fptrunc(self.value, type))

    def _call(self, name: str, *others: Real, flags: str = "") -> Real:
        type = self.value.type
        operands = [self.value, *(o.value for o in others)]
        function = self.builder.module.declare_intrinsic(name, [type], ir.FunctionType(type, [type] * len(operands)))
        return Real(self.builder, self.builder.call(function, operands, fastmath=tuple(flags.split())))
