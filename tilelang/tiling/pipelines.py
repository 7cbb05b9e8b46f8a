"""Software pipelining: while the tensor cores multiply, the operands of later trips are on their way.

    %k in 0 .. %K {                              copy the operands of trips 0 and 1
      %a = load ...; %b = load ...               for each trip:  wait, barrier; copy the operands of the next but one
      %next = dot %a, %b, %acc             ->                    multiply
      yield %next
    }

Which loops come here says `tilelang.tiling.pipeline_plans`, how they are written `tilelang.tiling.ring_loops`. It works
if each row of the tensor is contiguous and begins at 16 bytes. Where no facts say so, the kernel looks before the loop,
and otherwise does it as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilelang.dtypes import BOOL, I64
from tilelang.ir.core import Op, Value
from tilelang.semantics.types import TileType
from tilelang.tiling.copies import Copies
from tilelang.tiling.copy_plans import chunk_of
from tilelang.tiling.pipeline_plans import Pipeline
from tilelang.tiling.ring_loops import CopyingLoop, FetchingLoop, Loop


class Pipelines:
    """Writes the loops that have a plan. `lower` lowers the ops that compute indices."""

    def __init__(self, copies: Copies, lower: Callable[[Sequence[Op]], None], plans: dict[int, Pipeline]):
        self.write = copies.write
        self.copies = copies
        self.lower = lower
        self.plans = plans

    def takes(self, loop: Op) -> bool:
        return id(loop) in self.plans

    def loop(self, loop: Loop, otherwise: Callable[[], Sequence[Value]]) -> Sequence[Value]:
        """The loop, in both ways if it has to look; returns the last of the scalars that it carries."""
        plan = self.plans[id(loop.op)]
        tests = self._tests(plan)
        if not tests:
            return self._writer(loop).run()
        self.copies.arrive_all()
        return self.write.when(self.write.all_of(tests, "copyable"), lambda: self._writer(loop).run(), otherwise)

    def _writer(self, loop: Loop) -> CopyingLoop | FetchingLoop:
        kind = CopyingLoop if self.copies.plans.asynchronous else FetchingLoop
        return kind(self.copies, self.lower, self.plans[id(loop.op)], loop)

    def _tests(self, plan: Pipeline) -> list[Value]:
        """Are the rows of the operands' tensors contiguous, and do they begin at multiples of 16 bytes? Where it is
        not known."""
        emit, tests = self.write.emit, []
        unknown = {load.operands[0]: chunk_of(load) for load in plan.loads if not plan.is_aligned(load)}
        for tensor, chunk in unknown.items():
            within = emit.op("mod", self.write.stride(tensor, 0), self.write.constant(chunk, I64), hint="within")
            tests += [emit.op("eq", self.write.stride(tensor, 1), self.write.constant(1, I64), hint="contiguous"),
                      emit.op("eq", within, self.write.constant(0, I64), hint="aligned"),
                      emit.op("is_aligned", tensor, type=TileType(BOOL), hint="aligned")]
        return tests
