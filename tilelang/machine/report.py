"""What a run on the machine model tells: findings (what is wrong) and counts (what it cost)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from tilelang.diagnostics import Span
from tilelang.ir.core import Op


class Problem(StrEnum):
    """The ways in which a thread kernel can be wrong on a machine and right in a single thread."""

    SHARED_RACE = "race on shared memory"
    GLOBAL_RACE = "race on global memory"
    UNINITIALISED = "read of an element that was never written"
    DIVERGENT_BARRIER = "barrier that not all threads of the block reach"
    OUT_OF_BOUNDS = "access outside the array"
    IN_FLIGHT = "read of an element that an asynchronous copy or product has not reached"
    MISALIGNED = "access of several elements at a place that is not a multiple of their size"
    PARTIAL_WARP = "operation of a whole warp or warp group that not all its threads reach"
    DISAGREEMENT = "operation of a warp group whose threads do not agree on its operands"
    UNPUBLISHED = "read by a warp group of an element whose writer has not passed a fence and then a barrier"
    UNFENCED = "product of a warp group whose accumulators were touched since the last fence"


RACES = (Problem.SHARED_RACE, Problem.GLOBAL_RACE)


@dataclass(frozen=True)
class Finding:
    """One mistake, at the first place where it shows.

    `program` has one number for each grid axis. `threads` are the guilty thread, or the pair: for a race those of
    `other` (the earlier op) and `op`, for a barrier one that came and one that did not. `array` names the tensor or
    array, `index` is the element (a tensor's: the offset from its first element). `times` counts the
    occurrences; for races, those that were looked into.
    """

    problem: Problem
    op: Op
    program: tuple[int, ...]
    threads: tuple[int, ...]
    array: str | None = None
    index: int | None = None
    other: Op | None = None
    times: int = 1

    @property
    def span(self) -> Span:
        """The place in the `.tile` source."""
        return self.op.span

    @property
    def is_race(self) -> bool:
        return self.problem in RACES

    def __str__(self) -> str:
        who = "thread" if len(self.threads) == 1 else "threads"
        where = f" at %{self.array}[{self.index}]" if self.array is not None else ""
        ops = self.op.name if self.other is None else f"{self.other.name}, {self.op.name}"
        return (f"{self.problem}{where}: {ops}, {who} {' and '.join(map(str, self.threads))} of program {self.program}"
                f" ({self.times} in all)")


@dataclass
class Counts:
    """How often an op ran and what it moved. All but `threads` are in the hardware's units.

    `threads`: executions, one for each thread. `warps`: one for each warp with a thread in it. `bytes`: elements
    times their size. `sectors`: of global memory, see `tilelang.machine.traffic`; so are `wavefronts` and `conflicts`
    of shared memory.
    """

    threads: int = 0
    warps: int = 0
    bytes: int = 0
    sectors: int = 0
    wavefronts: int = 0
    conflicts: int = 0

    def add(self, other: Counts) -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


@dataclass
class Report:
    """The outcome of one launch. `ops` holds every op of the kernel in the order of its text, with its counts."""

    threads_per_block: int
    ops: list[tuple[Op, Counts]]
    programs: int = 0
    found: dict[tuple[Problem, int, int], Finding] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each mistake once: by problem, op and, for a race, the other op."""
        return tuple(self.found.values())

    @property
    def races(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.is_race)

    def add(self, finding: Finding, number: int, other: int = -1) -> None:
        """Note a finding; `number` and `other` are the positions of its ops in `ops`."""
        key = finding.problem, number, other
        known = self.found.get(key)
        self.found[key] = finding if known is None else replace(known, times=known.times + finding.times)

    # -- counts

    def total(self, *names: str) -> Counts:
        """The counts of all ops with one of these names (`global.load`, ...) together; with no name, of all ops."""
        total = Counts()
        for op, counts in self.ops:
            if not names or op.name in names:
                total.add(counts)
        return total

    @property
    def barriers(self) -> int:
        """Barriers executed, counted once for each block."""
        return self.total("barrier").threads // self.threads_per_block

    def instructions(self) -> Mapping[str, int]:
        """Warp instructions by op name, most frequent first. Ops that become no instruction are left out."""
        found: Counter[str] = Counter()
        for op, counts in self.ops:
            if op.name not in NO_INSTRUCTION and counts.warps:
                found[op.name] += counts.warps
        return dict(found.most_common())

    def by_span(self) -> Iterator[tuple[Span, Counts]]:
        """The counts by place in the `.tile` source, in the order of the source."""
        spans: dict[Span, Counts] = {}
        for op, counts in self.ops:
            spans.setdefault(op.span, Counts()).add(counts)
        yield from sorted(spans.items(), key=lambda entry: (entry[0].start, entry[0].end))


NO_INSTRUCTION = frozenset(("const", "local", "shared", "local.load", "local.store", "stride", "thread_id", "yield",
                            "condition", "program_id", "num_programs"))
"""Constants, registers, and what the hardware or the launch hands a thread for nothing."""
