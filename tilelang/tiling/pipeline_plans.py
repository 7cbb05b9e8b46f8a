"""Which loops around a dot can fetch their operands ahead of time.

    for %k in %lo .. %hi (%acc) {              the loads of trip n + stages - 1 are under way
      %a = load %x, %rows, %depth       ->     while trip n multiplies
      %b = load %y, %depth, %cols
      yield dot %a, %b, %acc
    }

An analysis. A loop qualifies if it does nothing else, its accumulator stays in fragments (`dot_plans`), and its loads
can be copied 16 bytes at a time: unmasked, from f16 or bf16 tensors of two axes, with a run of columns that starts at a
multiple of 8. That rows are contiguous and aligned too, the launch's facts may tell (`tilelang.memory.axis`); without
them the loop is written in both ways, and the kernel looks (`tilelang.tiling.pipelines`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilelang.ir.access import access
from tilelang.ir.core import Kernel, Op, Value
from tilelang.ir.thread_ops import MOST_PENDING
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.memory.axis import AxisAnalysis
from tilelang.tiling.dot_plans import DotPlans, MmaPlan, is_transpose
from tilelang.tiling.homes import COSTLY, VIEWS
from tilelang.tiling.targets import Target
from tilelang.tiling.uses import Uses

CHUNK = 8
"""Elements of 16 bits in an asynchronous copy."""

DEEPEST = 16
"""Index arithmetic nested deeper than this is not computed again for every copy."""


@dataclass(frozen=True)
class Pipeline:
    """How a loop is pipelined: `loads` of the operands A and B, `others` the ops that compute their indices."""

    dot: Op
    product: MmaPlan
    loads: tuple[Op, ...]
    others: tuple[Op, ...]
    step: int
    stages: int
    axis: AxisAnalysis

    def is_aligned(self, tensor: Value) -> bool:
        """Do the launch's facts say that rows are contiguous and begin at multiples of 16 bytes?"""
        fact, name = self.axis.fact, tensor.name
        return self.axis.facts.get(f"fact.{name}.stride1") == 1 and fact(f"{name}.stride0.div") >= CHUNK \
            and fact(f"{name}.aligned") >= 16

    def has_whole_chunks(self, tensor: Value) -> bool:
        """Is the number of columns known to be a multiple of 8, so that a chunk is inside or outside as a whole?"""
        columns = tensor.type.dims[1]  # type: ignore[union-attr]
        return columns % CHUNK == 0 if isinstance(columns, int) else self.axis.fact(f"{columns}.div") >= CHUNK


def plan_pipelines(kernel: Kernel, target: Target, plans: DotPlans, stages: int) -> dict[int, Pipeline]:
    """The loops to be pipelined, by `id`, with as many stages as asked for (and possible)."""
    if not target.async_copy or stages < 2 or not plans.carried:
        return {}
    planner = _Planner(kernel, plans, min(stages, MOST_PENDING + 2))
    found = {id(op): planner.pipeline(op) for op in kernel.walk() if op.name == "for"}
    return {loop: pipeline for loop, pipeline in found.items() if pipeline is not None}


class _Planner:
    def __init__(self, kernel: Kernel, plans: DotPlans, stages: int):
        self.plans = plans
        self.stages = stages
        self.uses = Uses(kernel)
        self.axis = AxisAnalysis(kernel)
        self.definitions = {value: op for op in kernel.walk() for value in op.results}

    def pipeline(self, loop: Op) -> Pipeline | None:
        (body,) = loop.blocks
        _, *carried = body.args
        step = self._constant(loop.operands[2])
        if len(carried) != 1 or carried[0] not in self.plans.carried or step is None or step <= 0:
            return None
        (dot,) = self.uses.of(carried[0])
        product = self.plans.products.get(id(dot))
        if product is None or dot.operands[0].dtype.bits != 16:
            return None
        loads = [self._load(operand, dot) for operand in dot.operands[:2]]
        if any(load is None or load not in body.ops for load in loads):
            return None
        found = tuple(load for load in loads if load is not None)
        others = [op for op in body.ops[:-1] if op is not dot and op not in found and not is_transpose(op)]
        if not all(self._is_copyable(load) for load in found) or not self._only_index_arithmetic(others):
            return None
        return Pipeline(dot, product, found, tuple(others), step, self.stages, self.axis)

    def _load(self, operand: Value, dot: Op) -> Op | None:
        """The load that an operand, or what it is the transpose of, comes from, if nothing else uses it."""
        op, user = self.definitions.get(operand), dot
        if op is not None and is_transpose(op) and self.uses.of(operand) == [dot]:
            operand, user = op.operands[0], op
            op = self.definitions.get(operand)
        return op if op is not None and op.name == "load" and self.uses.of(operand) == [user] else None

    def _is_copyable(self, load: Op) -> bool:
        """Chunks of 8 columns, each from a multiple of 8 on, and rows that any thread can compute."""
        parts = access(load)
        if parts.pointwise or parts.mask is not None or parts.other is not None or len(parts.indices) != 2:
            return False
        rows, columns = parts.indices
        shapes = len(rows.shape) == len(columns.shape) == 1 and columns.shape[0] % CHUNK == 0
        along = self.axis.of(columns)
        return shapes and self._is_computable(rows, 0) and self._is_computable(columns, 0) \
            and along.counts and along.divisor >= CHUNK

    def _only_index_arithmetic(self, ops: Sequence[Op]) -> bool:
        return all(self._is_computable(op.result, 0) if op.results and op.result.shape else _is_scalar_arithmetic(op)
                   for op in ops)

    def _is_computable(self, value: Value, depth: int) -> bool:
        """Can an element be computed from its coordinates and scalars?"""
        op = self.definitions.get(value)
        if not value.shape or (op is not None and op.name in ("const", "iota")):
            return True
        if op is None or depth > DEEPEST or op.name in COSTLY or not (
                TILE_OPS[op.name].elementwise or op.name in VIEWS):
            return False
        return all(self._is_computable(operand, depth + 1) for operand in op.operands)

    def _constant(self, value: Value) -> int | None:
        op = self.definitions.get(value)
        number = op.attrs["value"] if op is not None and op.name == "const" else None
        return number if isinstance(number, int) else None


def _is_scalar_arithmetic(op: Op) -> bool:
    return op.name == "const" or TILE_OPS[op.name].elementwise
