"""What writing some elements will touch, found before a line of it is written.

The scheduler asks this of every loop it is about to write: which lazy ops it computes, which loads and which scratch
it reads, whether it needs a result that is still pending, and what should rather be computed beforehand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from tilelang.codegen.cpu_coords import ZERO, is_view, operand_coords
from tilelang.codegen.cpu_elements import Coords, index_coords
from tilelang.codegen.cpu_scratch import Scratch
from tilelang.codegen.cpu_translation import Translation
from tilelang.codegen.cpu_words import COST
from tilelang.ir.access import access
from tilelang.ir.core import Op, Value

CHEAP = 4
"""What costs no more than this (`COST`) is computed again rather than kept in scratch: a store and a load cost
about as much, and take cache."""

SATURATED = 10_000


@dataclass
class Trace:
    """`computed`: lazy values and where. `pending`: results that the current loop has not finished.
    `beforehand`: lazy values that the loop would compute more often than they have elements, at some cost."""

    computed: dict[tuple[str, Coords], Value] = field(default_factory=dict)
    loads: list[tuple[Op, Coords]] = field(default_factory=list)
    reads: list[tuple[Scratch, Coords]] = field(default_factory=list)
    pending: list[tuple[str, Coords]] = field(default_factory=list)
    beforehand: list[Value] = field(default_factory=list)

    def add(self, other: Trace) -> None:
        self.computed |= other.computed
        self.loads += other.loads
        self.reads += other.reads


def trace(translation: Translation, wanted: Iterable[tuple[Value, Coords]], shape: Sequence[int],
          pending: Collection[str]) -> Trace:
    """Follow the elements `wanted` in loops over `shape` to what they are computed from."""
    found, costs = Trace(), Costs(translation)
    todo = list(wanted)
    while todo:
        value, coords = todo.pop()
        place = translation.places.get(value.name)
        if value.name in pending or (place is None and value.name not in translation.definitions):
            found.pending.append((value.name, coords))
            continue
        if isinstance(place, Scratch):
            found.reads.append((place, coords))
        if place is not None or (value.name, coords) in found.computed:
            continue
        level = max([c.level for c in coords], default=0)
        if prod(shape[:level]) > prod(value.shape) and costs.of(value) > CHEAP:
            found.beforehand.append(value)
            continue
        found.computed[value.name, coords] = value
        op = translation.definitions[value.name]
        if op.name == "load":
            found.loads.append((op, coords))
        todo += needs(op, coords)
    return found


def needs(op: Op, coords: Coords) -> list[tuple[Value, Coords]]:
    """The elements that a lazy op's element at `coords` is computed from."""
    if is_view(op):
        return [(op.operands[0], operand_coords(op, coords, ZERO))]
    if op.name == "load":
        parts = access(op)
        return index_coords(parts, coords) + [(v, coords) for v in (parts.mask, parts.other) if v]
    return [(v, coords if v.shape else ()) for v in op.operands]


class Costs:
    """Rough cost of computing one element of a value, in simple instructions."""

    def __init__(self, translation: Translation):
        self._translation = translation
        self._known: dict[str, int] = {}

    def of(self, value: Value) -> int:
        if self._translation.lazy(value) is None:  # in its place, or soon: a result that the pending nest computes
            return 1
        if value.name not in self._known:
            self._known[value.name] = min(SATURATED, self._lazy(self._translation.definitions[value.name]))
        return self._known[value.name]

    def _lazy(self, op: Op) -> int:
        if op.name in ("const", "iota"):
            return 0
        own = 0 if is_view(op) else COST.get(op.name, 1)
        if op.name == "load":
            parts = access(op)
            own = 5 if parts.pointwise else 3 if parts.mask else 1
            return own + sum([self.of(v) for v in (*parts.indices, parts.mask, parts.other) if v and v.shape]) // 2
        return own + sum([self.of(v) for v in op.operands])
