"""`for`, `while` and `if` under masks: who has left a loop or is in the other branch waits, masked off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tilelang.diagnostics import InternalError
from tilelang.machine.batch import Batch
from tilelang.machine.lanes import Lanes
from tilelang.machine.plan import Plan, Step
from tilelang.machine.separable import Known, Separable, whole

LANES = 1 << 15
"""Lanes that run together: programs of a batch times threads."""

LANES_AND_TRIPS = 1 << 18
"""The same with trips that run side by side: more, since what all programs have in common is then computed once."""

Run = Callable[[Plan, Lanes, Batch, Sequence[np.ndarray]], tuple[np.ndarray, ...]]
"""Runs a block with its arguments; what its terminator hands over."""


def if_(step: Step, lanes: Lanes, batch: Batch, run: Run) -> None:
    condition = batch.get(step.op.operands[0])
    then, otherwise = lanes.where(condition), lanes.where(~condition)
    if otherwise is None and then is not None:
        handed = run(step.blocks[0], then, batch, ())
    elif then is None and otherwise is not None:
        handed = run(step.blocks[1], otherwise, batch, ())
    elif then is not None and otherwise is not None:
        taken, other = run(step.blocks[0], then, batch, ()), run(step.blocks[1], otherwise, batch, ())
        handed = tuple(np.where(condition, a, b) for a, b in zip(taken, other, strict=True))
    else:
        raise InternalError("machine", "an `if` without a lane in it")
    _define(step, handed, batch)


def while_(step: Step, lanes: Lanes, batch: Batch, run: Run) -> None:
    loop = _Loop(lanes, batch)
    carried: Sequence[np.ndarray] = batch.all(step.op.operands)
    inside: Lanes | None = lanes
    while inside is not None:
        batch.step()
        condition, *handed = run(step.blocks[0], inside, batch, carried)
        inside = loop.keep(condition, handed)
        if inside is not None:
            carried = run(step.blocks[1], inside, batch, handed)
    _define(step, loop.results, batch)


def for_(step: Step, lanes: Lanes, batch: Batch, run: Run) -> None:
    lo, hi, stride = batch.all(step.op.operands[:3])
    trips = trip_count(lo, hi, stride, lanes, batch)
    if step.side_by_side and trips.size == lo.size == stride.size == 1:
        _side_by_side(step, lanes, batch, run, int(trips.item()))
        return
    loop, done = _Loop(lanes, batch), 0
    carried: Sequence[np.ndarray] = batch.all(step.op.operands[3:])
    inside = loop.keep(trips > 0, carried)
    while inside is not None:
        batch.step()
        index = lo + stride * np.asarray(done).astype(lo.dtype)
        carried = run(step.blocks[0], inside, batch, (index, *carried))
        done += 1
        inside = loop.keep(trips > done, carried)
    _define(step, loop.results, batch)


def _side_by_side(step: Step, lanes: Lanes, batch: Batch, run: Run, trips: int) -> None:
    """The trips as lanes of their own, as many at a time as `LANES_AND_TRIPS` allows.

    Inside a loop whose trips are lanes already, each of those becomes as many lanes as this loop has trips.
    """
    lo, _, stride = batch.all(step.op.operands[:3])
    outer, programs, threads = lanes.shape
    together = max(1, LANES_AND_TRIPS // (programs * threads * step.side_by_side)) if outer == 1 else max(1, trips)
    for first in range(0, trips, together):
        count = min(together, trips - first)
        batch.step(count * outer)
        index = lo + stride * np.arange(first, first + count).astype(lo.dtype)[:, None, None]
        if outer == 1:
            run(step.blocks[0], Lanes((count, programs, threads), lanes.mask), batch, (index,))
            continue
        narrow = {name: batch.values[name] for name in step.used if name in batch.values}
        batch.values.update((name, _widened(array, count)) for name, array in narrow.items())
        mask = None if lanes.mask is None else whole(_widened(lanes.mask, count))
        run(step.blocks[0], Lanes((outer * count, programs, threads), mask), batch, (np.tile(index, (outer, 1, 1)),))
        batch.values.update(narrow)


def _widened(value: Known, count: int) -> Known:
    """A value for each trip, for `count` times as many."""
    if value.shape[0] == 1:
        return value
    if isinstance(value, Separable):
        return replace(value, lane=np.repeat(value.lane, count, axis=0))
    return np.repeat(value, count, axis=0)


class _Loop:
    """The lanes still in a loop, and the carried values with which the others left."""

    def __init__(self, lanes: Lanes, batch: Batch):
        self.inside: Lanes = lanes
        self.batch = batch
        self.results: Sequence[np.ndarray] = ()
        self._somebody_left = False

    def keep(self, condition: np.ndarray, carried: Sequence[np.ndarray]) -> Lanes | None:
        """The lanes for which the loop goes on, None if there are none; the others leave with `carried`."""
        going = self.inside.where(self.batch.going(condition))
        if going is self.inside:
            return going
        if self._somebody_left:
            mask = np.asarray(True) if self.inside.mask is None else self.inside.mask
            self.results = [np.where(mask, new, old) for new, old in zip(carried, self.results, strict=True)]
        else:
            self.results = carried  # those who go on will bring newer values
        self._somebody_left = True
        if going is not None:
            self.inside = going
        return going


def _define(step: Step, handed: Sequence[np.ndarray], batch: Batch) -> None:
    for value, array in zip(step.op.results, handed, strict=True):
        batch.define(value, array)


def trip_count(lo: np.ndarray, hi: np.ndarray, stride: np.ndarray, lanes: Lanes, batch: Batch) -> np.ndarray:
    """How often `for` runs, as u64: len(range(lo, hi, stride)); 0 in programs that a failed assert has stopped.

    Differences are taken modulo 2^64, where they are right even if they overflow the operands' type.
    """
    if np.any(lanes.among(batch.going(stride == 0))):
        raise InternalError("machine", "the step of a `for` is 0, which an `assert` should have caught")
    upward = stride > 0
    empty = np.where(upward, lo >= hi, lo <= hi) | (stride == 0)
    first, end, distance = (array.astype(np.uint64) for array in (lo, hi, stride))
    one = np.uint64(1)
    with np.errstate(all="ignore"):
        length = np.where(upward, end - first, first - end)
        distance = np.where(upward, distance, np.uint64(0) - distance)
        return np.where(empty, np.uint64(0), (length - one) // np.maximum(distance, one) + one)


CONTROL: dict[str, Callable[[Step, Lanes, Batch, Run], None]] = {"if": if_, "while": while_, "for": for_}
