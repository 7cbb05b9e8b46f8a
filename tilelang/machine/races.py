"""Races: two threads of a block touch one element between two barriers, and the order of the two decides.

Nothing is compared while the threads run. Each array keeps a log of its accesses; when a program passes a barrier,
its part of the log is looked through and forgotten. For one element, all accesses are by one thread, or all
read, or all are atomic, or there is a race: the definition itself, on sorted arrays.

Two threads that store the same value race too: the language of thread IR gives no meaning to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tilelang.machine.lanes import Lanes
from tilelang.machine.separable import Known, Separable, whole

COMPACT_FROM = 1 << 22
"""Logged accesses from which a log is compacted: repeated accesses of one op, thread and element are kept once."""

DENSE = 16
"""Entries of a table for each access, at most, with which looking up takes less time than sorting."""

PAIRS_FROM = 256
"""Writes, and other accesses, to one element that are looked through for pairs of ops to report."""


@dataclass(frozen=True)
class Access:
    """One execution of a memory op: `place` of the element in its array, for the lanes that made it.

    `writes` and `atomic` say what kind of op `number` is; an atomic writes too.
    """

    number: int
    writes: bool
    atomic: bool
    place: Known
    lanes: Lanes

    @property
    def position(self) -> np.ndarray:
        """`place` as an array."""
        return whole(self.place)

    @property
    def size(self) -> int:
        return math.prod(self.place.shape)

    @property
    def lanes_alike(self) -> bool:
        """Are the same lanes of all programs active?"""
        return self.lanes.mask is None or self.lanes.mask.shape[1] == 1

    @property
    def offsets(self) -> np.ndarray | None:
        """How far each program's elements are from the first program's, if all do the same otherwise."""
        if not self.lanes_alike:
            return None
        if isinstance(self.place, Separable):
            return self.place.program - self.place.program[:, :1]
        return np.zeros((1, 1, 1), np.int64) if self.place.shape[1] == 1 else None

    def of_first_program(self) -> Access:
        trips, _, threads = self.lanes.shape
        place = self.place
        if isinstance(place, Separable):
            place = place.lane + place.program[:, :1]
        return replace(self, place=place, lanes=Lanes((trips, 1, threads), self.lanes.mask))


@dataclass(frozen=True)
class Race:
    """Two accesses that conflict, the earlier op first. `program` is a position in the batch."""

    numbers: tuple[int, int]
    threads: tuple[int, int]
    program: int
    position: int


@dataclass
class Touched:
    """Accesses spread out, one element of each array for each: `element` = program * span + position."""

    element: np.ndarray
    thread: np.ndarray
    number: np.ndarray
    writes: np.ndarray
    atomic: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> Touched:
        return Touched(self.element[chosen], self.thread[chosen], self.number[chosen], self.writes[chosen],
                       self.atomic[chosen])


@dataclass
class AccessLog:
    """The accesses to one array since each program's last barrier. `span`: positions in it are below this."""

    span: int
    threads: int
    log: list[Access] = field(default_factory=list)
    size: int = 0

    def record(self, access: Access) -> None:
        self.log.append(access)
        self.size += access.size
        if self.size > COMPACT_FROM:
            self.compact()

    def close(self, programs: np.ndarray | None) -> list[Race]:
        """These programs (bool (P,), None for all) pass a barrier: their races, and forget their accesses."""
        passing, self.log = self.log, []
        if programs is not None and not programs.all():
            self.log = list(_part(passing, ~programs))
            passing = list(_part(passing, programs))
        self.size = sum(access.size for access in self.log)
        if not any(access.writes for access in passing):
            return []
        if _alike(passing):
            passing = [access.of_first_program() for access in passing]
        return find_races(self.spread(passing), self.span, self.threads)

    def spread(self, log: list[Access]) -> Touched:
        elements, threads, counts = [], [], []
        for access in log:
            element = access.position + np.arange(access.lanes.shape[1])[:, None] * self.span
            elements.append(access.lanes.spread(element))
            threads.append(access.lanes.thread_numbers())
            counts.append(len(threads[-1]))

        def per_access(values: list) -> np.ndarray:
            return np.repeat(np.asarray(values), counts)

        return Touched(np.concatenate(elements), np.concatenate(threads), per_access([a.number for a in log]),
                       per_access([a.writes for a in log]), per_access([a.atomic for a in log]))

    def compact(self) -> None:
        """Keep one of the accesses that one op made again and again, to one element by one thread."""
        kept = []
        for number in dict.fromkeys(access.number for access in self.log):
            same = [access for access in self.log if access.number == number]
            touched = self.spread(same)
            codes = np.unique(touched.element * self.threads + touched.thread)
            programs = same[0].lanes.shape[1]
            kept.append(replace(same[0], **_as_lanes(codes, self.span, self.threads, programs)))
        self.log = kept
        self.size = sum(access.size for access in kept)


def _alike(log: list[Access]) -> bool:
    """Do all programs touch the same, each moved by one distance?"""
    first = log[0].offsets
    return first is not None and all(
        offsets is not None and not (offsets != first).any() for offsets in (access.offsets for access in log[1:]))


def _part(log: list[Access], programs: np.ndarray) -> Iterator[Access]:
    """The accesses that these programs made."""
    for access in log:
        lanes = access.lanes.where(programs[None, :, None])
        if lanes is not None:
            yield replace(access, lanes=lanes)


def _as_lanes(codes: np.ndarray, span: int, threads: int, programs: int) -> dict:
    """Distinct (element, thread) codes as the fields of one access; the n-th of a lane becomes its trip n."""
    element, thread = np.divmod(codes, threads)
    program, position = np.divmod(element, span)
    lane = program * threads + thread
    order = np.argsort(lane, kind="stable")
    lane, position = lane[order], position[order]
    starts = np.searchsorted(lane, lane, side="left")
    trip = np.arange(len(lane)) - starts
    shape = (int(trip.max(initial=0)) + 1, programs, threads)
    positions, mask = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    at = (trip, lane // threads, lane % threads)
    positions[at], mask[at] = position, True
    return {"place": positions, "lanes": Lanes(shape, mask)}


def find_races(touched: Touched, span: int, threads: int) -> list[Race]:
    """All pairs of ops that race, each at one element or a few."""
    if not touched.writes.all():
        touched = touched[_among(touched.element[touched.writes], touched.element)]
    shared = _of_several_threads(touched, threads)
    if not len(shared):
        return []
    touched = touched[_among(shared, touched.element)]
    touched = touched[_among(touched.element[~touched.atomic], touched.element)]
    races: dict[tuple[int, int], Race] = {}
    _, places = np.unique(touched.number, return_index=True)
    for suspect in np.unique(touched.element[places]):
        for race in _pairs(touched[touched.element == suspect], span):
            races.setdefault(race.numbers, race)
    return list(races.values())


def _of_several_threads(touched: Touched, threads: int) -> np.ndarray:
    """Elements that more than one thread touched, perhaps repeated."""
    at, size = _table(touched.element)
    if size <= DENSE * len(at):
        last = np.zeros(size, np.int64)
        last[at] = touched.thread
        return touched.element[last[at] != touched.thread]
    codes = np.sort(touched.element * threads + touched.thread)
    element = codes // threads
    return element[1:][(codes[1:] != codes[:-1]) & (element[1:] == element[:-1])]


def _among(values: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Which elements of `array` are among the `values`, all of which it has."""
    at, size = _table(array)
    if size <= DENSE * len(array):
        marked = np.zeros(size, np.bool_)
        marked[values - (array[0] - at[0])] = True
        return marked[at]
    return np.isin(array, values)


def _table(array: np.ndarray) -> tuple[np.ndarray, int]:
    """Where each element is in a table from the least to the largest, and the table's size."""
    if not len(array):
        return array, 0
    low = array.min()
    return array - low, int(array.max() - low) + 1


def _pairs(touched: Touched, span: int) -> Iterator[Race]:
    """The conflicting pairs among accesses to one element."""
    _, places = np.unique(np.stack([touched.number, touched.thread]), axis=1, return_index=True)
    distinct = touched[np.sort(places)]
    some = np.concatenate([np.flatnonzero(kind)[:PAIRS_FROM] for kind in (distinct.writes, ~distinct.writes)])
    chosen = distinct[np.sort(some)]
    conflict = chosen.thread[:, None] != chosen.thread
    conflict &= chosen.writes[:, None] | chosen.writes
    conflict &= ~(chosen.atomic[:, None] & chosen.atomic)
    program, position = divmod(int(chosen.element[0]), span)
    for first, second in np.argwhere(np.triu(conflict)):
        numbers = int(chosen.number[first]), int(chosen.number[second])
        yield Race(numbers, (int(chosen.thread[first]), int(chosen.thread[second])), program, position)
