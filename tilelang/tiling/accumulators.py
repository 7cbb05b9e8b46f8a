"""Accumulators of dots, and conversions between their layouts and the linear one.

                                                      for each slab of %s:
    %c = convert_layout %s {layout = "linear"}    ->      my fragments of %s -> shared memory; barrier
                                                          shared memory -> my registers of %c; barrier

A dot's layout is an `AccumulatorLayout` (tensor cores) or a `PatchLayout` (fused multiply-adds). The accumulator is a
local array in this layout, its *fragments*. On the way to the linear layout or back a tile passes through shared
memory, one slab after another, so that little of it is needed: the threads write what they hold of a slab in one
layout, and read it in the other. Numbers for rows are few: they pass all at once. Which conversions there are says
`tilelang.tiling.laying_out`.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.ir.core import Op, Value
from tilelang.tiling.dot_plans import DotPlans
from tilelang.tiling.elements import Elements
from tilelang.tiling.exchange import order_of
from tilelang.tiling.fusion import Fusion
from tilelang.tiling.held import DotLayout, Layout
from tilelang.tiling.homes import Homes
from tilelang.tiling.numbers import Number
from tilelang.tiling.row_layout import QUAD, RowLayout
from tilelang.tiling.writer import ThreadWriter


class Accumulators:
    """Writes conversions, and finds the accumulators that dots add to."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, fusion: Fusion, plans: DotPlans):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.fusion = fusion
        self.carried = plans.carried
        self.of_loops: dict[Value, Layout] = {}  # arrays of fragments that a loop carries

    # ---------------------------------------------------------------- accumulators of dots

    def take(self, op: Op, layout: DotLayout) -> Value:
        """Fragments with the accumulator of a dot, to be added to: its own, if nothing else needs them any more."""
        acc = op.operands[2]
        self.fusion.settle(acc)
        if acc in self.carried:
            return self.homes.fragments[acc]
        if not self.homes.plans.holds(acc):
            return self._fragments_of(acc, acc.name, layout)
        own = self.homes.fragments.get(acc)
        if own is not None and own not in self.of_loops and self.fusion.uses.ends_at(acc, op):
            return own
        return self.copied(acc, layout)

    def held(self, tile: Value, layout: DotLayout) -> Value:
        """The fragments of a tile that is held in this layout; of a view, which has none, new ones."""
        self.fusion.settle(tile)
        return self.homes.fragments[tile] if tile in self.homes.fragments else self.copied(tile, layout)

    def copied(self, tile: Value, layout: DotLayout) -> Value:
        """New fragments with the elements of a tile, or of a view, that is held in this layout."""
        fragments = self.fusion.new_registers(tile, layout)
        self.fusion.loop(layout, lambda place: self.write.write(
            fragments, place.register, self.elements.at_place(tile, place)))
        return fragments

    # ---------------------------------------------------------------- conversions

    def convert(self, op: Op) -> None:
        """`convert_layout`: from the linear layout to another, or back."""
        (value,), result = op.operands, op.result
        self.fusion.settle(value)
        layout, held = self.homes.plans.layouts.get(result), self.homes.plans.layouts.get(value)
        if layout is None and isinstance(held, RowLayout):
            self._rows_to_shared(value, result, held)
        elif layout is None and isinstance(held, DotLayout):
            self.homes.registers[result] = registers = self.fusion.new_registers(result)
            _Exchange(self, held, result).to_linear(self.homes.fragments[value], registers)
        elif isinstance(layout, RowLayout):
            self._rows_from_shared(value, result, layout)
        elif layout is not None:
            self.homes.fragments[result] = self._fragments_of(value, result.name, layout)

    def _fragments_of(self, tile: Value, name: str, layout: DotLayout) -> Value:
        """A new local array with a tile's elements in this layout."""
        fragments = self.write.local(f"{name}_fragments", tile.dtype, layout.registers)
        if tile in self.homes.registers and tile not in self.homes.shared:
            _Exchange(self, layout, tile).to_fragments(self.homes.registers[tile], fragments)
            return fragments

        def fill(register: Number) -> None:
            row, column = layout.element(self.thread, register)
            rows = self.write.index.delinearize(row.value, tile.shape[:-1])
            value = self.elements.at_coordinates(tile, (*rows, column.value), {})
            self.write.write(fragments, register.value, value)

        self.by_threads(layout, lambda: self.each(layout.registers, "r", fill))
        return fragments

    def _rows_to_shared(self, value: Value, result: Value, layout: RowLayout) -> None:
        """Of the lanes that have a row's number the first writes it."""
        self.fusion.flush()
        array, numbers = self.write.shared(result.name, result.dtype, layout.rows), self.homes.fragments[value]
        emit, lane = self.write.emit, self.thread % QUAD
        first = emit.op("eq", lane.value, self.write.index.number(0), hint="first")

        def put(register: Number) -> None:
            self.write.write(array, layout.row(self.thread, register).value,
                             self.write.read(numbers, register.value, hint=value.name))

        self.write.when(first, lambda: self.each(layout.registers, "r", put))
        self.homes.shared[result] = array

    def _rows_from_shared(self, value: Value, result: Value, layout: RowLayout) -> None:
        """Every lane of a row reads its number."""
        self.fusion.in_shared(value)
        numbers = self.write.local(f"{result.name}_rows", result.dtype, layout.registers)
        last = [self.write.index.number(0)] * (len(value.shape) - 1)

        def get(register: Number) -> None:
            row = layout.row(self.thread, register).value
            self.write.write(numbers, register.value, self.elements.at_coordinates(value, (row, *last), {}))

        self.each(layout.registers, "r", get)
        self.homes.fragments[result] = numbers

    # ---------------------------------------------------------------- writing

    @property
    def thread(self) -> Number:
        return self.number(self.write.thread())

    def number(self, value: Value) -> Number:
        return Number(self.write.index, value)

    def each(self, count: int, hint: str, visit: Callable[[Number], None]) -> None:
        """An unrolled loop."""
        self.write.count(count, (), lambda value: visit(self.number(value)), hint=hint, unroll=True)

    def by_threads(self, layout: DotLayout, then: Callable[[], None]) -> None:
        """Only the threads that hold elements."""
        if layout.threads == self.write.threads:
            then()
        else:
            end = self.write.index.number(layout.threads)
            self.write.when(self.write.emit.op("lt", self.write.thread(), end, hint="inside"), then)


class _Exchange:
    """Moves a tile between the linear layout and a dot's."""

    def __init__(self, accumulators: Accumulators, layout: DotLayout, tile: Value):
        self.accumulators = accumulators
        self.write = accumulators.write
        self.layout = layout
        self.order = order_of(layout, tile.dtype)
        self.width = self.write.width(layout.shape[0] * layout.shape[1])
        self.run = self.order.run(self.width, tile.dtype)
        self.array = self.write.shared(f"{tile.name}_slab", tile.dtype, layout.slab_size)

    def to_fragments(self, linear: Value, fragments: Value) -> None:
        for slab in range(self.layout.slabs):
            self._each_linear(slab, lambda *place: self._store(linear, *place))
            self._each_fragment(slab, lambda *place: self._load(fragments, *place))

    def to_linear(self, fragments: Value, linear: Value) -> None:
        for slab in range(self.layout.slabs):
            self._each_fragment(slab, lambda *place: self._store(fragments, *place))
            self._each_linear(slab, lambda *place: self._load(linear, *place))

    def _store(self, registers: Value, register: Value, at: Value, count: int) -> None:
        if count > 1:
            self.write.emit.effect("shared.store_vector", self.array, at, registers, register, width=count)
        else:
            self.write.write(self.array, at, self.write.read(registers, register, hint="moved"))

    def _load(self, registers: Value, register: Value, at: Value, count: int) -> None:
        if count > 1:
            self.write.emit.effect("shared.load_vector", self.array, at, registers, register, width=count)
        else:
            self.write.write(registers, register, self.write.read(self.array, at, hint="moved"))

    def _each_fragment(self, slab: int, visit: Callable[[Value, Value, int], None]) -> None:
        """visit(register of the fragments, place in the slab, how many neighbours) for what this thread holds of it."""
        thread, count = self.accumulators.thread, 2 if self.order.pairs else 1

        def at(value: Value) -> None:
            register = self.accumulators.number(value) * count
            place = self.order.position(*self.layout.slab_element(thread, register))
            visit(self.layout.slab_register(slab, register).value, place.value, count)

        def all_of_them() -> None:
            self.write.fold_registers(self.layout.slab_registers // count, (), at)

        self.accumulators.by_threads(self.layout, all_of_them)

    def _each_linear(self, slab: int, visit: Callable[[Value, Value, int], None]) -> None:
        """The same for registers of the linear layout."""
        columns = self.layout.shape[1]
        for first, end, start in self.layout.slab_ranges(slab):
            def at(register: Value, number: Value, moved: int = start - first) -> None:
                place = self.accumulators.number(number) + moved
                visit(register, self.order.position(place // columns, place % columns).value, self.run)

            self.write.each_place_between(first, end, at, self.width, self.run)
