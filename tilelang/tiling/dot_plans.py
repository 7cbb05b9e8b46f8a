"""How each dot runs: on tensor cores, by patches, or the simple way; and how its operands lie in shared memory.

    for ... %zero (%k, %acc: f32[128, 128]) {         %acc: 2 x 2 warps, 128 registers a thread
      %next = dot %a, %b, %acc                  ->    %a, %b: in shared memory, swizzled
      yield %next
    }

An analysis: it reads the tile kernel and changes nothing. A dot qualifies for tensor cores if the target has the
instruction for its element type and its extents are multiples of 16, of i8 32 along k; a row of an operand, as it is
stored, must be a power of two. f32 does only where the program allows tf32. Patches (`tilelang.tiling.patches`) are for
any element type, where the result gives each thread several rows and several columns. All other dots are written the
simple way (`tilelang.tiling.dots`). `propose` says what could be, `tilelang.tiling.anchors` chooses, and `plan_dots`
reads off the kernel what was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from tilelang.dtypes import BF16, DTYPES, F16, F32, I32
from tilelang.ir.core import Kernel, Op, Value
from tilelang.ir.thread_ops import MMA_DEPTHS
from tilelang.tiling.fragment_plans import FragmentPlans, fragments_of
from tilelang.tiling.held import TOGETHER, DotLayout, layouts_of
from tilelang.tiling.mma import DEPTH, AccumulatorLayout, Swizzle, arrange_warps
from tilelang.tiling.mma_words import WordSwizzle
from tilelang.tiling.patch_layout import WARP, PatchLayout
from tilelang.tiling.targets import Target
from tilelang.tiling.uses import Uses
from tilelang.tiling.warpgroup_layout import Panels

I8 = DTYPES["i8"]
MOST_REGISTERS = 128
"""Registers of a thread that an accumulator may take, of 255."""
CHUNK_BYTES = 16
"""What `ldmatrix` reads of a row, and what an asynchronous copy moves."""


@dataclass(frozen=True)
class Proposal:
    """How a dot could run. `layout`: of its accumulator; on tensor cores with parts that are nearly squares. `kind`:
    that of `mma`; None for patches. `stored`: the tiles its operands are, or are the transposes of."""

    layout: DotLayout
    kind: str | None = None
    stored: tuple[Value, ...] = ()


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
    `carried`: arguments of loops that are added to in place. `fragments`: what is in a dot's layout."""

    products: dict[int, MmaPlan] = field(default_factory=dict)
    patches: dict[int, PatchLayout] = field(default_factory=dict)
    swizzles: dict[Value, Swizzle] = field(default_factory=dict)
    word_swizzles: dict[Value, WordSwizzle] = field(default_factory=dict)
    carried: set[Value] = field(default_factory=set)
    fragments: FragmentPlans = field(default_factory=FragmentPlans)

    def layout(self, dot: Op) -> DotLayout | None:
        """That of a dot's accumulator; None for the linear one."""
        plan = self.products.get(id(dot))
        return plan.layout if plan is not None else self.patches.get(id(dot))


def propose(kernel: Kernel, target: Target, threads: int) -> dict[Value, Proposal]:
    """How the dots of a tile kernel, by their results, could run other than the simple way."""
    found: dict[Value, Proposal] = {}
    if target.capability is None:
        return found
    definitions = {value: op for op in kernel.walk() for value in op.results}
    for op in (op for op in kernel.walk() if op.name == "dot"):
        stored = tuple(_stored(v, definitions) for v in op.operands[:2])
        swizzlable = all(_is_swizzlable(v, definitions) for v in stored)
        layout = _mma_layout(op, stored, target, threads) if swizzlable else None
        patch = _patch(op, threads // target.warp_size)
        if layout is not None:
            found[op.result] = Proposal(layout, _kind(op, target), stored)
        elif patch is not None:
            found[op.result] = Proposal(patch)
    return found


def plan_dots(kernel: Kernel, target: Target) -> DotPlans:
    """Plans for the dots of a tile kernel that have a layout (`tilelang.tiling.anchors`)."""
    found, layouts, uses = DotPlans(fragments=fragments_of(kernel)), layouts_of(kernel), Uses(kernel)
    definitions = {value: op for op in kernel.walk() for value in op.results}
    for op in (op for op in kernel.walk() if op.name == "dot"):
        layout, kind = layouts.get(op.result), _kind(op, target)
        stored = [_stored(v, definitions) for v in op.operands[:2]]
        if isinstance(layout, PatchLayout):
            found.patches[id(op)] = layout
        elif isinstance(layout, AccumulatorLayout) and kind is not None:
            batches, depth, together = prod(op.result.shape[:-2]), op.operands[0].shape[-1], TOGETHER in op.attrs
            plan = found.products[id(op)] = MmaPlan(layout, kind, depth, tuple(stored), batches, together)
            _arrange(op, plan, found)
    for loop in (op for op in kernel.walk() if op.name == "for"):
        found.carried.update(value for value in added_to(loop, uses) if value in layouts)
    return found


def _arrange(op: Op, plan: MmaPlan, found: DotPlans) -> None:
    """Note how the shared copies of a product's operands are arranged."""
    both = (*plan.stored, *op.operands[:2])
    if plan.kind == "tf32":
        found.word_swizzles.update(_word_swizzles(op, plan.stored))
    elif plan.together:
        found.swizzles.update((v, Panels(v.shape[1], v.shape[0])) for v in both)
    else:
        found.swizzles.update((v, Swizzle(v.shape[-1], chunk=CHUNK_BYTES // v.dtype.bytes)) for v in both)


def _patch(op: Op, warps: int) -> PatchLayout | None:
    """Several rows and columns for each thread, or no patch."""
    shape = op.result.shape
    if len(shape) != 2 or shape[0] % warps or shape[1] % WARP:
        return None
    layout = PatchLayout((shape[0], shape[1]), warps)
    worthwhile = min(layout.patch) > 1 and layout.registers <= MOST_REGISTERS
    return layout if worthwhile and op.result.dtype.bits >= 32 else None


def _mma_layout(op: Op, stored: Sequence[Value], target: Target, threads: int) -> AccumulatorLayout | None:
    """The layout on tensor cores, or None if they cannot do the dot."""
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
    return layout if layout.registers <= MOST_REGISTERS else None


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


def added_to(loop: Op, uses: Uses) -> Iterator[Value]:
    """Carried tiles that a trip only adds a product to: used by one dot of the body, whose result is handed on."""
    (body,) = loop.blocks
    handed = body.ops[-1]
    for position, argument in enumerate(body.args[1:]):
        users = uses.of(argument)
        dot = users[0] if len(users) == 1 else None
        if dot is None or dot.name != "dot" or argument in dot.operands[:2] or dot not in body.ops:
            continue
        if handed.operands[position] == dot.result and handed.operands.count(dot.result) == 1 \
                and len(uses.of(dot.result)) == 1:
            yield argument


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
