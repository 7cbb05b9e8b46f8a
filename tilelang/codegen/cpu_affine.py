"""Index tiles that count up along one loop, and the loop bounds that follow from them.

    %rows: i64[64] = add (broadcast %base), iota       is  base + i
    load x[rows] on an axis of M elements, checked     is inside for  max(0, -base) <= i < min(64, M - base)

So the test of 64 elements becomes two numbers in front of the loop: inside them nothing is tested. A mask like
`rows < M` gives bounds in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilelang.codegen.cpu_coords import ZERO, Coord, is_view, operand_coords
from tilelang.codegen.cpu_words import expression
from tilelang.dtypes import I32, I64, DType
from tilelang.ir.core import Op, Value

WRAP_I32 = 1 << 31
FAR = 1 << 62
NEAR = 1 << 61
"""What is called positive is also smaller than this: it may take a tile's extent without overflowing i64."""


@dataclass(frozen=True)
class Affine:
    """base + coord. `base` is a scalar expression of type `dtype`; None for `coord`: the same for every element.

    `wraps`: the sum may overflow `dtype` (i32), after which it is negative. `positive`: 0 <= base < NEAR.
    """

    base: str
    dtype: DType
    coord: Coord | None
    positive: bool = False
    wraps: bool = False

    @property
    def base64(self) -> str:
        if self.dtype == I64:
            return self.base
        return "0" if _bare(self.base) == "0" else f"to_i64({self.base})"


@dataclass(frozen=True)
class Bounds:
    """start <= loop variable of `axis` < stop is where an access or mask holds; `start` may be None for 0."""

    axis: int
    start: str | None
    stop: str


class AffineReader:
    """Recognises affine index tiles. `scalar` gives a scalar value's text, `definition` the op to look through."""

    def __init__(self, scalar: Callable[[Value], str | None], definition: Callable[[Value], Op | None],
                 positive: Callable[[Value], bool]):
        self._scalar, self._definition, self._positive = scalar, definition, positive

    def read(self, value: Value, coords: tuple[Coord, ...]) -> Affine | None:
        """`value`'s element at `coords` as base + coordinate, or None."""
        if value.dtype not in (I32, I64):
            return None
        if not value.shape:
            text = self._scalar(value)
            return None if text is None else Affine(text, value.dtype, None, self._positive(value))
        op = self._definition(value)
        if op is None:
            return None
        if op.name == "iota":
            known = Affine("0" if value.dtype == I64 else "i32(0)", value.dtype, coords[0], positive=True)
            return known if coords[0] != ZERO else Affine(known.base, value.dtype, None, positive=True)
        if op.name == "const":
            return self._constant(op)
        if is_view(op):
            return self.read(op.operands[0], operand_coords(op, coords, ZERO))
        return self._arithmetic(op, coords)

    def _constant(self, op: Op) -> Affine:
        number = int(op.attrs["value"])  # type: ignore[arg-type]
        text = f"({number})" if op.result.dtype == I64 else f"i32({number})"
        return Affine(text, op.result.dtype, None, positive=0 <= number < NEAR)

    def _arithmetic(self, op: Op, coords: tuple[Coord, ...]) -> Affine | None:
        if op.name == "cast" and op.operands[0].dtype in (I32, I64):
            inner = self.read(op.operands[0], coords)
            if inner is None or op.result.dtype == inner.dtype:
                return inner
            if inner.wraps or op.result.dtype != I64:
                return None
            return Affine(inner.base64, I64, inner.coord, inner.positive)
        if op.name not in ("add", "sub"):
            return None
        a, b = self.read(op.operands[0], coords), self.read(op.operands[1], coords)
        if a is None or b is None or (b.coord and (a.coord or op.name == "sub")):
            return None
        base = _sum(op, a.base, b.base)
        positive = op.name == "add" and a.positive and b.positive and "0" in (_bare(a.base), _bare(b.base))
        coord = a.coord or b.coord
        wraps = coord is not None and op.result.dtype == I32
        return Affine(base, op.result.dtype, coord, positive, wraps)


def _bare(text: str) -> str:
    return text.removeprefix("i32").strip("()")


def _sum(op: Op, a: str, b: str) -> str:
    if _bare(b) == "0":
        return a
    if op.name == "add" and _bare(a) == "0":
        return b
    return expression(op, [a, b])


def index_bounds(index: Affine, extent: int | str, length: int) -> Bounds | None:
    """Where `index`, along a loop of `length`, is inside an axis of `extent` elements. None: `index` is uniform."""
    if index.coord is None or index.coord.axis is None:
        return None
    base = index.base64
    stop = f"minimum({length}, {extent})" if _bare(index.base) == "0" else f"minimum({length}, sub({extent}, {base}))"
    if index.wraps:
        stop = f"minimum({stop}, {WRAP_I32} - {base})"
    # `sub` and `neg` wrap. They do so only for a base near -2^63: then the stop is negative, and so the range empty.
    start = None if index.positive else f"minimum({length}, maximum(0, neg({base})))"
    return Bounds(index.coord.axis, start, stop)


def _distance(left: Affine, right: Affine) -> str:
    """right - left, for a base >= 0 on the left. On the right, what is called positive is so small that nothing can
    overflow, and the text is the one that `index_bounds` has; else the limit is held within [-1, 2^62]."""
    if not right.positive:
        return f"minimum(maximum({right.base64}, -1), {FAR}) - {left.base64}"
    return right.base64 if _bare(left.base) == "0" else f"sub({right.base64}, {left.base64})"


def mask_bounds(name: str, left: Affine, right: Affine, length: int) -> Bounds | None:
    """Where the comparison `left name right` holds: one side counts up along a loop, the other is uniform.

    None where that is no interval, or an overflow could blur it.
    """
    if right.coord is not None:
        name = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(name, name)
        left, right = right, left
    if left.coord is None or left.coord.axis is None or right.coord is not None or left.wraps:
        return None
    if not left.positive or name not in ("lt", "le", "gt", "ge"):
        return None
    first = _distance(left, right)
    if name in ("lt", "le"):
        plus = " + 1" if name == "le" else ""
        return Bounds(left.coord.axis, None, f"minimum({length}, {first}{plus})")
    plus = " + 1" if name == "gt" else ""
    return Bounds(left.coord.axis, f"minimum({length}, maximum(0, {first}{plus}))", str(length))
