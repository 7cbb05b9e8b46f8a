"""Loops that multiply what they have fetched in an earlier trip: with a ring of slots in shared memory.

With asynchronous copies:

    copy the operands of trips 0 .. stages - 2 into their slots, a group each
    for each trip:
        wait until the oldest group has arrived; barrier          (also: all have read the slot that is filled next)
        copy the operands of trip + stages - 1 into the next slot, if there is such a trip; a group
        the trip as it is written, with what is in its slot in place of the loads

Without, by way of registers, with two slots:

    fetch the operands of trip 0 into registers, put them into slot 0
    for each trip:
        barrier                                                   (the slot is filled, and all have read the other one)
        fetch the operands of trip + 1 into registers, if there is such a trip
        the trip as it is written
        put the registers into the other slot

The slots are one shared array for each operand, a ring. A chunk that lies outside the tensor is filled with zeros, as
the load would. Before the barrier what has arrived is also published, if warp groups multiply
(`tilelang.tiling.warpgroups`).

What is written to the ring in the loop, its one barrier keeps apart from what the dots read, so both are `placed`. What
is written before the loop is not: another loop may have used the same memory. It has an owner, for its accesses do not
meet each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilelang.dtypes import I32
from tilelang.ir.access import access
from tilelang.ir.core import Attr, Op, Value
from tilelang.semantics.types import TileType
from tilelang.tiling.copies import Copies
from tilelang.tiling.motion import Motion
from tilelang.tiling.numbers import Number
from tilelang.tiling.pipeline_plans import Pipeline
from tilelang.tiling.steady import SteadyCopies, is_steady
from tilelang.tiling.warpgroup_layout import Panels
from tilelang.tiling.writer import Body


@dataclass(frozen=True)
class Loop:
    """A loop to be written: its op, its bounds and step, the scalars that it carries, and what writes a trip."""

    op: Op
    bounds: tuple[Value, Value, Value]
    inits: Sequence[Value]
    trip: Body


class RingLoop:
    """Writes one pipelined loop. `lower` lowers the ops that compute indices."""

    def __init__(self, copies: Copies, lower: Callable[[Sequence[Op]], None], plan: Pipeline, loop: Loop):
        self.write = copies.write
        self.copies = copies
        self.chunks = copies.chunks
        self.homes = copies.homes
        self.accesses = copies.accesses
        self.lower = lower
        self.plan = plan
        self.loop = loop
        self.index = loop.op.blocks[0].args[0]
        self.steady: SteadyCopies | None = None
        self.rings = [self._ring(load) for load in plan.loads]

    def _ring(self, load: Op) -> Value:
        return self.write.shared(f"{load.result.name}_ring", load.result.dtype, self._size(load) * self.plan.stages)

    def _size(self, load: Op) -> int:
        return load.result.type.size  # type: ignore[union-attr]

    def _number(self, value: int) -> Number:
        return Number(self.write.index, self.write.index.number(value))

    def _loop(self, trip: Body) -> Sequence[Value]:
        """trip(index, *scalars, slot); the slot of the first trip is 0. Returns the last of the scalars."""
        names = [arg.name for arg in self.loop.op.blocks[0].args[1:] if not arg.shape]
        *scalars, _ = self.write.loop(*self.loop.bounds, [*self.loop.inits, self.write.index.number(0)], trip,
                                      hint=self.index.name, hints=[*names, "slot"])
        return scalars

    def _as_written(self, now: Value, scalars: Sequence[Value], slot: Value) -> Sequence[Value]:
        """The trip, with the loaded tiles in their slots. What was under way before the loop has arrived with them."""
        with self.homes.scope(), self.copies.all_there():
            for load, ring in zip(self.plan.loads, self.rings, strict=True):
                self.homes.shared[load.result] = ring
                self.homes.slots[load.result] = Number(self.write.index, slot) * self._size(load)
            return self.loop.trip(now, *scalars) or ()

    def _later(self, now: Value, trips: int) -> Value:
        """The loop's index so many trips later."""
        if trips == 0:
            return now
        return self.write.emit.op("add", now, self.write.constant(trips * self.plan.step, now.dtype), hint="ahead")

    def _get_ready(self) -> None:
        """If all addresses move by the same amount in every trip: what is ready before the loop."""
        motion = Motion(self.index, self.plan.others, self.accesses.ranges)
        if is_steady(self.plan, self.accesses, motion, self.loop.op.operands[:3], self.write.threads):
            with self.homes.scope():
                self.homes.scalars[self.index] = self.write.constant(0, self.index.dtype)
                self.lower(self.plan.others)
                self.steady = SteadyCopies(self.plan, self.copies, motion, self.loop.bounds[1])

    def _steady_index(self, now: Value, trips: int) -> Value:
        """What the steady chunks are asked for by, for so many trips later: they know what comes stages - 1 later."""
        early = (trips + 1 - self.plan.stages) * self.plan.step
        return self.write.index.add(self._narrow(now), self.write.index.number(early))

    def _narrow(self, now: Value) -> Value:
        return now if now.dtype == I32 else self.write.emit.op("cast", now, type=TileType(I32), hint="now")


class CopyingLoop(RingLoop):
    """With asynchronous copies."""

    def run(self) -> Sequence[Value]:
        (lo, *_), emit, index, last = self.loop.bounds, self.write.emit, self.write.index, self.plan.stages - 1
        self._get_ready()
        for stage in range(last):
            self._copy(lo, stage, self._number(stage), owner=f"before {self.index.name}")

        def trip(now: Value, *carried: Value) -> Sequence[Value]:
            *scalars, slot = carried
            emit.effect("async.wait", pending=self.plan.stages - 2)
            if any(isinstance(self.homes.swizzles[load.result], Panels) for load in self.plan.loads):
                emit.effect("async.fence")
            emit.effect("barrier")
            is_first = emit.op("eq", slot, index.number(0), hint="first")
            before = emit.op("select", is_first, index.number(last), index.add(slot, index.number(-1)), hint="free")
            self._copy(now, last, Number(index, before), placed=True)
            handed = self._as_written(now, scalars, slot)
            is_last = emit.op("eq", slot, index.number(last), hint="last")
            return (*handed, emit.op("select", is_last, index.number(0), index.add(slot, index.number(1)), hint="next"))

        scalars = self._loop(trip)
        emit.effect("async.wait", pending=0)  # the zeros of trips that there are not, before others have the memory
        return scalars

    def _copy(self, now: Value, trips: int, slot: Number, **attrs: Attr) -> None:
        """Start the copies for so many trips later, if the loop makes that trip; they are a group, be it empty."""
        if self.steady is None:
            later = self._later(now, trips)
            more = self.write.emit.op("lt", later, self.loop.bounds[1], hint="more")
            self.write.when(more, lambda: self._tiles(later, slot, attrs))
        else:
            self.steady.copy(self._steady_index(now, trips), slot, self.rings, attrs)
        self.write.emit.effect("async.commit")

    def _tiles(self, now: Value, slot: Number, attrs: dict[str, Attr]) -> None:
        with self.homes.scope():
            self.homes.scalars[self.index] = now
            self.lower(self.plan.others)
            for load, ring in zip(self.plan.loads, self.rings, strict=True):
                cut = access(load).checked[-1] and not self.plan.has_whole_chunks(load)
                with self.write.emit.at(load.span):
                    self.chunks.copy(load, ring, slot * self._size(load), cut=cut, **attrs)


class FetchingLoop(RingLoop):
    """By way of registers."""

    def run(self) -> Sequence[Value]:
        (lo, *_), emit, index = self.loop.bounds, self.write.emit, self.write.index
        self.copies.arrive_all()
        self._get_ready()
        registers = [self.chunks.registers(load) for load in self.plan.loads]
        self._fetch(lo, 0, registers)
        self._put(registers, self._number(0), owner=f"before {self.index.name}")

        def trip(now: Value, *carried: Value) -> Sequence[Value]:
            *scalars, slot = carried
            emit.effect("barrier")
            self._fetch(now, 1, registers)
            handed = self._as_written(now, scalars, slot)
            other = index.exclusive_or(slot, index.number(1))
            self._put(registers, Number(index, other), placed=True)
            return (*handed, other)

        return self._loop(trip)

    def _fetch(self, now: Value, trips: int, registers: Sequence[Value]) -> None:
        """Load the operands of so many trips later; zeros if the loop does not make that trip."""
        if self.steady is not None:
            self.steady.fetch(self._steady_index(now, trips), registers)
            return
        with self.homes.scope():
            later = self.homes.scalars[self.index] = self._later(now, trips)
            more = self.write.emit.op("lt", later, self.loop.bounds[1], hint="more")
            self.lower(self.plan.others)
            for load, fetched in zip(self.plan.loads, registers, strict=True):
                with self.write.emit.at(load.span):
                    self.chunks.fetch(load, fetched, more)

    def _put(self, registers: Sequence[Value], slot: Number, **attrs: Attr) -> None:
        if self.steady is not None:
            self.steady.put(slot, self.rings, registers, attrs)
            return
        for load, fetched, ring in zip(self.plan.loads, registers, self.rings, strict=True):
            with self.write.emit.at(load.span):
                self.chunks.put(load, fetched, ring, slot * self._size(load), **attrs)
