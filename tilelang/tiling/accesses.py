"""Loads, stores and atomics of one element: offsets, bounds, masks.

    x[i, j] where m else o   ->   if 0 <= i < M and 0 <= j < N and m { x at i * stride0 + j * stride1 } else { o }

Only the axes marked `checked` are tested, against 0 only where an index may be negative. Offsets are i64, so no tensor
that fits in memory overflows them; they are computed in i32 where the launch's facts (`tilelang.memory.axis`) say that
this is enough, and without the multiplication where they say that a stride is 1.

A store or load carries `owner` where its address tells the thread: two accesses to a tensor with the same owner
touch a given element from the same thread, and need no barrier between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilelang.dtypes import I32, I64, DType
from tilelang.ir.access import Access, access
from tilelang.ir.core import Attr, Op, Value
from tilelang.passes.ranges import Range
from tilelang.semantics.types import TileType
from tilelang.tiling.elements import Elements, Place
from tilelang.tiling.fusion import size_of
from tilelang.tiling.homes import Homes
from tilelang.tiling.uses import outer_indices
from tilelang.tiling.writer import ThreadWriter

ALWAYS = None
"""The condition of an access that needs no test."""


@dataclass(frozen=True)
class Operands:
    """The operands of one element's access, as scalars of this thread."""

    parts: Access
    indices: tuple[Value, ...]
    value: Value | None
    expected: Value | None
    mask: Value | None
    other: Value | None


class Accesses:
    """Writes memory ops on single elements."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, ranges: Mapping[str, Range]):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.ranges = ranges
        self.small = write.kernel.attrs.get("fact.small") is True

    # ---------------------------------------------------------------- one element of a tile

    def at_place(self, op: Op, place: Place) -> Value | None:
        """The access that the owner of the element at `place` makes; returns what was loaded."""
        parts = access(op)
        rest = (parts.value, parts.expected, parts.mask, parts.other)
        indices = self._indices(op, place)
        value, expected, mask, other = (self.elements.at_place(v, place) if v else None for v in rest)
        return self._access(op, Operands(parts, indices, value, expected, mask, other), self._owner(parts))

    def _indices(self, op: Op, place: Place) -> tuple[Value, ...]:
        parts, outer = access(op), outer_indices(op)
        coordinates = list(self.elements.coordinates(place, parts.shape)) if outer else []
        indices = []
        for index in parts.indices:
            if index in outer and index.shape:
                indices.append(self.elements.at_coordinates(index, [coordinates.pop(0)], place.memo))
            else:
                indices.append(self.elements.at_place(index, place))
        return tuple(indices)

    def indices_at(self, op: Op, coordinates: Sequence[Value]) -> tuple[Value, ...]:
        """The indices of a load's element, where they can be computed from its coordinates in the loaded tile."""
        parts, outer, left = access(op), outer_indices(op), list(coordinates)
        return tuple(self.elements.at_coordinates(index, [left.pop(0)] if index in outer else coordinates, {})
                     for index in parts.indices)

    def run_at_place(self, op: Op, place: Place, registers: Value, width: int) -> None:
        """Load or store a run of `width` neighbours, the first of them at `place`, into or from `registers`."""
        parts, owner = access(op), self._owner(access(op))
        mask, other = (self.elements.at_place(v, place) if v else None for v in (parts.mask, parts.other))
        operands = Operands(parts, self._indices(op, place), None, None, mask, other)
        attrs: dict[str, Attr] = {"owner": owner, "width": width} if owner else {"width": width}

        def touch() -> None:
            self.write.emit.effect(f"global.{op.name}_vector", parts.tensor, self._offset(operands), registers,
                                   place.register, **attrs)

        def fill() -> None:
            for fallback in self._outside(op, operands)():  # one for a load, none for a store
                self.write.count(width, (), lambda j, fallback=fallback: self.write.write(
                    registers, self.write.index.add(place.register, j), fallback), hint="j", unroll=True)

        condition = self._condition(operands)
        if condition is ALWAYS:
            touch()
        else:
            self.write.when(condition, touch, fill)

    def _owner(self, parts: Access) -> str | None:
        """What decides the owner of an address: the index tiles, if each is a run of neighbours.

        An axis with one coordinate is written `_`: where two accesses meet, it is the same for both.
        """
        if parts.pointwise and len(parts.indices) > 1:
            return None
        axes = []
        for index in parts.indices:
            run, extent = self._run(index), size_of(index)
            if run is None and extent > 1:
                return None
            axes.append("_" if extent == 1 else f"{run} +: {extent}")
        return ", ".join(axes)

    def _run(self, index: Value) -> str | None:
        """The start of an index tile that counts up by one: `%start`; None for other tiles."""
        op = self.homes.recipes.get(index)
        if op is None:
            return None
        if op.name == "iota":
            return "0"
        if op.name == "cast" and op.result.dtype.bits >= op.operands[0].dtype.bits:
            return self._run(op.operands[0])
        if op.name != "add":
            return None
        kinds = {self._kind(v): v for v in op.operands}
        if set(kinds) != {"iota", "splat"}:
            return None
        return str(self._splat(kinds["splat"]))

    def _kind(self, index: Value) -> str:
        if self._splat(index) is not None:
            return "splat"
        return "iota" if self._run(index) == "0" else "other"

    def _splat(self, index: Value) -> Value | None:
        """The scalar that fills an index tile."""
        op = self.homes.recipes.get(index)
        if op is not None and op.name == "broadcast":
            return self.homes.scalars.get(op.operands[0])
        return None

    # ---------------------------------------------------------------- scalars

    def scalar(self, op: Op) -> Value | None:
        """A scalar access: every thread loads, thread 0 stores; an atomic's old value goes to all by shared memory."""
        parts, homes = access(op), self.homes.scalars
        rest = (parts.value, parts.expected, parts.mask, parts.other)
        operands = Operands(parts, tuple(homes[i] for i in parts.indices), *(homes[v] if v else None for v in rest))
        if op.name == "load":
            return self._access(op, operands, None)
        if op.name == "store":
            self.write.only_thread(0, lambda: self._effect(op, operands))
            return None
        slot = self.write.shared(op.result.name, op.result.dtype, 1)
        first = self.write.index.number(0)
        self.write.only_thread(0, lambda: self._atomic_into(slot, op, operands))
        return self.write.read(slot, first, hint=op.result.name)

    def _effect(self, op: Op, operands: Operands) -> None:
        self._access(op, operands, "thread 0")

    def _atomic_into(self, slot: Value, op: Op, operands: Operands) -> None:
        old = self._access(op, operands, None)
        if old is not None:
            self.write.write(slot, self.write.index.number(0), old, owner="thread 0")

    # ---------------------------------------------------------------- the access itself

    def inside_and_offset(self, parts: Access, indices: Sequence[Value], dtype: DType = I64, *,
                          mask: Value | None = None) -> tuple[Value | None, Value]:
        """Is the element at these indices inside the tensor and not masked off (ALWAYS if there is nothing to ask), and
        where is it? The offset is of type `dtype`."""
        operands = Operands(parts, tuple(indices), None, None, mask, None)
        return self._condition(operands), self._offset(operands, dtype)

    def widened(self, offset: Value) -> Value:
        """An offset as accesses want it."""
        return self._as(I64, offset, "offset")

    def _access(self, op: Op, operands: Operands, owner: str | None) -> Value | None:
        condition = self._condition(operands)
        attrs: dict[str, Attr] = {"owner": owner} if owner else {}

        def touch() -> Sequence[Value]:
            return self._touch(op, operands, attrs)

        if condition is ALWAYS:
            results = touch()
        else:
            results = self.write.when(condition, touch, self._outside(op, operands),
                                      hints=[v.name for v in op.results])
        return results[0] if results else None

    def _as(self, dtype: DType, value: Value, hint: str) -> Value:
        return value if value.dtype == dtype else self.write.emit.op("cast", value, type=TileType(dtype), hint=hint)

    def _condition(self, operands: Operands) -> Value | None:
        """Is the element inside the tensor and not masked off? ALWAYS if nothing is to be asked."""
        emit, parts = self.write.emit, operands.parts
        tests = []
        for axis, given in enumerate(operands.indices):
            if parts.checked[axis]:
                dtype = I32 if self.small and given.dtype == I32 else I64
                index = self._as(dtype, given, "wide")
                if not self._never_negative(parts.indices[axis]):
                    tests.append(emit.op("ge", index, self.write.constant(0, dtype), hint="inside"))
                tests.append(emit.op("lt", index, self.write.extent(parts.tensor, axis, dtype), hint="inside"))
        if operands.mask is not None:
            tests.append(operands.mask)
        if not tests:
            return ALWAYS
        condition = tests[0]
        for test in tests[1:]:
            condition = emit.op("and", condition, test, hint="inside")
        return condition

    def _never_negative(self, index: Value) -> bool:
        known = self.ranges.get(index.name)
        return known is not None and known.lo >= 0

    def _outside(self, op: Op, operands: Operands) -> Callable[[], Sequence[Value]]:
        if not op.results:
            return lambda: ()
        fallback = operands.other
        if fallback is None:
            fallback = self.write.constant(0, op.result.dtype)
        return lambda: (fallback,)

    def _touch(self, op: Op, operands: Operands, attrs: dict[str, Attr]) -> Sequence[Value]:
        emit, tensor = self.write.emit, operands.parts.tensor
        offset = self._offset(operands)
        if op.name == "load":
            return (emit.op("global.load", tensor, offset, type=TileType(tensor.dtype), hint=op.result.name, **attrs),)
        values = [v for v in (operands.value, operands.expected) if v is not None]
        if op.name == "store":
            emit.effect("global.store", tensor, offset, *values, **attrs)
            return ()
        old = emit.op("global.atomic", tensor, offset, *values, type=TileType(tensor.dtype), hint="old",
                      kind=op.attrs["kind"])
        return (old,)

    def _offset(self, operands: Operands, wanted: DType = I64) -> Value:
        """The element's distance from the tensor's first, in elements. The element is inside the tensor."""
        emit, tensor, total = self.write.emit, operands.parts.tensor, None
        dtype = I32 if self.small else I64
        for axis, index in enumerate(operands.indices):
            step = self._as(dtype, index, "at" if self.small else "wide")
            if not self.write.has_unit_stride(tensor, axis):
                step = emit.op("mul", step, self.write.stride(tensor, axis, dtype), hint="offset")
            total = step if total is None else emit.op("add", total, step, hint="offset")
        return self.write.constant(0, wanted) if total is None else self._as(wanted, total, "offset")
