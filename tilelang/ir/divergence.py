"""`if`, `while` and `for` over many programs at once.

If all programs agree (a uniform condition, or one that happens to be the same) the block simply runs in the
frame at hand. If not, it runs in a frame of those that take it, and what it hands over is put together again,
each program's part in its place: the way a GPU's warp handles a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tilelang.diagnostics import InternalError
from tilelang.ir.batch import Frame
from tilelang.ir.core import Block, Op, Value
from tilelang.ir.host_types import numpy_dtype


class Merged:
    """The results of an op, gathered from the groups of programs that finish at different times."""

    def __init__(self, results: Sequence[Value], count: int):
        self.results = results
        self.arrays = [np.empty((count, *v.shape), numpy_dtype(v.dtype)) for v in results]

    def put(self, positions: np.ndarray, values: Sequence[np.ndarray]) -> None:
        """These programs have these results."""
        for array, value in zip(self.arrays, values, strict=True):
            array[positions] = value

    def define(self, frame: Frame) -> None:
        for value, array in zip(self.results, self.arrays, strict=True):
            frame.define(value, array)


def run_in(block: Block, frame: Frame, args: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Run a block with these arguments; what its terminator hands over."""
    for value, array in zip(block.args, args, strict=True):
        frame.define(value, array)
    return frame.machine.run_block(block, frame)


def define_all(results: Sequence[Value], values: Sequence[np.ndarray], frame: Frame) -> None:
    for value, array in zip(results, values, strict=True):
        frame.define(value, array)


def if_(op: Op, frame: Frame) -> None:
    condition = frame.get(op.operands[0])
    if condition.all() or not condition.any():
        taken = op.blocks[0 if condition.all() else 1]
        define_all(op.results, run_in(taken, frame, ()), frame)
        return
    merged = Merged(op.results, frame.count)
    for block, taken_by in ((op.blocks[0], condition), (op.blocks[1], ~condition)):
        positions = np.flatnonzero(taken_by)
        merged.put(positions, run_in(block, frame.part(positions), ()))
    merged.define(frame)


def while_(op: Op, frame: Frame) -> None:
    loop = Loop(op, frame)
    carried: Sequence[np.ndarray] | None = frame.all(op.operands)
    while carried is not None:
        frame.machine.step()
        condition, *handed = run_in(op.blocks[0], loop.inner, carried)
        carried = loop.keep(np.broadcast_to(condition, (loop.inner.count,)), handed)
        if carried is not None:
            carried = run_in(op.blocks[1], loop.inner, carried)


def for_(op: Op, frame: Frame) -> None:
    lo, hi, step = frame.all(op.operands[:3])
    trips = trip_count(lo, hi, step, frame)
    loop = Loop(op, frame)
    done = 0
    carried = loop.keep(trips > 0, frame.all(op.operands[3:]))
    while carried is not None:
        frame.machine.step()
        index = loop.cut(lo) + loop.cut(step) * np.asarray(done).astype(lo.dtype)
        carried = run_in(op.blocks[0], loop.inner, (np.asarray(index), *carried))
        done += 1
        carried = loop.keep(trips[loop.here] > done, carried)


@dataclass
class Loop:
    """The programs that are still in a loop: `here` are their positions in `frame`, `inner` is their own."""

    op: Op
    frame: Frame
    merged: Merged | None = None

    def __post_init__(self) -> None:
        self.inner = self.frame
        self.here = np.arange(self.frame.count)

    def keep(self, going: np.ndarray, carried: Sequence[np.ndarray]) -> Sequence[np.ndarray] | None:
        """Programs that are not `going`, or are past the first failure, leave with their carried values.

        Returns the values of those that stay; None if nobody stays, and then the op's results are defined.
        """
        going = going & self.frame.machine.alive(self.inner.programs)
        if going.all():
            return carried
        if self.merged is None and not going.any():
            define_all(self.op.results, carried, self.frame)
            return None
        if self.merged is None:
            self.merged = Merged(self.op.results, self.frame.count)
        self.merged.put(self.here[~going], _cut(carried, self.op.results, ~going))
        if not going.any():
            self.merged.define(self.frame)
            return None
        self.here = self.here[going]
        self.inner = self.frame.part(self.here)
        return _cut(carried, self.op.results, going)

    def cut(self, scalar: np.ndarray) -> np.ndarray:
        """A scalar of `frame` for the programs still here."""
        return scalar[self.here] if scalar.ndim else scalar


def _cut(values: Sequence[np.ndarray], types: Sequence[Value], chosen: np.ndarray) -> list[np.ndarray]:
    """The chosen programs' part of each value."""
    pairs = zip(values, types, strict=True)
    return [array[chosen] if array.ndim > len(value.shape) else array for array, value in pairs]


def trip_count(lo: np.ndarray, hi: np.ndarray, step: np.ndarray, frame: Frame) -> np.ndarray:
    """How often `for` runs in each program of the frame, as u64: len(range(lo, hi, step)).

    Differences are taken modulo 2^64, where they are right even if they overflow the operands' type.
    """
    upward = step > 0
    if np.any((step == 0) & frame.machine.alive(frame.programs)):
        raise InternalError("interpreter", "the step of a `for` is 0, which an `assert` should have caught")
    empty = np.where(upward, lo >= hi, lo <= hi) | (step == 0)
    first, end, stride = (array.astype(np.uint64) for array in (lo, hi, step))
    with np.errstate(all="ignore"):
        distance = np.where(upward, end - first, first - end)
        stride = np.where(upward, stride, np.uint64(0) - stride)
        one = np.uint64(1)
        trips = np.where(empty, np.uint64(0), (distance - one) // np.maximum(stride, one) + one)
    return np.broadcast_to(trips, (frame.count,))


CONTROL: dict[str, Callable[[Op, Frame], None]] = {"if": if_, "while": while_, "for": for_}
