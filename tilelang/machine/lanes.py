"""Lanes: who runs an op. All threads of all programs of a batch run it together, some masked off.

Every value is an array of three axes, (trips, programs, threads), with extent 1 along an axis on which it does
not depend: a constant is (1, 1, 1), the program's number (1, P, 1), the thread's (1, 1, T). NumPy's broadcasting
does the rest. `trips` is 1, except inside unrolled loops whose trips run side by side
(`tilelang.machine.side_by_side`).

A branch that only some lanes take narrows the mask, as on a GPU: the others go through the motions, what they
compute is dropped, and they touch no memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

WARP = 32
"""Threads that the hardware runs in step, and whose memory accesses it combines."""


@dataclass(frozen=True)
class Lanes:
    """`shape` is (trips, programs, threads); `mask` broadcasts to it, None if all lanes are active."""

    shape: tuple[int, int, int]
    mask: np.ndarray | None = None

    @cached_property
    def count(self) -> int:
        """Active lanes."""
        trips, programs, threads = self.shape
        total = trips * programs * threads
        return total if self.mask is None else int(np.count_nonzero(self.mask)) * (total // self.mask.size)

    @cached_property
    def warps(self) -> int:
        """Warps with an active lane: how often the hardware issues the instruction."""
        trips, programs, threads = self.shape
        if self.mask is None:
            return trips * programs * -(-threads // WARP)
        active = by_warp(self.mask, threads, False).any(axis=1)
        return int(np.count_nonzero(active)) * (trips * programs // (self.mask.shape[0] * self.mask.shape[1]))

    def programs(self) -> np.ndarray:
        """bool (P,): the programs with an active lane."""
        if self.mask is None:
            return np.ones(self.shape[1], np.bool_)
        return np.broadcast_to(self.mask.any(axis=(0, 2)), (self.shape[1],))

    def where(self, condition: np.ndarray) -> Lanes | None:
        """The active lanes for which `condition` holds; None if there are none."""
        chosen = condition if self.mask is None else condition & self.mask
        if not chosen.any():
            return None
        if self.mask is None:
            return self if chosen.all() else Lanes(self.shape, chosen)
        return self if np.count_nonzero(chosen) * self.mask.size == np.count_nonzero(self.mask) * chosen.size \
            else Lanes(self.shape, chosen)

    def among(self, condition: np.ndarray) -> np.ndarray:
        """The condition, false for lanes that are not active."""
        return condition if self.mask is None else condition & self.mask

    @property
    def everywhere(self) -> np.ndarray:
        """The mask at full size, bool (trips, programs, threads)."""
        return np.broadcast_to(np.asarray(True) if self.mask is None else self.mask, self.shape)

    def spread(self, array: np.ndarray) -> np.ndarray:
        """What the active lanes hold, one element for each, in order of trips, programs, threads."""
        full = np.broadcast_to(array, self.shape)
        return full.reshape(-1) if self.mask is None else full[np.broadcast_to(self.mask, self.shape)]

    def program_numbers(self) -> np.ndarray:
        """The position in the batch of each active lane's program."""
        return self.spread(np.arange(self.shape[1])[:, None])

    def thread_numbers(self) -> np.ndarray:
        return self.spread(np.arange(self.shape[2]))

    def first(self, condition: np.ndarray) -> tuple[int, int, int]:
        """(trip, program, thread) of the first lane for which `condition` holds."""
        place = np.unravel_index(int(np.broadcast_to(condition, self.shape).argmax()), self.shape)
        return int(place[0]), int(place[1]), int(place[2])


def by_warp(array: np.ndarray, threads: int, fill: int | bool, warp: int = WARP) -> np.ndarray:
    """A value as one row for each warp, of `warp` elements; `fill` stands for threads that do not exist."""
    trips, programs, width = array.shape
    if width < threads:
        array = np.broadcast_to(array, (trips, programs, threads))
    padding = -threads % warp
    if padding:
        array = np.concatenate([array, np.full((trips, programs, padding), fill, array.dtype)], axis=2)
    return array.reshape(-1, warp)
