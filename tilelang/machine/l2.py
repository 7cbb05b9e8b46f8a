"""Which of the sectors that a launch touches come from HBM, and which from the L2 cache.

Blocks run in *waves*: as many at a time as all SMs hold. Within a wave a sector is fetched from HBM once, whoever
reads it. Between waves the L2 cache keeps what was used last (LRU), as many sectors as it has room for:

    wave 0 touches  a b c d     misses a b c d    L2 (4 sectors): a b c d
    wave 1 touches  c d e       misses e          out goes a or b, which were used longest ago

A sector that was written goes back to HBM when it leaves the cache, or at the end. What does not fit no cache, once
each sector read and once each sector written, is the *compulsory* traffic: no order of the programs needs less.

Limits: a wave is instantaneous, so what one wave touches is never evicted within it; the cache is fully
associative and one piece (an A100's is two halves); L1 caches nothing, so traffic between L2 and the SMs is an upper
bound; a sector that is written in part is not read first; every tensor begins at a sector.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tilelang.machine.memory import Cells
from tilelang.machine.races import Access
from tilelang.machine.traffic import SECTOR


@dataclass(frozen=True)
class Traffic:
    """Bytes between HBM and the L2 cache. `compulsory_*`: with an L2 that never forgets."""

    read: float
    written: float
    compulsory_read: float
    compulsory_written: float

    @property
    def total(self) -> float:
        return self.read + self.written

    @property
    def compulsory(self) -> float:
        return self.compulsory_read + self.compulsory_written


@dataclass
class _Lines:
    """The sectors of one tensor. `touched`, `fetched`, `stored`: in this wave. `last`: the last wave to use one."""

    size: int
    touched: np.ndarray = field(init=False)
    fetched: np.ndarray = field(init=False)
    stored: np.ndarray = field(init=False)
    resident: np.ndarray = field(init=False)
    dirty: np.ndarray = field(init=False)
    last: np.ndarray = field(init=False)
    ever_read: np.ndarray = field(init=False)
    ever_written: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        for name in ("touched", "fetched", "stored", "resident", "dirty", "ever_read", "ever_written"):
            setattr(self, name, np.zeros(self.size, np.bool_))
        self.last = np.full(self.size, -1, np.int32)


class L2Cache:
    """Watches the global accesses of a run. Call `end_wave` after each wave, `traffic` at the end."""

    def __init__(self, capacity: int):
        """`capacity` in bytes."""
        self.capacity = capacity // SECTOR
        self.wave = 0
        self.missed = 0
        self.written_back = 0
        self._tensors: dict[str, _Lines] = {}

    def watch(self, cells: Cells, access: Access) -> None:
        """Note the sectors of an access; shared memory is none of the L2's business."""
        if cells.private:
            return
        item = cells.data.itemsize
        lines = self._tensors.get(cells.array.name)
        if lines is None:
            lines = self._tensors[cells.array.name] = _Lines(-(-cells.span * item // SECTOR))
        sector = access.position * item // SECTOR
        if sector.size > 1 and access.lanes.mask is not None:
            sector = access.lanes.spread(sector)
        if access.atomic or not access.writes:
            fresh = sector[~lines.touched[sector]]  # a sector that this wave wrote before needs no fetching
            lines.fetched[fresh] = True
        if access.writes:
            lines.stored[sector] = True
        lines.touched[sector] = True

    def end_wave(self) -> None:
        """Move what this wave touched into the cache, and what was used longest ago out."""
        for lines in self._tensors.values():
            self.missed += int(np.count_nonzero(lines.fetched & ~lines.resident))
            lines.ever_read |= lines.fetched & ~lines.ever_written
            lines.ever_written |= lines.stored
            lines.resident |= lines.touched
            lines.dirty |= lines.stored
            lines.last[lines.touched] = self.wave
            for marks in (lines.touched, lines.fetched, lines.stored):
                marks[:] = False
        self._evict()
        self.wave += 1

    def _evict(self) -> None:
        resident = sum(int(np.count_nonzero(lines.resident)) for lines in self._tensors.values())
        excess = resident - self.capacity
        if excess <= 0:
            return
        by_age = sum(np.bincount(lines.last[lines.resident], minlength=self.wave + 1)
                     for lines in self._tensors.values())
        gone = np.cumsum(by_age)
        oldest_kept = int(np.searchsorted(gone, excess))
        for lines in self._tensors.values():
            self._drop(lines, np.flatnonzero(lines.resident & (lines.last < oldest_kept)))
        rest = excess - int(gone[oldest_kept - 1] if oldest_kept else 0)
        for lines in self._tensors.values():  # of the wave that leaves in part, whichever sectors come first
            same_age = np.flatnonzero(lines.resident & (lines.last == oldest_kept))[:rest]
            self._drop(lines, same_age)
            rest -= len(same_age)

    def _drop(self, lines: _Lines, sectors: np.ndarray) -> None:
        self.written_back += int(np.count_nonzero(lines.dirty[sectors]))
        lines.resident[sectors] = lines.dirty[sectors] = False

    def traffic(self) -> Traffic:
        """What went over HBM so far, with everything that is still dirty written back."""
        dirty = _total(lines.dirty for lines in self._tensors.values())
        return Traffic(self.missed * SECTOR, (self.written_back + dirty) * SECTOR, *self._compulsory(1.0))

    def scaled(self, factor: float) -> Traffic:
        """The traffic of a launch of which every `factor`-th program ran, not neighbours of one another.

        Each tensor's sectors are multiplied, up to all that it has: what programs share is then counted once if
        together they read the whole tensor. That is the compulsory traffic; an L2 that is too small is not seen.
        """
        compulsory = self._compulsory(factor)
        return Traffic(*compulsory, *compulsory)

    def _compulsory(self, factor: float) -> tuple[float, float]:
        tensors = self._tensors.values()
        read = sum(min(factor * int(np.count_nonzero(lines.ever_read)), lines.size) for lines in tensors)
        written = sum(min(factor * int(np.count_nonzero(lines.ever_written)), lines.size) for lines in tensors)
        return read * SECTOR, written * SECTOR


def _total(marks: Iterable[np.ndarray]) -> int:
    return sum(int(np.count_nonzero(array)) for array in marks)
