"""Reductions across threads by shuffles: a warp's threads look into each other's registers.

Each step exchanges partial results with the thread at half the distance, and all threads keep combining (a butterfly):

    thread          0         1         2         3
    part            a         b         c         d
    xor 2          a+c       b+d       c+a       d+b
    xor 1        a+c+b+d   b+d+a+c   c+a+d+b   d+b+c+a

No thread waits for another, no memory is touched. Only what several warps hold of one result goes through shared
memory: one slot for each warp, one barrier, and then whoever needs the result combines the slots, few as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.ir.core import Op, Value
from tilelang.ir.thread_rules import WARP
from tilelang.tiling.combine import Combine
from tilelang.tiling.fusion import Fusion, size_of
from tilelang.tiling.homes import Homes
from tilelang.tiling.splits import Split
from tilelang.tiling.writer import ThreadWriter

Partial = Sequence[Value]
"""A partial result: one scalar, or a value and its position."""


class Shuffles:
    """Writes what threads of a warp do together for a `reduce`."""

    def __init__(self, write: ThreadWriter, homes: Homes, fusion: Fusion):
        self.write = write
        self.homes = homes
        self.fusion = fusion

    def can_do(self, pattern: Split) -> bool:
        """Does a warp hold more than one part of a result?"""
        return pattern.inner < min(pattern.group, WARP)

    # ---------------------------------------------------------------- one result

    def to_scalar(self, combine: Combine, part: Partial, holders: int) -> Value:
        """The one result, for all threads; the first `holders` threads have a part, the others the identity."""
        part = self._butterfly(combine, part, min(holders, WARP), 1)
        if self.write.threads == WARP:
            return combine.finish([self._shuffled(value, lane=0) for value in part])
        warps, index = -(-holders // WARP), self.write.index
        slots = [self.write.shared(name, dtype, warps)
                 for name, dtype in zip(combine.names, combine.types, strict=True)]
        thread = self.write.thread()
        first = [self._equal(index.remainder(thread, WARP), 0)]
        if warps * WARP < self.write.threads:
            first.append(self._below(thread, holders))
        self.write.when_all(first, lambda: self._put(slots, index.quotient(thread, WARP), part))
        return combine.finish(self._gather(combine, slots, index.number(0), warps))

    # ---------------------------------------------------------------- a tile of results

    def to_tile(self, op: Op, pattern: Split, combine: Combine, parts: Sequence[Value]) -> None:
        """Give the results of `op` a home; `parts` are local arrays of `pattern.parts` partial results.

        A warp that holds all of a result writes it to its place in shared memory, where it stays. Otherwise each warp
        writes to a slot, and the result's owner combines the slots.
        """
        warps = max(1, pattern.group // WARP)
        count = size_of(op.result)
        if warps == 1:
            slots = [self.write.shared(op.result.name, op.result.dtype, count)]
            self.homes.shared[op.result] = slots[0]
        else:
            slots = [self.write.shared(name, dtype, count * warps)
                     for name, dtype in zip(combine.names, combine.types, strict=True)]
        self.write.count(pattern.parts, (), lambda part: self._part(pattern, combine, parts, slots, part, count),
                         hint="p", unroll=True)
        if warps > 1:
            registers = self.fusion.new_registers(op.result)
            self.write.each_place(count, lambda register, number: self.write.write(
                registers, register,
                combine.finish(self._gather(combine, slots, self.write.index.times(number, warps), warps))))
            self.homes.registers[op.result] = registers

    def _part(self, pattern: Split, combine: Combine, parts: Sequence[Value], slots: Sequence[Value], part: Value,
              count: int) -> None:
        """Combine part number `part` of the threads of each warp; one thread writes it to its slot."""
        index, thread = self.write.index, self.write.thread()
        lanes, warps = min(pattern.group, WARP), max(1, pattern.group // WARP)
        total = self._butterfly(combine, [self.write.read(array, part) for array in parts], lanes, pattern.inner)
        in_row = pattern.threads // pattern.group * pattern.inner
        lane = index.remainder(thread, lanes)
        group = index.quotient(thread, pattern.group)
        number = index.add(index.times(part, in_row), index.add(index.times(group, pattern.inner),
                                                                index.remainder(lane, pattern.inner)))
        tests = [self._equal(lane, 0) if pattern.inner == 1 else self._below(lane, pattern.inner)]
        if pattern.parts * in_row > count:
            tests.append(self._below(number, count))
        if warps == 1:
            self.write.when_all(tests, lambda: self._put(slots, number, [combine.finish(total)]))
            return
        slot = index.add(index.times(number, warps), index.remainder(index.quotient(thread, WARP), warps))
        self.write.when_all(tests, lambda: self._put(slots, slot, total))

    # ---------------------------------------------------------------- pieces

    def _butterfly(self, combine: Combine, part: Partial, lanes: int, apart: int) -> Partial:
        """Combine the parts of threads in groups of `lanes`, those that are a multiple of `apart` away."""
        distance = lanes // 2
        while distance >= apart:
            part = combine.both(part, [self._shuffled(value, xor=distance) for value in part])
            distance //= 2
        return part

    def _shuffled(self, value: Value, **where: int) -> Value:
        return self.write.emit.op("shuffle", value, type=value.type, hint="other", **where)

    def _put(self, slots: Sequence[Value], at: Value, values: Partial) -> None:
        for slot, value in zip(slots, values, strict=True):
            self.write.write(slot, at, value)

    def _gather(self, combine: Combine, slots: Sequence[Value], first: Value, count: int) -> Partial:
        """Combine `count` neighbouring slots."""
        index = self.write.index

        def read(number: Value) -> list[Value]:
            at = index.add(first, number)
            return [self.write.read(slot, at, hint=name) for slot, name in zip(slots, combine.names, strict=True)]

        total: Partial = read(index.number(0))
        for number in range(1, count):
            total = combine.both(total, read(index.number(number)))
        return total

    def _equal(self, number: Value, wanted: int) -> Value:
        return self.write.emit.op("eq", number, self.write.index.number(wanted), hint="first")

    def _below(self, number: Value, limit: int) -> Value:
        return self.write.emit.op("lt", number, self.write.index.number(limit), hint="first")
