"""Software pipelining: while the tensor cores multiply, the operands of later trips are on their way.

    copy the operands of trips 0 .. stages - 2 into their slots, a group each
    for each trip:
        wait until the oldest group has arrived; barrier          (also: all have read the slot that is filled next)
        copy the operands of trip + stages - 1 into the next slot, if there is such a trip; a group
        multiply what is in this trip's slot

The slots are one shared array for each operand, a ring. A chunk that lies outside the tensor is filled with zeros, as
the load would. This works if each row of the tensor is contiguous and begins at 16 bytes. Where no facts say so, the
kernel looks before the loop, and otherwise does it as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilelang.diagnostics import InternalError
from tilelang.dtypes import BOOL, I32, I64
from tilelang.ir.access import Access, access
from tilelang.ir.core import Op, Value
from tilelang.semantics.types import TileType
from tilelang.tiling.accesses import Accesses
from tilelang.tiling.elements import Elements
from tilelang.tiling.homes import Homes
from tilelang.tiling.mma import MatrixRead
from tilelang.tiling.motion import Motion
from tilelang.tiling.numbers import Number
from tilelang.tiling.pipeline_plans import CHUNK, Pipeline
from tilelang.tiling.steady import SteadyCopies, is_steady
from tilelang.tiling.tensor_cores import Staged, TensorCores
from tilelang.tiling.writer import ThreadWriter


class Pipelines:
    """Writes the loops that have a plan. `lower` lowers the ops that compute indices."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, accesses: Accesses, cores: TensorCores,
                 lower: Callable[[Sequence[Op]], None], plans: dict[int, Pipeline]):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.accesses = accesses
        self.cores = cores
        self.lower = lower
        self.plans = plans

    def takes(self, loop: Op) -> bool:
        return id(loop) in self.plans

    def loop(self, loop: Op, bounds: tuple[Value, Value, Value], carried: Sequence[Value | None],
             otherwise: Callable[[], Sequence[Value]]) -> None:
        """The loop in both ways. What it carries is one accumulator, in fragments."""
        plan, (acc,) = self.plans[id(loop)], carried
        if acc is None:
            raise InternalError("lowering", "a pipelined loop without an accumulator")
        tests = self._tests(plan)
        if tests:
            self.write.when(self.write.all_of(tests, "copyable"), lambda: _Writer(self, plan, loop).run(bounds, acc),
                            otherwise)
        else:
            _Writer(self, plan, loop).run(bounds, acc)

    def _tests(self, plan: Pipeline) -> list[Value]:
        """Are the rows of the operands' tensors contiguous, and do they begin at multiples of 16 bytes? Where it is
        not known."""
        emit, tests = self.write.emit, []
        for tensor in dict.fromkeys(load.operands[0] for load in plan.loads):
            if plan.is_aligned(tensor):
                continue
            within = emit.op("mod", self.write.stride(tensor, 0), self.write.constant(CHUNK, I64), hint="within")
            tests += [emit.op("eq", self.write.stride(tensor, 1), self.write.constant(1, I64), hint="contiguous"),
                      emit.op("eq", within, self.write.constant(0, I64), hint="aligned"),
                      emit.op("is_aligned", tensor, type=TileType(BOOL), hint="aligned")]
        return tests


class _Writer:
    """Writes one pipelined loop."""

    def __init__(self, pipelines: Pipelines, plan: Pipeline, loop: Op):
        self.write = pipelines.write
        self.homes = pipelines.homes
        self.elements = pipelines.elements
        self.accesses = pipelines.accesses
        self.cores = pipelines.cores
        self.lower = pipelines.lower
        self.plan = plan
        self.loop = loop
        self.index = loop.blocks[0].args[0]
        self.steady: SteadyCopies | None = None
        self.rings = [self._ring(load) for load in plan.loads]

    def _ring(self, load: Op) -> Value:
        return self.write.shared(f"{load.result.name}_ring", load.result.dtype, self._size(load) * self.plan.stages)

    def _size(self, load: Op) -> int:
        return load.result.type.size  # type: ignore[union-attr]

    def _number(self, value: int) -> Number:
        return Number(self.write.index, self.write.index.number(value))

    def run(self, bounds: tuple[Value, Value, Value], acc: Value) -> None:
        lo, hi, step = bounds
        emit, index, last = self.write.emit, self.write.index, self.plan.stages - 1
        self._get_ready(bounds)
        for stage in range(last):
            self._fetch(lo, stage, hi, self._number(stage))

        def trip(now: Value, slot: Value) -> Sequence[Value]:
            emit.effect("async.wait", pending=self.plan.stages - 2)
            emit.effect("barrier")
            is_first = emit.op("eq", slot, index.number(0), hint="first")
            before = emit.op("select", is_first, index.number(last), index.add(slot, index.number(-1)), hint="free")
            self._fetch(now, last, hi, Number(index, before))
            self.cores.multiply(self.plan.product, acc, *self._staged(slot))
            is_last = emit.op("eq", slot, index.number(last), hint="last")
            return (emit.op("select", is_last, index.number(0), index.add(slot, index.number(1)), hint="next"),)

        self.write.loop(lo, hi, step, [index.number(0)], trip, hint=self.index.name, hints=["slot"])

    def _later(self, now: Value, trips: int) -> Value:
        """The loop's index so many trips later."""
        if trips == 0:
            return now
        return self.write.emit.op("add", now, self.write.constant(trips * self.plan.step, now.dtype), hint="ahead")

    def _staged(self, slot: Value) -> list[Staged]:
        """The operands in the ring."""
        found = []
        for number, (load, ring) in enumerate(zip(self.plan.loads, self.rings, strict=True)):
            of_a, is_turned = number == 0, self.plan.dot.operands[number] != load.result
            read = MatrixRead(self.homes.swizzles[load.result], of_a, k_last=of_a != is_turned)
            found.append(Staged(ring, read, Number(self.write.index, slot) * self._size(load), placed=True))
        return found

    # ---------------------------------------------------------------- copies

    def _get_ready(self, bounds: tuple[Value, Value, Value]) -> None:
        """If all addresses move by the same amount in every trip: what is ready before the loop."""
        motion = Motion(self.index, self.plan.others, self.accesses.ranges)
        if is_steady(self.plan, self.accesses, motion, self.loop.operands[:3], self.write.threads):
            with self.homes.scope():
                self.homes.scalars[self.index] = self.write.constant(0, self.index.dtype)
                self.lower(self.plan.others)
                self.steady = SteadyCopies(self.plan, self.write, self.homes, self.elements, self.accesses, motion,
                                           bounds[1])

    def _fetch(self, now: Value, trips: int, hi: Value, slot: Number) -> None:
        """Start the copies for so many trips later, if the loop makes that trip; they are a group, be it empty."""
        if self.steady is None:
            later = self._later(now, trips)
            self.write.when(self.write.emit.op("lt", later, hi, hint="more"), lambda: self._copies(later, slot))
        else:
            early = (trips + 1 - self.plan.stages) * self.plan.step
            self.steady.copy(self.write.index.add(self._narrow(now), self.write.index.number(early)), slot, self.rings)
        self.write.emit.effect("async.commit")

    def _narrow(self, now: Value) -> Value:
        return now if now.dtype == I32 else self.write.emit.op("cast", now, type=TileType(I32), hint="now")

    def _copies(self, now: Value, slot: Number) -> None:
        with self.homes.scope():
            self.homes.scalars[self.index] = now
            self.lower(self.plan.others)
            for load, ring in zip(self.plan.loads, self.rings, strict=True):
                with self.write.emit.at(load.span):
                    self._copy(load, ring, slot)

    def _copy(self, load: Op, ring: Value, slot: Number) -> None:
        """All chunks of one tile, neighbouring chunks by neighbouring threads."""
        rows, columns = load.result.shape
        across, swizzle, parts = columns // CHUNK, self.homes.swizzles[load.result], access(load)

        def visit(_: Value, number: Value) -> None:
            row, chunk = Number(self.write.index, number) // across, Number(self.write.index, number) % across
            at = slot * (rows * columns) + swizzle.chunk_position(row, chunk)
            indices = [self.elements.at_coordinates(index, (place.value,), {})
                       for index, place in zip(parts.indices, (row, chunk * CHUNK), strict=True)]
            inside, offset = self.accesses.inside_and_offset(parts, indices)
            self.write.emit.effect("shared.copy_async", ring, at.value, parts.tensor, offset,
                                   self._count(parts, indices[1], inside), placed=True)

        self.write.each_place(rows * across, visit)

    def _count(self, parts: Access, column: Value, inside: Value | None) -> Value:
        """How many elements of a chunk lie inside the tensor; its first one does if `inside`."""
        emit, count = self.write.emit, self.write.index.number(CHUNK)
        if inside is None:
            return count
        if parts.checked[1] and not self.plan.has_whole_chunks(parts.tensor):
            wide = column if column.dtype == I64 else emit.op("cast", column, type=TileType(I64), hint="wide")
            left = emit.op("sub", self.write.extent(parts.tensor, 1), wide, hint="left")
            least = emit.op("minimum", left, self.write.constant(CHUNK, I64), hint="least")
            count = emit.op("cast", least, type=TileType(I32), hint="count")
        return emit.op("select", inside, count, self.write.index.number(0), hint="count")
