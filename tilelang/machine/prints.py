"""What the threads print, put together again.

Each thread prints the elements of a tile that it holds, by their numbers. The k-th time that a program prints element e
of one `print` of the program text is part of its k-th print there; element 0 says where that stands among the program's
prints. One `print` may have become several ops, which share it: in a loop that is split, each has some of the elements.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from tilelang.ir.attrs import int_attr
from tilelang.ir.core import Op


@dataclass
class Print:
    """One print of one program; the elements arrive in any order."""

    op: Op
    elements: dict[int, np.generic] = field(default_factory=dict)

    def value(self) -> np.ndarray | None:
        """The printed scalar or tile. The op's `shape` tells which; without it one element is a scalar, more are a
        tile of rank 1."""
        if len(self.op.operands) < 2:
            return None
        elements = [self.elements[number] for number in sorted(self.elements)]
        shape = self.op.attrs.get("shape", () if len(elements) == 1 else (len(elements),))
        return np.asarray(elements).reshape(shape)  # type: ignore[arg-type]


class Prints:
    """The prints of one batch, by program (its position)."""

    def __init__(self) -> None:
        self.opened: dict[int, list[Print]] = defaultdict(list)
        self._at: dict[tuple[int, int], list[Print]] = defaultdict(list)
        self._seen: dict[tuple[int, int, int], int] = defaultdict(int)

    def add(self, op: Op, program: int, element: int, value: np.generic | None) -> None:
        """An element that an op prints."""
        site = int_attr(op, "id")
        turn = self._seen[site, program, element]
        self._seen[site, program, element] += 1
        here = self._at[program, site]
        while len(here) <= turn:
            here.append(Print(op))
        if element == 0:
            self.opened[program].append(here[turn])
        if value is not None:
            here[turn].elements[element] = value
