"""Accumulators of dots, in the layout that suits the dot, and their way to the linear layout and back.

A dot's layout is an `AccumulatorLayout` (tensor cores) or a `PatchLayout` (fused multiply-adds). The accumulator is a
local array in this layout, its *fragments*, and stays so from trip to trip of a loop that only adds products to it, or
through a chain of ops in fragments (`tilelang.tiling.fragments`). Everything else works on the linear layout. In
between a tile passes through shared memory, one slab after another, so
that little of it is needed: the threads write what they hold of a slab in one layout, and read it in the other.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.ir.core import Op, Value
from tilelang.tiling.dot_plans import DotLayout, DotPlans
from tilelang.tiling.elements import Elements
from tilelang.tiling.fragment_plans import Layout
from tilelang.tiling.fusion import Fusion
from tilelang.tiling.homes import Homes
from tilelang.tiling.mma import WARP, AccumulatorLayout
from tilelang.tiling.numbers import Number
from tilelang.tiling.patch_layout import PatchLayout
from tilelang.tiling.row_layout import QUAD, RowLayout
from tilelang.tiling.writer import ThreadWriter


class Accumulators:
    """Knows which local arrays are fragments. `carried`: block arguments of loops that are."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, fusion: Fusion, plans: DotPlans):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.fusion = fusion
        self.carried = plans.carried
        self.layouts: dict[Value, DotLayout] = {}
        self.of_loops: dict[Value, Layout] = {}  # arrays of fragments that a loop carries, beside `carried`

    def carry(self, init: Value, argument: Value) -> Value:
        """The local array of a loop's carried accumulator, filled with its first value."""
        return self._fragments_of(init, argument.name, self.carried[argument])

    def take(self, acc: Value, layout: DotLayout) -> Value:
        """Fragments with the elements of `acc`, to be added to: a loop's own, or new ones."""
        if self.keeps(acc, layout):
            return self._moved(acc, layout)
        return self.homes.fragments[acc] if acc in self.carried else self._fragments_of(acc, acc.name, layout)

    def keeps(self, value: Value, layout: DotLayout) -> bool:
        """Is a tile in fragments where a dot with this layout wants them, each warp with whole rows?"""
        tall = isinstance(layout, AccumulatorLayout) and layout.warps == (self.write.threads // WARP, 1)
        return tall and self.homes.plans.holds(value)

    def take_from(self, op: Op, layout: DotLayout) -> Value:
        """Fragments with the accumulator of a dot, to be added to: its own, if nothing else needs them any more."""
        acc = op.operands[2]
        self.fusion.settle(acc)
        own = self.homes.fragments.get(acc) if self.keeps(acc, layout) else None
        if own is not None and own not in self.of_loops and self.fusion.uses.ends_at(acc, op):
            self.layouts[own] = layout
            return own
        return self.take(acc, layout)

    def _moved(self, tile: Value, layout: DotLayout) -> Value:
        """New fragments with the elements of a tile, or of a view, that is in fragments."""
        if not isinstance(layout, AccumulatorLayout):
            raise TypeError(f"{tile} is in another layout")
        fragments = self.fusion.new_registers(tile, layout)
        self.layouts[fragments] = layout
        self.fusion.loop(layout, lambda place: self.write.write(
            fragments, place.register, self.elements.at_place(tile, place)))
        return fragments

    def give(self, result: Value, acc: Value, fragments: Value) -> None:
        """The result of adding to `acc` is in `fragments`: it stays there if a loop or a chain carries it on."""
        if acc in self.carried or self.homes.plans.holds(result):
            self.homes.fragments[result] = fragments
        else:
            self.to_registers(result, fragments)

    def _fragments_of(self, tile: Value, name: str, layout: DotLayout) -> Value:
        """A new local array with a tile's elements in this layout."""
        fragments = self.write.local(f"{name}_fragments", tile.dtype, layout.registers)
        self.layouts[fragments] = layout
        self.fusion.settle(tile)
        if tile in self.homes.registers and tile not in self.homes.shared:
            _Exchange(self, layout, tile).run(self.homes.registers[tile], fragments, to_fragments=True)
            return fragments

        def fill(register: Number) -> None:
            row, column = layout.element(self.thread, register)
            rows = self.write.index.delinearize(row.value, tile.shape[:-1])
            value = self.elements.at_coordinates(tile, (*rows, column.value), {})
            self.write.write(fragments, register.value, value)

        self.by_threads(layout, lambda: self.each(layout.registers, "r", fill))
        return fragments

    def to_registers(self, tile: Value, fragments: Value) -> None:
        """Give a tile that is in fragments its registers in the linear layout."""
        layout = self.layouts.get(fragments, self.homes.plans.layouts.get(tile))
        if not isinstance(layout, (AccumulatorLayout, PatchLayout)):
            raise TypeError(f"{tile} is no accumulator")
        registers = self.fusion.new_registers(tile)
        _Exchange(self, layout, tile).run(registers, fragments, to_fragments=False)
        self.homes.registers[tile] = registers

    def release(self, value: Value) -> None:
        """Give a tile that is in fragments only a home where any op can use it."""
        plans = self.homes.plans
        if not plans.holds(value) or value in self.homes.registers or value in self.homes.shared:
            return
        if value in plans.views:
            self.release(plans.views[value].operands[0])
            self.fusion.settle(plans.views[value].operands[0])
            self.homes.follow_recipe(plans.views[value])
            return
        self.fusion.settle(value)
        layout, fragments = plans.layouts[value], self.homes.fragments[value]
        if isinstance(layout, RowLayout):
            self._rows_to_shared(value, fragments, layout)
        else:
            self.to_registers(value, fragments)

    def _rows_to_shared(self, value: Value, numbers: Value, layout: RowLayout) -> None:
        """Of the lanes that have a row's number the first writes it."""
        self.fusion.flush()
        array = self.write.shared(value.name, value.dtype, layout.rows)
        emit, lane = self.write.emit, self.thread % QUAD
        first = emit.op("eq", lane.value, self.write.index.number(0), hint="first")

        def put(register: Number) -> None:
            self.write.write(array, layout.row(self.thread, register).value,
                             self.write.read(numbers, register.value, hint=value.name))

        self.write.when(first, lambda: self.each(layout.registers, "r", put))
        self.homes.shared[value] = array

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
        self.array = self.write.shared(f"{tile.name}_slab", tile.dtype, layout.slab_size)

    def run(self, linear: Value, fragments: Value, *, to_fragments: bool) -> None:
        for slab in range(self.layout.slabs):
            if to_fragments:
                self._each_linear(slab, lambda register, at: self._copy((linear, register), (self.array, at)))
                self._each_fragment(slab, lambda register, at: self._copy((self.array, at), (fragments, register)))
            else:
                self._each_fragment(slab, lambda register, at: self._copy((fragments, register), (self.array, at)))
                self._each_linear(slab, lambda register, at: self._copy((self.array, at), (linear, register)))

    def _copy(self, source: tuple[Value, Value], target: tuple[Value, Value]) -> None:
        self.write.write(*target, self.write.read(*source, hint="moved"))

    def _each_fragment(self, slab: int, visit: Callable[[Value, Value], None]) -> None:
        """visit(register of the fragments, place in the slab) for what this thread holds of a slab."""
        each, thread = self.layout.slab_registers, self.accumulators.thread

        def at(value: Value) -> None:
            register = self.accumulators.number(value)
            visit(self.layout.slab_register(slab, register).value, self.layout.slab_position(thread, register).value)

        def all_of_them() -> None:
            self.write.fold_registers(each, (), at)

        self.accumulators.by_threads(self.layout, all_of_them)

    def _each_linear(self, slab: int, visit: Callable[[Value, Value], None]) -> None:
        """The same for registers of the linear layout."""
        rows, columns = self.layout.shape
        width = self.write.width(rows * columns)
        for first, end, start in self.layout.slab_ranges(slab):
            def at(register: Value, number: Value, moved: int = start - first) -> None:
                place = self.accumulators.number(number) + moved
                visit(register, self.layout.slab_place(place).value)

            self.write.each_place_between(first, end, at, width)
