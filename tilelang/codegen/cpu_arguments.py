"""How a launch hands its arguments to a kernel: one array of 8-byte slots, laid out here for both sides.

    per tensor   address of element 0, then the stride of each axis in elements
    per scalar   its bits, in the low bytes
    per dim      i64
    then         the grid's three extents (1 where the grid has fewer axes), the log's address, its room for prints
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.ir.core import Kernel, TensorType

GRID_AXES = 3


@dataclass(frozen=True)
class Slots:
    """First slot of each parameter and dim, by name; first slot of the grid; the log's address; number of slots."""

    params: dict[str, int]
    dims: dict[str, int]
    grid: int
    log: int
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
    return Slots(params, dims, grid, grid + GRID_AXES, grid + GRID_AXES + 2)
