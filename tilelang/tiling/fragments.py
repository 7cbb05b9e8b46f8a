"""Ops on tiles in fragments: each thread computes with what it holds of a dot's accumulator.

    %s = dot ...; %m = reduce %s {axes = (1,), kind = "max"}; %p = exp (%s - %m)

    for each register:   part[row of the register] = maximum(part, s)           no other thread is asked,
    for each row:        maximum with the lanes at 2 and at 1, by shuffles      no memory is touched
    for each register:   p = exp(s - part[row of the register])

Elementwise ops wait in a group, as those on the linear layout do (`tilelang.tiling.fusion`); elements of tiles that any
thread can have are computed from their coordinates. Which tiles are in fragments says `tilelang.tiling.fragment_plans`.
"""

from __future__ import annotations

from tilelang.ir.core import Op, Value
from tilelang.tiling.combine import Combine
from tilelang.tiling.conversions import CONVERT
from tilelang.tiling.elements import Elements, Place
from tilelang.tiling.fusion import Fusion
from tilelang.tiling.homes import Homes
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.numbers import Number
from tilelang.tiling.row_layout import QUAD, row_register, rows_of
from tilelang.tiling.writer import ThreadWriter


class Fragments:
    """Writes the ops whose results stay in fragments."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, fusion: Fusion):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.fusion = fusion

    def takes(self, op: Op) -> bool:
        """Is it an elementwise op, a reduction or a view in fragments? Dots and loops have writers of their own."""
        return len(op.results) == 1 and op.name not in ("dot", "for", CONVERT) and self.homes.plans.holds(op.result)

    def op(self, op: Op) -> None:
        plans = self.homes.plans
        if op.result in plans.views or op.result in plans.narrowed:
            return  # whoever uses it looks at what it is made of
        if op.name == "reduce":
            self._reduce(op)
            return
        for operand in op.operands:
            self.readable(operand)
        self.fusion.add(op, plans.layouts[op.result])

    def readable(self, value: Value) -> None:
        """See to it that a thread can read any element of a tile that it needs in a place of fragments."""
        if not (self.homes.plans.holds(value) or value in self.homes.scalars or value in self.homes.recipes):
            self.fusion.in_shared(value)

    def _reduce(self, op: Op) -> None:
        """Each thread combines what it has of a row, then the four lanes of the row do."""
        (operand,) = op.operands
        layout = self.homes.plans.layouts[operand]
        if not isinstance(layout, AccumulatorLayout):
            raise TypeError(f"{operand} has no rows")
        combine = Combine(str(op.attrs["kind"]), operand.dtype, op.result.dtype, self.write)
        count = rows_of(layout).registers
        parts = [self.write.local(name, dtype, count) for name, dtype in zip(combine.names, combine.types, strict=True)]

        def begin(row: Value) -> None:
            for array, value in zip(parts, combine.identity(), strict=True):
                self.write.write(array, row, value)

        def take(place: Place) -> None:
            row = row_register(layout, Number(self.write.index, place.register)).value
            _, column = self.elements.coordinates(place, operand.shape)
            so_far = [self.write.read(array, row) for array in parts]
            both = combine.both(so_far, combine.start(self.elements.at_place(operand, place), column))
            for array, value in zip(parts, both, strict=True):
                self.write.write(array, row, value)

        self.write.count(count, (), begin, hint="p", unroll=True)
        self.fusion.loop(layout, take, user=op)
        result = self.write.local(f"{op.result.name}_rows", op.result.dtype, count)
        self.write.count(count, (), lambda row: self._across_lanes(combine, parts, row, result), hint="p", unroll=True)
        self.homes.fragments[op.result] = result

    def _across_lanes(self, combine: Combine, parts: list[Value], row: Value, result: Value) -> None:
        total = tuple(self.write.read(array, row) for array in parts)
        distance = QUAD // 2
        while distance:
            other = [self.write.emit.op("shuffle", value, type=value.type, hint="other", xor=distance)
                     for value in total]
            total = combine.both(total, other)
            distance //= 2
        self.write.write(result, row, combine.finish(total))
