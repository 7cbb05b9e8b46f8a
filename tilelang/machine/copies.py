"""Asynchronous copies under way: what a wait will write, and where.

Each thread's copies form groups; a wait lets all but the newest groups arrive. The values are those of the moment the
copy was issued: what it reads, no kernel may change meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tilelang.machine.groups import Groups
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import Cells
from tilelang.machine.plan import Step


@dataclass(frozen=True)
class Copy:
    """One execution of a copy. `position` and `values` are (elements, programs, threads), `mask` too: those that have
    not arrived; `group` (programs, threads) is the number of each thread's group."""

    step: Step
    cells: Cells
    position: np.ndarray
    values: np.ndarray
    mask: np.ndarray
    group: np.ndarray


@dataclass
class Copies(Groups):
    """The copies of a batch."""

    pending: list[Copy] = field(default_factory=list)

    def issue(self, step: Step, cells: Cells, position: np.ndarray, values: np.ndarray, mask: np.ndarray) -> None:
        self.pending.append(Copy(step, cells, position, values, mask, self.closed.copy()))
        if cells.in_flight is None:
            cells.in_flight = np.zeros(len(cells.data), np.bool_)
        cells.in_flight[cells.cell(position, self.programs)[mask]] = True

    def arrive(self, leave: int, lanes: Lanes) -> Iterator[tuple[Copy, Lanes]]:
        """Write what these lanes wait for; each copy with the lanes of it that arrived."""
        left = []
        for copy in self.pending:
            landing = copy.mask & self.ended(copy.group, leave, lanes)
            if landing.any():
                landed = Lanes(copy.mask.shape, landing)
                copy.cells.store(copy.position, copy.values, landed)
                flags = copy.cells.in_flight
                if flags is not None:
                    flags[copy.cells.cell(copy.position, self.programs)[landing]] = False
                yield copy, landed
            copy = replace(copy, mask=copy.mask & ~landing)
            if copy.mask.any():
                left.append(copy)
        self.pending = left
