"""What the scheduler knows of the block it is in: who still needs a value, and which scratch it may write to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tilelang.codegen.cpu_scratch import Scratch
from tilelang.codegen.cpu_translation import Translation
from tilelang.ir.core import Block, Op, Value


@dataclass
class Frame:
    """One block being written.

    `position`: the op at hand; what ops before it need has been seen to or is in the pending nest.
    `targets`: values that should be computed right into this scratch. `owned`: slots taken in this block.
    `carried`: slots of the block's own loop-carried arguments. `loads`: lazy loads of this block, by tensor.
    """

    block: Block
    targets: dict[str, Scratch] = field(default_factory=dict)
    carried: frozenset[int] = frozenset()
    position: int = 0
    owned: set[int] = field(default_factory=set)
    loads: defaultdict[str, list[Op]] = field(default_factory=lambda: defaultdict(list))
    uses: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for position, op in enumerate(self.block.ops):
            for name in {v.name for v in used_by(op)}:
                self.uses[name].append(position)
        for op in reversed(self.block.ops):
            if op.name == "dot" and op.result.name in self.targets:
                self.targets.setdefault(op.operands[2].name, self.targets[op.result.name])

    def demanded(self, translation: Translation, name: str, since: int, kept: Collection[str] = ()) -> bool:
        """Does an op from position `since` on need the value, itself or through lazy ops that are not `kept`?"""
        seen, todo = set(kept), [name]
        while todo:
            current = todo.pop()
            for position in self.uses[current]:
                op = self.block.ops[position]
                if len(op.results) == 1 and translation.lazy(op.results[0]) is op:
                    result = op.result.name
                    if result not in seen:
                        seen.add(result)
                        todo.append(result)
                elif position >= since:
                    return True
        return False

    def slot_demanded(self, translation: Translation, slot: int, since: int, kept: Collection[str] = ()) -> bool:
        """Does anyone from `since` on need what the slot holds?"""
        return any([self.demanded(translation, name, since, kept) for name in translation.held[slot]])


def used_by(op: Op) -> Iterable[Value]:
    """The operands of an op and of everything inside it."""
    yield from op.operands
    for block in op.blocks:
        for inner in block.walk():
            yield from inner.operands


def written_by(op: Op) -> set[str]:
    """The tensors that an op, or anything inside it, writes."""
    inside = [inner for block in op.blocks for inner in block.walk()]
    return {o.operands[0].name for o in (op, *inside) if o.name in ("store", "atomic")}


def targets_of(values: Iterable[Value], places: Iterable[str | Scratch]) -> Mapping[str, Scratch]:
    """Where a block's last values should be computed; a value handed over twice goes to the first place."""
    found: dict[str, Scratch] = {}
    for value, place in zip(values, places, strict=True):
        if isinstance(place, Scratch):
            found.setdefault(value.name, place)
    return found
