"""Copies of a pipelined loop whose addresses move by the same amount in every trip: made ready before the loop.

    in every trip, for each chunk             before the loop, for each chunk           in every trip
      row, column of the chunk                  from[r]  = offset for k = 0               copy from[r] + k * stride
      inside = row < M and k + column < K  ->   limit[r] = inside otherwise ? K - .. : 0       if k < limit[r]
      offset = row * stride + k + column        to[r]    = place in its slot              to to[r] + slot's start
      place, swizzled

A chunk stays in its row or column; only the loop's index is added to the other (`tilelang.tiling.motion`). So one
comparison decides whether the chunk is inside, and what is left of its address is an addition. All of it is on i32,
which the fact `small` allows, and without a branch: in the last trips nothing is left to copy, and all limits say so.
It refuses where chunks may be cut by the tensor's edge, where threads and chunks do not divide evenly, and where a mask
changes from trip to trip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from tilelang.dtypes import I32
from tilelang.ir.access import Access, access
from tilelang.ir.core import Attr, Op, Value
from tilelang.passes.ranges import Range
from tilelang.tiling.accesses import Accesses
from tilelang.tiling.chunks import WORDS
from tilelang.tiling.copies import Copies
from tilelang.tiling.copy_plans import chunk_of
from tilelang.tiling.index import INDEX
from tilelang.tiling.motion import Motion
from tilelang.tiling.numbers import Number
from tilelang.tiling.pipeline_plans import Pipeline

LARGEST = 1 << 30
"""Steps and tiles beyond this could leave 32 bits."""
SAME_TURN = 8
"""Rows that differ by a multiple of this have the same swizzle."""


@dataclass(frozen=True)
class Steady:
    """The chunks of one load that this thread copies: `count` of them, each `rows` below the last.

    `axis`: the one that moves. `limits`, `sources`, `places`: local arrays, made ready. There are `period` places; from
    there on they repeat, `period * rows` rows further down.
    """

    load: Op
    axis: int
    count: int
    rows: int
    limits: Value
    sources: Value
    places: Value
    period: int


def is_steady(plan: Pipeline, accesses: Accesses, motion: Motion, bounds: Sequence[Value],
              threads: int) -> bool:
    """Can all copies of the loop be made ready?"""
    lo, end, index = (accesses.ranges.get(value.name) for value in (*bounds[:2], motion.index))
    fits = lo is not None and end is not None and index is not None and min(lo.lo, end.lo, index.lo) >= 0 \
        and _is_narrow(lo) and _is_narrow(index)
    return accesses.small and fits and plan.step * plan.stages < LARGEST and all(
        _moving_axis(load, motion) is not None and plan.has_whole_chunks(load)
        and _divides(load, threads) for load in plan.loads)


def _is_narrow(known: Range) -> bool:
    """Is it below a dim? The fact `small` says that those have 31 bits."""
    return known.hi < LARGEST or any(offset <= -1 for offset in known.limits.values())


def _moving_axis(load: Op, motion: Motion) -> int | None:
    """The axis of the tensor along which the tile moves, if that is all that changes."""
    parts = access(load)
    moves = [motion.of(index) for index in parts.indices]
    stays = parts.mask is None or motion.of(parts.mask) == 0
    return moves.index(1) if stays and (moves.count(0), moves.count(1)) == (len(moves) - 1, 1) else None


def _divides(load: Op, threads: int) -> bool:
    *outer, columns = load.result.shape
    rows, across = prod(outer), columns // chunk_of(load)
    if threads % across or (rows * across) % threads:
        return False
    down = threads // across
    return down % SAME_TURN == 0 or SAME_TURN % down == 0


class SteadyCopies:
    """Writes them: `ready` before the loop, `copy` in it."""

    def __init__(self, plan: Pipeline, copies: Copies, motion: Motion, hi: Value):
        self.write = copies.write
        self.homes = copies.homes
        self.chunks = copies.chunks
        self.elements = copies.elements
        self.accesses = copies.accesses
        self.ahead = (plan.stages - 1) * plan.step
        self.loads = [self._ready(load, motion, hi) for load in plan.loads]

    def _number(self, value: Value) -> Number:
        return Number(self.write.index, value)

    # ---------------------------------------------------------------- before the loop

    def _ready(self, load: Op, motion: Motion, hi: Value) -> Steady:
        *outer, columns = load.result.shape
        rows, across, threads, name = prod(outer), columns // chunk_of(load), self.write.threads, load.result.name
        down = threads // across
        count, period = rows // down, max(SAME_TURN // down, 1)
        axis = _moving_axis(load, motion)
        steady = Steady(load, axis or 0, count, down, self.write.local(f"{name}_limits", I32, count),
                        self.write.local(f"{name}_sources", I32, count),
                        self.write.local(f"{name}_places", I32, min(period, count)), min(period, count))
        thread = self._number(self.write.thread())
        swizzle = self.homes.swizzles[load.result]

        def chunk(number: Value) -> None:
            row = thread // across + self._number(number) * down
            self._ready_chunk(steady, hi, number, self.chunks.coordinates(load, row, thread % across))

        def place(number: Value) -> None:
            row = thread // across + self._number(number) * down
            self.write.write(steady.places, number, swizzle.chunk_position(row, thread % across).value)

        self.write.count(count, (), chunk, hint="r", unroll=True)
        self.write.count(steady.period, (), place, hint="r", unroll=True)
        return steady

    def _ready_chunk(self, steady: Steady, hi: Value, number: Value, coordinates: Sequence[Value]) -> None:
        """For the first trip that there could be, at index 0."""
        parts, axis, emit = access(steady.load), steady.axis, self.write.emit
        indices = self.accesses.indices_at(steady.load, coordinates)
        mask = self.elements.at_coordinates(parts.mask, coordinates, {}) if parts.mask is not None else None
        stays = tuple(checked and n != axis for n, checked in enumerate(parts.checked))
        inside, offset = self.accesses.inside_and_offset(replace(parts, checked=stays), indices, I32, mask=mask)
        limit = self._limit(parts, axis, indices[axis], hi)
        if inside is not None:
            limit = emit.op("select", inside, limit, self.write.index.number(0), hint="limit")
        limit = emit.op("sub", limit, self.write.index.number(self.ahead), hint="limit")
        self.write.write(steady.limits, number, limit)
        self.write.write(steady.sources, number, offset)

    def _limit(self, parts: Access, axis: int, start: Value, hi: Value) -> Value:
        """The loop's index must be below this: then the trip happens, and the chunk is inside the tensor along the axis
        that moves."""
        emit = self.write.emit
        limit = hi if hi.dtype == I32 else emit.op("cast", hi, type=INDEX, hint="end")
        if parts.checked[axis]:
            narrow = start if start.dtype == I32 else emit.op("cast", start, type=INDEX, hint="at")
            left = emit.op("sub", self.write.extent(parts.tensor, axis, I32), narrow, hint="left")
            limit = emit.op("minimum", limit, left, hint="limit")
        return limit

    # ---------------------------------------------------------------- in the loop

    def copy(self, now: Value, slot: Number, rings: Sequence[Value], attrs: dict[str, Attr]) -> None:
        """Start the copies for the trip that comes `stages - 1` trips after the one at index `now` (i32)."""
        emit, index = self.write.emit, self.write.index
        for steady, ring in zip(self.loads, rings, strict=True):
            chunk = index.number(chunk_of(steady.load))

            def start(number: Value, offset: Value, more: Value, steady: Steady = steady, ring: Value = ring,
                      chunk: Value = chunk) -> None:
                count = emit.op("select", more, chunk, index.number(0), hint="count")
                emit.effect("shared.copy_async", ring, self._place(steady, slot, number), steady.load.operands[0],
                            offset, count, **attrs)

            self._each_source(steady, now, start)

    def fetch(self, now: Value, registers: Sequence[Value]) -> None:
        """Load what `copy` would copy into registers."""
        for steady, fetched in zip(self.loads, registers, strict=True):
            def load(number: Value, offset: Value, more: Value, steady: Steady = steady,
                     fetched: Value = fetched) -> None:
                self.write.emit.effect("global.load_chunk", steady.load.operands[0], offset, more, fetched,
                                       self.write.index.times(number, WORDS))

            self._each_source(steady, now, load)

    def put(self, slot: Number, rings: Sequence[Value], registers: Sequence[Value], attrs: dict[str, Attr]) -> None:
        """Store what was fetched."""
        for steady, ring, fetched in zip(self.loads, rings, registers, strict=True):
            def store(number: Value, steady: Steady = steady, ring: Value = ring, fetched: Value = fetched) -> None:
                self.write.emit.effect("shared.store_chunk", ring, self._place(steady, slot, number), fetched,
                                       self.write.index.times(number, WORDS), **attrs)

            with self.write.emit.at(steady.load.span):
                self.write.count(steady.count, (), store, hint="r", unroll=True)

    def _each_source(self, steady: Steady, now: Value, visit: Callable[[Value, Value, Value], None]) -> None:
        """visit(number of a chunk, its offset, is it there?)"""
        emit, index, tensor = self.write.emit, self.write.index, steady.load.operands[0]
        moved = emit.op("add", now, index.number(self.ahead), hint="ahead")
        if not self.write.has_unit_stride(tensor, steady.axis):
            moved = emit.op("mul", moved, self.write.stride(tensor, steady.axis, I32), hint="ahead")

        def at(number: Value) -> None:
            source = emit.op("add", self.write.read(steady.sources, number, hint="source"), moved, hint="source")
            more = emit.op("lt", now, self.write.read(steady.limits, number, hint="limit"), hint="more")
            visit(number, self.accesses.widened(source), more)

        with emit.at(steady.load.span):
            self.write.count(steady.count, (), at, hint="r", unroll=True)

    def _place(self, steady: Steady, slot: Number, number: Value) -> Value:
        """Where a chunk goes."""
        around, size = self._number(number), prod(steady.load.result.shape)
        place = self._number(self.write.read(steady.places, (around % steady.period).value, hint="place"))
        down = steady.period * steady.rows * self.homes.swizzles[steady.load.result].pitch
        return (place + slot * size + around // steady.period * down).value
