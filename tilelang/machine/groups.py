"""Groups of asynchronous work: each thread closes groups of its own, and waits for all but the newest.

    copy, copy, commit, copy, commit, wait {pending = 1}      the first two copies have arrived, the third perhaps not
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilelang.machine.lanes import Lanes


@dataclass
class Groups:
    """How many groups each thread of a batch has closed: `closed` (programs, threads)."""

    programs: int
    threads: int

    def __post_init__(self) -> None:
        self.closed = np.zeros((self.programs, self.threads), np.int64)

    def commit(self, lanes: Lanes) -> None:
        """These threads close a group."""
        self.closed += active(lanes)

    def ended(self, group: np.ndarray, leave: int, lanes: Lanes) -> np.ndarray:
        """bool (programs, threads): whose group of this number has ended, as these threads wait for all but the newest
        `leave`."""
        return active(lanes) & (group < self.closed - leave)


def active(lanes: Lanes) -> np.ndarray:
    """Which threads come, bool (programs, threads)."""
    mask = np.asarray(True) if lanes.mask is None else lanes.mask.any(axis=0)
    return np.broadcast_to(mask, lanes.shape[1:])
