"""The race: who leaves, when it ends, who wins. Time is made up, so nothing here depends on the machine."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from tilelang.runtime.tuning.race import CLOSE, FEWEST, ROUNDS, TURN_RUNS, Runner, race, still_in, winner


class World:
    """Time that passes only while somebody runs."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def runner(self, number: int, seconds: Callable[[int], float]) -> Runner:
        count = iter(range(10**9))

        def run() -> float:
            spent = seconds(next(count))
            self.now += spent
            return spent

        return Runner(number, run)


def held(seconds: Sequence[Callable[[int], float]], budget: float = 1e9) -> tuple[list[Runner], tuple[int, ...], list]:
    world = World()
    runners = [world.runner(number, times) for number, times in enumerate(seconds)]
    rounds: list[tuple[int, int]] = []
    left = race(runners, budget, lambda number, staying: rounds.append((number, staying)), world)
    return runners, left, rounds


def test_the_slow_ones_leave_early() -> None:
    runners, left, rounds = held([lambda n: 1e-3, lambda n: 1e-2, lambda n: 1.0])
    assert left == (0,)
    assert rounds[0] == (1, 1)
    assert len(runners[2].samples) == 1, "one run of a second is a long turn already"
    assert len(runners[1].samples) == TURN_RUNS[0]


def test_those_who_are_close_run_to_the_end() -> None:
    runners, left, rounds = held([lambda n: 1.00e-3, lambda n: 1.05e-3])
    assert left == (0, 1)
    assert all(len(r.samples) >= FEWEST for r in runners)
    assert len(rounds) == 1, "nothing varies: one round settles it"


def test_noise_is_waited_for() -> None:
    noise = random.Random(1)
    _, left, rounds = held([lambda n: 1e-3 * (1 + noise.random()), lambda n: 1.1e-3 * (1 + noise.random())])
    assert left == (0, 1) and len(rounds) == ROUNDS


def test_one_lucky_run_keeps_a_runner_in() -> None:
    assert still_in({0: [1.0, 1.0, 1.0], 1: [9.0, 1.1, 9.0], 2: [1.3, 1.3, 1.3]}, 1.2) == [0, 1]


def test_a_busy_moment_throws_nobody_out() -> None:
    """The best runner is disturbed in all of its first turn but one run."""
    _, left, _ = held([lambda n: 2e-3, lambda n: 50e-3 if n in (0, 1) else 1e-3])
    assert 1 in left


def test_the_time_is_kept() -> None:
    runners, _, rounds = held([lambda n: 1.0 + n % 2, lambda n: 1.1 + n % 2], budget=3.0)
    assert len(rounds) <= 3 and all(r.samples for r in runners)
    runners, _, rounds = held([lambda n: 1.0, lambda n: 1.1], budget=0.0)
    assert len(rounds) == 1 and all(r.samples for r in runners)


def test_everybody_runs_before_anybody_runs_twice() -> None:
    order: list[int] = []
    world = World()

    def runner(number: int) -> Runner:
        def run() -> float:
            order.append(number)
            world.now += 0.3
            return 0.3 + (len(order) % 5) / 10

        return Runner(number, run)

    race([runner(number) for number in range(3)], 20.0, lambda *_: None, world)
    turns = [number for place, number in enumerate(order) if place == 0 or order[place - 1] != number]
    assert turns[:6] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(("seconds", "best"), [
    ({0: 1.0, 1: 1.0}, 0), ({0: 1.0 * CLOSE, 1: 1.0}, 0), ({0: 1.03, 1: 1.0}, 1), ({3: 2.0, 5: 1.9, 7: 1.0}, 7),
    ({2: 0.0, 4: 0.0}, 2),
])  # fmt: skip
def test_the_winner(seconds: dict[int, float], best: int) -> None:
    assert winner(seconds) == best
