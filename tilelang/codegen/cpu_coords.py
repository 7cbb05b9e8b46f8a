"""Where in its operand an element of a shape op comes from.

    %w: f32[4, 8] = broadcast %v          # v: f32[8]      element (i, j) of w is element (j) of v
    %p: f32[8, 4] = permute %w            # {axes = (1, 0)}  element (i, j) of p is element (j, i) of w
    %r: f32[8, 1, 4] = reshape %p         #                element (i, 0, j) of r is element (i, j) of p

So none of these three moves data: whoever wants an element of the result computes one of the operand. The same
mapping serves for coordinates (texts of the source being written) and for questions about axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tilelang.ir.attrs import ints_attr
from tilelang.ir.core import Op

T = TypeVar("T")


@dataclass(frozen=True)
class Coord:
    """One coordinate of an element: an i64 expression, and how many of the loops around it depends on.

    `axis` is the loop it is the variable of, None if it is anything else.
    """

    text: str
    level: int
    axis: int | None = None


ZERO = Coord("0", 0)


def operand_coords(op: Op, coords: Sequence[T], zero: T) -> tuple[T, ...]:
    """The coordinates in operand 0 of a broadcast, permute or reshape (by extents of 1) for those in its result."""
    shape, result = op.operands[0].shape, op.result.shape
    if op.name == "permute":
        axes = ints_attr(op, "axes")
        return tuple(coords[axes.index(axis)] for axis in range(len(shape)))
    if op.name == "broadcast":
        aligned = tuple(coords[len(result) - len(shape):])
        return tuple(zero if extent == 1 else c for extent, c in zip(shape, aligned, strict=True))
    long = iter([c for extent, c in zip(result, coords, strict=True) if extent != 1])
    return tuple(zero if extent == 1 else next(long) for extent in shape)


def is_view(op: Op) -> bool:
    """A shape op that `operand_coords` can see through."""
    if op.name == "reshape":
        return _without_ones(op.operands[0].shape) == _without_ones(op.result.shape)
    return op.name in ("broadcast", "permute")


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [extent for extent in shape if extent != 1]


def offset_text(coords: Sequence[Coord], strides: Sequence[int | str], base: str = "") -> str:
    """`base + i * s0 + j` as an i64 expression; strides are numbers or names, 1 and coordinate 0 vanish."""
    terms = [base] if base and base != "0" else []
    for coord, stride in zip(coords, strides, strict=True):
        if coord.text == "0" or stride == 0:
            continue
        text = coord.text if coord.text.isidentifier() or stride == 1 else f"({coord.text})"
        terms.append(text if stride == 1 else f"{text} * {stride}")
    return " + ".join(terms) or "0"
