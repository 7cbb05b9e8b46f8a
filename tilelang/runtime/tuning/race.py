"""A race of configurations: they take turns, so that a busy moment of the machine hits all of them alike.

After each round the clearly slow ones leave: those whose fastest run took more than `slack` times the leader's median.
A single fast run keeps a configuration in, so noise, which only ever makes runs slower, throws none out that is
good. The slack gets smaller with each round. The race ends when one is left, when the medians are settled, or when
the time is up.

Source of the idea: Maron and Moore, "Hoeffding Races" (NIPS 1993), with fixed margins in place of their bounds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tilelang.diagnostics import CompileError, InternalError

SLACK = (3.0, 1.6, 1.3, 1.2, 1.15)
"""By round; the last holds for all further ones."""

ROUNDS = 15
SETTLED = 0.02
"""Medians are settled when half of all runs lie within this part of them."""
FEWEST = 7
"""Runs that a median needs."""

TURN_SECONDS = 0.02
TURN_RUNS = (3, 25)
"""A turn is so long, but not fewer runs than this, nor more."""
LONG_TURN = 0.5
"""Seconds after which a turn ends in any case."""

CLOSE = 1.02
"""Times nearer than this are one: the configuration that stands first is taken, the default before all others."""


class RunFailed(Exception):
    """A run of configuration `number` ended with an error."""

    def __init__(self, number: int, error: Exception):
        self.number = number
        super().__init__(str(error).split("\n")[0])


@dataclass
class Runner:
    """One configuration in a race. `run` gives the seconds of one more run; `samples` holds all so far."""

    number: int
    run: Callable[[], float]
    samples: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def settled(self) -> bool:
        if len(self.samples) < FEWEST:
            return False
        low, _, high = statistics.quantiles(self.samples, n=4)
        return high - low <= 2 * SETTLED * self.median


def race(runners: Sequence[Runner], seconds: float, watch: Callable[[int, int], None],
         clock: Callable[[], float] = time.perf_counter) -> tuple[int, ...]:
    """Let them run; the numbers of those still in at the end.

    `seconds`: when to end at the latest, after a first round in any case. `watch(round, left)` is told of each round.
    Raises RunFailed.
    """
    end = clock() + seconds
    left = list(runners)
    for number in range(ROUNDS):
        for runner in left:
            _turn(runner, clock)
            if number and clock() > end:
                break
        staying = still_in({r.number: r.samples for r in left}, SLACK[min(number, len(SLACK) - 1)])
        left = [runner for runner in left if runner.number in staying]
        watch(number + 1, len(left))
        if clock() > end or all(r.settled for r in left) or (len(left) == 1 and len(left[0].samples) >= FEWEST):
            break
    return tuple(runner.number for runner in left)


def _turn(runner: Runner, clock: Callable[[], float]) -> None:
    start = clock()
    fewest, most = TURN_RUNS
    for count in range(1, most + 1):
        try:
            runner.samples.append(runner.run())
        except (CompileError, InternalError) as error:
            raise RunFailed(runner.number, error) from error
        spent = clock() - start
        if (spent > TURN_SECONDS and count >= fewest) or spent > LONG_TURN:
            break


def still_in(samples: Mapping[int, Sequence[float]], slack: float) -> list[int]:
    """Those that are not clearly slower than the leader, the one with the lowest median.

    One fast run is enough: those stay whose fastest run took at most `slack` times the leader's median. `samples` are
    seconds.
    """
    lead = min(statistics.median(times) for times in samples.values())
    return [number for number, times in samples.items() if min(times) <= slack * lead]


def winner(seconds: Mapping[int, float]) -> int:
    """The fastest; of those that are as fast as can be told, the one with the lowest number."""
    fastest = min(seconds.values())
    return min(number for number, time in seconds.items() if time <= CLOSE * fastest)
