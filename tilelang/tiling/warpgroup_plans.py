"""Which dots are done by warp groups, and why the others are not.

    for ... %zero (%k, %acc: f32[128, 128]) {         %acc: 2 x 64 rows of each warp, 16 at a time, 128 registers
      %next = dot %a, %b, %acc                  ->    %a, %b: in shared memory, in panels that a descriptor describes
      yield %next
    }

An analysis: it reads the tile kernel and changes nothing. Of the dots that tensor cores do anyway, it chooses those
whose accumulator a loop carries, and those of a chain such as attention, whose results or operands A are other dots'
in registers. Rows are 64, or a multiple, for each group of four warps; in a chain 64, since then each warp has whole
rows as others want them. Only a target with `wgmma` is asked for that: `sm_90a`, not `sm_90` (see
`tilelang.tiling.targets`).

It refuses batches, and tiles that others want in the order that `ldmatrix` reads. `tilec compile --emit layouts` prints
the reasons.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from tilelang.ir.core import Op, Value
from tilelang.ir.thread_ops import WGMMA_KINDS
from tilelang.tiling.mma import WARP, AccumulatorLayout
from tilelang.tiling.uses import Uses
from tilelang.tiling.warpgroup_layout import GROUP, MOST_COLUMNS, ROWS


@dataclass(frozen=True)
class Candidate:
    """A dot on tensor cores: `kind` of its `mma`, and the `stored` tiles its operands are, or are the transposes of.
    `fed`: is its operand A in registers?"""

    dot: Op
    kind: str | None
    stored: tuple[Value, ...]
    fed: bool = False


def group_layout(dot: Op, threads: int) -> AccumulatorLayout:
    """The accumulator's: 64 rows after another go to each group in turn, 16 of them to each of its warps."""
    return AccumulatorLayout((dot.result.shape[0], dot.result.shape[1]), (threads // WARP, 1), striped=True)


def refusal(candidate: Candidate, threads: int, most_registers: int, carried: Set[Value], uses: Uses, *,
            chained: bool) -> str | None:
    """Why warp groups do not do a dot; None if they do. `chained`: warps have whole rows of it, and its operand A, or
    what is made of its result, is held as it is."""
    dot, groups = candidate.dot, threads // GROUP
    if len(dot.result.shape) > 2:
        return "it is a batch of products"
    rows, columns = dot.result.shape
    if candidate.kind not in WGMMA_KINDS:
        return f"its products are of kind {candidate.kind}, not {' or '.join(WGMMA_KINDS)}"
    if threads % GROUP:
        return f"{threads // WARP} warps are no whole number of groups of {GROUP // WARP}"
    if rows % (ROWS * groups):
        return f"{rows} rows are no multiple of {ROWS * groups}, {ROWS} for each warp group"
    if columns > MOST_COLUMNS:
        return f"{columns} columns are more than {MOST_COLUMNS}"
    if group_layout(dot, threads).registers > most_registers:
        return f"the accumulator would take more than {most_registers} registers of a thread"
    if chained and rows != ROWS * groups:
        return f"it shares rows in registers with others, and has more than {ROWS} for each warp group"
    if not chained and dot.operands[2] not in carried:
        return "no loop carries its accumulator"
    in_memory = [n for n in range(2) if n == 1 or not candidate.fed]
    if any(user is not dot and user.result not in dot.operands
           for n in in_memory for value in (candidate.stored[n], dot.operands[n]) for user in uses.of(value)):
        return "an operand is used by something else"
    return None
