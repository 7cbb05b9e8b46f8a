"""Accesses at regular distances, as a view of the memory: what NumPy copies several times faster than it gathers.

    position = program * 1024 + trip * 128 + thread      as_strided(data, shape (R, P, T), strides (128, 1024, 1))

An axis may have distances on several levels, as a grid has: 32 programs side by side, then 32 in the next row.
"""

from __future__ import annotations

import math

import numpy as np

LEVELS = 4

Level = tuple[int, int]
"""How many, and how far apart."""


def strided(data: np.ndarray, program: np.ndarray, lane: np.ndarray) -> np.ndarray | None:
    """The elements at `program` (1, P, 1) + `lane` (R, 1, T), all of which are inside, with each level of R, P and T as
    an axis; None if they are not at regular distances."""
    first, trips, threads = int(lane[0, 0, 0]), lane[:, 0, 0], lane[0, 0]
    if len(trips) > 1 and len(threads) > 1 and (lane[:, 0] - trips[:, None] != threads - first).any():
        return None
    axes = [_levels(axis) for axis in (trips, program[0, :, 0], threads)]
    levels = [level for axis in axes if axis is not None for level in axis]
    if None in axes:
        return None
    shape, distances = tuple(extent for extent, _ in levels), tuple(distance * data.itemsize for _, distance in levels)
    return np.lib.stride_tricks.as_strided(data[first + int(program[0, 0, 0]):], shape, distances)


def _levels(places: np.ndarray) -> list[Level] | None:
    """The distances of places on a line, the outermost first."""
    found: list[Level] = []
    while len(places) > 1:
        distance = int(places[1] - places[0])
        run = int((np.diff(places, append=places[-1] + distance + 1) != distance).argmax()) + 1
        if len(places) % run or len(found) == LEVELS:
            return None
        rows = places.reshape(-1, run)
        if (rows - rows[:, :1] != np.arange(run) * distance).any():
            return None
        found.insert(0, (run, distance))
        places = rows[:, 0]
    return found


def is_one_to_one(view: np.ndarray) -> bool:
    """Are all elements of the view in places of their own? (For some views that cannot be told: then no.)"""
    levels = sorted((abs(stride), extent) for stride, extent in zip(view.strides, view.shape, strict=True))
    reach = view.itemsize
    for stride, extent in levels:
        if stride < reach:
            return False
        reach = stride * extent
    return math.prod(view.shape) > 0
