"""The state of a launch and of the programs that run together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tilelang.ir.batch import PrintSink, StepLimitReached, TileAssertionError
from tilelang.ir.core import Op, Value
from tilelang.machine.copies import Copies
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import Cells, Registers
from tilelang.machine.prints import Prints
from tilelang.machine.products import Products
from tilelang.machine.races import Access, AccessLog
from tilelang.machine.report import Counts, Finding, Problem, Report
from tilelang.machine.separable import Known, whole

Watch = Callable[[Cells, Access], None]
"""Told of every access to shared or global memory, as it is made."""


@dataclass(frozen=True)
class Launch:
    """What all batches share. `values` are the scalars of the launch, `written` the tensors that the kernel changes,
    `multiplied` the shared arrays that warp groups read."""

    threads: int
    grid: tuple[int, ...]
    values: Mapping[str, np.ndarray]
    tensors: Mapping[str, Cells]
    arrays: Mapping[str, np.ndarray]
    written: frozenset[str]
    report: Report
    output: PrintSink
    check_races: bool
    max_steps: int | None
    watch: Watch | None = None
    multiplied: frozenset[str] = frozenset()


class Batch:
    """Some programs running together. `ids` are their linear numbers, axis 0 of the grid fastest."""

    def __init__(self, launch: Launch, ids: np.ndarray):
        self.launch = launch
        self.ids = ids
        self.values: dict[str, Known] = dict(launch.values)
        self.registers: dict[str, Registers] = {}
        self.cells: dict[str, Cells] = dict(launch.tensors)
        self.logs: dict[str, AccessLog] = {}
        self.prints = Prints()
        self.copies = Copies(len(ids), launch.threads)
        self.products = Products(len(ids), launch.threads)
        self.alive: np.ndarray | None = None
        self.failure: tuple[int, Op] | None = None
        self._steps = 0
        for name in launch.written:
            self.keep_log(launch.tensors[name])

    @property
    def lanes(self) -> Lanes:
        """All threads of all programs."""
        return Lanes((1, len(self.ids), self.launch.threads))

    # -- values

    def get(self, value: Value) -> np.ndarray:
        return whole(self.values[value.name])

    def all(self, values: Iterable[Value]) -> tuple[np.ndarray, ...]:
        return tuple([whole(self.values[value.name]) for value in values])

    def define(self, value: Value, array: np.ndarray) -> None:
        self.values[value.name] = array

    def program_ids(self, axis: int) -> np.ndarray:
        """Each program's coordinate along an axis of the grid, as an i64 value."""
        grid = self.launch.grid
        if axis >= len(grid):
            return np.zeros((1, 1, 1), np.int64)
        below = int(np.prod(grid[:axis], dtype=np.int64))
        return (self.ids // below % grid[axis])[None, :, None]

    def program(self, position: int) -> tuple[int, ...]:
        """The grid coordinates of a program."""
        linear, found = int(self.ids[position]), []
        for extent in self.launch.grid:
            linear, coordinate = divmod(linear, extent)
            found.append(coordinate)
        return tuple(found)

    # -- counts, findings, races

    def counts(self, number: int) -> Counts:
        return self.launch.report.ops[number][1]

    def step(self, trips: int = 1) -> None:
        """Count trips of loops."""
        self._steps += trips
        if self.launch.max_steps is not None and self._steps > self.launch.max_steps:
            raise StepLimitReached(f"a batch took more than {self.launch.max_steps} loop iterations")

    def found(self, problem: Problem, op: Op, number: int, bad: np.ndarray, lanes: Lanes,
              index: np.ndarray | None = None) -> None:
        """Report a problem of the lanes marked in `bad`; `index` is the element each of them wanted."""
        trip, position, thread = lanes.first(bad)
        at = None if index is None else int(np.broadcast_to(index, lanes.shape)[trip, position, thread])
        times = int(np.count_nonzero(np.broadcast_to(bad, lanes.shape)))
        array = op.operands[0].name if op.operands else None
        self.launch.report.add(
            Finding(problem, op, self.program(position), (thread,), array, at, times=times), number)

    def keep_log(self, cells: Cells) -> None:
        """Watch an array for races from now on."""
        if self.launch.check_races:
            self.logs[cells.array.name] = AccessLog(max(cells.span, 1), self.launch.threads)

    def close_logs(self, programs: np.ndarray | None) -> None:
        """These programs (None: all) have passed a barrier, or ended."""
        ops = self.launch.report.ops
        for name, log in self.logs.items():
            cells = self.cells[name]
            problem = Problem.SHARED_RACE if cells.private else Problem.GLOBAL_RACE
            for race in log.close(programs):
                earlier, later = race.numbers
                self.launch.report.add(
                    Finding(problem, ops[later][0], self.program(race.program), race.threads, name,
                            race.position - cells.origin, ops[earlier][0]), later, earlier)
        self.products.read_on(self.logs, programs)
        for name in self.launch.multiplied & self.cells.keys():
            self.cells[name].publish(programs)

    # -- asserts and the end

    def fail(self, programs: np.ndarray, op: Op) -> None:
        """An assert failed in these programs (bool (P,)). Those before the first may still fail, so they go on."""
        first = int(programs.argmax())
        if self.failure is None or first < self.failure[0]:
            self.failure = first, op
            self.alive = (np.arange(len(self.ids)) < first)[None, :, None]
        if first == 0:
            self.finish()

    def going(self, condition: np.ndarray) -> np.ndarray:
        """A loop's condition, false for programs from the first failed one onwards: they may never end."""
        return condition if self.alive is None else condition & self.alive

    def finish(self) -> None:
        """All programs have ended: hand on what they printed, in order, and report a failed assert."""
        last = len(self.ids) - 1 if self.failure is None else self.failure[0]
        for position in sorted(self.prints.opened):
            if position <= last:
                for entry in self.prints.opened[position]:
                    self.launch.output(str(entry.op.attrs["text"]), entry.value(), self.program(position))
        if self.failure is not None:
            position, op = self.failure
            raise TileAssertionError(self.program(position), str(op.attrs["text"]), op.span, op)
