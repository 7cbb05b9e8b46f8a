"""Pass `anchors`: the layouts that dots insist on.

    %s: f32[64, 64] = dot %q, %k, %zero         ->    %s: f32[64, 64] = dot %q, %k, %zero {layout = "mma 4x1"}

Precondition: no layouts yet. The accumulator of a dot on tensor cores is held by a grid of warps
(`tilelang.tiling.mma`). The nearer each warp's part is to a square, the fewer operands it reads. But only where warps
have whole rows can a row's reduction stay in the warp, and the result be the next dot's operand A as it is. So both are
tried, and priced by the bytes that the whole kernel would move through shared memory with the layouts that `minimise`
would choose for the rest. A dot by warp groups, on a target that has them, is marked `together`; its rows are dealt
out in stripes, unless others take whole rows from it. One by patches of registers has that layout; the others have
none, and are linear.

It refuses whole rows for other elements than those of 16 bits: their operands A are made of words of shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tilelang.ir.core import Kernel, Op, Value
from tilelang.passes.rewrite import Rewriter
from tilelang.tiling.assignment import assign, price
from tilelang.tiling.conversions import converted
from tilelang.tiling.dot_plans import MOST_REGISTERS, Proposal, added_to, propose
from tilelang.tiling.held import TOGETHER, DotLayout, feeds, has_whole_rows, show_layout
from tilelang.tiling.limits import threads_for
from tilelang.tiling.mma import WARP, AccumulatorLayout
from tilelang.tiling.targets import Target
from tilelang.tiling.uses import Uses
from tilelang.tiling.warpgroup_plans import Candidate, group_layout, refusal


@dataclass
class Anchors:
    """`layouts`: of dots, by their results. `together`: those that warp groups do. `alone`: why not others."""

    layouts: dict[Value, DotLayout] = field(default_factory=dict)
    together: set[Value] = field(default_factory=set)
    alone: dict[Value, str] = field(default_factory=dict)


def anchor(kernel: Kernel, target: Target) -> Kernel:
    """The pass."""
    found = choose_anchors(kernel, target)
    return _Anchoring(kernel, found).run() if found.layouts else kernel


class _Anchoring(Rewriter):
    def __init__(self, kernel: Kernel, anchors: Anchors):
        super().__init__(kernel)
        self.anchors = anchors

    def visit(self, op: Op) -> None:
        if op.name == "dot" and op.result in self.anchors.layouts:
            told = {"layout": show_layout(self.anchors.layouts[op.result])}
            by_groups = {TOGETHER: True} if op.result in self.anchors.together else {}
            op = replace(op, attrs={**op.attrs, **told, **by_groups})
        self.keep(op)


def choose_anchors(kernel: Kernel, target: Target) -> Anchors:
    """The layouts of a kernel's dots on a target."""
    proposals = propose(kernel, target, threads_for(kernel, target))
    if not proposals:
        return Anchors()
    choice = _Choice(kernel, target, proposals)
    choice.try_whole_rows()
    if target.wgmma:
        choice.try_groups()
    return choice.found


class _Choice:
    """Begins with the proposals, and makes what is cheaper."""

    def __init__(self, kernel: Kernel, target: Target, proposals: Mapping[Value, Proposal]):
        self.kernel = kernel
        self.proposals = proposals
        self.threads = threads_for(kernel, target)
        self.dots = {op.result: op for op in kernel.walk() if op.name == "dot"}
        self.found = Anchors({value: proposal.layout for value, proposal in proposals.items()})

    # ---------------------------------------------------------------- whole rows

    def try_whole_rows(self) -> None:
        """All dots with as many rows at once, since the tiles between them gain only if both have them; then each of
        these by itself as it was."""
        warps = self.threads // WARP
        able = {value: AccumulatorLayout((value.shape[0], value.shape[1]), (warps, 1))
                for value, proposal in self.proposals.items() if self._can_have_whole_rows(value, proposal, warps)}
        for rows in sorted({value.shape[0] for value in able}):
            self._try({value: layout for value, layout in able.items() if value.shape[0] == rows})
        for value in able:
            self._try({value: self.proposals[value].layout})

    def _can_have_whole_rows(self, value: Value, proposal: Proposal, warps: int) -> bool:
        if len(value.shape) > 2:
            return False
        layout = AccumulatorLayout((value.shape[0], value.shape[1]), (warps, 1))
        fits = value.shape[0] % (16 * warps) == 0 and layout.registers <= MOST_REGISTERS
        return fits and proposal.kind is not None and self.dots[value].operands[0].dtype.bits == 16

    def _try(self, changes: Mapping[Value, DotLayout]) -> None:
        changed = {**self.found.layouts, **changes}
        if changed != self.found.layouts and self._price(changed) < self._price(self.found.layouts):
            self.found.layouts = changed

    def _price(self, layouts: Mapping[Value, DotLayout]) -> tuple[int, int]:
        return price(converted(self.kernel, assign(self.kernel, layouts)))

    # ---------------------------------------------------------------- warp groups

    def try_groups(self) -> None:
        """Hand products over to warp groups where those can do them."""
        uses, held = Uses(self.kernel), assign(self.kernel, self.found.layouts)
        carried = {argument for op in self.kernel.walk() if op.name == "for" for argument in added_to(op, uses)}
        for value, proposal in self.proposals.items():
            if proposal.kind is None:
                continue
            dot = self.dots[value]
            fed = feeds(held.get(dot.operands[0]), dot, self.found.layouts[value])
            taken = any(result in held for user in uses.of(value) for result in user.results)
            chained = has_whole_rows(self.found.layouts[value]) and (fed or taken)
            candidate = Candidate(dot, proposal.kind, proposal.stored, fed)
            reason = refusal(candidate, self.threads, MOST_REGISTERS, carried, uses, chained=chained)
            if reason is not None:
                self.found.alone[value] = reason
                continue
            self.found.together.add(value)
            if not chained:
                self.found.layouts[value] = group_layout(dot, self.threads)
