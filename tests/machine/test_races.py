"""The access log against the definition of a race, pair by pair, on random accesses."""

from __future__ import annotations

import numpy as np
import pytest

from tilelang.machine import races as race_module
from tilelang.machine.lanes import Lanes
from tilelang.machine.races import Access, AccessLog

KINDS = {0: (False, False), 1: (True, False), 2: (True, True), 3: (False, False), 4: (True, True)}
"""Op number -> (writes, atomic)."""

Touch = tuple[int, int, int]
"""thread, element, op number"""


def conflicts(accesses: list[Touch]) -> set[tuple[int, int, int]]:
    """(earlier op, later op, element) of every pair that races, by the definition."""
    found = set()
    for place, (thread, element, number) in enumerate(accesses):
        for later_thread, later_element, later in accesses[place + 1:]:
            (writes, atomic), (later_writes, later_atomic) = KINDS[number], KINDS[later]
            if element == later_element and thread != later_thread and (writes or later_writes) \
                    and not (atomic and later_atomic):
                found.add((number, later, element))
    return found


def some_axes(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[int, ...]:
    return tuple(n if rng.random() < 0.5 else 1 for n in shape)


@pytest.mark.parametrize("seed", range(150))
def test_random_accesses(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 3 == 0:
        monkeypatch.setattr(race_module, "COMPACT_FROM", 20)
    rng = np.random.default_rng(seed)
    programs, threads, span = int(rng.integers(1, 4)), int(rng.integers(1, 5)), int(rng.choice([3, 60]))
    log = AccessLog(span, threads)
    open_accesses: list[list[Touch]] = [[] for _ in range(programs)]
    for _ in range(int(rng.integers(1, 25))):
        if rng.random() < 0.75:
            shape = (int(rng.integers(1, 3)), programs, threads)
            position, number = rng.integers(0, span, some_axes(rng, shape)), int(rng.integers(0, 5))
            mask = rng.random(some_axes(rng, shape)) < 0.7 if rng.random() < 0.5 else None
            if mask is not None and not mask.any():
                continue
            lanes = Lanes(shape, mask)
            log.record(Access(number, *KINDS[number], position, lanes))
            touched = zip(lanes.program_numbers(), lanes.thread_numbers(), lanes.spread(position), strict=True)
            for program, thread, element in touched:
                open_accesses[program].append((int(thread), int(element), number))
        else:
            passing = rng.random(programs) < 0.6
            check(log, passing, open_accesses)
    check(log, None, open_accesses)


def check(log: AccessLog, passing: np.ndarray | None, open_accesses: list[list[Touch]]) -> None:
    """The log finds a race exactly if there is one, and each that it reports is one."""
    wanted = {}
    for program in range(len(open_accesses)):
        if passing is None or passing[program]:
            wanted[program] = {(frozenset((a, b)), element) for a, b, element in conflicts(open_accesses[program])}
            open_accesses[program].clear()
    found = log.close(passing)
    assert bool(found) == any(wanted.values())
    for race in found:
        assert (frozenset(race.numbers), race.position) in wanted[race.program]
        assert race.threads[0] != race.threads[1]


def test_the_earlier_op_comes_first() -> None:
    log, lanes = AccessLog(8, 2), Lanes((1, 1, 2))
    log.record(Access(3, False, False, np.array([[[0, 1]]]), lanes))
    log.record(Access(1, True, False, np.array([[[1, 0]]]), lanes))
    (race,) = log.close(None)
    assert race.numbers == (3, 1) and sorted(race.threads) == [0, 1]


def test_a_log_of_reads_is_never_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    log, lanes = AccessLog(8, 2), Lanes((1, 1, 2))
    log.record(Access(0, False, False, np.array([[[0]]]), lanes))
    monkeypatch.setattr(race_module, "find_races", None)
    assert log.close(None) == [] and log.log == []


def test_a_thousand_writers_of_one_element_are_reported_in_little_time() -> None:
    log, lanes = AccessLog(1, 1024), Lanes((1, 1, 1024))
    for number in (0, 1):
        log.record(Access(number, number == 1, False, np.zeros((1, 1, 1), np.int64), lanes))
    assert {race.numbers for race in log.close(None)} == {(0, 1), (1, 1)}
