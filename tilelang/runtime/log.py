"""The log: how a kernel on any device tells the host about failed asserts and prints.

A launch passes one flat i64 array. Its layout, the same for every back end:

    log[0]   the first failed assert, as program * MAX_SITES + site, kept by an atomic minimum; NO_FAILURE if none
    log[1]   how many print records were asked for, counted by an atomic add (may exceed what fits)
    log[2:]  print records of RECORD words: site, program, element, payload

`site` numbers the `assert` and `print` ops of the tile IR in the order they are written (`sites`). `program` is the
linear program number with axis 0 fastest: id0 + id1 * grid0 + id2 * grid0 * grid1. `element` is the row-major
number of a tile's element, 0 for a scalar and for a print without a value. `payload` is the value: integers and
bools as i64 (a u64's bits), floats widened to f64, its bits.

One rule makes the records sortable: element 0 of successive prints of one program must be recorded in the
program's order (one thread does it). The other elements may come in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilelang.diagnostics import Span
from tilelang.dtypes import DType
from tilelang.ir.core import Kernel
from tilelang.ir.host_types import numpy_dtype

HEADER = 2
RECORD = 4
MAX_SITES = 1 << 16
NO_FAILURE = (1 << 63) - 1
CAPACITY = 1 << 16
"""Print records that fit into one launch's log (2 MiB); the ones beyond are counted and dropped."""


@dataclass(frozen=True)
class Site:
    """One `assert` or `print` op. `dtype` and `shape` are those of the printed value, None for a bare text."""

    number: int
    kind: str
    text: str
    span: Span
    dtype: DType | None = None
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Failure:
    """An assert that was false in `program` (its ids, one per grid axis)."""

    site: Site
    program: tuple[int, ...]


@dataclass(frozen=True)
class Printed:
    """One print of one program. `value` is a NumPy array (0-d for a scalar), None for a bare text."""

    site: Site
    program: tuple[int, ...]
    value: np.ndarray | None


@dataclass(frozen=True)
class Report:
    """What a log says. `dropped` counts print records that found no room."""

    failure: Failure | None
    printed: tuple[Printed, ...]
    dropped: int


def sites(kernel: Kernel) -> tuple[Site, ...]:
    """The asserts and prints of a tile-level kernel; position = number."""
    found: list[Site] = []
    for op in kernel.walk():
        if op.name not in ("assert", "print"):
            continue
        value = op.operands[0] if op.name == "print" and op.operands else None
        found.append(Site(len(found), op.name, str(op.attrs["text"]), op.span,
                          value.dtype if value else None, value.shape if value else None))
    return tuple(found)


def new_log(found: Sequence[Site], capacity: int = CAPACITY) -> np.ndarray:
    """A fresh log for a kernel with these sites; without prints it has no room for records."""
    records = capacity if any(site.kind == "print" for site in found) else 0
    log = np.zeros(HEADER + RECORD * records, np.int64)
    log[0] = NO_FAILURE
    return log


def decode(log: np.ndarray, found: Sequence[Site], grid: tuple[int, ...]) -> Report:
    """Read a log back after a launch over `grid`; prints come in order by program (axis 0 fastest)."""
    failure = None
    if log[0] != NO_FAILURE:
        program, number = divmod(int(log[0]), MAX_SITES)
        failure = Failure(found[number], _ids(program, grid))
    room = (len(log) - HEADER) // RECORD
    records = log[HEADER:HEADER + RECORD * min(int(log[1]), room)].reshape(-1, RECORD)
    return Report(failure, tuple(_prints(records, found, grid)), max(0, int(log[1]) - room))


def _ids(program: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    ids = []
    for extent in grid:
        ids.append(program % extent)
        program //= extent
    return tuple(ids)


def _prints(records: np.ndarray, found: Sequence[Site], grid: tuple[int, ...]) -> list[Printed]:
    """Group the records: the k-th element 0 of a site in a program opens its k-th print, others join theirs."""
    opened: list[tuple[Site, tuple[int, ...], list[int]]] = []
    prints_of: dict[tuple[int, int], list[int]] = {}
    for site, program, element, payload in records.tolist():
        if element == 0:
            prints_of.setdefault((site, program), []).append(len(opened))
            opened.append((found[site], _ids(program, grid), [payload] + [0] * (_size(found[site]) - 1)))
    seen: dict[tuple[int, int, int], int] = {}
    for site, program, element, payload in records.tolist():
        turn = seen.get((site, program, element), 0)
        seen[site, program, element] = turn + 1
        prints = prints_of.get((site, program), [])
        if turn < len(prints):
            opened[prints[turn]][2][element] = payload
    printed = [Printed(site, program, _value(site, payloads)) for site, program, payloads in opened]
    return sorted(printed, key=lambda entry: entry.program[::-1])


def _size(site: Site) -> int:
    return int(np.prod(site.shape, dtype=np.int64)) if site.shape else 1


def _value(site: Site, payloads: list[int]) -> np.ndarray | None:
    if site.dtype is None or site.shape is None:
        return None
    raw = np.array(payloads, np.int64)
    wide = raw.view(np.float64) if site.dtype.is_float else raw
    return wide.astype(numpy_dtype(site.dtype)).reshape(site.shape)
