"""How a launch hands its arguments to a kernel: one array of 8-byte slots, laid out here for both sides.

    per tensor   address of element 0, then the stride of each axis in elements
    per scalar   its bits, in the low bytes
    per dim      i64
    then         the grid's three extents (1 where the grid has fewer axes), the log's address, its room for prints,
                 and a word that says why programs should stop, or have stopped; 0 as long as all is well
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.ir.core import Kernel, TensorType

GRID_AXES = 3

NO_MEMORY = 1
"""Trouble: the system had no memory for scratch."""
INTERRUPTED = 2
"""Trouble: the user has had enough."""


@dataclass(frozen=True)
class Slots:
    """First slot of each parameter and dim, by name; first slot of the grid; the log's address; the word for trouble;
    number of slots."""

    params: dict[str, int]
    dims: dict[str, int]
    grid: int
    log: int
    trouble: int
    count: int


def argument_slots(kernel: Kernel) -> Slots:
    """The layout of one kernel's arguments."""
    params: dict[str, int] = {}
    position = 0
    for param in kernel.params:
        params[param.name] = position
        position += 1 + (param.type.rank if isinstance(param.type, TensorType) else 0)
    dims = {dim.name: position + number for number, dim in enumerate(kernel.dims)}
    grid = position + len(dims)
    log = grid + GRID_AXES
    return Slots(params, dims, grid, log, log + 2, log + 3)
