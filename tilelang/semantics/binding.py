"""What a launch decides: plain data between the launcher, the checker and the back ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilelang.dtypes import DType
from tilelang.semantics.constants import Value


@dataclass(frozen=True)
class TensorFact:
    """What binding needs to know of an array."""

    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ScalarFact:
    """A number that is passed for a scalar parameter."""

    value: int | float | bool


ArgFact = TensorFact | ScalarFact


@dataclass(frozen=True)
class Binding:
    """Every dim and meta of one launch, and what follows from them.

    `dims` holds the named dims and the hidden ones (`x.1`: an extent that is an expression). A grid extent
    of 0 means that nothing runs. `shapes` and `dtypes` are those of every tensor, so that outputs left out
    can be allocated.
    """

    kernel: str
    dims: Mapping[str, int] = field(default_factory=dict)
    metas: Mapping[str, Value] = field(default_factory=dict)
    grid: tuple[int, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dtypes: Mapping[str, DType] = field(default_factory=dict)
