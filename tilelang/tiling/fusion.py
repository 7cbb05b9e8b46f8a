"""Fusion: runs of ops on tiles of one size become one loop over registers.

    %a: f32[256] = load %x, %i          for %r in 0..2 {          (256 elements, 128 threads)
    %b: f32[256] = exp %a         ->      %at = r * 128 + t
    %c: f32[256] = mul %b, %b             %a = global.load %x, ...;  %b = exp %a;  %c = mul %b, %b
                                          local.store %c_regs, %r, %c
                                        }

Ops are held back in a `Group` until something needs their results whole. Then the loop is written; of the values in
it only those that are used outside are kept, in registers, or in shared memory where the use reads elements of
other threads. An op may join a group only if it needs nothing but the elements at its own place, and if no
memory access in the group could meet its own: one loop has no room for a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tilelang.ir.core import Op, Value
from tilelang.tiling.elements import Elements, Place, size_of
from tilelang.tiling.held import Layout
from tilelang.tiling.homes import Homes
from tilelang.tiling.numbers import Number
from tilelang.tiling.row_layout import RowLayout
from tilelang.tiling.uses import Uses, reads_other_elements
from tilelang.tiling.writer import ThreadWriter

Member = Callable[[Op, Place], None]
"""Writes one op of a group for the element at a place, and puts its result into `place.values`."""


Places = int | Layout
"""What a loop runs over: the places of so many elements in the linear layout, or those of a layout of fragments."""


@dataclass
class Group:
    """Ops waiting to be written as one loop over the same places: `size`, for those of the linear layout."""

    size: Places = 0
    ops: list[Op] = field(default_factory=list)

    def defines(self, value: Value) -> bool:
        return any(value in op.results for op in self.ops)

    def meets(self, op: Op) -> bool:
        """Could a memory access of `op` touch an element that one in the group touches too, and one of them write?"""
        return any(_conflict(op, member) for member in self.ops)


def _conflict(a: Op, b: Op) -> bool:
    memory = ("load", "store", "atomic")
    if a.name not in memory or b.name not in memory or a.operands[0] != b.operands[0]:
        return False
    return not (a.name == "load" and b.name == "load")


class Fusion:
    """Collects groups and writes them."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, uses: Uses, member: Member):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.uses = uses
        self.member = member
        self.group = Group()

    def add(self, op: Op, size: Places) -> None:
        """Let an op wait for its loop."""
        if self.group.ops and (self.group.size != size or self.group.meets(op)):
            self.flush()
        self.group.size = size
        self.group.ops.append(op)

    def flush(self) -> None:
        """Write the loop of the waiting group."""
        if self.group.ops:
            self.loop(self.group.size, lambda place: None)

    def loop(self, size: Places, visit: Callable[[Place], None], *, user: Op | None = None) -> None:
        """Write a loop that does the waiting group, if it is of this size, and then visit(place).

        `user` is the op that visits: what only it uses of the group need not be kept.
        """
        self.fold(size, (), lambda place: visit(place), user=user)

    def fold(self, size: Places, inits: Sequence[Value], visit: Callable[..., Sequence[Value] | None], *,
             user: Op | None = None, hints: Sequence[str] = ()) -> tuple[Value, ...]:
        """Like `loop`, handing values on from place to place: visit(place, *values) returns the next ones."""
        if self.group.size != size:
            self.flush()
        group, self.group = self.group, Group()
        kept = self._keep(group, user)

        def at_place(place: Place, *carried: Value) -> Sequence[Value] | None:
            for op in group.ops:
                with self.write.emit.at(op.span):
                    self.member(op, place)
                    for value in op.results:
                        self._put(value, place, kept)
            return visit(place, *carried)

        last = self._over_places(size, inits, at_place, hints)
        in_thread = self.homes.registers if isinstance(size, int) else self.homes.fragments
        for value, (registers, shared) in kept.items():
            if registers:
                in_thread[value] = registers
            if shared:
                self.homes.shared[value] = shared
        return last

    def _over_places(self, places: Places, inits: Sequence[Value], visit: Callable[..., Sequence[Value] | None],
                     hints: Sequence[str]) -> tuple[Value, ...]:
        """The loop: visit(place, *values handed on) for each place."""
        if isinstance(places, int):
            return self.write.fold_places(
                places, inits, lambda register, number, *carried: visit(Place(register, number), *carried), hints)
        def at(register: Value, *carried: Value) -> Sequence[Value] | None:
            return visit(self._place(places, register), *carried)

        def held() -> tuple[Value, ...]:
            return self.write.fold_registers(places.registers, inits, at, hints)

        if isinstance(places, RowLayout) or places.threads == self.write.threads:
            return held()
        end = self.write.index.number(places.threads)
        return self.write.when(self.write.emit.op("lt", self.write.thread(), end, hint="inside"), held, lambda: inits)

    def _place(self, layout: Layout, register: Value) -> Place:
        """A place in fragments, and where its element is in the tile."""
        thread, at = Number(self.write.index, self.write.thread()), Number(self.write.index, register)
        if isinstance(layout, RowLayout):
            row = layout.row(thread, at).value
            found = {(layout.rows,): (row,), (layout.rows, 1): (row, self.write.index.number(0))}
            return Place(register, row, coordinates=found, layout=layout)
        coordinates = tuple(number.value for number in layout.element(thread, at))
        number = self.write.index.linearize(coordinates, layout.shape)
        return Place(register, number, coordinates={layout.shape: coordinates}, layout=layout)

    def _keep(self, group: Group, user: Op | None) -> dict[Value, tuple[Value | None, Value | None]]:
        """The arrays (registers, shared) for each value that something outside the group uses."""
        inside = {id(op) for op in (*group.ops, user)}
        kept: dict[Value, tuple[Value | None, Value | None]] = {}
        for member in group.ops:
            for value in member.results:
                users = [op for op in self.uses.of(value) if id(op) not in inside]
                whole = [op for op in users if reads_other_elements(op, value)] if isinstance(group.size, int) else []
                with self.write.emit.at(member.span):
                    registers = self.new_registers(value, group.size) if len(whole) < len(users) else None
                    shared = self.elements.shared_copy(value) if whole else None
                if users:
                    kept[value] = registers, shared
        return kept

    def _put(self, value: Value, place: Place, kept: dict[Value, tuple[Value | None, Value | None]]) -> None:
        registers, shared = kept.get(value, (None, None))
        if registers:
            self.write.write(registers, place.register, place.values[value])
        if shared:
            self._put_in_shared(shared, value, place, place.values[value])

    def _put_in_shared(self, array: Value, value: Value, place: Place, element: Value) -> None:
        at, owner = self.elements.place_in_shared(value, place)
        self.write.write(array, at, element, owner=owner)

    # ---------------------------------------------------------------- whole tiles

    def new_registers(self, value: Value, places: Places = 0) -> Value:
        """A local array that can hold this thread's part of a tile, in the linear layout or that of fragments."""
        if not isinstance(places, int):
            return self.write.local(f"{value.name}_fragments", value.dtype, places.registers)
        return self.write.local(f"{value.name}_regs", value.dtype, -(-size_of(value) // self.write.threads))

    def settle(self, value: Value) -> None:
        """See to it that `value` is not waiting in the group."""
        if self.group.defines(value):
            self.flush()

    def in_shared(self, value: Value) -> Value:
        """The shared array that holds a copy of `value`; makes one if there is none."""
        self.settle(value)
        if value not in self.homes.shared:
            array = self.elements.shared_copy(value)
            self.copy(value, lambda place, element: self._put_in_shared(array, value, place, element))
            self.homes.shared[value] = array
        return self.homes.shared[value]

    def copy(self, value: Value, put: Callable[[Place, Value], None], *, user: Op | None = None) -> None:
        """put(place, element) for each element of a value that this thread holds."""
        self.loop(size_of(value), lambda place: put(place, self.elements.at_place(value, place)), user=user)
