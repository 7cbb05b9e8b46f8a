"""How each dot runs: on tensor cores, by patches, or the simple way; and whose accumulators stay where that wants them.

    for ... %zero (%k, %acc: f32[128, 128]) {         %acc: fragments, 2 x 2 warps, 128 registers a thread
      %next = dot %a, %b, %acc                  ->    %a, %b: in shared memory, swizzled
      yield %next
    }

An analysis: it reads the tile kernel and changes nothing. A dot qualifies for tensor cores if the target has the
instruction for its element type and its extents are multiples of 16, of i8 32 along k; a row of an operand, as it is
stored, must be a power of two. f32 does only where the program allows tf32. Which of these warp groups do, where the
target has them, is decided in `tilelang.tiling.warpgroup_plans`. Patches (`tilelang.tiling.patches`) are for any
element type, where the result gives each thread several rows and several columns. All other dots are written the simple
way (`tilelang.tiling.dots`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from tilelang.dtypes import BF16, DTYPES, F16, F32, I32
from tilelang.ir.core import Kernel, Op, Value
from tilelang.ir.thread_ops import MMA_DEPTHS
from tilelang.tiling.fragment_plans import FragmentPlans, plan_fragments
from tilelang.tiling.mma import DEPTH, AccumulatorLayout, Swizzle, arrange_warps
from tilelang.tiling.mma_words import WordSwizzle
from tilelang.tiling.patch_layout import WARP, PatchLayout
from tilelang.tiling.targets import Target
from tilelang.tiling.uses import Uses
from tilelang.tiling.warpgroup_layout import Panels
from tilelang.tiling.warpgroup_plans import Candidate, group_layout, refusal

I8 = DTYPES["i8"]
MOST_REGISTERS = 128
"""Registers of a thread that an accumulator may take, of 255."""
CHUNK_BYTES = 16
"""What `ldmatrix` reads of a row, and what an asynchronous copy moves."""


DotLayout = AccumulatorLayout | PatchLayout


@dataclass(frozen=True)
class MmaPlan:
    """A dot on tensor cores. `kind` is that of `mma`. `stored`: the tiles in shared memory, the operands themselves or
    what they are the transposes of. `batches`: how many products there are, whose results the layout has one below the
    other. `together`: by warp groups, not by each warp alone."""

    layout: AccumulatorLayout
    kind: str
    depth: int
    stored: tuple[Value, ...]
    batches: int = 1
    together: bool = False

    @property
    def height(self) -> int:
        """Rows of one product's result."""
        return self.layout.shape[0] // self.batches

    @property
    def step(self) -> int:
        """How far a step goes along k: what an instruction does; before sm_80 two do it."""
        return max(DEPTH, MMA_DEPTHS[self.kind])


@dataclass
class DotPlans:
    """The plans, by `id` of the dot. `swizzles`, `word_swizzles`: how the shared copies of operands are arranged.
    `carried`: block arguments of loops that are fragments of this layout from trip to trip. `fragments`: what else is,
    while it is computed with. `alone`: why warp groups do not do a product, by `id` of the dot."""

    products: dict[int, MmaPlan] = field(default_factory=dict)
    patches: dict[int, PatchLayout] = field(default_factory=dict)
    swizzles: dict[Value, Swizzle] = field(default_factory=dict)
    word_swizzles: dict[Value, WordSwizzle] = field(default_factory=dict)
    carried: dict[Value, DotLayout] = field(default_factory=dict)
    fragments: FragmentPlans = field(default_factory=FragmentPlans)
    alone: dict[int, str] = field(default_factory=dict)

    def layout(self, dot: Op) -> DotLayout | None:
        """That of a dot's accumulator; None for the linear one."""
        plan = self.products.get(id(dot))
        return plan.layout if plan is not None else self.patches.get(id(dot))


def plan_dots(kernel: Kernel, target: Target, threads: int) -> DotPlans:
    """Plans for the dots of a tile kernel that need not be written the simple way."""
    found = DotPlans()
    if target.capability is None:
        return found
    definitions = {value: op for op in kernel.walk() for value in op.results}
    dots = [op for op in kernel.walk() if op.name == "dot"]
    for op in dots:
        stored = [_stored(v, definitions) for v in op.operands[:2]]
        plan = _mma_plan(op, stored, target, threads) if all(_is_swizzlable(v, definitions) for v in stored) else None
        patch = _patch(op, threads // target.warp_size)
        if plan is not None:
            found.products[id(op)] = plan
            if plan.kind == "tf32":
                found.word_swizzles.update(_word_swizzles(op, stored))
            else:
                found.swizzles.update((v, Swizzle(v.shape[-1], chunk=CHUNK_BYTES // v.dtype.bytes))
                                      for v in (*stored, *op.operands[:2]))
        elif patch is not None:
            found.patches[id(op)] = patch
    _plan_chains(kernel, found, dots, threads // target.warp_size)
    if target.wgmma:
        _plan_groups(kernel, found, threads)
    _plan_loops(kernel, found)
    return found


def _plan_groups(kernel: Kernel, found: DotPlans, threads: int) -> None:
    """Hand products over to warp groups where those can do them."""
    uses = Uses(kernel)
    carried = frozenset(value for op in kernel.walk() if op.name == "for" for value in _carried(op, found, uses))
    for dot in (op for op in kernel.walk() if id(op) in found.products):
        plan = found.products[id(dot)]
        candidate = Candidate(dot, plan.kind, plan.stored)
        reason = refusal(candidate, threads, MOST_REGISTERS, carried, found.fragments, uses)
        if reason is not None:
            found.alone[id(dot)] = reason
            continue
        found.products[id(dot)] = replace(plan, layout=group_layout(dot, threads), together=True)
        found.swizzles.update((v, Panels(v.shape[1], v.shape[0])) for v in (*plan.stored, *dot.operands[:2]))


def _plan_chains(kernel: Kernel, found: DotPlans, dots: Sequence[Op], warps: int) -> None:
    """Find what stays in fragments. The dots of a chain have their warps one above the other."""
    loops, uses = [op for op in kernel.walk() if op.name == "for"], Uses(kernel)
    carried = frozenset(value for loop in loops for value in _carried(loop, found, uses))
    tall = [op for op in dots if id(op) in found.products and op.operands[0].dtype.bits == 16
            and len(op.result.shape) == 2 and _tall(op, warps).registers <= MOST_REGISTERS]
    found.fragments = plan_fragments(kernel, tall, carried, warps)
    for op in tall:
        if any(found.fragments.holds(value) for value in (op.operands[0], op.operands[2], op.result)):
            found.products[id(op)] = replace(found.products[id(op)], layout=_tall(op, warps))


def _plan_loops(kernel: Kernel, found: DotPlans) -> None:
    """Find what loops carry in fragments, once all layouts are known."""
    uses = Uses(kernel)
    for loop in (op for op in kernel.walk() if op.name == "for"):
        found.carried.update(_carried(loop, found, uses))


def _tall(op: Op, warps: int) -> AccumulatorLayout:
    """The result's layout where each warp has whole rows."""
    return AccumulatorLayout((op.result.shape[0], op.result.shape[1]), (warps, 1))


def _patch(op: Op, warps: int) -> PatchLayout | None:
    """Several rows and columns for each thread, or no patch."""
    shape = op.result.shape
    if len(shape) != 2 or shape[0] % warps or shape[1] % WARP:
        return None
    layout = PatchLayout((shape[0], shape[1]), warps)
    worthwhile = min(layout.patch) > 1 and layout.registers <= MOST_REGISTERS
    return layout if worthwhile and op.result.dtype.bits >= 32 else None


def _mma_plan(op: Op, stored: Sequence[Value], target: Target, threads: int) -> MmaPlan | None:
    a, b, _ = op.operands
    kind, (*batch, rows, columns) = _kind(op, target), op.result.shape
    if kind is None or a.shape[-1] % max(DEPTH, MMA_DEPTHS[kind]):
        return None
    batches = prod(batch)
    shape = batches * rows, columns
    powers = all(_is_power_of_two(extent) for extent in b.shape[-2:])
    warps = arrange_warps(shape, threads // target.warp_size, batches)
    if not powers or warps is None:
        return None
    layout = AccumulatorLayout(shape, warps, woven=(kind == "i8" and stored[0] != a, kind == "i8" and stored[1] == b))
    return MmaPlan(layout, kind, a.shape[-1], tuple(stored), batches) if layout.registers <= MOST_REGISTERS else None


def _kind(op: Op, target: Target) -> str | None:
    """The `mma` for a dot's element types: before sm_80 only f16, and half as deep. f32 only where tf32 is allowed."""
    dtype = op.operands[0].dtype
    if op.attrs["tf32"] and target.mma and target.capability is not None and target.capability >= (8, 0):
        return "tf32"
    if dtype == I8 and op.result.dtype == I32 and target.mma and (target.capability or (0, 0)) >= (8, 0):
        return "i8"
    if dtype not in (F16, BF16) or op.result.dtype != F32 or not target.mma or target.capability is None:
        return None
    if target.capability >= (8, 0):
        return dtype.name
    return "f16_k8" if dtype == F16 else None


def _word_swizzles(op: Op, stored: Sequence[Value]) -> dict[Value, WordSwizzle]:
    """How the shared copies of f32 operands are arranged, or of what they are the transposes of."""
    found: dict[Value, WordSwizzle] = {}
    for operand, source, k_last in zip(op.operands, stored, (True, False), strict=False):
        found[operand] = WordSwizzle(operand.shape[-1], k_last)
        found[source] = WordSwizzle(source.shape[-1], k_last != (source != operand))
    return found


def _stored(operand: Value, definitions: dict[Value, Op]) -> Value:
    """The tile that goes to shared memory for an operand: what it is the transpose of, or itself."""
    op = definitions.get(operand)
    return op.operands[0] if op is not None and is_transpose(op) else operand


def is_transpose(op: Op) -> bool:
    """Do the last two axes change places, and no others?"""
    rank = len(op.result.shape) if op.name == "permute" else 0
    return rank > 1 and op.attrs["axes"] == (*range(rank - 2), rank - 1, rank - 2)


def _is_swizzlable(tile: Value, definitions: dict[Value, Op]) -> bool:
    """May its shared copy be arranged in another way? That of a `cat` is written piece by piece."""
    made_by = definitions.get(tile)
    columns = tile.shape[-1]
    whole = _is_power_of_two(columns) and columns * tile.dtype.bytes >= CHUNK_BYTES
    return whole and (made_by is None or made_by.name != "cat")


def _carried(loop: Op, plans: DotPlans, uses: Uses) -> dict[Value, DotLayout]:
    """Carried tiles that a trip only adds a product to: used by one dot of the body, whose result is handed on."""
    (body,) = loop.blocks
    handed, found = body.ops[-1], {}
    for position, argument in enumerate(body.args[1:]):
        users = uses.of(argument)
        dot = users[0] if len(users) == 1 else None
        layout = plans.layout(dot) if dot is not None else None
        if dot is None or layout is None or argument in dot.operands[:2] or dot not in body.ops:
            continue
        if handed.operands[position] == dot.result and handed.operands.count(dot.result) == 1 \
                and len(uses.of(dot.result)) == 1:
            found[argument] = layout
    return found


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
