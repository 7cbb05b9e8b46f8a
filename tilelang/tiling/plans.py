"""Everything that is planned before a kernel is lowered, from the fastest plans to those that need the least memory.

    3 stages: each operand of a dot has a ring of three tiles        ->  2 stages        if that is too large
    operands have an array each while they are copied                ->  element by element
    tensor cores and patches exchange accumulators                   ->  dots the simple way

The lowering takes the first that fits into the target's shared memory (`tilelang.tiling.lower`), or else the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilelang.ir.core import Kernel
from tilelang.tiling.conversions import without_layouts
from tilelang.tiling.copy_plans import CopyPlans, plan_copies
from tilelang.tiling.dot_plans import DotPlans, plan_dots
from tilelang.tiling.limits import threads_for
from tilelang.tiling.pipeline_plans import Pipeline, plan_pipelines
from tilelang.tiling.targets import Target


@dataclass(frozen=True)
class Plans:
    """A kernel with layouts, and how its dots, the loads of their operands and the loops around them are written (loops
    by `id` of the op)."""

    kernel: Kernel
    dots: DotPlans
    copies: CopyPlans = field(default_factory=CopyPlans)
    pipelines: dict[int, Pipeline] = field(default_factory=dict)


def plans_to_try(kernel: Kernel, target: Target) -> Iterator[Plans]:
    """One or more, in the order in which they are to be tried; the last without layouts for dots."""
    dots = plan_dots(kernel, target)
    copies, threads = plan_copies(kernel, target, dots), threads_for(kernel, target)
    for stages in range(int(kernel.attrs.get("stages", 1)), 1, -1):  # type: ignore[arg-type]
        pipelines = plan_pipelines(kernel, target, threads, dots, copies, stages)
        if pipelines:
            yield Plans(kernel, dots, copies, pipelines)
    if copies.loads:
        yield Plans(kernel, dots, copies)
    yield Plans(kernel, dots)
    if dots.products or dots.patches:
        yield Plans(without_layouts(kernel), DotPlans())
