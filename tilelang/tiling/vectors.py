"""Vectors: where a thread loads or stores 16 bytes at once, its elements are neighbours.

    element    0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15        4 threads, 2 elements in a row
    thread     0  0  1  1  2  2  3  3  0  0  1  1  2  2  3  3
    register   0  1  0  1  0  1  0  1  2  3  2  3  2  3  2  3

An analysis: it reads the tile kernel and changes nothing. All tiles of one size share a layout, so that elementwise ops
need no exchange: for each size one width is chosen, as large as every access that can be wide allows. It stays 1 for
the sizes of `dot`s (but for what tensor cores take and give in ways of their own) and of reductions along other axes
than the last, whose threads are arranged in another way, and where most accesses would not gain.

An access that goes along memory but cannot be wide loses by runs: its lanes are a run apart, so that one access of a
warp touches as many times the sectors. So more accesses must gain than lose:

    every second float is loaded, and stored side by side:      lanes touch 8 sectors and 4; by runs of 4, 32 and 16
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from tilelang.ir.access import access
from tilelang.ir.core import Kernel, Op, Value
from tilelang.memory.axis import AxisAnalysis
from tilelang.tiling.copy_plans import CopyPlans
from tilelang.tiling.dot_plans import DotPlans, is_transpose
from tilelang.tiling.splits import split
from tilelang.tiling.targets import Target


@dataclass
class Vectors:
    """`widths`: size of a tile -> neighbouring elements in a thread, where more than 1. `wide`: the accesses, by
    `id` of the op, that move as many at once."""

    widths: dict[int, int] = field(default_factory=dict)
    wide: set[int] = field(default_factory=set)


def choose_vectors(kernel: Kernel, target: Target, threads: int, dots: DotPlans | None = None,
                   copies: CopyPlans | None = None) -> Vectors:
    """The widths of a tile kernel's tiles; none without facts about the launch, or if the target has no vectors.

    The accumulators of `dots` on tensor cores pass through shared memory on their way to this layout, in a way that
    suits runs of neighbours (`tilelang.tiling.exchange`). Loads that are `copies` are in no registers.
    """
    found, dots, copies = Vectors(), dots or DotPlans(), copies or CopyPlans()
    if not target.vector_bytes:
        return found
    axes, limits = AxisAnalysis(kernel), _limits(kernel, dots, copies)
    accesses: dict[int, list[tuple[Op, int]]] = {}
    for op in kernel.walk():
        if op.name in ("load", "store") and access(op).shape and id(op) not in copies.loads:
            accesses.setdefault(prod(access(op).shape), []).append((op, axes.width(op, target.vector_bytes)))
    for size, ops in accesses.items():
        able = [(op, width) for op, width in ops if width > 1]
        losing = [op for op, width in ops if width == 1 and axes.goes_along(op)]
        if len(able) * 2 < len(ops) or len(able) <= len(losing):
            continue
        width = min(width for _, width in able)
        while width > 1 and (size % (threads * width) or any(limit % width for limit in limits.get(size, ()))):
            width //= 2
        if width > 1:
            found.widths[size] = width
            found.wide.update(id(op) for op, _ in able)
    return found


def _limits(kernel: Kernel, dots: DotPlans, copies: CopyPlans) -> dict[int, list[int]]:
    """size -> numbers that its width must divide."""
    limits: dict[int, list[int]] = {}
    elsewhere = _elsewhere(kernel, dots, copies)
    for op in kernel.walk():
        if op.name == "dot":
            for value in op.operands[:2] if id(op) in dots.products else (*op.operands, op.result):
                if value not in elsewhere:
                    limits.setdefault(prod(value.shape), []).append(1)
        elif op.name == "reduce" and op.attrs["axes"] and op.result.shape and op.result not in elsewhere:
            (operand,) = op.operands
            pattern = split(operand.shape, op.attrs["axes"], 1)  # type: ignore[arg-type]
            last = pattern is not None and pattern.inner == 1
            limits.setdefault(prod(operand.shape), []).append(operand.shape[-1] if last else 1)
            if not last:
                limits.setdefault(prod(op.result.shape), []).append(1)
    return limits


def _elsewhere(kernel: Kernel, dots: DotPlans, copies: CopyPlans) -> set[Value]:
    """Tiles that are never in the linear layout: copies and their transposes, and what stays in fragments."""
    found = {v for op in kernel.walk() for v in op.results if id(op) in copies.loads or dots.fragments.holds(v)}
    return found | {op.result for op in kernel.walk() if is_transpose(op) and op.operands[0] in found}
