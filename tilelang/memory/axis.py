"""Axis analysis: what the elements of a tile are like along its last axis, where memory is contiguous.

    %c64 = const 64             every element 64
    %k   = for 0, K, 64         a multiple of 64
    %i   = iota                 neighbours count up by one, from a multiple of anything
    %j   = add %i, %k           neighbours count up by one, from a multiple of 64
    %in  = lt %j, %N            in groups of 16 all alike, if the launch's N is a multiple of 16

Runs of 2, 4, 8 or 16 elements are looked at, each beginning at a multiple of its length. What the launch's arguments
are like stands in the kernel's attributes as *facts*, which the runtime finds:

    fact.N.div = 16             the dim N is a multiple of 16
    fact.x.stride1 = 1          neighbours along axis 1 of x are neighbours in memory
    fact.x.stride0.div = 16     the stride of axis 0 is a multiple of 16 elements
    fact.x.aligned = 16         the address of x's first element is a multiple of 16 bytes
    fact.x.forward = true       no stride of x is negative: its first element is at its lowest address
    fact.small = true           no index, and no distance between elements of a tensor, needs more than 31 bits

It refuses to guess: without facts the answer is that nothing is known. (Triton's analysis of the same name, in
lib/Analysis/AxisInfo.cpp, inspired it.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tilelang.ir.access import access
from tilelang.ir.core import Kernel, Op, TensorType, Value
from tilelang.ir.tile_ops import TILE_OPS

MOST = 16
"""The longest run that is of interest: 16 bytes."""


@dataclass(frozen=True)
class Axis:
    """A tile along its last axis.

    `counts`: neighbours in a run go up by one. `alike`: in runs of this length all elements are equal. `divisor`: a
    power of two that divides every element, of a tile that counts the first of every run of that length.
    """

    counts: bool
    alike: int
    divisor: int


UNKNOWN = Axis(False, 1, 1)
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


class AxisAnalysis:
    """Answers for the values of one tile kernel."""

    def __init__(self, kernel: Kernel):
        self.facts = kernel.attrs
        self.dims = {dim.name for dim in kernel.dims}
        self.known: dict[Value, Axis] = {}
        for op in kernel.walk():
            if op.name == "for":
                lo, _, step = (self.of(v) for v in op.operands[:3])
                self.known[op.blocks[0].args[0]] = Axis(False, MOST, min(lo.divisor, step.divisor))
            elif len(op.results) == 1 and not op.blocks:
                self.known[op.result] = self._result(op)

    def of(self, value: Value) -> Axis:
        if value not in self.known:
            divisor = self.fact(f"{value.name}.div") if value.name in self.dims else 1
            scalar = not isinstance(value.type, TensorType) and not value.shape
            self.known[value] = Axis(False, MOST, divisor) if scalar else UNKNOWN
        return self.known[value]

    def fact(self, name: str) -> int:
        """The power of two that a fact states, up to MOST; 1 if nothing is stated."""
        stated = self.facts.get(f"fact.{name}", 1)
        return gcd(stated, MOST) if isinstance(stated, int) else 1

    # ---------------------------------------------------------------- accesses

    def width(self, op: Op, bytes_at_once: int) -> int:
        """How many neighbouring elements a thread can load or store at once, 1 if nothing is proved.

        The elements are neighbours in memory, the first at a multiple of the width; of each run of them all or none
        are inside the tensor and not masked off.
        """
        parts = access(op)
        if not parts.shape or parts.tensor.dtype.is_bool:
            return 1
        width = min(bytes_at_once // parts.tensor.dtype.bytes, gcd(parts.shape[-1], MOST))
        along = self._along(op)
        if len(along) != 1 or not self.of(parts.indices[along[0]]).counts:
            return 1
        for axis, index in enumerate(parts.indices):
            width = min(width, self._of_index(parts.tensor, axis, index, parts.checked[axis], axis == along[0]))
        for value in (parts.mask, parts.other):
            if value is not None:
                width = min(width, self.of(value).alike)
        return width if self.facts.get(f"fact.{parts.tensor.name}.aligned") == bytes_at_once else 1

    def goes_along(self, op: Op) -> bool:
        """Are the neighbours of the accessed shape at one distance in memory, whatever it is?"""
        return any(self.of(access(op).indices[axis]).counts for axis in self._along(op))

    def _along(self, op: Op) -> list[int]:
        """The axes of the tensor whose indices change along the last axis of the accessed shape."""
        parts = access(op)
        tiles = [axis for axis, index in enumerate(parts.indices) if index.shape]
        if parts.pointwise or len(parts.shape) == 1:
            return [axis for axis in tiles if self.of(parts.indices[axis]).alike < MOST]
        return tiles[-1:]

    def _of_index(self, tensor: Value, axis: int, index: Value, checked: bool, moves: bool) -> int:
        known, name = self.of(index), f"{tensor.name}.stride{axis}"
        if not moves:
            alone = self.fact(f"{name}.div") * (known.divisor if not index.shape else 1)
            return min(alone, MOST)
        if self.facts.get(f"fact.{name}") != 1:
            return 1
        return min(known.divisor, self._extent(tensor, axis) if checked else MOST)

    def _extent(self, tensor: Value, axis: int) -> int:
        extent = tensor.type.dims[axis]  # type: ignore[union-attr]
        return gcd(extent, MOST) if isinstance(extent, int) else self.fact(f"{extent}.div")

    # ---------------------------------------------------------------- values

    def _result(self, op: Op) -> Axis:
        operands = [self.of(v) for v in op.operands if not isinstance(v.type, TensorType)]
        found = self._rule(op, operands)
        if not isinstance(op.result.type, TensorType) and not op.result.shape:
            return Axis(False, MOST, found.divisor)
        return found

    def _rule(self, op: Op, operands: list[Axis]) -> Axis:
        name, integer = op.name, op.result.dtype.is_integer
        if name == "const":
            return Axis(False, MOST, gcd(int(op.attrs["value"]), MOST) if integer else 1)  # type: ignore[arg-type]
        if name == "iota":
            return Axis(True, 1, MOST)
        if name in ("broadcast", "reshape"):
            return self._moved(op, operands[0])
        if name == "cast":
            source, result = op.operands[0].dtype, op.result.dtype
            widens = source.is_integer and integer and result.bits >= source.bits
            return operands[0] if widens else Axis(False, operands[0].alike, 1)
        if not TILE_OPS[name].elementwise:
            return UNKNOWN
        alike = min((o.alike for o in operands), default=1)
        if name in ("lt", "ge", "gt", "le"):
            return Axis(False, max(alike, _compared(name, *operands)), 1)
        if name in ("add", "sub") and integer:
            return _sum(name, *operands)
        divisor = min(operands[0].divisor * operands[1].divisor, MOST) if name == "mul" and integer else 1
        return Axis(False, alike, divisor if alike == MOST else 1)

    def _moved(self, op: Op, source: Axis) -> Axis:
        """`broadcast` and `reshape`: rows stay rows if they are as long as before."""
        shape, result = op.operands[0].shape, op.result.shape
        if not shape:
            return source
        if result and shape[-1] == result[-1]:
            return source
        return Axis(False, MOST, 1) if shape[-1] == 1 and op.name == "broadcast" else UNKNOWN


def _sum(name: str, a: Axis, b: Axis) -> Axis:
    alike, divisor = min(a.alike, b.alike), min(a.divisor, b.divisor)
    counts = (a.counts and b.alike == MOST) or (b.counts and a.alike == MOST and name == "add")
    return Axis(counts, alike, divisor if counts or alike == MOST else 1)


def _compared(name: str, a: Axis, b: Axis) -> int:
    """`i < n` and `i >= n`: alike in runs that divide n, where i counts up from a multiple of their length."""
    if b.counts:
        name, a, b = MIRRORED[name], b, a
    if not a.counts or b.alike < MOST or name not in ("lt", "ge"):
        return 1
    return min(a.divisor, b.divisor)
