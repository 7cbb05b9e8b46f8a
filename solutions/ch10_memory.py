"""Chapter 10, Memory: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilelang.ir.core import Kernel, Op, SharedType
from tilelang.machine.gpus import Gpu
from tilelang.machine.lanes import WARP, Lanes
from tilelang.machine.occupancy import REGISTER_UNIT, WARP_UNIT, Occupancy, Resources, _shared_taken
from tilelang.machine.roofline import Work
from tilelang.machine.traffic import BANK_BYTES, BANKS, SECTOR, _first_of_each, _near, _rows
from tilelang.memory.barriers import COMMUTING, NOTHING, Access, State, _Placing


# tilelang/machine/occupancy.py
def shared_bytes(kernel: Kernel) -> int:
    """Bytes of shared memory that a block of a thread kernel declares."""
    return sum(value.type.size * value.dtype.bytes for op in kernel.walk() for value in op.results
               if isinstance(value.type, SharedType))


# tilelang/memory/barriers.py
def conflict(a: Access, b: Access) -> bool:
    """Must a barrier stand between `a` and `b`?"""
    if a.object != b.object or not (a.writes or b.writes):
        return False
    if (a.owner is not None and a.owner == b.owner) or (a.placed and b.placed):
        return False
    return not (a.kind in COMMUTING and a.kind == b.kind)


# tilelang/machine/roofline.py
def speed_of_light(gpu: Gpu, work: Work) -> float:
    """Seconds that no kernel for the same result can beat: compulsory bytes from HBM, or products at full rate.

    Products run on tensor cores where the element type allows it, else as fused multiply-adds at the f32 or f64 peak.
    """
    plain = gpu.f64 if work.f64 > work.f32 else gpu.f32
    return max(work.compulsory / gpu.memory_rate, work.dot_flops / (work.tensor or plain))


# course/extra.py
def swizzled(row: int, column: int, columns: int) -> int:
    """Where element (row, column) of a shared tile with `columns` columns, a power of two, is kept.

    Every row stays in its place; within it the columns change places with one another, differently in each row,
    so that neither a row nor a column of 32 f32 elements meets a bank twice.
    """
    return row * columns + (column ^ row % columns)


# tilelang/machine/occupancy.py
def occupancy(gpu: Gpu, block: Resources) -> Occupancy:
    """How many such blocks one SM holds; 0 if not even one fits."""
    per_warp = -(-block.registers * gpu.warp_size // REGISTER_UNIT) * REGISTER_UNIT
    warps_by_registers = gpu.registers_per_sm // max(per_warp, 1) // WARP_UNIT * WARP_UNIT
    taken = _shared_taken(gpu, block)
    limits = {
        "warps": gpu.warps_per_sm // block.warps,
        "blocks": gpu.blocks_per_sm,
        "registers": warps_by_registers // block.warps,
        "shared memory": gpu.shared_per_sm // taken if taken else gpu.blocks_per_sm,
    }
    blocks = min(limits.values())
    return Occupancy(blocks, blocks * block.warps, gpu.warps_per_sm, limits)


# tilelang/machine/traffic.py
def sectors(position: np.ndarray, item: int, lanes: Lanes) -> int:
    """Sectors that an access moves in all, each warp counted for itself.

    `position` counts elements of `item` bytes from the tensor's lowest address, taken to begin a sector.
    """
    if position.shape[2] == 1:
        return lanes.warps  # every lane of a warp wants the same element
    rows, copies = _rows(position * item // SECTOR, lanes, WARP)
    return int(np.count_nonzero(_first_of_each(rows))) * copies


# tilelang/memory/barriers.py
def ops(self: _Placing, ops: Sequence[Op], state: State) -> tuple[tuple[Op, ...], State]:
    """The ops with barriers, and the accesses open after them."""
    placed: list[Op] = []
    for op in ops:
        if op.name == "barrier":
            state = NOTHING
            placed.append(op)
        elif self.is_open(op):
            if op.name != "if" and self.pays_in_front(op, state):
                placed.append(Op("barrier", span=op.span))
                state = NOTHING
            new, state = self.structured(op, state)
            placed.append(new)
        else:
            touched = self.touched(op)
            if any(conflict(a, b) for a in state for b in touched):
                placed.append(Op("barrier", span=op.span))
                state = NOTHING
            state |= touched
            placed.append(op)
    return tuple(placed), state


# tilelang/machine/traffic.py
def wavefronts(index: np.ndarray, item: int, lanes: Lanes) -> tuple[int, int]:
    """(wavefronts, conflicts) of an access to a shared array of `item`-byte elements."""
    wide = item > BANK_BYTES
    if index.shape[2] == 1 and not wide:
        return lanes.warps, 0
    together = banks = WARP * BANK_BYTES // item if wide else BANKS
    word = index.astype(np.int64)
    if item < BANK_BYTES:
        word = word * item // BANK_BYTES
    if _near(word, lanes, together, banks):
        return lanes.shape[0] * lanes.shape[1] * lanes.shape[2] // together, 0
    rows, copies = _rows((word % banks) << 40 | word, lanes, together)
    first = _first_of_each(rows)
    bank = np.where(first, rows >> 40, 0)
    cells = (np.arange(len(rows))[:, None] * banks + bank).ravel()
    words = np.bincount(cells, weights=first.ravel(), minlength=len(rows) * banks).reshape(-1, banks)
    passes = words.max(axis=1)
    total, busy = int(passes.sum()), int(np.count_nonzero(passes))
    return total * copies, (total - busy) * copies
