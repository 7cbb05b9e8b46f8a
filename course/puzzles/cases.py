"""The arguments of every run of a puzzle.

Each case is one shape with ordinary numbers, special ones, large ones, or views with strides. Outputs are views into
larger arrays filled with poison, so that one sees which elements were never written, and what was written beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from course.puzzles.inputs import Inputs
from course.puzzles.specs import Array
from course.puzzles.table import Dims, Puzzle

POISON = {4: 0x7FC0BEEF, 1: 0x7F}
"""By bytes of an element. As f32 it is a NaN that no arithmetic gives; as i32, a number that no result is."""
MARGIN = 3
SPECIAL = np.array([np.inf, -np.inf, np.nan, -0.0, 1e-30], np.float32)
"""Nothing whose sums or products would overflow in one order and not in another."""


ABOUT = {
    "even": "every extent a multiple of the tile's",
    "ragged": "extents that no tile divides",
    "prime": "prime extents",
    "one": "an extent of 1",
    "large": "inputs in the hundreds",
    "special": "inf, -inf, NaN and -0.0 among the inputs",
    "views": "arguments that are strided views",
    "alone": "one program after another",
    "model": "on the machine model",
}
"""The kinds of cases."""


@dataclass(frozen=True)
class Case:
    """One run. `kind` is one of `ABOUT`; `strided`: every array is a view with strides."""

    puzzle: Puzzle
    kind: str
    dims: Dims
    inputs: Inputs
    strided: bool = False

    @cached_property
    def expected(self) -> Array:
        """What the output should hold, as exactly as the output's element type can."""
        with np.errstate(all="ignore"):
            exact = self.puzzle.spec(**self.inputs)
        return np.ascontiguousarray(exact, np.int32 if exact.dtype == np.int32 else np.float32)

    @property
    def output(self) -> str:
        return self.puzzle.output

    @property
    def shape(self) -> str:
        return ", ".join(f"{name}={extent}" for name, extent in self.dims.items())

    def __str__(self) -> str:
        return f"{self.shape} ({ABOUT[self.kind]})"


@dataclass(frozen=True)
class Arena:
    """An output: `view` is the part that the kernel is given, `whole` the array around it."""

    whole: Array
    view: Array

    def outside(self) -> Array:
        """Whether an element of `whole` lies outside the view, bool of its shape."""
        marks = np.ones(self.whole.size, np.bool_)
        start = self.view.__array_interface__["data"][0] - self.whole.__array_interface__["data"][0]
        steps = [stride // self.whole.itemsize for stride in self.view.strides]
        place = np.full(self.view.shape, start // self.whole.itemsize)
        for axis, step in enumerate(steps):
            place += step * np.arange(self.view.shape[axis]).reshape(-1, *[1] * (self.view.ndim - axis - 1))
        marks[place] = False
        return marks.reshape(self.whole.shape)


def is_poison(x: Array) -> Array:
    return x.view(f"u{x.itemsize}") == POISON[x.itemsize]


def embed(values: Array, strided: bool) -> Arena:
    """A copy of `values` inside poison. `strided`: every second element of the last axis, the first axis backwards."""
    step = [1] * values.ndim
    if strided:
        step[-1] = 2
    extents = [2 * MARGIN + n * s for n, s in zip(values.shape, step, strict=True)]
    whole = np.full(extents, POISON[values.itemsize], f"u{values.itemsize}").view(values.dtype)
    view = whole[tuple(slice(MARGIN, MARGIN + n * s, s) for n, s in zip(values.shape, step, strict=True))]
    if strided:
        view = view[::-1]
    view[...] = values
    return Arena(whole, view)


def arena(case: Case) -> Arena:
    """The output of a case: poison, or if it is `inout` what it is to begin with."""
    start = case.inputs.get(case.output)
    if not isinstance(start, np.ndarray):
        start = np.full(case.expected.shape, POISON[4], np.uint32).view(case.expected.dtype)
    return embed(start, case.strided)


def cases(puzzle: Puzzle) -> Iterator[Case]:
    """All cases, the plainest first; the same ones every time."""
    for kind, shapes in puzzle.shapes.items():
        for dims in shapes:
            yield Case(puzzle, kind, dims, _inputs(puzzle, dims))
    even, ragged = puzzle.shapes["even"][0], puzzle.shapes["ragged"][0]
    if puzzle.large:
        yield Case(puzzle, "large", ragged, _grown(puzzle, ragged))
    for dims in (even, ragged) if puzzle.special else ():
        yield Case(puzzle, "special", dims, _with_specials(puzzle, dims))
    yield Case(puzzle, "views", ragged, _strided(puzzle, ragged), strided=True)
    yield Case(puzzle, "alone", ragged, _inputs(puzzle, ragged))


def _inputs(puzzle: Puzzle, dims: Dims, seed: int = 0) -> Inputs:
    return puzzle.make(np.random.default_rng([seed, *dims.values()]), **dims)


def _grown(puzzle: Puzzle, dims: Dims) -> Inputs:
    inputs = _inputs(puzzle, dims, 2)
    return {**inputs, **{name: np.asarray(inputs[name] * np.float32(100)) for name in puzzle.large}}


def _strided(puzzle: Puzzle, dims: Dims) -> Inputs:
    inputs = _inputs(puzzle, dims, 3)
    return {name: embed(x, True).view if isinstance(x, np.ndarray) else x for name, x in inputs.items()}


def _with_specials(puzzle: Puzzle, dims: Dims) -> Inputs:
    """One special number in each of the first rows; of a matrix, the last row begins with -inf for half its length."""
    inputs = _inputs(puzzle, dims, 1)
    for name in puzzle.special:
        array = inputs[name]
        if not isinstance(array, np.ndarray):
            continue
        rows = array.reshape(len(array), -1)
        for row, value in enumerate(SPECIAL[:max(1, len(rows) - 1)]):
            rows[row, (3 * row) % rows.shape[1]] = value
        if array.ndim == 2:
            rows[-1, : rows.shape[1] // 2] = -np.inf
    return inputs
