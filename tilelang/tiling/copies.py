"""Tiles that go from global to shared memory in chunks of 16 bytes, while the threads go on.

    %k = load ...; %v = load ...            copy the chunks of k; a group
    %s = dot %q, %k, %zero                  copy the chunks of v; a group
    ...                              ->     wait until all groups but the last have arrived; barrier
    %o = dot %p, %v, %acc                   multiply with k
                                            ...
                                            wait until all groups have arrived; barrier
                                            multiply with v

A wait is for a thread's own copies, and the barrier behind it makes all threads' visible to all. The two are written
together: a barrier that somebody needs for another reason, in between, would not do. Which tiles come here says
`tilelang.tiling.copy_plans`; `tilelang.tiling.pipelines` writes the copies of loops that fetch ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod

from tilelang.dtypes import I32, I64
from tilelang.ir.access import access
from tilelang.ir.core import Attr, Op, Value
from tilelang.semantics.types import TileType
from tilelang.tiling.accesses import Accesses
from tilelang.tiling.anywhere import VIEWS
from tilelang.tiling.copy_plans import CopyPlans, chunk_of
from tilelang.tiling.elements import Elements
from tilelang.tiling.homes import Homes
from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.numbers import Number
from tilelang.tiling.writer import ThreadWriter


class Copies:
    """Writes the copies of tiles. `under_way`: those that nobody has waited for, a group each, in their order."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, accesses: Accesses, plans: CopyPlans):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.accesses = accesses
        self.plans = plans
        self.under_way: list[Value] = []

    def takes(self, op: Op) -> bool:
        return id(op) in self.plans.loads

    def start(self, op: Op) -> None:
        """Ask for the tile of a load, and for those of later loads that can be had as early."""
        for load in (op, *self.plans.early.get(id(op), ())):
            tile = load.result
            if tile not in self.homes.shared:
                with self.write.emit.at(load.span):
                    array = self.homes.shared[tile] = self.elements.shared_copy(tile)
                    self.tile(load, array)
                    self.write.emit.effect("async.commit")
                self.under_way.append(tile)

    # ---------------------------------------------------------------- waiting

    def arrive(self, values: Iterable[Value]) -> None:
        """Wait for what of these tiles, or of what they are views of, is under way."""
        places = [self.under_way.index(tile) for tile in map(self._source, values) if tile in self.under_way]
        if places:
            self._wait(1 + max(places))

    def arrive_all(self) -> None:
        """Wait for everything: what follows may not happen, or happen often."""
        if self.under_way:
            self._wait(len(self.under_way))

    @contextmanager
    def all_there(self) -> Iterator[None]:
        """While a loop is written whose trips all begin by waiting. After it, it may have made none."""
        kept, self.under_way = self.under_way, []
        yield
        self.under_way = kept

    def _source(self, value: Value) -> Value:
        while value in self.homes.recipes and self.homes.recipes[value].name in VIEWS:
            (value,) = self.homes.recipes[value].operands
        return value

    def _wait(self, groups: int) -> None:
        self.under_way = self.under_way[groups:]
        self.write.emit.effect("async.wait", pending=len(self.under_way))
        self.write.emit.effect("barrier")

    # ---------------------------------------------------------------- chunks

    def tile(self, load: Op, array: Value, start: Number | int = 0, *, cut: bool = False, **attrs: Attr) -> None:
        """Ask for all chunks of a tile, neighbouring chunks by neighbouring threads, to `array` from `start` on.

        `cut`: the tensor's edge may go through a chunk.
        """
        across = load.result.shape[-1] // chunk_of(load)
        layout = LinearLayout((prod(load.result.shape[:-1]) * across,), self.write.threads)

        def chunk(register: Value) -> None:
            number = Number(self.write.index, self.write.number_at(register))
            size = self.write.index.number(layout.size)
            inside = [self.write.emit.op("lt", number.value, size, hint="inside")] if layout.padded else []
            self.write.when_all(inside, lambda: self._chunk(
                load, (array, start), (number // across, number % across), cut, attrs))

        self.write.fold_registers(layout.registers, (), chunk)

    def _chunk(self, load: Op, to: tuple[Value, Number | int], place: tuple[Number, Number], cut: bool,
               attrs: dict[str, Attr]) -> None:
        (array, start), (row, chunk), parts = to, place, access(load)
        at = self.homes.swizzles[load.result].chunk_position(row, chunk) + start
        coordinates = self.coordinates(load, row, chunk)
        indices = self.accesses.indices_at(load, coordinates)
        mask = self.elements.at_coordinates(parts.mask, coordinates, {}) if parts.mask is not None else None
        inside, offset = self.accesses.inside_and_offset(parts, indices, mask=mask)
        count = self._left(load, indices[-1]) if cut else self.write.index.number(chunk_of(load))
        if inside is not None:
            count = self.write.emit.op("select", inside, count, self.write.index.number(0), hint="count")
        self.write.emit.effect("shared.copy_async", array, at.value, parts.tensor, offset, count, **attrs)

    def coordinates(self, load: Op, row: Number, chunk: Number) -> tuple[Value, ...]:
        """Of the first element of a chunk in the loaded tile; rows are counted through."""
        return *self.write.index.delinearize(row.value, load.result.shape[:-1]), (chunk * chunk_of(load)).value

    def _left(self, load: Op, column: Value) -> Value:
        """How many elements of a chunk lie inside the tensor, if its first one does."""
        emit, parts = self.write.emit, access(load)
        wide = column if column.dtype == I64 else emit.op("cast", column, type=TileType(I64), hint="wide")
        left = emit.op("sub", self.write.extent(parts.tensor, len(parts.indices) - 1), wide, hint="left")
        least = emit.op("minimum", left, self.write.constant(chunk_of(load), I64), hint="least")
        return emit.op("cast", least, type=TileType(I32), hint="count")
