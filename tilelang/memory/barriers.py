"""Barrier placement: no thread may read what another has not written yet, or overwrite what another still reads.

    shared.store %s, %t, %a                 shared.store %s, %t, %a
    %o: i32 = sub %c127, %t          ->     %o: i32 = sub %c127, %t
    %b: f32 = shared.load %s, %o            barrier
                                            %b: f32 = shared.load %s, %o

Precondition: the kernel was lowered so that no hazard lies inside one statement, where a statement is a leaf op, a
loop over registers, or a branch or loop whose condition varies between threads: barriers go between statements.

The pass walks the statements with the set of accesses since the last barrier. A statement that meets one of them (the
same array or tensor, at least one of the two writes, not provably by the same thread) gets a barrier in front, which
empties the set. Around a loop's back edge the accesses still open at its end meet those at its head; the walk is
repeated until these sets stop growing. If what is open in front of a loop would cost a barrier inside it, on every
trip, the barrier goes in front of the loop. It refuses nothing, and places no barrier that no pair of accesses asks
for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.memory.uniform import varying_values

COMMUTING = ("add", "max", "min")
"""Atomics of one of these kinds may come in any order if nobody looks at the old values."""


@dataclass(frozen=True)
class Access:
    """One way in which a statement touches an array or tensor.

    `owner` says which thread it is for a given address, if the address decides that: equal owners, same thread.
    `kind` is the atomic's, if its result is unused. `placed`: the barriers between accesses so marked stand already.
    """

    object: Value
    writes: bool
    owner: str | None = None
    kind: str | None = None
    placed: bool = False


State = frozenset[Access]
NOTHING: State = frozenset()


def place_barriers(kernel: Kernel) -> Kernel:
    """The kernel with a `barrier` wherever one is needed; those it has already are kept."""
    if kernel.attrs["threads"] == 1:
        return kernel
    placing = _Placing(kernel)
    while True:
        placing.grew = False
        placing.loops.clear()
        ops, _ = placing.ops(kernel.body.ops, NOTHING)
        if not placing.grew:
            return replace(kernel, body=Block(kernel.body.args, ops))


def conflict(a: Access, b: Access) -> bool:
    """Must a barrier stand between `a` and `b`?"""
    if a.object != b.object or not (a.writes or b.writes):
        return False
    if (a.owner is not None and a.owner == b.owner) or (a.placed and b.placed):
        return False
    return not (a.kind in COMMUTING and a.kind == b.kind)


class _Placing:
    def __init__(self, kernel: Kernel):
        self.varying = varying_values(kernel)
        self.used = {v for op in kernel.walk() for v in op.operands}
        self.open_at_end: dict[int, State] = {}
        self.grew = False
        self.loops: dict[tuple[int, State], tuple[Op, State]] = {}

    def ops(self, ops: Sequence[Op], state: State) -> tuple[tuple[Op, ...], State]:
        """The ops with barriers, and the accesses open after them."""
        placed: list[Op] = []
        for op in ops:
            if op.name == "barrier":
                state = NOTHING
                placed.append(op)
            elif self.is_open(op):
                if op.name != "if" and self.pays_in_front(op, state):
                    placed.append(Op("barrier", span=op.span))
                    state = NOTHING
                new, state = self.structured(op, state)
                placed.append(new)
            else:
                touched = self.touched(op)
                if any(conflict(a, b) for a in state for b in touched):
                    placed.append(Op("barrier", span=op.span))
                    state = NOTHING
                state |= touched
                placed.append(op)
        return tuple(placed), state

    def is_open(self, op: Op) -> bool:
        """May barriers stand inside `op`?"""
        if not op.blocks or op.attrs.get("unroll"):
            return False
        if op.name == "while":
            return op.blocks[0].ops[-1].operands[0] not in self.varying
        return self.varying.isdisjoint(op.operands[:3 if op.name == "for" else 1])

    def pays_in_front(self, loop: Op, state: State) -> bool:
        """Would the accesses open in front of a loop put barriers into it that its own trips do not need?"""
        needed, _ = self.structured(loop, NOTHING)
        placed, _ = self.structured(loop, state)
        return placed != needed

    def structured(self, op: Op, state: State) -> tuple[Op, State]:
        """A uniform branch or loop with its barriers, and the accesses open after it."""
        key = id(op), state
        if key not in self.loops:
            self.loops[key] = self.branch(op, state) if op.name == "if" else self.loop(op, state)
        return self.loops[key]

    def branch(self, op: Op, state: State) -> tuple[Op, State]:
        branches = [self.ops(block.ops, state) for block in op.blocks]
        return self.rebuilt(op, [ops for ops, _ in branches]), branches[0][1] | branches[1][1]

    def loop(self, op: Op, state: State) -> tuple[Op, State]:
        state |= self.open_at_end.get(id(op), NOTHING)
        if op.name == "for":
            ops, end = self.ops(op.blocks[0].ops, state)
            self.around(op, end)
            return self.rebuilt(op, [ops]), state | end
        test, leaving = self.ops(op.blocks[0].ops, state)
        body, end = self.ops(op.blocks[1].ops, leaving)
        self.around(op, end)
        return self.rebuilt(op, [test, body]), leaving

    def rebuilt(self, op: Op, bodies: Sequence[tuple[Op, ...]]) -> Op:
        return replace(op, blocks=tuple(Block(b.args, ops) for b, ops in zip(op.blocks, bodies, strict=True)))

    def around(self, loop: Op, end: State) -> None:
        """The accesses open at the end of a loop's body are open at its head, in the next trip."""
        inside = {v.name for block in loop.blocks for v in block.args}
        inside |= {v.name for block in loop.blocks for op in block.walk() for v in op.results}
        aged = frozenset(replace(a, owner=None) if _mentions(a.owner, inside) else a for a in end)
        known = self.open_at_end.get(id(loop), NOTHING)
        if not aged <= known:
            self.open_at_end[id(loop)] = known | aged
            self.grew = True

    def touched(self, op: Op) -> State:
        """All accesses of a statement."""
        found = set()
        for inner in (op, *(o for block in op.blocks for o in block.walk())):
            place, _, what = inner.name.partition(".")
            if place not in ("shared", "global") or not what:
                continue
            unseen = what == "atomic" and inner.result not in self.used
            owner = inner.attrs.get("owner")
            placed = bool(inner.attrs.get("placed"))
            writes = what != "wgmma" and not what.startswith("load")
            found.add(Access(inner.operands[0], writes, str(owner) if owner else None,
                             str(inner.attrs["kind"]) if unseen else None, placed))
            if what in ("copy_async", "wgmma"):
                found.add(Access(inner.operands[2], writes=False, placed=bool(inner.attrs.get("placed_b", placed))))
        return frozenset(found)


def _mentions(owner: str | None, names: set[str]) -> bool:
    """Does an owner depend on a value whose meaning changes from trip to trip?"""
    return owner is not None and any(name in names for name in re.findall(r"%([A-Za-z0-9_.]+)", owner))
