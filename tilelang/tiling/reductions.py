"""Reductions: where threads have to talk to each other.

A thread first combines what its own registers hold of a result. Then the threads of a warp shuffle
(`tilelang.tiling.shuffles`); where the target has no shuffles, or no warp holds two parts of a result, a tree in shared
memory halves the number of parts until one is left:

    thread     0   1   2   3   4   5   6   7
    part       a   b   c   d   e   f   g   h
    half = 4   a+e b+f c+g d+h
    half = 2   a+e+c+g b+f+d+h
    half = 1   all

`tilelang.tiling.splits` says which registers and threads hold parts of one result. Where they follow no simple
pattern the tile goes to shared memory as a whole, and each result is combined from there.

Barriers are not written here; `tilelang.memory.barriers` finds where they must be.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilelang.ir.core import Op, Value
from tilelang.tiling.combine import Combine
from tilelang.tiling.elements import Elements, Place
from tilelang.tiling.fusion import Fusion, size_of
from tilelang.tiling.homes import Homes
from tilelang.tiling.shuffles import Shuffles
from tilelang.tiling.splits import Split, split
from tilelang.tiling.targets import Target
from tilelang.tiling.writer import ThreadWriter

LARGEST_BUFFER = 8 * 1024
"""Bytes of shared memory for the parts of one reduction; more parts take several rounds."""


class Reductions:
    """Writes `reduce`."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, fusion: Fusion, target: Target):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.fusion = fusion
        self.shuffles = Shuffles(write, homes, fusion) if target.shuffles else None

    def reduce(self, op: Op) -> None:
        (operand,) = op.operands
        axes: tuple[int, ...] = op.attrs["axes"]  # type: ignore[assignment]
        combine = Combine(str(op.attrs["kind"]), operand.dtype, op.result.dtype, self.write)
        pattern = split(operand.shape, axes, self.write.threads, self.write.width(size_of(operand)))
        if not op.result.shape:
            self._to_scalar(op, Split(1, size_of(operand), 1, self.write.threads), combine)
        elif pattern is None or not pattern.regular:
            self._through_shared(op, combine)
        elif pattern.owns_columns:
            self.homes.registers[op.result] = self._finished(op, combine, self._parts(op, pattern, combine))
        else:
            self._with_neighbours(op, pattern, combine)

    # ---------------------------------------------------------------- what a thread holds itself

    def _to_scalar(self, op: Op, pattern: Split, combine: Combine) -> None:
        """One part in each thread, one result that all of them read."""
        (operand,) = op.operands

        def take(place: Place, *part: Value) -> Sequence[Value]:
            return combine.both(part, combine.start(self.elements.at_place(operand, place), place.number))

        part = self.fusion.fold(pattern.size, combine.identity(), take, user=op, hints=combine.names)
        width = pattern.group
        if self.shuffles is not None:
            self.homes.scalars[op.result] = self.shuffles.to_scalar(combine, part, width)
            return
        slots = [self.write.shared(name, dtype, width)
                 for name, dtype in zip(combine.names, combine.types, strict=True)]
        thread, index = self.write.thread(), self.write.index

        def put() -> None:
            for slot, value in zip(slots, part, strict=True):
                self.write.write(slot, thread, value, owner="element")

        self._if_some(width, put)
        self._tree(combine, slots, thread, width, 1, 1)
        first = [self.write.read(slot, index.number(0), hint=name)
                 for slot, name in zip(slots, combine.names, strict=True)]
        self.homes.scalars[op.result] = combine.finish(first)

    def _parts(self, op: Op, pattern: Split, combine: Combine) -> list[Value]:
        """Local arrays with this thread's partial results, one register each."""
        (operand,) = op.operands
        write = self.write
        parts = [write.local(name, dtype, pattern.parts)
                 for name, dtype in zip(combine.names, combine.types, strict=True)]

        def begin(part: Value) -> None:
            for array, value in zip(parts, combine.identity(), strict=True):
                write.write(array, part, value)

        def take(place: Place) -> None:
            at = self._part_of(place.register, pattern)
            length = pattern.length * pattern.vector
            along = write.index.remainder(write.index.quotient(place.number, pattern.inner), length)
            so_far = [write.read(array, at) for array in parts]
            new = combine.both(so_far, combine.start(self.elements.at_place(operand, place), along))
            for array, value in zip(parts, new, strict=True):
                write.write(array, at, value)

        write.count(pattern.parts, (), begin, hint="p", unroll=True)
        self.fusion.loop(size_of(operand), take, user=op)
        return parts

    def _part_of(self, register: Value, pattern: Split) -> Value:
        """The part that a register's element belongs to."""
        index = self.write.index
        if not pattern.owns_columns:
            return index.quotient(register, pattern.registers_per_part * pattern.vector)
        columns = pattern.inner // pattern.threads
        slice_number = index.quotient(register, pattern.length * columns)
        return index.add(index.times(slice_number, columns), index.remainder(register, columns))

    def _finished(self, op: Op, combine: Combine, parts: Sequence[Value]) -> Value:
        """Registers with the results, from complete parts in the same registers."""
        if combine.types[-1] == op.result.dtype:
            return parts[-1]
        registers = self.fusion.new_registers(op.result)
        self.fusion.loop(size_of(op.result), lambda place: self.write.write(
            registers, place.register, combine.finish([self.write.read(a, place.register) for a in parts])))
        return registers

    # ---------------------------------------------------------------- what neighbours hold

    def _with_neighbours(self, op: Op, pattern: Split, combine: Combine) -> None:
        """By shuffles; or parts go to shared memory, as many at a time as the buffer takes, and through the tree."""
        parts = self._parts(op, pattern, combine)
        self.fusion.flush()
        if self.shuffles is not None and self.shuffles.can_do(pattern):
            self.shuffles.to_tile(op, pattern, combine, parts)
            return
        registers = self.fusion.new_registers(op.result)
        width = sum(dtype.bytes for dtype in combine.types) * pattern.threads
        at_once = max(1, min(pattern.parts, LARGEST_BUFFER // width))
        slots = [self.write.shared(name, dtype, at_once * pattern.threads)
                 for name, dtype in zip(combine.names, combine.types, strict=True)]
        for first in range(0, pattern.parts, at_once):
            count = min(at_once, pattern.parts - first)
            self._publish(parts, slots, first, count)
            lane = self.write.index.remainder(
                self.write.index.quotient(self.write.thread(), pattern.inner), pattern.lanes)
            self._tree(combine, slots, lane, pattern.lanes, pattern.inner, count)
            self._fetch(op, pattern, combine, slots, registers, first, count)
        self.homes.registers[op.result] = registers

    def _publish(self, parts: Sequence[Value], slots: Sequence[Value], first: int, count: int) -> None:
        """Slot p * threads + t gets part first + p of thread t."""
        index = self.write.index

        def put(part: Value) -> None:
            number = index.add(index.times(part, self.write.threads), self.write.thread())
            for array, slot in zip(parts, slots, strict=True):
                value = self.write.read(array, index.add(part, index.number(first)))
                self.write.write(slot, number, value, owner="element")

        self.write.count(count, (), put, hint="p", unroll=True)

    def _tree(self, combine: Combine, slots: Sequence[Value], lane: Value, lanes: int, apart: int, rows: int) -> None:
        """In each of `rows` rows of slots, one for each thread, combine the slots of `lanes` threads, `apart` apart.

        `lane` is the thread's number among those; lane 0 gets the result.
        """
        index, emit, write = self.write.index, self.write.emit, self.write

        def step(_: Value, half: Value) -> Sequence[Value]:
            write.when(emit.op("lt", lane, half, hint="active"), lambda: rows_of(index.times(half, apart)))
            return (emit.op("shr", half, index.number(1), hint="half"),)

        def rows_of(distance: Value) -> None:
            write.count(rows, (), lambda row: pair(row, distance), hint="row", unroll=True)

        def pair(row: Value, distance: Value) -> None:
            mine = index.add(index.times(row, write.threads), write.thread())
            theirs = emit.op("add", mine, distance, hint="other")
            own = [write.read(slot, mine, hint=combine.kind, owner="element") for slot in slots]
            other = [write.read(slot, theirs, hint=combine.kind) for slot in slots]
            for slot, value in zip(slots, combine.both(own, other), strict=True):
                write.write(slot, mine, value, owner="element")

        if lanes > 1:
            write.count(lanes.bit_length() - 1, (index.number(lanes // 2),), step, hint="step", hints=("half",))

    def _fetch(self, op: Op, pattern: Split, combine: Combine, slots: Sequence[Value], registers: Value, first: int,
               count: int) -> None:
        """The owners of the results of this round take them from lane 0."""
        index, write = self.write.index, self.write
        row_results = pattern.threads // pattern.group * pattern.inner  # results of one row of slots
        low, high = first * row_results, min((first + count) * row_results, size_of(op.result))

        def take(register: Value, number: Value) -> None:
            local = index.add(number, index.number(-low))
            row, within = index.quotient(local, row_results), index.remainder(local, row_results)
            group, column = index.quotient(within, pattern.inner), index.remainder(within, pattern.inner)
            at = index.add(index.add(index.times(row, pattern.threads), index.times(group, pattern.group)), column)
            write.write(registers, register, combine.finish([write.read(slot, at) for slot in slots]))

        write.each_place_between(low, high, take)

    def _if_some(self, count: int, then: object) -> None:
        """`then`, by the first `count` threads only."""
        if count == self.write.threads:
            then()  # type: ignore[operator]
        else:
            self.write.when(self._below(self.write.thread(), count), then)  # type: ignore[arg-type]

    def _below(self, number: Value, limit: int) -> Value:
        return self.write.emit.op("lt", number, self.write.index.number(limit), hint="active")

    # ---------------------------------------------------------------- by way of shared memory

    def _through_shared(self, op: Op, combine: Combine) -> None:
        """Each result is combined by the thread that will hold it."""
        (operand,) = op.operands
        self.fusion.in_shared(operand)
        registers = self.fusion.new_registers(op.result)
        self.fusion.loop(size_of(op.result), lambda place: self.write.write(
            registers, place.register, combine.finish(self._collect(op, combine, place.number))))
        self.homes.registers[op.result] = registers

    def _collect(self, op: Op, combine: Combine, result: Value) -> tuple[Value, ...]:
        """Combine all elements that belong to result number `result`."""
        (operand,) = op.operands
        axes: tuple[int, ...] = op.attrs["axes"]  # type: ignore[assignment]
        reduced = [operand.shape[axis] for axis in axes]
        kept = self.write.index.delinearize(result, op.result.shape)

        def take(position: Value, *partial: Value) -> Sequence[Value]:
            along, across = list(self.write.index.delinearize(position, reduced)), list(kept)
            coordinates = [(along if axis in axes else across).pop(0) for axis in range(len(operand.shape))]
            element = self.elements.at_coordinates(operand, coordinates, {})
            return combine.both(partial, combine.start(element, position))

        return self.write.count(prod(reduced), combine.identity(), take, hint="k", hints=combine.names)
