"""Values that are the sum of a part of the program and a part of the lane: what nearly all addresses are.

    %base: i64 = mul %program_id, %c1024      differs between programs     (1, P, 1)
    %iota: i64 = add %row, %t                 between trips and threads    (R, 1, T)
    %i: i64 = add %base, %iota                kept as those two: P + R * T numbers in place of P * R * T
    %inside: bool = lt %i, %N                 true, if the largest of both parts together is below: one number

What is not known in parts (a product of two such values, a comparison that some lanes pass and others do not) is
computed from the whole array, as everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tilelang.dtypes import U64, DType
from tilelang.ir.host_types import numpy_dtype

LARGEST = 1 << 61
"""Parts stay below this, so that no sum of two overflows."""


@dataclass(frozen=True)
class Separable:
    """`program` (1, P, 1) + `lane` (R, 1, T), both i64; the sum is in the range of the integer type `dtype`."""

    program: np.ndarray
    lane: np.ndarray
    dtype: np.dtype

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.lane.shape[0], self.program.shape[1], self.lane.shape[2]

    @cached_property
    def array(self) -> np.ndarray:
        return (self.program + self.lane).astype(self.dtype, copy=False)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest value."""
        return (int(self.program.min()) + int(self.lane.min()), int(self.program.max()) + int(self.lane.max()))

    def plus(self, number: int) -> Separable:
        """For positions: the result's range is not looked at."""
        return replace(self, lane=self.lane + number) if number else self


Known = np.ndarray | Separable
"""What a value of the running programs is kept as."""


def whole(value: Known) -> np.ndarray:
    return value.array if isinstance(value, Separable) else value


def in_parts(name: str, operands: Sequence[Known], dtype: DType) -> Known | None:
    """The result of an elementwise op, if it can be had from parts. None: compute it from arrays."""
    if name == "cast":
        return _cast(operands[0], dtype)
    a, b = operands
    if isinstance(a, Separable) or isinstance(b, Separable) or (name == "add" and _are_parts(a, b)):
        return RULES[name](a, b, dtype)
    return None


def _are_parts(a: np.ndarray, b: np.ndarray) -> bool:
    """Does one differ between programs alone, the other between trips and threads alone?"""
    program, lane = (a, b) if a.shape[1] > 1 else (b, a)
    return program.size == program.shape[1] > 1 and lane.shape[1] == 1 < lane.size


def _parts(value: Known) -> tuple[np.ndarray, np.ndarray] | None:
    """The two parts of a value of an integer type, if it has no others."""
    if isinstance(value, Separable):
        return value.program, value.lane
    if value.dtype.kind not in "iu" or value.dtype == np.uint64:
        return None
    number = value.astype(np.int64)
    if value.shape[1] == 1:
        return NOTHING, number
    return (number, NOTHING) if value.shape[0] == value.shape[2] == 1 else None


NOTHING = np.zeros((1, 1, 1), np.int64)


def _sum(a: Known, b: Known, sign: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The parts of a + sign * b."""
    first, second = _parts(a), _parts(b)
    if first is None or second is None or _largest(*first, *second) >= LARGEST:
        return None
    return first[0] + sign * second[0], first[1] + sign * second[1]


def _largest(*parts: np.ndarray) -> int:
    return max(max(-int(part.min()), int(part.max())) for part in parts)


def _value(parts: tuple[np.ndarray, np.ndarray] | None, dtype: DType) -> Separable | None:
    """A value of these parts, if no sum of them leaves the type's range."""
    if parts is None:
        return None
    value = Separable(*parts, numpy_dtype(dtype))
    low, high = value.bounds
    return value if dtype.min_int <= low and high <= dtype.max_int else None


def _add(a: Known, b: Known, dtype: DType) -> Separable | None:
    return _value(_sum(a, b, 1), dtype)


def _sub(a: Known, b: Known, dtype: DType) -> Separable | None:
    return _value(_sum(a, b, -1), dtype)


def _mul(a: Known, b: Known, dtype: DType) -> Separable | None:
    """By a number that is the same for all."""
    value, factor = (a, b) if isinstance(a, Separable) else (b, a)
    if not isinstance(value, Separable) or isinstance(factor, Separable) or factor.size > 1:
        return None
    number = int(factor.item())
    if _largest(value.program, value.lane) * abs(number) >= LARGEST:
        return None
    return _value((value.program * number, value.lane * number), dtype)


def _cast(value: Known, dtype: DType) -> Separable | None:
    if not isinstance(value, Separable) or not dtype.is_integer or dtype is U64:
        return None
    return _value((value.program, value.lane), dtype)


def _compare(always: Callable[[int, int], bool], never: Callable[[int, int], bool]) -> Rule:
    """A comparison with 0 of the least and the largest difference: does it hold always, or never?"""
    def rule(a: Known, b: Known, dtype: DType) -> np.ndarray | None:
        parts = _sum(a, b, -1)
        if parts is None:
            return None
        low, high = Separable(*parts, parts[0].dtype).bounds
        return np.full((1, 1, 1), always(low, high)) if always(low, high) or never(low, high) else None

    return rule


Rule = Callable[[Known, Known, DType], Known | None]

RULES: dict[str, Rule] = {
    "add": _add, "sub": _sub, "mul": _mul,
    "lt": _compare(lambda low, high: high < 0, lambda low, high: low >= 0),
    "le": _compare(lambda low, high: high <= 0, lambda low, high: low > 0),
    "gt": _compare(lambda low, high: low > 0, lambda low, high: high <= 0),
    "ge": _compare(lambda low, high: low >= 0, lambda low, high: high < 0),
}
IN_PARTS = frozenset((*RULES, "cast"))
