"""`Number`: an i32 of the kernel being written that computes like an int.

    position = row * 32 + (chunk ^ row // 2 % 4) * 8

is a formula on ints when a layout is tested or drawn, and writes thread ops when `row` and `chunk` are `Number`s. So a
layout is defined once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from tilelang.ir.core import Value
from tilelang.tiling.index import IndexArithmetic


@dataclass(frozen=True)
class Number:
    """A value that is never negative, and where to write what is computed from it. Divisors are ints."""

    index: IndexArithmetic
    value: Value

    def _value(self, other: Number | int) -> Value:
        return other.value if isinstance(other, Number) else self.index.number(other)

    def __add__(self, other: Number | int) -> Number:
        return Number(self.index, self.index.add(self.value, self._value(other)))

    def __radd__(self, other: int) -> Number:
        return self + other

    def __mul__(self, factor: int) -> Number:
        return Number(self.index, self.index.times(self.value, factor))

    def __rmul__(self, factor: int) -> Number:
        return self * factor

    def __floordiv__(self, divisor: int) -> Number:
        return Number(self.index, self.index.quotient(self.value, divisor))

    def __mod__(self, divisor: int) -> Number:
        return Number(self.index, self.index.remainder(self.value, divisor))

    def __xor__(self, other: Number | int) -> Number:
        return Number(self.index, self.index.exclusive_or(self.value, self._value(other)))


@dataclass(frozen=True)
class Parts:
    """A number in two parts without a common bit: `fixed` for all registers of a thread, `moving` with the register.

        element = t * 4 + r // 4 * 512 + r % 4          ->          position = position(t * 4) ^ position of the rest

    What only moves bits of a number about, and takes the exclusive or of some, does so with its parts one by one. The
    first is the same in all turns of a loop over registers, and the second a constant, once the loop is unrolled. So
    all divisors and factors are powers of two.
    """

    fixed: Number
    moving: Number

    @property
    def value(self) -> Value:
        """The whole number."""
        return (self.fixed ^ self.moving).value

    def __mul__(self, factor: int) -> Parts:
        return Parts(self.fixed * factor, self.moving * factor)

    def __floordiv__(self, divisor: int) -> Parts:
        return Parts(self.fixed // divisor, self.moving // divisor)

    def __mod__(self, divisor: int) -> Parts:
        return Parts(self.fixed % divisor, self.moving % divisor)

    def __xor__(self, other: Parts) -> Parts:
        return Parts(self.fixed ^ other.fixed, self.moving ^ other.moving)


AnyNumber = TypeVar("AnyNumber", int, Number)
"""Formulas on it work on ints and on `Number`s."""
Bits = TypeVar("Bits", int, Number, Parts)
"""Formulas on it move bits about."""
