"""What one access of a warp costs the memory hierarchy.

Global memory moves in sectors of 32 bytes. A warp's load or store takes as many as its lanes touch: 4 where 32
neighbouring threads read neighbouring f32, up to 32 where each reads a line of its own.

Shared memory has 32 banks of 4 bytes, side by side. In one pass (a *wavefront*) a bank serves one word, to any
number of lanes: a broadcast. A warp whose lanes want n different words of one bank takes n wavefronts, that is
n - 1 conflicts. Lanes with 8-byte elements take two banks each, so the warp goes in two halves.

Source: CUDA C++ Programming Guide, "Device Memory Accesses" and "Shared Memory" (compute capability 5.x and up).
"""

from __future__ import annotations

import numpy as np

from tilelang.machine.lanes import WARP, Lanes, by_warp

SECTOR = 32
BANKS = 32
BANK_BYTES = 4
CHUNK = 16
"""Bytes that a thread moves at once, at most."""
NOBODY = np.iinfo(np.int64).max
"""Stands in a row for a lane that accesses nothing; sorts last."""


def sectors(position: np.ndarray, item: int, lanes: Lanes) -> int:
    """Sectors that an access moves in all, each warp counted for itself.

    `position` counts elements of `item` bytes from the tensor's lowest address, taken to begin a sector.
    """
    if position.shape[2] == 1:
        return lanes.warps  # every lane of a warp wants the same element
    rows, copies = _rows(position * item // SECTOR, lanes, WARP)
    return int(np.count_nonzero(_first_of_each(rows))) * copies


def wavefronts(index: np.ndarray, item: int, lanes: Lanes) -> tuple[int, int]:
    """(wavefronts, conflicts) of an access to a shared array of `item`-byte elements."""
    wide = item > BANK_BYTES
    if index.shape[2] == 1 and not wide:
        return lanes.warps, 0
    together = banks = WARP * BANK_BYTES // item if wide else BANKS
    word = index.astype(np.int64)
    if item < BANK_BYTES:
        word = word * item // BANK_BYTES
    if _near(word, lanes, together, banks):
        return lanes.shape[0] * lanes.shape[1] * lanes.shape[2] // together, 0
    rows, copies = _rows((word % banks) << 40 | word, lanes, together)
    first = _first_of_each(rows)
    bank = np.where(first, rows >> 40, 0)
    cells = (np.arange(len(rows))[:, None] * banks + bank).ravel()
    words = np.bincount(cells, weights=first.ravel(), minlength=len(rows) * banks).reshape(-1, banks)
    passes = words.max(axis=1)
    total, busy = int(passes.sum()), int(np.count_nonzero(passes))
    return total * copies, (total - busy) * copies


def _near(word: np.ndarray, lanes: Lanes, together: int, banks: int) -> bool:
    """The common case, quickly: full warps, and in each the words lie so close that no two share a bank."""
    if lanes.mask is not None or lanes.shape[2] % WARP:
        return False
    rows = by_warp(word, lanes.shape[2], NOBODY, together)
    return bool((rows.max(axis=1) - rows.min(axis=1) < banks).all())


def _rows(keys: np.ndarray, lanes: Lanes, width: int) -> tuple[np.ndarray, int]:
    """Sorted rows of `width` lanes, and how many such rows each stands for (where programs or trips are alike)."""
    trips, programs, threads = lanes.shape
    if lanes.mask is not None:
        keys = np.where(lanes.mask, keys, NOBODY)
    rows = np.sort(by_warp(keys, threads, NOBODY, width), axis=1)
    return rows, trips * programs // (keys.shape[0] * keys.shape[1])


def _first_of_each(rows: np.ndarray) -> np.ndarray:
    """Marks the first occurrence of each key in its row."""
    first = rows != NOBODY
    first[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    return first
