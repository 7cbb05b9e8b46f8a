"""Software pipelining: while the tensor cores multiply, the operands of later trips are on their way.

    copy the operands of trips 0 .. stages - 2 into their slots, a group each
    for each trip:
        wait until the oldest group has arrived; barrier          (also: all have read the slot that is filled next)
        copy the operands of trip + stages - 1 into the next slot, if there is such a trip; a group
        the trip as it is written, with what is in its slot in place of the loads

The slots are one shared array for each operand, a ring. A chunk that lies outside the tensor is filled with zeros, as
the load would. Before the barrier what has arrived is also published, if warp groups multiply
(`tilelang.tiling.warpgroups`). This works if each row of the tensor is contiguous and begins at 16 bytes. Where no
facts say so, the kernel looks before the loop, and otherwise does it as it is written.

What the copies in the loop do to the ring, its one barrier keeps apart from what the dots do, so both are `placed`. The
copies before the loop are not: another loop may have used the same memory. They have an owner, for they do not meet
each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilelang.dtypes import BOOL, I32, I64
from tilelang.ir.access import access
from tilelang.ir.core import Attr, Op, Value
from tilelang.semantics.types import TileType
from tilelang.tiling.copies import Copies
from tilelang.tiling.copy_plans import chunk_of
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


class Pipelines:
    """Writes the loops that have a plan. `lower` lowers the ops that compute indices."""

    def __init__(self, copies: Copies, lower: Callable[[Sequence[Op]], None], plans: dict[int, Pipeline]):
        self.write = copies.write
        self.copies = copies
        self.lower = lower
        self.plans = plans

    def takes(self, loop: Op) -> bool:
        return id(loop) in self.plans

    def loop(self, loop: Loop, otherwise: Callable[[], Sequence[Value]]) -> Sequence[Value]:
        """The loop, in both ways if it has to look; returns the last of the scalars that it carries."""
        plan = self.plans[id(loop.op)]
        tests = self._tests(plan)
        if not tests:
            return _Writer(self, plan, loop).run()
        self.copies.arrive_all()
        return self.write.when(self.write.all_of(tests, "copyable"), lambda: _Writer(self, plan, loop).run(), otherwise)

    def _tests(self, plan: Pipeline) -> list[Value]:
        """Are the rows of the operands' tensors contiguous, and do they begin at multiples of 16 bytes? Where it is
        not known."""
        emit, tests = self.write.emit, []
        unknown = {load.operands[0]: chunk_of(load) for load in plan.loads if not plan.is_aligned(load)}
        for tensor, chunk in unknown.items():
            within = emit.op("mod", self.write.stride(tensor, 0), self.write.constant(chunk, I64), hint="within")
            tests += [emit.op("eq", self.write.stride(tensor, 1), self.write.constant(1, I64), hint="contiguous"),
                      emit.op("eq", within, self.write.constant(0, I64), hint="aligned"),
                      emit.op("is_aligned", tensor, type=TileType(BOOL), hint="aligned")]
        return tests


class _Writer:
    """Writes one pipelined loop."""

    def __init__(self, pipelines: Pipelines, plan: Pipeline, loop: Loop):
        self.write = pipelines.write
        self.copies = pipelines.copies
        self.homes = pipelines.copies.homes
        self.accesses = pipelines.copies.accesses
        self.lower = pipelines.lower
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

    def run(self) -> Sequence[Value]:
        lo, hi, step = self.loop.bounds
        emit, index, last = self.write.emit, self.write.index, self.plan.stages - 1
        self._get_ready()
        for stage in range(last):
            self._fetch(lo, stage, self._number(stage), owner=f"before {self.index.name}")

        def trip(now: Value, *carried: Value) -> Sequence[Value]:
            *scalars, slot = carried
            emit.effect("async.wait", pending=self.plan.stages - 2)
            if any(isinstance(self.homes.swizzles[load.result], Panels) for load in self.plan.loads):
                emit.effect("async.fence")
            emit.effect("barrier")
            is_first = emit.op("eq", slot, index.number(0), hint="first")
            before = emit.op("select", is_first, index.number(last), index.add(slot, index.number(-1)), hint="free")
            self._fetch(now, last, Number(index, before), placed=True)
            handed = self._as_written(now, scalars, slot)
            is_last = emit.op("eq", slot, index.number(last), hint="last")
            return (*handed, emit.op("select", is_last, index.number(0), index.add(slot, index.number(1)), hint="next"))

        names = [arg.name for arg in self.loop.op.blocks[0].args[1:] if not arg.shape]
        *scalars, _ = self.write.loop(lo, hi, step, [*self.loop.inits, index.number(0)], trip, hint=self.index.name,
                                      hints=[*names, "slot"])
        emit.effect("async.wait", pending=0)  # the zeros of trips that there are not, before others have the memory
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

    # ---------------------------------------------------------------- copies

    def _get_ready(self) -> None:
        """If all addresses move by the same amount in every trip: what is ready before the loop."""
        motion = Motion(self.index, self.plan.others, self.accesses.ranges)
        if is_steady(self.plan, self.accesses, motion, self.loop.op.operands[:3], self.write.threads):
            with self.homes.scope():
                self.homes.scalars[self.index] = self.write.constant(0, self.index.dtype)
                self.lower(self.plan.others)
                self.steady = SteadyCopies(self.plan, self.copies, motion, self.loop.bounds[1])

    def _fetch(self, now: Value, trips: int, slot: Number, **attrs: Attr) -> None:
        """Start the copies for so many trips later, if the loop makes that trip; they are a group, be it empty."""
        if self.steady is None:
            later = self._later(now, trips)
            more = self.write.emit.op("lt", later, self.loop.bounds[1], hint="more")
            self.write.when(more, lambda: self._tiles(later, slot, attrs))
        else:
            early = (trips + 1 - self.plan.stages) * self.plan.step
            moved = self.write.index.add(self._narrow(now), self.write.index.number(early))
            self.steady.copy(moved, slot, self.rings, attrs)
        self.write.emit.effect("async.commit")

    def _narrow(self, now: Value) -> Value:
        return now if now.dtype == I32 else self.write.emit.op("cast", now, type=TileType(I32), hint="now")

    def _tiles(self, now: Value, slot: Number, attrs: dict[str, Attr]) -> None:
        with self.homes.scope():
            self.homes.scalars[self.index] = now
            self.lower(self.plan.others)
            for load, ring in zip(self.plan.loads, self.rings, strict=True):
                cut = access(load).checked[-1] and not self.plan.has_whole_chunks(load)
                with self.write.emit.at(load.span):
                    self.copies.tile(load, ring, slot * self._size(load), cut=cut, **attrs)
