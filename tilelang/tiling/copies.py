"""Tiles that go from global to shared memory in chunks of 16 bytes, while the threads go on.

    %k = load ...; %v = load ...            copy the chunks of k; a group
    %s = dot %q, %k, %zero                  wait until it has arrived; barrier
    ...                              ->     copy the chunks of v; a group
    %o = dot %p, %v, %acc                   multiply with k
                                            ...
                                            wait until it has arrived; barrier
                                            multiply with v

A wait is for a thread's own copies, and the barrier behind it makes all threads' visible to all. The two are written
together: a barrier that somebody needs for another reason, in between, would not do. Before sm_80 chunks are fetched
into registers, and in the place of a wait they are stored; barriers are then those that any store needs. Which tiles
come here says `tilelang.tiling.copy_plans`; `tilelang.tiling.pipelines` writes the copies of loops that fetch ahead,
`tilelang.tiling.chunks` the chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tilelang.ir.core import Op, Value
from tilelang.tiling.accesses import Accesses
from tilelang.tiling.anywhere import VIEWS
from tilelang.tiling.chunks import Chunks
from tilelang.tiling.copy_plans import CopyPlans
from tilelang.tiling.elements import Elements
from tilelang.tiling.homes import Homes
from tilelang.tiling.writer import ThreadWriter


class Copies:
    """Writes the copies of tiles. `under_way`: those that nobody has waited for, a group each, in their order.
    `fetched`: where those are that were fetched into registers. `waiting`: loads to be asked for behind a wait."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, accesses: Accesses, plans: CopyPlans):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.accesses = accesses
        self.plans = plans
        self.chunks = Chunks(write, homes, elements, accesses)
        self.under_way: list[Value] = []
        self.fetched: dict[Value, tuple[Op, Value]] = {}
        self.waiting: list[Op] = []

    def takes(self, op: Op) -> bool:
        return id(op) in self.plans.loads

    def start(self, op: Op) -> None:
        """Ask for the tile of a load, and for those of later loads that can be had as early."""
        behind = self.plans.behind.get(id(op), ())
        if not self.plans.asynchronous:
            self._ask(op, *self.plans.early.get(id(op), ()), *behind)
        elif op not in self.waiting:
            self._ask(op, *self.plans.early.get(id(op), ()))
            self.waiting += behind

    def _ask(self, *loads: Op) -> None:
        for load in loads:
            if load.result not in self.homes.shared:
                with self.write.emit.at(load.span):
                    self._move(load, self.elements.shared_copy(load.result))
                self.under_way.append(load.result)

    def _move(self, load: Op, array: Value) -> None:
        self.homes.shared[load.result] = array
        if self.plans.asynchronous:
            self.chunks.copy(load, array)
            self.write.emit.effect("async.commit")
        else:
            registers = self.chunks.registers(load)
            self.chunks.fetch(load, registers)
            self.fetched[load.result] = load, registers

    # ---------------------------------------------------------------- waiting

    def arrive(self, values: Iterable[Value]) -> None:
        """Wait for what of these tiles, or of what they are views of, is under way."""
        places = [self.under_way.index(tile) for tile in map(self._source, values) if tile in self.under_way]
        if places:
            self._wait(1 + max(places))
            self._ask_waiting()

    def arrive_all(self) -> None:
        """Wait for everything: what follows may not happen, or happen often."""
        self._ask_waiting()
        if self.under_way:
            self._wait(len(self.under_way))

    def _ask_waiting(self) -> None:
        """Ask for what comes behind a tile that has arrived."""
        loads, self.waiting = self.waiting, []
        self._ask(*loads)

    @contextmanager
    def all_there(self) -> Iterator[None]:
        """While a loop is written whose trips all begin by waiting. After it, it may have made none."""
        kept, self.under_way, self.waiting = (self.under_way, self.waiting), [], []
        yield
        self.under_way, self.waiting = kept

    def _source(self, value: Value) -> Value:
        while value in self.homes.recipes and self.homes.recipes[value].name in VIEWS:
            (value,) = self.homes.recipes[value].operands
        return value

    def _wait(self, groups: int) -> None:
        arrived, self.under_way = self.under_way[:groups], self.under_way[groups:]
        if self.plans.asynchronous:
            self.write.emit.effect("async.wait", pending=len(self.under_way))
            self.write.emit.effect("barrier")
            return
        for tile in arrived:
            load, registers = self.fetched[tile]
            self.chunks.put(load, registers, self.homes.shared[tile])
