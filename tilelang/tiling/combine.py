"""How two partial results of a reduction or scan become one.

A partial result is a tuple of scalars: one value, or for `argmax` and `argmin` a value and its position. Combining is
associative and has an identity, which is what lets threads work on parts; the order of float sums is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilelang.dtypes import I32, DType, compute_type
from tilelang.ir.core import Value
from tilelang.semantics.types import TileType
from tilelang.tiling.writer import ThreadWriter

NO_POSITION = I32.max_int
"""The position of the identity of argmax: any real position comes first."""

OPS = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "or", "all": "and"}


@dataclass(frozen=True)
class Combine:
    """One kind of reduction over `dtype` elements with results of type `result`."""

    kind: str
    dtype: DType
    result: DType
    write: ThreadWriter

    @property
    def finds_position(self) -> bool:
        return self.kind in ("argmax", "argmin")

    @property
    def types(self) -> tuple[DType, ...]:
        """The element types of a partial result. Half floats are summed in f32."""
        if self.finds_position:
            return self.dtype, I32
        return (compute_type(self.result) if self.kind in ("sum", "prod") else self.result,)

    @property
    def names(self) -> tuple[str, ...]:
        """What to call the parts of a partial result."""
        return (self.kind, "position") if self.finds_position else (self.kind,)

    def identity(self) -> tuple[Value, ...]:
        constant = self.write.constant
        if self.finds_position:
            return constant(_lowest(self.kind[3:], self.dtype), self.dtype), constant(NO_POSITION, I32)
        (dtype,) = self.types
        fixed = {"sum": 0, "prod": 1, "any": False, "all": True}
        return (constant(fixed[self.kind] if self.kind in fixed else _lowest(self.kind, dtype), dtype),)

    def start(self, element: Value, position: Value) -> tuple[Value, ...]:
        """One element as a partial result; `position` counts along the reduced axis."""
        if self.finds_position:
            return element, position
        (dtype,) = self.types
        if element.dtype == dtype:
            return (element,)
        return (self.write.emit.op("cast", element, type=TileType(dtype), hint=element.name),)

    def both(self, a: Sequence[Value], b: Sequence[Value]) -> tuple[Value, ...]:
        """The two partial results in one."""
        if self.finds_position:
            return self._further(a, b)
        return (self.write.emit.op(OPS[self.kind], a[0], b[0], hint=self.kind),)

    def finish(self, partial: Sequence[Value]) -> Value:
        """The result, in its own type."""
        final = partial[-1]
        if final.dtype == self.result:
            return final
        return self.write.emit.op("cast", final, type=TileType(self.result), hint=final.name)

    def _further(self, a: Sequence[Value], b: Sequence[Value]) -> tuple[Value, ...]:
        """The more extreme of two (value, position); of equals the first; a NaN is more extreme than any number."""
        emit = self.write.emit
        beats = "gt" if self.kind == "argmax" else "lt"
        wins, ties = emit.op(beats, b[0], a[0], hint="wins"), emit.op("eq", b[0], a[0], hint="ties")
        if self.dtype.is_float:
            nan_a, nan_b = emit.op("isnan", a[0], hint="nan"), emit.op("isnan", b[0], hint="nan")
            number_a = emit.op("not", nan_a, hint="number")
            wins = emit.op("or", wins, emit.op("and", nan_b, number_a, hint="wins"), hint="wins")
            ties = emit.op("or", ties, emit.op("and", nan_a, nan_b, hint="ties"), hint="ties")
        earlier = emit.op("and", ties, emit.op("lt", b[1], a[1], hint="earlier"), hint="earlier")
        take = emit.op("or", wins, earlier, hint="take")
        return tuple(emit.op("select", take, new, old, hint=old.name) for old, new in zip(a, b, strict=True))


def _lowest(kind: str, dtype: DType) -> int | float:
    """What any other value beats: the identity of `max` or `min`."""
    if dtype.is_float:
        return float("-inf" if kind == "max" else "inf")
    return dtype.min_int if kind == "max" else dtype.max_int
