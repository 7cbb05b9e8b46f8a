"""Which integers a value can be: an interval, and the dims it is known to stay below.

A `Range` says `lo <= v <= hi`, and for each (dim, offset) in `limits`: `v <= dim + offset`. For a tile it holds for
every element. The rules are interval arithmetic; a result that might wrap is anything its type can hold.
(Interval analysis: Harrison, "Compiler analysis of the value ranges for variables", 1977.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tilelang.dtypes import DType
from tilelang.ir.core import Op

MAX_PROGRAMS = 1 << 40
"""More programs along one axis than any machine will ever run: with it, `program_id(0) * BM` cannot wrap."""


@dataclass(frozen=True)
class Range:
    """Bounds of one value, or of all elements of a tile."""

    lo: int
    hi: int
    limits: Mapping[str, int] = field(default_factory=dict)

    def within(self, extent: int | str) -> bool:
        """Is every value an index of an axis of this extent (a number or a dim)?"""
        below = self.hi < extent if isinstance(extent, int) else self.limits.get(extent, 0) <= -1
        return self.lo >= 0 and below

    def meet(self, other: Range) -> Range:
        """Both hold."""
        limits = {dim: min(r.limits[dim] for r in (self, other) if dim in r.limits)
                  for dim in {**self.limits, **other.limits}}
        return Range(max(self.lo, other.lo), min(self.hi, other.hi), limits)

    def join(self, other: Range) -> Range:
        """One of the two holds."""
        limits = {dim: max(offset, other.limits[dim])
                  for dim, offset in self.limits.items() if dim in other.limits}
        return Range(min(self.lo, other.lo), max(self.hi, other.hi), limits)

    def shifted(self, amount: int) -> Mapping[str, int]:
        """The limits of something at most `amount` larger than this."""
        return {dim: offset + amount for dim, offset in self.limits.items()}


def everything(dtype: DType) -> Range:
    """What the type can hold; bool counts as 0 and 1."""
    return Range(0, 1) if dtype.is_bool else Range(dtype.min_int, dtype.max_int)


def result_range(op: Op, operands: list[Range | None]) -> Range | None:
    """The range of the op's only result, from those of its operands; None if it is not an integer."""
    dtype = op.result.dtype
    if dtype.is_float:
        return None
    rule = RULES.get(op.name)
    known = [r for r in operands if r is not None]
    if rule is None or len(known) < len(operands):
        return everything(dtype)
    found = rule(op, known)
    full = everything(dtype)
    return found if full.lo <= found.lo and found.hi <= full.hi else full


def loop_range(dtype: DType, lo: Range, hi: Range, step: Range) -> Range:
    """The range of a `for` index; it never passes the end, so it cannot wrap."""
    up = Range(lo.lo, hi.hi - 1, hi.shifted(-1))
    down = Range(hi.lo + 1, lo.hi, lo.limits)
    if step.lo > 0:
        return _last_exactly(up, lo, hi, step).meet(everything(dtype))
    return (down if step.hi < 0 else up.join(down)).meet(everything(dtype))


def _last_exactly(up: Range, lo: Range, hi: Range, step: Range) -> Range:
    """`range(0, 100, 32)` ends at 96, not at 99, where all three are numbers."""
    if lo.lo == lo.hi and hi.lo == hi.hi and step.lo == step.hi and lo.lo < hi.lo:
        return Range(lo.lo, lo.lo + (hi.lo - 1 - lo.lo) // step.lo * step.lo, up.limits)
    return up


# --- one rule for each op ------------------------------------------------------------------------


def _const(op: Op, operands: list[Range]) -> Range:
    number = int(op.attrs["value"])  # type: ignore[arg-type]
    return Range(number, number)


def _iota(op: Op, operands: list[Range]) -> Range:
    return Range(0, op.result.shape[0] - 1)


def _add(op: Op, operands: list[Range]) -> Range:
    a, b = operands
    total = Range(a.lo + b.lo, a.hi + b.hi, a.shifted(b.hi))
    return total.meet(Range(total.lo, total.hi, b.shifted(a.hi)))


def _sub(op: Op, operands: list[Range]) -> Range:
    a, b = operands
    return Range(a.lo - b.hi, a.hi - b.lo, a.shifted(-b.lo))


def _mul(op: Op, operands: list[Range]) -> Range:
    a, b = operands
    corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Range(min(corners), max(corners))


def _floordiv(op: Op, operands: list[Range]) -> Range:
    """By a positive number; a quotient of what is not negative is not larger."""
    a, b = operands
    if b.lo < 1:
        return everything(op.result.dtype)
    corners = [x // y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Range(min(corners), max(corners), a.limits if a.lo >= 0 else {})


def _mod(op: Op, operands: list[Range]) -> Range:
    """By a positive number; of what is not negative it is not larger. By zero it is 0, so a dim proves nothing."""
    a, b = operands
    if b.lo < 1:
        return everything(op.result.dtype)
    remainder = Range(0, b.hi - 1, b.shifted(-1))
    return remainder.meet(Range(0, a.hi, a.limits)) if a.lo >= 0 else remainder


def _shl(op: Op, operands: list[Range]) -> Range:
    a, b = operands
    if b.lo != b.hi or not 0 <= b.lo < op.result.dtype.bits:
        return everything(op.result.dtype)
    return Range(a.lo << b.lo, a.hi << b.lo)


def _shr(op: Op, operands: list[Range]) -> Range:
    a, b = operands
    if b.lo != b.hi or not 0 <= b.lo < op.result.dtype.bits:
        return everything(op.result.dtype)
    return Range(a.lo >> b.lo, a.hi >> b.lo, a.limits if a.lo >= 0 else {})


def _and(op: Op, operands: list[Range]) -> Range:
    """Bits can only go: not larger than an operand that is not negative."""
    positive = [r for r in operands if r.lo >= 0]
    if not positive:
        return everything(op.result.dtype)
    found = positive[0]
    for other in positive[1:]:
        found = found.meet(other)
    return Range(0, found.hi, found.limits)


def _maximum(op: Op, operands: list[Range]) -> Range:
    a, b = operands
    return Range(max(a.lo, b.lo), max(a.hi, b.hi), a.join(b).limits)


def _minimum(op: Op, operands: list[Range]) -> Range:
    a, b = operands
    return Range(min(a.lo, b.lo), min(a.hi, b.hi), a.meet(b).limits)


def _neg(op: Op, operands: list[Range]) -> Range:
    return Range(-operands[0].hi, -operands[0].lo)


def _abs(op: Op, operands: list[Range]) -> Range:
    (a,) = operands
    return a if a.lo >= 0 else Range(0, max(-a.lo, a.hi))


def _sign(op: Op, operands: list[Range]) -> Range:
    return Range(-1, 1)


def _same(op: Op, operands: list[Range]) -> Range:
    """Ops that move or convert elements, and `cat`, whose elements come from all operands."""
    found = operands[0]
    for other in operands[1:]:
        found = found.join(other)
    return found


def _select(op: Op, operands: list[Range]) -> Range:
    return operands[1].join(operands[2])


def _reduce(op: Op, operands: list[Range]) -> Range:
    (a,) = operands
    count = math.prod(op.operands[0].shape) // math.prod(op.result.shape)
    kind = op.attrs["kind"]
    if kind in ("argmax", "argmin"):
        return Range(0, count - 1)
    if kind == "sum":
        return Range(a.lo * count, a.hi * count)
    return a if kind in ("max", "min") else everything(op.result.dtype)


def _scan(op: Op, operands: list[Range]) -> Range:
    return operands[0] if op.attrs["kind"] in ("max", "min") else everything(op.result.dtype)


RULES: dict[str, Callable[[Op, list[Range]], Range]] = {
    "const": _const, "iota": _iota, "add": _add, "sub": _sub, "mul": _mul, "floordiv": _floordiv, "mod": _mod,
    "shl": _shl, "shr": _shr, "and": _and, "maximum": _maximum, "minimum": _minimum, "neg": _neg, "abs": _abs,
    "sign": _sign, "cast": _same, "broadcast": _same, "reshape": _same, "permute": _same, "cat": _same,
    "convert_layout": _same, "select": _select, "reduce": _reduce, "scan": _scan,
}


# --- comparisons ---------------------------------------------------------------------------------


def decide(name: str, a: Range, b: Range, dim: str | None = None) -> bool | None:
    """What `a name b` gives for all values in the ranges, or None. `dim`: b is exactly that dim."""
    if name in ("gt", "ge"):
        opposite = decide("le" if name == "gt" else "lt", a, b, dim)
        return None if opposite is None else not opposite
    if name not in ("lt", "le"):
        return None
    strict = name == "lt"
    if a.hi < b.lo + (not strict) or (dim in a.limits and a.limits[dim] <= -strict):  # type: ignore[index]
        return True
    return False if a.lo >= b.hi + (not strict) else None


def refine(name: str, a: Range, b: Range) -> tuple[Range, Range] | None:
    """What is known of a and b where `a name b` holds; None if it teaches nothing."""
    if name in ("gt", "ge"):
        turned = refine("lt" if name == "gt" else "le", b, a)
        return None if turned is None else (turned[1], turned[0])
    if name == "eq":
        return a.meet(b), a.meet(b)
    if name not in ("lt", "le"):
        return None
    gap = int(name == "lt")
    return (a.meet(Range(a.lo, b.hi - gap, b.shifted(-gap))), b.meet(Range(a.lo + gap, b.hi)))


