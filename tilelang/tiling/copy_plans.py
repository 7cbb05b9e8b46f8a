"""Which tiles go from global to shared memory in chunks of 16 bytes, past the registers.

    %k: f16[64, 64] = load %x, %head, %keys, %width         the tile is never in registers: each thread asks for
    %t: f16[64, 64] = permute %k {axes = (1, 0)}      ->    chunks of 8 neighbours, which arrive where `ldmatrix`
    %s: f32[64, 64] = dot %q, %t, %zero                     reads them while the thread goes on

An analysis: it reads the tile kernel and changes nothing. A load qualifies if its tensor is one of halves or bytes that
the kernel only reads, and nobody reads the tile but dots on tensor cores (`tilelang.tiling.dot_plans`), as it is or
transposed. The facts of the launch must prove that a chunk is contiguous, begins at a multiple of 16 bytes, and is
inside the tensor and not masked off as a whole (`tilelang.memory.axis`). Any thread must be able to compute where a
chunk is. What is outside is zero: another `else` is refused. Loads that do not qualify are written element by element,
as before.

A load that stands further down in the same block, and could be asked for as soon as this one, is: its copy goes on
while the first dot multiplies. In a loop that would cost a barrier, if the last of the trip before still reads where it
goes. So what another dot reads is asked for behind the barrier that this one's tile needs anyway.

Before sm_80 there are no asynchronous copies. There the same loads are made 16 bytes at a time too, into registers, and
stored as late as can be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import copysign

from tilelang.ir.access import Access, access
from tilelang.ir.core import Block, Kernel, Op, TensorType, Value
from tilelang.ir.thread_ops import MOST_PENDING
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.memory.axis import AxisAnalysis
from tilelang.tiling.anywhere import COSTLY, VIEWS
from tilelang.tiling.dot_plans import CHUNK_BYTES, DotPlans, is_transpose
from tilelang.tiling.targets import Target
from tilelang.tiling.uses import Uses

DEEPEST = 16
"""Index arithmetic nested deeper than this is not computed again for every copy."""


def chunk_of(load: Op) -> int:
    """Elements of the loaded tile in a chunk: 8 halves, 16 bytes."""
    return CHUNK_BYTES // load.result.dtype.bytes


@dataclass(frozen=True)
class CopyPlans:
    """`loads`: by `id` of the op, those that are copies. `early`: of some of these, the loads further down that are
    asked for together with it, in their order. `behind`: those that are asked for as soon as it has arrived.
    `asynchronous`: past the registers, not by way of them."""

    loads: frozenset[int] = frozenset()
    early: dict[int, tuple[Op, ...]] = field(default_factory=dict)
    behind: dict[int, tuple[Op, ...]] = field(default_factory=dict)
    asynchronous: bool = True


def plan_copies(kernel: Kernel, target: Target, plans: DotPlans) -> CopyPlans:
    """The loads of a tile kernel that are written as copies of chunks."""
    rules = CopyRules(kernel, target, plans)
    loads = frozenset(id(op) for op in kernel.walk() if op.name == "load" and rules.why_not(op) is None)
    found = CopyPlans(loads, asynchronous=target.async_copy)
    if loads:
        _ask_early(kernel.body, found, Uses(kernel))
    return found


def _ask_early(block: Block, found: CopyPlans, uses: Uses, *, in_loop: bool = False) -> None:
    """Groups in one block: a load takes those along whose operands are computed before it; in a loop those that another
    dot than its own reads come behind it."""
    place = {value: number for number, op in enumerate(block.ops) for value in op.results}
    readers = _readers(block, uses) if in_loop else {}
    waiting = [(number, op) for number, op in enumerate(block.ops) if id(op) in found.loads]
    while waiting:
        (first, leader), *rest = waiting
        ready = [op for _, op in rest if all(place.get(v, -1) < first for v in op.operands)][:MOST_PENDING]
        behind = [op for op in ready if readers.get(op.result, 0) > readers.get(leader.result, 0)]
        found.early[id(leader)] = tuple(op for op in ready if op not in behind)
        found.behind[id(leader)] = tuple(behind)
        waiting = [(number, op) for number, op in rest if op not in ready]
    for op in block.ops:
        for inner in op.blocks:
            _ask_early(inner, found, uses, in_loop=in_loop or op.name in ("for", "while"))


def _readers(block: Block, uses: Uses) -> dict[Value, int]:
    """Where in the block the first op stands that reads a loaded tile, or a transpose of it; the op may be inside."""
    number = {id(inner): place for place, op in enumerate(block.ops)
              for inner in (op, *(i for body in op.blocks for i in body.walk()))}
    found = {}
    for tile in (op.result for op in block.ops if op.name == "load"):
        users = [user for op in uses.of(tile) for user in (uses.of(op.result) if is_transpose(op) else [op])]
        found[tile] = min((number[id(user)] for user in users if id(user) in number), default=len(block.ops))
    return found


class CopyRules:
    """Answers for the loads of one tile kernel."""

    def __init__(self, kernel: Kernel, target: Target, plans: DotPlans):
        self.target = target
        self.plans = plans
        self.uses = Uses(kernel)
        self.axis = AxisAnalysis(kernel)
        self.definitions = {value: op for op in kernel.walk() for value in op.results}

    def why_not(self, load: Op) -> str | None:
        """What keeps a load from being a copy of chunks; None if nothing does."""
        parts, tile = access(load), load.result
        if self.target.vector_bytes < CHUNK_BYTES:
            return f"the target has no accesses of {CHUNK_BYTES} bytes"
        if tile.dtype.bits not in (8, 16):
            return "its elements have neither 8 nor 16 bits"
        if not self._is_read_only(parts.tensor):
            return "the kernel writes to its tensor"
        if not self._only_products_read(load):
            return "not only dots on tensor cores read it"
        if parts.other is not None and not self._is_zero(parts.other):
            return "what is outside is not zero"
        if self.axis.width(load, CHUNK_BYTES) != chunk_of(load):
            return "no facts say that its chunks are whole and aligned"
        if not self._is_reachable(parts):
            return "its indices have to be looked up"
        return None

    def _is_read_only(self, tensor: Value) -> bool:
        return isinstance(tensor.type, TensorType) and tensor.type.mode == "in"

    def _only_products_read(self, load: Op) -> bool:
        tile = load.result
        users = [(tile, user) for user in self.uses.of(tile)]
        turned = [user for _, user in users if is_transpose(user)]
        readers = [(v, user) for v, user in users if user not in turned]
        readers += [(op.result, user) for op in turned for user in self.uses.of(op.result)]
        return bool(readers) and all(self._is_product(user) and v in user.operands[:2] for v, user in readers)

    def _is_product(self, op: Op) -> bool:
        plan = self.plans.products.get(id(op))
        return plan is not None and plan.kind != "tf32"

    def _is_zero(self, value: Value) -> bool:
        op = self.definitions.get(value)
        while op is not None and op.name in VIEWS:
            op = self.definitions.get(op.operands[0])
        if op is None or op.name != "const":
            return False
        number = float(op.attrs["value"])  # type: ignore[arg-type]
        return number == 0 and copysign(1, number) > 0

    def _is_reachable(self, parts: Access) -> bool:
        return all(self.is_computable(v) for v in (*parts.indices, parts.mask) if v is not None)

    def is_computable(self, value: Value, depth: int = 0) -> bool:
        """Can an element be computed from its coordinates and scalars?"""
        op = self.definitions.get(value)
        if not value.shape or (op is not None and op.name in ("const", "iota")):
            return True
        if op is None or depth > DEEPEST or op.name in COSTLY or not (
                TILE_OPS[op.name].elementwise or op.name in VIEWS):
            return False
        return all(self.is_computable(operand, depth + 1) for operand in op.operands)
