"""The memory traffic of a run: what each place in a learner's file reads and writes, watched on the machine model.

Counted are sectors of 32 bytes, the unit in which a GPU moves memory: for each program, and each place in the file that
reads or writes, every sector that it touches, once.

    y[i] = x[i] + x[i + 1];      one program, i = 0..63: the first read touches 8 sectors, the second 9, the write 8

What one place touches again and again, in a loop or from several threads, the caches near the program still hold. So
the count does not depend on how the compiler gives elements to threads. What another place or another program touches
is counted again: of arrays larger than the caches it has to be moved again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from course.puzzles.specs import Array
from tilelang.diagnostics import Source
from tilelang.ir.core import Op
from tilelang.machine.memory import Cells
from tilelang.machine.races import Access
from tilelang.machine.traffic import SECTOR

Touch = tuple[int, str, bool]
"""The number of an op in the kernel, the tensor, whether it writes."""


@dataclass(frozen=True)
class Line:
    """What a line of the file moves of one tensor of `size` bytes.

    `moved` and `wanted` are bytes: a sector is moved whole, also if threads want but a part of it.
    """

    number: int
    text: str
    tensor: str
    size: int
    moved: int = 0
    wanted: int = 0


@dataclass(frozen=True)
class Moved:
    """Memory traffic of one run. A line that reads the same tensor in two places stands in it twice."""

    lines: tuple[Line, ...]

    @property
    def total(self) -> int:
        """Bytes."""
        return sum(line.moved for line in self.lines)


@dataclass
class Recorder:
    """Notes who touches what. `first` is the number of the first program of the batch that is running."""

    first: int = 0
    _elements: dict[Touch, list[Array]] = field(default_factory=dict)
    _cells: dict[str, tuple[int, int]] = field(default_factory=dict)

    def watch(self, cells: Cells, access: Access) -> None:
        """One access of all threads; shared memory does not count."""
        if cells.private:
            return
        tensor, lanes = cells.array.name, access.lanes
        self._cells[tensor] = cells.span, cells.data.itemsize
        program = self.first + lanes.program_numbers()
        touched = np.unique(program * cells.span + lanes.spread(access.position))
        self._elements.setdefault((access.number, tensor, access.writes), []).append(touched)

    def moved(self, ops: list[Op], source: Source, sizes: Mapping[str, int]) -> Moved:
        """All that was noted, by place. `ops`: of the kernel; `sizes`: of the tensors, in bytes."""
        places: dict[tuple[int, int, str, bool], list[Array]] = {}
        for (number, tensor, writes), touched in self._elements.items():
            span = ops[number].span
            places.setdefault((span.start, span.end, tensor, writes), []).extend(touched)
        lines = []
        for (start, _, tensor, _), touched in sorted(places.items()):
            cells, item = self._cells[tensor]
            elements = np.unique(np.concatenate(touched))
            program, position = elements // cells, elements % cells
            sectors = np.unique(program * (cells * item // SECTOR + 1) + position * item // SECTOR)
            number = source.position(start)[0]
            text = source.line(number).strip()
            lines.append(Line(number, text, tensor, sizes[tensor], sectors.size * SECTOR, elements.size * item))
        return Moved(tuple(lines))
