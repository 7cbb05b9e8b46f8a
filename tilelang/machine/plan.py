"""A kernel made ready to run: its ops numbered, with what can be known before running.

One thing is worth knowing: whether the trips of an unrolled loop over registers may run *side by side*, as a third
axis of lanes, instead of one after another. A dot of 64 x 64 elements on 128 threads is 32 registers a thread; side
by side that is one op of 4,096 lanes in place of 32 ops of 128, and NumPy's cost per op is all there is.

    for %c0, %c32, %c1 {unroll = true} (%r: i32) {
      %x: f32 = local.load %acc, %r         each trip its own register
      ...
      local.store %acc, %r, %y
    }

It is allowed where no trip can see what another did: nothing is carried; a local array that is stored to is only
touched at `%r`; a shared array or tensor that is stored to is not read, and stored to by one op, once a trip (the
last trip's element stays, as it would); and there is nothing whose order shows: atomics, barriers, prints, asserts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilelang.ir.core import Block, Kernel, LocalType, Op, Value
from tilelang.ir.liveness import Deaths, last_uses
from tilelang.ir.thread_ops import THREAD_OPS

IN_ORDER = ("barrier", "global.atomic", "print", "assert", "local", "shared", "shared.load_matrix", "mma", "shuffle",
            "shared.copy_async", "async.commit", "async.wait", "async.fence", "shared.wgmma", "wgmma.fence",
            "wgmma.commit", "wgmma.wait", "global.load_vector", "global.store_vector")


@dataclass(frozen=True)
class Step:
    """One op. `number` is its position in the kernel's text; `dead` names the values not used after it."""

    op: Op
    number: int
    blocks: tuple[Plan, ...]
    dead: tuple[str, ...]
    side_by_side: bool


@dataclass(frozen=True)
class Plan:
    """A block: its arguments, its steps, and the values its terminator hands over."""

    args: tuple[Value, ...]
    steps: tuple[Step, ...]
    handed: tuple[Value, ...]


def plan(kernel: Kernel) -> tuple[Plan, list[Op]]:
    """The kernel's body as a plan, and all its ops; a step's number is its op's position among them."""
    ops: list[Op] = []
    return _block(kernel.body, last_uses(kernel.body), ops), ops


def _block(block: Block, deaths: Deaths, ops: list[Op]) -> Plan:
    steps: list[Step] = []
    handed: tuple[Value, ...] = ()
    dead = deaths[id(block)]
    for place, op in enumerate(block.ops):
        number = len(ops)
        ops.append(op)
        if THREAD_OPS[op.name].terminator:
            handed = op.operands
            continue
        blocks = tuple(_block(inner, deaths, ops) for inner in op.blocks)
        steps.append(Step(op, number, blocks, dead.get(place, ()), trips_are_independent(op)))
    return Plan(block.args, tuple(steps), handed)


def trips_are_independent(loop: Op) -> bool:
    """May the trips of this op, if it is an unrolled loop, run side by side?"""
    if loop.name != "for" or not loop.attrs.get("unroll") or len(loop.operands) > 3:
        return False
    (body,) = loop.blocks
    ops = list(body.walk())
    stored = [op.operands[0] for op in ops if op.name.endswith(".store")]
    return all(op.name not in IN_ORDER for op in ops) and all(
        _own_register(array, body.args[0], ops) if isinstance(array.type, LocalType)
        else _stored_once(array, body, ops) for array in set(stored))


def _own_register(array: Value, index: Value, ops: list[Op]) -> bool:
    touching = [op for op in ops if op.operands[:1] == (array,)]
    return all(op.operands[1] == index for op in touching)


def _stored_once(array: Value, body: Block, ops: list[Op]) -> bool:
    touching = [op for op in ops if op.operands[:1] == (array,)]
    return len(touching) == 1 and touching[0] in list(_outside_loops(body))


def _outside_loops(block: Block) -> Iterator[Op]:
    for op in block.ops:
        yield op
        if op.name not in ("for", "while"):
            for inner in op.blocks:
                yield from _outside_loops(inner)
