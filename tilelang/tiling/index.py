"""Index arithmetic as thread ops: coordinates from an element's number and back.

All of it is on i32 and on numbers that are never negative, so division by a power of two is a shift. What
can be seen to be trivial (times 1, plus 0, modulo 1) is not emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilelang.dtypes import I32
from tilelang.ir.core import Value
from tilelang.ir.emit import Emitter
from tilelang.semantics.types import TileType
from tilelang.tiling.runs import Known, cut, exactly

INDEX = TileType(I32)


class IndexArithmetic:
    """Writes index arithmetic into an emitter. `constant` gives the value of an i32 constant."""

    def __init__(self, emit: Emitter, constant: Callable[[int], Value]):
        self.emit = emit
        self.constant = constant
        self._known: dict[Value, int] = {}
        self._about: dict[Value, Known] = {}
        self._terms: dict[Value, tuple[Value, Value]] = {}

    def number(self, value: int) -> Value:
        """An i32 constant that later arithmetic can see through."""
        made = self.constant(value)
        self._known[made] = value
        return made

    def add(self, a: Value, b: Value, hint: str = "at") -> Value:
        if a in self._known and b in self._known:
            return self.number(self._known[a] + self._known[b])
        if self._known.get(a) == 0:
            return b
        if self._known.get(b) == 0:
            return a
        made = self.emit.op("add", a, b, hint=hint)
        self._terms[made] = a, b
        return self._note(made, self.about(a) + self.about(b))

    def times(self, a: Value, factor: int) -> Value:
        if a in self._known:
            return self.number(self._known[a] * factor)
        if factor == 0:
            return self.number(0)
        if factor == 1:
            return a
        return self._note(self.emit.op("mul", a, self.number(factor), hint="at"), self.about(a).times(factor))

    def quotient(self, a: Value, divisor: int) -> Value:
        if a in self._known:
            return self.number(self._known[a] // divisor)
        if divisor == 1:
            return a
        if _is_power_of_two(divisor):
            return self.emit.op("shr", a, self.number(divisor.bit_length() - 1), hint="i")
        return self.emit.op("floordiv", a, self.number(divisor), hint="i")

    def remainder(self, a: Value, divisor: int) -> Value:
        if a in self._known:
            return self.number(self._known[a] % divisor)
        if divisor == 1:
            return self.number(0)
        name, number = ("and", divisor - 1) if _is_power_of_two(divisor) else ("mod", divisor)
        return self._note(self.emit.op(name, a, self.number(number), hint="j"), self.about(a).remainder(divisor))

    def run_start(self, a: Value, run: int) -> Value:
        """The first number of the run of `run` neighbours, or of a shorter one in it, that `a` is in."""
        terms = self._all_terms(a)
        run = cut([self.about(term) for term in terms], run)
        if run == 1:
            return a
        start = self.number(0)
        for term in terms:
            start = self.add(start, term) if self.about(term).divisor >= run else start
        return start

    def about(self, a: Value) -> Known:
        return exactly(self._known[a]) if a in self._known else self._about.get(a, Known())

    def _note(self, made: Value, known: Known) -> Value:
        self._about[made] = known
        return made

    def _all_terms(self, a: Value) -> list[Value]:
        if a not in self._terms:
            return [a]
        left, right = self._terms[a]
        return [*self._all_terms(left), *self._all_terms(right)]

    def exclusive_or(self, a: Value, b: Value) -> Value:
        if a in self._known and b in self._known:
            return self.number(self._known[a] ^ self._known[b])
        if self._known.get(b) == 0:
            return a
        if self._known.get(a) == 0:
            return b
        return self.emit.op("xor", a, b, hint="at")

    def linearize(self, coordinates: Sequence[Value], shape: Sequence[int]) -> Value:
        """The row-major number of the element at `coordinates` of a tile of this shape."""
        number = self.number(0)
        for coordinate, extent in zip(coordinates, shape, strict=True):
            number = self.add(self.times(number, extent), coordinate)
        return number

    def delinearize(self, number: Value, shape: Sequence[int]) -> tuple[Value, ...]:
        """The coordinates of element `number`, which must be below the tile's size."""
        found: list[Value] = []
        for axis in reversed(range(len(shape))):
            if all(extent == 1 for extent in shape[:axis]):
                found.append(number)  # nothing is left for the axes in front
                number = self.number(0)
            else:
                found.append(self.remainder(number, shape[axis]))
                number = self.quotient(number, shape[axis])
        return tuple(reversed(found))


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
