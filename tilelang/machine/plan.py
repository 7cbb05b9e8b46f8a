"""A kernel made ready to run: its ops numbered, with what can be known before running.

Known are the values that nobody uses after an op, and which unrolled loops may run with their trips side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.ir.liveness import Deaths, last_uses
from tilelang.ir.thread_ops import THREAD_OPS
from tilelang.machine.side_by_side import side_by_side


@dataclass(frozen=True)
class Step:
    """One op. `number` is its position in the kernel's text; `dead` names the values not used after it.

    `side_by_side`: of a loop whose trips may run side by side the lanes that one of them becomes inside, else 0. `used`
    names what such a loop uses of values made outside.
    """

    op: Op
    number: int
    blocks: tuple[Plan, ...]
    dead: tuple[str, ...]
    side_by_side: int = 0
    used: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A block: its arguments, its steps, and the values its terminator hands over."""

    args: tuple[Value, ...]
    steps: tuple[Step, ...]
    handed: tuple[Value, ...]


def plan(kernel: Kernel) -> tuple[Plan, list[Op]]:
    """The kernel's body as a plan, and all its ops; a step's number is its op's position among them."""
    planner = _Planner(last_uses(kernel.body), side_by_side(kernel.body))
    return planner.block(kernel.body), planner.ops


class _Planner:
    def __init__(self, deaths: Deaths, lanes: dict[int, int]):
        self.deaths = deaths
        self.lanes = lanes
        self.ops: list[Op] = []

    def block(self, block: Block) -> Plan:
        steps: list[Step] = []
        handed: tuple[Value, ...] = ()
        dead = self.deaths[id(block)]
        for place, op in enumerate(block.ops):
            number = len(self.ops)
            self.ops.append(op)
            if THREAD_OPS[op.name].terminator:
                handed = op.operands
                continue
            blocks = tuple([self.block(inner) for inner in op.blocks])  # a list: see `deep_trees`
            lanes = self.lanes.get(id(op), 0)
            steps.append(Step(op, number, blocks, dead.get(place, ()), lanes, _used(op) if lanes else ()))
        return Plan(block.args, tuple(steps), handed)


def _used(loop: Op) -> tuple[str, ...]:
    """Names of the values that a loop's body uses and that are made outside it."""
    (body,) = loop.blocks
    ops = list(body.walk())
    inside = {value.name for op in ops for value in (*op.results, *(arg for block in op.blocks for arg in block.args))}
    used = dict.fromkeys(value.name for op in ops for value in op.operands)
    return tuple(name for name in used if name not in inside and name != body.args[0].name)
