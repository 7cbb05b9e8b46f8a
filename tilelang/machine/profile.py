"""The machine model's report: where a kernel's time goes on a given GPU.

Programs are run (all of them, or a sample if that would take long), their accesses counted, the counts charged to the
lines of the source, and the totals put on a roofline.

    profile(thread_ir, tile_ir, GPUS["a100"], args, dims, grid, source)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from tilelang.diagnostics import Source
from tilelang.dtypes import BF16, F16, F32, I8, U8
from tilelang.ir.core import Kernel, Op, TensorType
from tilelang.machine.constants import constant_values
from tilelang.machine.cost import TRIP, Cost, op_costs
from tilelang.machine.eager import Eager, eager
from tilelang.machine.execute import Scalar, execute
from tilelang.machine.gpus import Gpu
from tilelang.machine.invariants import movable
from tilelang.machine.l2 import L2Cache, Traffic
from tilelang.machine.occupancy import Occupancy, Resources, occupancy, shared_bytes
from tilelang.machine.registers import estimate_registers
from tilelang.machine.report import Counts, Finding, Report
from tilelang.machine.roofline import Roofline, Work, roofline
from tilelang.machine.traffic import SECTOR

BUDGET = 200_000_000
"""Executions of an op by a thread that a profile may take: about two seconds. What would take more is sampled."""

TRIAL = 2
"""Programs that are run first: for races, which take long to look for, and to see how much work a program is."""

Args = Mapping[str, np.ndarray | Scalar]


@dataclass(frozen=True)
class LineCounts:
    """What one line of the source costs over the whole launch; `line` 0 is what belongs to none.

    `sectors`: 32-byte sectors of global memory that warps asked for; `useful`: bytes of them that threads wanted, at
    most all. `shared`: accesses to shared memory by a warp, `wavefronts`: the passes they take, `conflicts`: those
    too many (elements of 8 bytes take two without any). `instructions`: of warps. `share`: the line's part of what
    limits the kernel, 0 to 1.
    """

    line: int
    text: str
    sectors: float = 0
    useful: float = 0
    shared: float = 0
    wavefronts: float = 0
    conflicts: float = 0
    instructions: float = 0
    share: float = 0

    @property
    def efficiency(self) -> float | None:
        """Coalescing: the part of the sectors' bytes that is used; None without access to global memory."""
        return self.useful / (self.sectors * SECTOR) if self.sectors else None


@dataclass(frozen=True)
class Profile:
    """A launch on a GPU. Counts are of the whole launch, also if only `ran` of `programs` were run."""

    kernel: str
    gpu: Gpu
    grid: tuple[int, ...]
    programs: int
    ran: int
    resources: Resources
    occupancy: Occupancy
    lines: tuple[LineCounts, ...]
    total: LineCounts
    instructions: Mapping[str, float]
    barriers: float
    traffic: Traffic
    eager: Eager
    roofline: Roofline
    findings: tuple[Finding, ...]

    @property
    def sampled(self) -> bool:
        return self.ran < self.programs

    @property
    def waves(self) -> int:
        """How often the GPU's SMs are filled with blocks, the last time perhaps in part."""
        return -(-self.programs // max(1, self.occupancy.blocks * self.gpu.sms))


def profile(kernel: Kernel, tile: Kernel, gpu: Gpu, args: Args, dims: Mapping[str, int], grid: tuple[int, ...],
            source: Source, *, registers: int | None = None, budget: int = BUDGET) -> Profile:
    """Profile a launch.

    Args:
        kernel: the thread IR, lowered for `gpu.target`; it is run, and writes the output arrays.
        tile: the tile IR it was made of, for the eager version.
        args, dims, grid: as for `tilelang.machine.execute`.
        registers: what the assembler says a thread takes; None to estimate it.
        budget: see `BUDGET`.

    Raises:
        TileAssertionError: an `assert` of the kernel failed.
    """
    resources = _resources(kernel, gpu, registers)
    held = occupancy(gpu, resources)
    programs = math.prod(grid)
    trial = execute(kernel, _with_copies(kernel, args), dims, grid, output=_ignore, programs=_spread(programs, TRIAL))
    work = trial.total().threads // max(trial.programs, 1)
    ids = _spread(programs, max(TRIAL, budget // max(work, 1)))
    wave = max(1, held.blocks * gpu.sms) if len(ids) == programs and _bytes_of(args) > gpu.l2 else max(len(ids), 1)
    report, cache = _run(kernel, args, dims, grid, ids, wave, gpu)
    scale = programs / max(report.programs, 1)
    traffic = cache.traffic() if report.programs == programs else cache.scaled(scale)
    ledger = _Ledger(kernel, report, scale, source)
    whole = eager(tile, args, dims, grid)
    roof = roofline(gpu, ledger.work(programs, traffic, whole, _tensor_rate(tile, whole, gpu)))
    lines, total = ledger.lines(roof.limiter.name)
    instructions = {name: count * scale for name, count in report.instructions().items()}
    return Profile(kernel.name, gpu, grid, programs, report.programs, resources, held, lines, total, instructions,
                   report.barriers * scale, traffic, whole, roof, trial.findings)


# ------------------------------------------------------------------------------------ running


def _run(kernel: Kernel, args: Args, dims: Mapping[str, int], grid: tuple[int, ...], ids: np.ndarray, wave: int,
         gpu: Gpu) -> tuple[Report, L2Cache]:
    """Run the programs a wave at a time; all their counts together."""
    cache, total = L2Cache(gpu.l2), None
    for first in range(0, max(len(ids), 1), wave):
        report = execute(kernel, args, dims, grid, check_races=False, output=_ignore,
                         programs=ids[first:first + wave], watch=cache.watch)
        cache.end_wave()
        total = report if total is None else _added(total, report)
    if total is None:
        raise ValueError("no wave was run")
    return total, cache


def _added(total: Report, more: Report) -> Report:
    for (_, counts), (_, others) in zip(total.ops, more.ops, strict=True):
        counts.add(others)
    total.programs += more.programs
    return total


def _spread(programs: int, most: int) -> np.ndarray:
    """At most `most` programs, one at random from each of so many equal parts: no stride that a grid could follow."""
    if programs <= most:
        return np.arange(programs, dtype=np.int64)
    edges = np.arange(most + 1) * programs // most
    return np.random.default_rng(0).integers(edges[:-1], edges[1:])


def _with_copies(kernel: Kernel, args: Args) -> dict[str, np.ndarray | Scalar]:
    """The arguments, those that the kernel writes as copies."""
    copied = dict(args)
    for param in kernel.params:
        if isinstance(param.type, TensorType) and param.type.mode != "in":
            copied[param.name] = np.array(args[param.name])
    return copied


def _bytes_of(args: Args) -> int:
    return sum(value.nbytes for value in args.values() if isinstance(value, np.ndarray))


def _ignore(text: str, value: np.ndarray | None, program: tuple[int, ...]) -> None:
    """What the kernel prints is not wanted here."""


def _resources(kernel: Kernel, gpu: Gpu, registers: int | None) -> Resources:
    threads = int(kernel.attrs["threads"])  # type: ignore[arg-type]
    fitting = gpu.registers_per_sm // threads // 8 * 8  # the assembler spills rather than make a block that cannot run
    estimated = min(estimate_registers(kernel), fitting) if registers is None else registers
    return Resources(threads, estimated, shared_bytes(kernel), registers is not None)


def _tensor_rate(tile: Kernel, whole: Eager, gpu: Gpu) -> float:
    """What tensor cores do a second with the element type of most products; 0 if they do not take it."""
    if not whole.dot_flops:
        return 0.0
    dtype = max(whole.dot_flops, key=lambda d: whole.dot_flops[d])
    if dtype == F32 and any(op.name == "dot" and op.attrs.get("tf32") for op in tile.walk()):
        return gpu.tensor_tf32
    return {F16: gpu.tensor_half, BF16: gpu.tensor_half, I8: gpu.tensor_int8, U8: gpu.tensor_int8}.get(dtype, 0.0)


# ------------------------------------------------------------------------------------ charging


UNIT_OF = {"f32 arithmetic": "f32", "f64 arithmetic": "f64", "integer arithmetic": "integer",
           "special functions": "special", "tensor cores": "products", "instruction issue": "issue"}
"""The field of `Cost` behind a term of the roofline."""


class _Ledger:
    """The counts of a run, scaled to the whole launch and charged to lines."""

    def __init__(self, kernel: Kernel, report: Report, scale: float, source: Source):
        self.scale = scale
        self.source = source
        self.costs = op_costs(kernel, constant_values(kernel))
        self.entries = report.ops
        self.counts = {id(op): counts for op, counts in report.ops}
        self.movable = movable(kernel)

    def spent(self, op: Op, counts: Counts, unit: str) -> float:
        """Warp instructions of one unit (a field of `Cost`) that an op took."""
        total: float = counts.warps * getattr(self.costs[id(op)], unit)
        for loop in self.movable.get(id(op), ()) if total else ():
            total *= self.counts[id(loop)].warps / max(self._trips(loop), 1)
        if op.name == "while" or (op.name == "for" and not op.attrs.get("unroll")):
            total += self._trips(op) * getattr(TRIP, unit)
        return total * self.scale

    def _trips(self, loop: Op) -> int:
        """Trips of a loop, one for each warp that makes it."""
        return max((self.counts[id(op)].warps for op in loop.blocks[-1].ops), default=0)

    def work(self, programs: int, traffic: Traffic, whole: Eager, tensor: float) -> Work:
        totals = {item.name: sum(self.spent(op, counts, item.name) for op, counts in self.entries)
                  for item in fields(Cost)}
        totals["flops"] *= 32
        sectors = sum(counts.sectors for _, counts in self.entries) * self.scale
        wavefronts = sum(counts.wavefronts for _, counts in self.entries) * self.scale
        return Work(programs, hbm=traffic.total, compulsory=traffic.compulsory, l2=sectors * SECTOR,
                    wavefronts=wavefronts, dot_flops=sum(whole.dot_flops.values()), tensor=tensor, **totals)

    def lines(self, limiter: str) -> tuple[tuple[LineCounts, ...], LineCounts]:
        """One entry for each line with costs, in order, and their sum."""
        rows: dict[int, dict[str, float]] = {}
        for op, counts in self.entries:
            line = self.source.position(op.span.start)[0] if op.span.end else 0
            row = rows.setdefault(line, {})
            for name, amount in self._amounts(op, counts, limiter).items():
                row[name] = row.get(name, 0.0) + amount
        limits = sum(row["share"] for row in rows.values())
        for row in rows.values():
            row["share"] = row["share"] / limits if limits else 0.0
        total = {name: sum(row[name] for row in rows.values()) for name in next(iter(rows.values()), {})}
        made = (LineCounts(line, self.source.line(line).strip() if line else "", **row)
                for line, row in sorted(rows.items()))
        return tuple(line for line in made if _costs_something(line)), LineCounts(0, "", **total)

    def _amounts(self, op: Op, counts: Counts, limiter: str) -> dict[str, float]:
        shared = counts.warps if op.name.startswith("shared.") else 0
        useful = min(counts.bytes, counts.sectors * SECTOR)
        amounts = {"sectors": counts.sectors, "useful": useful, "shared": shared, "wavefronts": counts.wavefronts,
                   "conflicts": counts.conflicts}
        scaled = {name: amount * self.scale for name, amount in amounts.items()}
        scaled["instructions"] = self.spent(op, counts, "issue")
        unit = UNIT_OF.get(limiter)
        scaled["share"] = self.spent(op, counts, unit) if unit else scaled[
            "wavefronts" if limiter == "shared memory" else "sectors"]
        return scaled


def _costs_something(line: LineCounts) -> bool:
    return any((line.sectors, line.shared, line.instructions))
