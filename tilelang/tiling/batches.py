"""A batch of products on tensor cores: results one below the other; each warp has a part of one, or some whole.

    dot f32[4, 32, 64], 8 warps                  dot f32[8, 16, 16], 4 warps

    matrix 0, rows  0 to 15: warp 0              matrices 0 and 1: warp 0, one after the other
              rows 16 to 31: warp 1              matrices 2 and 3: warp 1
    matrix 1, rows  0 to 15: warp 2 ...          ...

So all of a part's products read rows of A and columns of B of their own matrix, and the accumulator is that of one tall
product. `tilelang.tiling.mma.arrange_warps` gives parts of no other kind.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.tiling.accumulators import Accumulators
from tilelang.tiling.dot_plans import MmaPlan
from tilelang.tiling.mma import PIECE, WARP
from tilelang.tiling.numbers import Number

Visit = Callable[[Number | None, Number, Number | int], None]


def each_product(accumulators: Accumulators, plan: MmaPlan, visit: Visit) -> None:
    """Write visit(number of the matrix, first row of the warp's part of it, first register of its accumulator) for each
    product that a warp has a part of. The number is None where there is no batch."""
    warp = accumulators.thread // WARP
    rows = warp // plan.layout.warps[1] * plan.layout.part[0]
    if plan.batches == 1:
        visit(None, rows, 0)
        return
    registers = pieces_of(plan)[0] * pieces_of(plan)[1] * 4
    accumulators.each(max(plan.layout.part[0] // plan.height, 1), "matrix", lambda number: visit(
        rows // plan.height + number, rows % plan.height, number * registers))


def pieces_of(plan: MmaPlan) -> tuple[int, int]:
    """How many instructions' accumulators a warp has of one product, down and across."""
    return min(plan.layout.part[0], plan.height) // PIECE[0], plan.layout.pieces[1]
