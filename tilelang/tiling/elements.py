"""One element of a tile, computed by the thread that owns it.

`Elements.at_place` gives the element that a thread holds in one of its registers, `Elements.at_coordinates` an
element anywhere in the tile. Both look up the value's home (see `tilelang.tiling.homes`) and, for a recipe, write
the ops that compute it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from tilelang.diagnostics import InternalError
from tilelang.dtypes import DTYPES, I32, I64
from tilelang.ir.core import Op, Value
from tilelang.ir.tile_ops import COMPARE, TILE_OPS
from tilelang.memory.axis import AxisAnalysis
from tilelang.passes.ranges import Range
from tilelang.semantics.types import TileType
from tilelang.tiling.bank_layout import BankLayout, Folded
from tilelang.tiling.held import Layout
from tilelang.tiling.homes import Homes
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.numbers import Number, Parts
from tilelang.tiling.row_layout import RowLayout, row_register
from tilelang.tiling.writer import ThreadWriter

U32 = DTYPES["u32"]
Memo = dict[tuple[Value, tuple[Value, ...]], Value]


@dataclass
class Place:
    """A register of this thread and the number of the element in it, while a loop over registers is written.

    `values` are the tile values known for this element; tiles of one size share places, whatever their shapes. With a
    `layout` the place is one of fragments, and the number is its element's in row-major order all the same.
    """

    register: Value
    number: Value
    values: dict[Value, Value] = field(default_factory=dict)
    coordinates: dict[tuple[int, ...], tuple[Value, ...]] = field(default_factory=dict)
    memo: Memo = field(default_factory=dict)
    layout: Layout | None = None


class Elements:
    """Writes the computation of single elements."""

    def __init__(self, write: ThreadWriter, homes: Homes, ranges: Mapping[str, Range], axis: AxisAnalysis):
        self.ranges = ranges
        self.axis = axis
        self.write = write
        self.homes = homes

    def coordinates(self, place: Place, shape: tuple[int, ...]) -> tuple[Value, ...]:
        """The coordinates of the element at `place` in a tile of this shape."""
        if shape not in place.coordinates:
            place.coordinates[shape] = self.write.index.delinearize(place.number, shape)
        return place.coordinates[shape]

    def at_place(self, value: Value, place: Place) -> Value:
        """The element of `value` at `place`; the tile has as many elements as the loop over places visits."""
        if value in self.homes.scalars:
            return self.homes.scalars[value]
        if place.layout is not None:
            value = self._seen(value)
        if value not in place.values:
            fetch = self._fetch if place.layout is None else self._fetch_in_fragments
            place.values[value] = fetch(value, place)
        return place.values[value]

    def _seen(self, value: Value) -> Value:
        """What a view of numbers for rows shows, at a place in fragments: the numbers."""
        while value in self.homes.plans.views:
            (value,) = self.homes.plans.views[value].operands
        return value

    def _fetch_in_fragments(self, value: Value, place: Place) -> Value:
        if value not in self.homes.fragments:
            return self.at_coordinates(value, self.coordinates(place, value.shape), place.memo)
        register, layout = place.register, self.homes.plans.layouts[value]
        if isinstance(place.layout, AccumulatorLayout) and isinstance(layout, RowLayout):
            register = row_register(place.layout, Number(self.write.index, register)).value
        return self.write.read(self.homes.fragments[value], register, hint=value.name)

    def _fetch(self, value: Value, place: Place) -> Value:
        if value in self.homes.registers:
            return self.write.read(self.homes.registers[value], place.register, hint=value.name)
        if value in self.homes.shared:
            at, owner = self.place_in_shared(value, place)
            return self.write.read(self.homes.shared[value], at, hint=value.name, owner=owner)
        if value in self.homes.recipes:
            return self._fetch_turned(value, place) or self.at_coordinates(
                value, self.coordinates(place, value.shape), place.memo)
        raise InternalError("lowering", f"{value} has no home")

    def _fetch_turned(self, value: Value, place: Place) -> Value | None:
        """The element of a `permute` of a tile whose shared copy is folded; None for other values."""
        op, parts = self.homes.recipes[value], self._parts(value, place)
        source, axes = op.operands[0] if op.operands else value, op.attrs.get("axes")
        layout = self.homes.banks.get(source)
        if not isinstance(layout, Folded) or not isinstance(axes, tuple) or source not in self.homes.shared \
                or parts is None:
            return None
        found: dict[object, Parts] = {}
        for axis, extent in zip(reversed(axes), reversed(value.shape), strict=True):
            found[axis], parts = parts % extent, parts // extent
        at = reduce(lambda total, axis: total * source.shape[axis] ^ found[axis], range(1, len(found)), found[0])
        return self.write.read(self.homes.shared[source], layout.position(at).value, hint=source.name)

    def _folded(self, value: Value, place: Place, layout: BankLayout | None) -> Value | None:
        """Where the element at `place` is in a copy that is folded, from the parts of its number."""
        parts = self._parts(value, place)
        return layout.position(parts).value if isinstance(layout, Folded) and parts is not None else None

    def _parts(self, value: Value, place: Place) -> Parts | None:
        """The number of the element at a place of the linear layout, in parts if threads number some of its bits."""
        width, threads, index = self.write.width(size_of(value)), self.write.threads, self.write.index
        if threads & (threads - 1) or place.layout is not None:
            return None
        register = Number(index, place.register)
        return Parts(Number(index, self.write.thread()) * width,
                     (register // width * (threads * width)) + register % width)

    def place_in_shared(self, value: Value, place: Place) -> tuple[Value, str]:
        """The index of the element at `place` in the shared copy of `value`, and the access's `owner`."""
        swizzle = self.homes.swizzles.get(value) or self.homes.word_swizzles.get(value)
        if swizzle is None:
            owner, layout = self.write.owner(size_of(value)), self.homes.banks.get(value)
            at = self._folded(value, place, layout) or self.turned(value, place.number)
            return at, owner if layout is None else f"{owner}, {layout}"
        return self._shared_index(value, self.coordinates(place, value.shape)), f"element, {swizzle}"

    def _shared_index(self, value: Value, coordinates: tuple[Value, ...]) -> Value:
        swizzle = self.homes.swizzles.get(value) or self.homes.word_swizzles.get(value)
        if swizzle is None:
            return self.turned(value, self.write.index.linearize(coordinates, value.shape))
        row = self.write.index.linearize(coordinates[:-1], value.shape[:-1])
        return swizzle.position(*(Number(self.write.index, at) for at in (row, coordinates[-1]))).value

    def turned(self, value: Value, number: Value) -> Value:
        """Where element `number` of a tile is in its shared copy, if that is not swizzled for a dot."""
        layout = self.homes.banks.get(value)
        return number if layout is None else layout.position(Number(self.write.index, number)).value

    def shared_copy(self, value: Value) -> Value:
        """A new shared array with room for a copy of a tile."""
        layout, size = self.homes.banks.get(value), size_of(value)
        return self.write.shared(value.name, value.dtype, size if layout is None else layout.room(size))

    def at_coordinates(self, value: Value, coordinates: Sequence[Value], memo: Memo) -> Value:
        """The element of `value` at any coordinates. The value is a scalar, a recipe, or has a shared copy."""
        if value in self.homes.scalars:
            return self.homes.scalars[value]
        key = value, tuple(coordinates)
        if key not in memo:
            memo[key] = self._find(value, tuple(coordinates), memo)
        return memo[key]

    def _find(self, value: Value, coordinates: tuple[Value, ...], memo: Memo) -> Value:
        if value in self.homes.shared:
            return self.write.read(self.homes.shared[value], self._shared_index(value, coordinates), hint=value.name)
        if value not in self.homes.recipes:
            raise InternalError("lowering", f"{value} cannot be read by a thread that does not hold it")
        op = self.homes.recipes[value]
        if op.name == "const":
            return self.write.constant(op.attrs["value"], value.dtype)  # type: ignore[arg-type]
        if op.name == "iota":
            return self._convert(coordinates[0], value)
        if op.name in ("lt", "ge") and coordinates:  # neighbours on one side of a bound: as the first of them
            start = self.write.index.run_start(coordinates[-1], self.axis.of(value).alike)
            coordinates = (*coordinates[:-1], start)
        if TILE_OPS[op.name].elementwise:
            return self.compute(op, [self.at_coordinates(v, coordinates, memo) for v in op.operands])
        (source,) = op.operands
        return self.at_coordinates(source, self._source(op, source.shape, coordinates), memo)

    def _source(self, op: Op, shape: tuple[int, ...], coordinates: tuple[Value, ...]) -> tuple[Value, ...]:
        """The coordinates in the operand of the element at `coordinates` of the result."""
        index = self.write.index
        if op.name == "permute":
            axes: tuple[int, ...] = op.attrs["axes"]  # type: ignore[assignment]
            return tuple(coordinates[axes.index(axis)] for axis in range(len(shape)))
        if op.name == "reshape":
            return index.delinearize(index.linearize(coordinates, op.result.shape), shape)
        aligned = coordinates[len(coordinates) - len(shape):]
        return tuple(index.number(0) if extent == 1 else at for extent, at in zip(shape, aligned, strict=True))

    def _convert(self, number: Value, wanted: Value) -> Value:
        if wanted.dtype == I32:
            return number
        return self.write.emit.op("cast", number, type=TileType(wanted.dtype), hint=wanted.name)

    def _fits_u32(self, value: Value) -> bool:
        known = self.ranges.get(value.name)
        return known is not None and known.lo >= 0 and known.hi <= U32.max_int

    def compute(self, op: Op, operands: Sequence[Value]) -> Value:
        """An elementwise op on scalars; 64-bit numbers that 32 bits are enough for are compared in 32."""
        if op.name in COMPARE and operands[0].dtype == I64 and all(map(self._fits_u32, op.operands)):
            operands = [self.write.emit.op("cast", v, type=TileType(U32), hint=v.name) for v in operands]
        return self.write.emit.again(op, *operands, type=TileType(op.result.dtype), hint=op.result.name)


def size_of(value: Value) -> int:
    """The number of elements of a tile."""
    return value.type.size  # type: ignore[union-attr]
