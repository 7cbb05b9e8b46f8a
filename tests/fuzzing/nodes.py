"""What random programs are made of: typed expressions, variables, and the state of a running program.

A `Node` of shape `()` is a scalar. `value(state)` gives a NumPy array of Python objects, which does the shapes;
what happens to each element is `tests.fuzzing.arithmetic`'s affair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.fuzzing.arithmetic import FLOATS, INTS, Number

Shape = tuple[int, ...]

SHAPES: tuple[Shape, ...] = (
    (), (), (4,), (4,), (8,), (3,), (1,), (5,), (13,), (4, 8), (8, 4), (3, 4), (1, 7), (16, 1), (1, 1), (5, 3),
    (16, 16), (2, 3, 4), (2, 1, 5), (2, 1, 2, 3), (32,),
)  # fmt: skip
"""Powers of two, odd and prime extents, ones, and some that are longer than the tensors."""
DTYPES = ("bool", *INTS, *FLOATS)


@dataclass
class State:
    """What a running program knows: its id, its variables and the tensors, which hold Python numbers."""

    program: int
    tensors: dict[str, np.ndarray]
    values: dict[str, np.ndarray] = field(default_factory=dict)
    errors: dict[str, np.ndarray] = field(default_factory=dict)
    """Of tensors whose elements are no exact matter: how far each may be off."""


@dataclass(frozen=True)
class Node:
    """An expression: `value(state)` has shape `shape`."""

    text: str
    dtype: str
    shape: Shape
    value: Callable[[State], np.ndarray]


@dataclass(frozen=True)
class Variable:
    """A name in scope; it may be assigned if it is a `var`."""

    name: str
    dtype: str
    shape: Shape
    mutable: bool = False


def each(function: Callable[..., Number], *operands: np.ndarray) -> np.ndarray:
    """The function of the elements of operands that broadcast together."""
    with np.errstate(all="ignore"):
        return np.asarray(np.frompyfunc(function, len(operands), 1)(*operands), dtype=object)


def number(value: Number, dtype: str) -> str:
    """A literal of any value, as text."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in INTS:
        return str(value)
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    digits = "inf" if math.isinf(value) else repr(abs(float(value)))
    return "nan" if math.isnan(value) else sign + digits
