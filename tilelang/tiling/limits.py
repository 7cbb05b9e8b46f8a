"""What a target can hold: threads for a kernel, shared memory, depth of loops."""

from __future__ import annotations

from tilelang.diagnostics import NOWHERE, Sink
from tilelang.ir.build import DEFAULT_WARPS
from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.memory.placement import array_bytes, place_arrays
from tilelang.semantics.types import TileType
from tilelang.tiling.targets import Target

SIMULATOR_THREADS = 8
"""The simulator runs each thread of a block as a thread of the operating system; a few show all that many would."""

DEEPEST_LOOPS = 16
"""Python nests 20 loops at most; the lowering adds up to three of its own."""


def warps_of(kernel: Kernel) -> int:
    """Warps of a block, as the kernel's author or tuning chose them."""
    return int(kernel.attrs.get("warps", DEFAULT_WARPS))  # type: ignore[arg-type]


def threads_for(kernel: Kernel, target: Target) -> int:
    """Threads per block: `warps` full warps on a GPU; few in the simulator, fewer still for small tiles."""
    if target.name != "simulator":
        return warps_of(kernel) * target.warp_size
    largest = max((v.type.size for v in _values(kernel) if isinstance(v.type, TileType)), default=1)
    threads = 1
    while threads < min(largest, SIMULATOR_THREADS):
        threads *= 2
    return threads


def _values(kernel: Kernel) -> list[Value]:
    return [v for op in kernel.walk() for v in (*op.results, *op.operands)]


def fits(kernel: Kernel, target: Target) -> bool:
    """Do a thread kernel's shared arrays fit into the target's shared memory?"""
    return place_arrays(kernel)[1] <= target.shared_per_block


def check_shared(kernel: Kernel, target: Target, sink: Sink) -> None:
    """Report a thread kernel whose shared arrays do not fit, at the largest of them."""
    if fits(kernel, target):
        return
    arrays = [(op.result, op) for op in kernel.body.ops if op.name == "shared"]
    needed = place_arrays(kernel)[1]
    arrays.sort(key=lambda entry: -array_bytes(entry[0]))
    largest, op = arrays[0]
    listed = ", ".join(f"`{_source_name(v)}` {array_bytes(v):,}" for v, _ in arrays[:5])
    sink.error("E0620", f"kernel `{kernel.name}` needs {needed:,} bytes of shared memory, {target.name} has "
               f"{target.shared_per_block:,}", op.span if op.span != NOWHERE else None,
               label=f"this tile takes {array_bytes(largest):,} bytes",
               notes=(f"tiles that threads exchange live in shared memory; their bytes: {listed}",),
               help="choose smaller tile extents, or a narrower element type")


def _source_name(array: Value) -> str:
    """What the array's tile is called in the source, without the numbers that made it unique."""
    return array.name.removesuffix("_shared").rstrip("0123456789").rstrip("_")


def check_depth(kernel: Kernel, sink: Sink) -> None:
    """Report the first loop that is nested too deep for the generated source."""
    deepest = _deepest_loop(kernel.body, 0)
    if deepest is not None:
        sink.error("E0621", f"loops are nested more than {DEEPEST_LOOPS} deep", deepest.span,
                   label="this loop is one too many",
                   help="turn some of the loops into tiles, or two loops into one over their product")


def _deepest_loop(block: Block, depth: int) -> Op | None:
    for op in block.ops:
        inner = depth + (op.name in ("for", "while"))
        if inner > DEEPEST_LOOPS:
            return op
        for nested in op.blocks:
            found = _deepest_loop(nested, inner)
            if found is not None:
                return found
    return None
