"""The state of running programs: `Machine` (the whole batch), `Frame` (those of it that are in one block)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tilelang.diagnostics import InternalError, Span
from tilelang.ir.core import Block, Op, Value
from tilelang.ir.liveness import Deaths

PrintSink = Callable[[str, np.ndarray | None, tuple[int, ...]], None]
"""Takes the text of a `print`, its value or None, and the program's id, one number for each grid axis."""


def print_line(text: str, value: np.ndarray | None, program: tuple[int, ...]) -> None:
    """The sink that writes `(2, 0) text value` to standard output."""
    shown = "" if value is None else f" {value}"
    sys.stdout.write(f"({', '.join(map(str, program))}) {text}{shown}\n")


class TileAssertionError(Exception):
    """An `assert` of a kernel failed, in this program. The runtime makes a diagnostic of it."""

    def __init__(self, program: tuple[int, ...], text: str, span: Span, op: Op):
        self.program = program
        self.text = text
        self.span = span
        self.op = op
        super().__init__(f"program {program}: {text}")


class StepLimitReached(Exception):
    """The loops of one batch took more iterations than the caller allowed."""


@dataclass
class Machine:
    """One batch. `ids` are its programs' linear numbers; all other program arrays are positions in `ids`."""

    tensors: Mapping[str, np.ndarray]
    grid: tuple[int, ...]
    ids: np.ndarray
    deaths: Deaths
    run_block: Callable[[Block, Frame], tuple[np.ndarray, ...]]
    output: PrintSink
    max_steps: int | None = None
    steps: int = 0
    failure: tuple[int, Op] | None = None
    prints: list[tuple[int, str, np.ndarray | None]] = field(default_factory=list)

    def step(self) -> None:
        """Count one iteration of a loop."""
        self.steps += 1
        if self.max_steps is not None and self.steps > self.max_steps:
            raise StepLimitReached(f"a batch took more than {self.max_steps} loop iterations")

    def fail(self, programs: np.ndarray, op: Op) -> None:
        """An assert failed in `programs`, which are sorted.

        An earlier program of the batch may still fail at a later op, and then it is the one to report. So the
        others go on; those from the failed one onwards do not matter any more (`alive`).
        """
        first = int(programs[0])
        if self.failure is None or first < self.failure[0]:
            self.failure = first, op
        if self.failure[0] == 0:
            self.finish()

    def alive(self, programs: np.ndarray) -> np.ndarray:
        """Which of these programs come before the first that failed."""
        if self.failure is None:
            return np.ones(len(programs), np.bool_)
        return programs < self.failure[0]

    def print(self, programs: np.ndarray, text: str, values: np.ndarray | None) -> None:
        alive = self.alive(programs)
        for position in np.flatnonzero(alive):
            value = None if values is None else np.asarray(values[position])
            self.prints.append((int(programs[position]), text, value))

    def finish(self) -> None:
        """The batch has run: hand on what was printed, in the order of programs, and report a failure."""
        last = len(self.ids) if self.failure is None else self.failure[0]
        for program, text, value in sorted(self.prints, key=lambda entry: entry[0]):
            if program <= last:
                self.output(text, value, self.program(program))
        self.prints.clear()
        if self.failure is not None:
            position, op = self.failure
            raise TileAssertionError(self.program(position), str(op.attrs["text"]), op.span, op)

    def program(self, position: int) -> tuple[int, ...]:
        """The grid coordinates of a program."""
        linear, coordinates = int(self.ids[position]), []
        for extent in self.grid:
            linear, coordinate = divmod(linear, extent)
            coordinates.append(coordinate)
        return tuple(coordinates)


@dataclass
class Frame:
    """Some programs of a batch, and the values they have.

    A value that differs between programs is an array of shape (programs, *type's shape); one that is the same
    for all (*uniform*) has the type's shape. Which it is can be told from the number of axes.

    A branch that only some programs take runs in a frame of its own: `positions` are its programs among the
    parent's, and a value of the parent is cut down to them when it is first used.
    """

    machine: Machine
    programs: np.ndarray
    values: dict[str, np.ndarray] = field(default_factory=dict)
    parent: Frame | None = None
    positions: np.ndarray | None = None

    @property
    def count(self) -> int:
        return len(self.programs)

    def part(self, positions: np.ndarray) -> Frame:
        """A frame of some of the programs."""
        return Frame(self.machine, self.programs[positions], {}, self, positions)

    # -- values

    def get(self, value: Value) -> np.ndarray:
        """The array of a value, with or without an axis of programs."""
        frame, inner = self, []
        while value.name not in frame.values:
            if frame.parent is None:
                raise InternalError("interpreter", f"{value} has no value here")
            inner.append(frame)
            frame = frame.parent
        array = frame.values[value.name]
        for frame in reversed(inner):
            if self.extra(array, value):
                array = array[frame.positions]
            frame.values[value.name] = array
        return array

    def all(self, values: Iterable[Value]) -> tuple[np.ndarray, ...]:
        return tuple(self.get(value) for value in values)

    def aligned(self, values: Iterable[Value], result: Value) -> list[np.ndarray]:
        """Arrays that broadcast by NumPy's rule although their types' ranks may differ from the result's."""
        arrays = []
        for value in values:
            array = self.get(value)
            missing = len(result.shape) - len(value.shape)
            if missing and self.extra(array, value):
                array = array.reshape((self.count, *(1,) * missing, *value.shape))
            arrays.append(array)
        return arrays

    def varying(self, value: Value) -> np.ndarray:
        """The array of a value with an axis of programs, in any case."""
        return np.broadcast_to(self.get(value), (self.count, *value.shape))

    def define(self, value: Value, array: np.ndarray) -> None:
        self.values[value.name] = array

    def forget(self, names: Iterable[str]) -> None:
        """Free values that have been used for the last time."""
        for name in names:
            self.values.pop(name, None)

    def extra(self, array: np.ndarray, value: Value) -> int:
        """1 if the array has an axis of programs, else 0."""
        return array.ndim - len(value.shape)

    def lanes(self, array: np.ndarray, value: Value) -> tuple[int, ...]:
        """The shape in front of the type's shape: (programs,) or ()."""
        return array.shape[:array.ndim - len(value.shape)]

    # -- programs

    def program_ids(self, axis: int) -> np.ndarray:
        """The i64 coordinates of the programs along one axis of the grid, of which axis 0 counts fastest."""
        grid = self.machine.grid
        if axis >= len(grid):
            return np.asarray(0, np.int64)
        below = 1
        for extent in grid[:axis]:
            below *= extent
        return self.machine.ids[self.programs] // below % grid[axis]
