"""Which loops can fetch the operands of their dots ahead of time.

    for %k in %lo .. %hi (%acc) {              the loads of trip n + stages - 1 are under way
      %a = load %x, %rows, %depth       ->     while trip n multiplies
      %b = load %y, %depth, %cols
      %next = dot %a, %b, %acc
      ...
    }

An analysis. Two kinds of loops qualify. One may do what it likes, so long as it counts up by a constant: of its loads
those are fetched ahead that are copies of chunks anyway (`tilelang.tiling.copy_plans`), and whose indices follow
from the loop's index alone. The other does nothing but add the product of two loads to an accumulator that stays in
fragments (`dot_plans`). For that the facts of the launch need not prove anything: if they do not tell that rows are
contiguous and aligned, the loop is written in both ways, and the kernel looks (`tilelang.tiling.pipelines`). The loads
must be copyable 16 bytes at a time: unmasked, from tensors of two axes, of halves or bytes, with a run of columns that
starts at a multiple of 16 bytes. Where they have to go by way of registers, before sm_80, the facts must also say that
chunks are whole, and there may not be too many.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.ir.access import access
from tilelang.ir.core import Kernel, Op, Value
from tilelang.ir.thread_ops import MOST_PENDING
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.memory.axis import AxisAnalysis
from tilelang.tiling.chunks import WORDS, chunks_of_thread
from tilelang.tiling.copy_plans import CopyPlans, CopyRules, chunk_of
from tilelang.tiling.dot_plans import CHUNK_BYTES, DotPlans, is_transpose
from tilelang.tiling.targets import Target


@dataclass(frozen=True)
class Pipeline:
    """How a loop is pipelined: `loads` of operands, `others` the ops that compute their indices."""

    loads: tuple[Op, ...]
    others: tuple[Op, ...]
    step: int
    stages: int
    axis: AxisAnalysis

    def is_aligned(self, load: Op) -> bool:
        """Do the launch's facts say that rows are contiguous and begin at multiples of 16 bytes?"""
        fact, name = self.axis.fact, load.operands[0].name
        by_rows = self.axis.facts.get(f"fact.{name}.stride1") == 1 and fact(f"{name}.stride0.div") >= chunk_of(load) \
            and fact(f"{name}.aligned") >= CHUNK_BYTES
        return self._is_proved(load) or by_rows

    def has_whole_chunks(self, load: Op) -> bool:
        """Is the number of columns known to be such that a chunk is inside or outside as a whole?"""
        columns, chunk = load.operands[0].type.dims[-1], chunk_of(load)  # type: ignore[union-attr]
        whole = columns % chunk == 0 if isinstance(columns, int) else self.axis.fact(f"{columns}.div") >= chunk
        return self._is_proved(load) or whole

    def _is_proved(self, load: Op) -> bool:
        return self.axis.width(load, CHUNK_BYTES) == chunk_of(load)


MOST_FETCHED = 64
"""Registers of a thread that operands may wait in while it multiplies, where there are no asynchronous copies."""


def plan_pipelines(kernel: Kernel, target: Target, threads: int, plans: DotPlans, copies: CopyPlans,
                   stages: int) -> dict[int, Pipeline]:
    """The loops to be pipelined, by `id`, with as many stages as asked for, and possible: two without asynchronous
    copies."""
    if target.vector_bytes < CHUNK_BYTES or stages < 2 or not plans.products:
        return {}
    most = MOST_PENDING + 2 if target.async_copy else 2
    planner = _Planner(CopyRules(kernel, target, plans), threads, copies, min(stages, most))
    found = {id(op): planner.pipeline(op) for op in kernel.walk() if op.name == "for"}
    return {loop: pipeline for loop, pipeline in found.items() if pipeline is not None}


class _Planner:
    def __init__(self, rules: CopyRules, threads: int, copies: CopyPlans, stages: int):
        self.rules = rules
        self.threads = threads
        self.copies = copies
        self.stages = stages
        self.plans = rules.plans
        self.uses = rules.uses
        self.definitions = rules.definitions

    def pipeline(self, loop: Op) -> Pipeline | None:
        step = self._constant(loop.operands[2])
        if step is None or step <= 0:
            return None
        loads, others = self._product(loop) or self._copied(loop)
        found = Pipeline(loads, others, step, self.stages, self.rules.axis) if loads else None
        return found if found is None or self.rules.target.async_copy or self._is_fetchable(found) else None

    def _is_fetchable(self, pipeline: Pipeline) -> bool:
        """Can its operands wait in registers: whole chunks, and not too many?"""
        registers = sum(chunks_of_thread(load, self.threads).registers * WORDS for load in pipeline.loads)
        return registers <= MOST_FETCHED and all(map(pipeline.has_whole_chunks, pipeline.loads))

    # ---------------------------------------------------------------- loads that are copies anyway

    def _copied(self, loop: Op) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
        """Those whose indices follow from the loop's index, and the ops that compute these."""
        (body,) = loop.blocks
        loads, needed = [], set()
        for op in body.ops:
            if id(op) in self.copies.loads:
                behind = self._behind(op, loop)
                if behind is not None:
                    loads.append(op)
                    needed |= behind
        return tuple(loads), tuple(op for op in body.ops if id(op) in needed)

    def _behind(self, load: Op, loop: Op) -> set[int] | None:
        """The ops of the body, by `id`, that compute the operands of a load; None if a later trip's are not known."""
        (body,) = loop.blocks
        inside, found, waiting = {id(op) for op in body.ops}, set(), list(load.operands)
        while waiting:
            value = waiting.pop()
            op = self.definitions.get(value)
            if value in body.args[1:]:
                return None
            if op is None or id(op) not in inside or id(op) in found:
                continue
            if not self._is_index_arithmetic(op):
                return None
            found.add(id(op))
            waiting += op.operands
        return found

    # ---------------------------------------------------------------- loops that only add products

    def _product(self, loop: Op) -> tuple[tuple[Op, ...], tuple[Op, ...]] | None:
        """The loads and the other ops of a loop that adds one product to its accumulator; None for other loops."""
        (body,) = loop.blocks
        _, *carried = body.args
        if len(carried) != 1 or carried[0] not in self.plans.carried:
            return None
        (dot,) = self.uses.of(carried[0])
        if id(dot) not in self.plans.products or self.plans.products[id(dot)].kind == "tf32":
            return None
        loads = [self._load(operand, dot) for operand in dot.operands[:2]]
        if any(load is None or load not in body.ops for load in loads):
            return None
        found = tuple(load for load in loads if load is not None)
        others = [op for op in body.ops[:-1] if op is not dot and op not in found and not is_transpose(op)]
        if not all(self._is_copyable(load) for load in found) or not all(map(self._is_index_arithmetic, others)):
            return None
        return found, tuple(others)

    def _load(self, operand: Value, dot: Op) -> Op | None:
        """The load that an operand, or what it is the transpose of, comes from, if nothing else uses it."""
        op, user = self.definitions.get(operand), dot
        if op is not None and is_transpose(op) and self.uses.of(operand) == [dot]:
            operand, user = op.operands[0], op
            op = self.definitions.get(operand)
        return op if op is not None and op.name == "load" and self.uses.of(operand) == [user] else None

    def _is_copyable(self, load: Op) -> bool:
        """Whole chunks, each from a multiple of its columns on, and rows that any thread can compute."""
        parts = access(load)
        if parts.pointwise or parts.mask is not None or parts.other is not None or len(parts.indices) != 2:
            return False
        rows, columns = parts.indices
        shapes = len(rows.shape) == len(columns.shape) == 1 and columns.shape[0] % chunk_of(load) == 0
        along = self.rules.axis.of(columns)
        return shapes and self.rules.is_computable(rows) and self.rules.is_computable(columns) \
            and along.counts and along.divisor >= chunk_of(load)

    # ---------------------------------------------------------------- indices

    def _is_index_arithmetic(self, op: Op) -> bool:
        if op.results and op.result.shape:
            return self.rules.is_computable(op.result)
        return op.name == "const" or TILE_OPS[op.name].elementwise

    def _constant(self, value: Value) -> int | None:
        op = self.definitions.get(value)
        number = op.attrs["value"] if op is not None and op.name == "const" else None
        return number if isinstance(number, int) else None
