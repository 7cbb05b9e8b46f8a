"""Occupancy: how many blocks, and so how many warps, one SM holds at a time, and what keeps it from holding more.

An SM that waits for memory in one warp goes on with another; that is all the latency hiding there is. Four things
run out: places for warps, places for blocks, registers and shared memory. Registers are handed out a warp at a time
in units of 256, shared memory in units of 128 bytes (256 before Ampere), and from Ampere on the system takes 1 KiB
of it for each block.

Source: CUDA Occupancy Calculator; CUDA C++ Programming Guide, "Multiprocessor Level" and "Technical Specifications per
Compute Capability".
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.ir.core import Kernel, SharedType
from tilelang.machine.gpus import KIB, Gpu

REGISTER_UNIT = 256
WARP_UNIT = 4
"""Warps get their registers from the four quarters of an SM evenly."""


@dataclass(frozen=True)
class Resources:
    """What a block takes: `threads`; 32-bit `registers` of one thread; bytes of `shared` memory.

    `measured`: the register count is the assembler's, not an estimate.
    """

    threads: int
    registers: int
    shared: int
    measured: bool = False

    @property
    def warps(self) -> int:
        return -(-self.threads // 32)


@dataclass(frozen=True)
class Occupancy:
    """`blocks` and `warps` resident on one SM of at most `most` warps. `limits`: blocks that each resource allows."""

    blocks: int
    warps: int
    most: int
    limits: dict[str, int]

    @property
    def fraction(self) -> float:
        return self.warps / self.most

    @property
    def limiter(self) -> str:
        """The resource that runs out first."""
        return min(self.limits, key=lambda name: self.limits[name])


def shared_bytes(kernel: Kernel) -> int:
    """Bytes of shared memory that a block of a thread kernel declares."""
    return sum(value.type.size * value.dtype.bytes for op in kernel.walk() for value in op.results
               if isinstance(value.type, SharedType))


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


def _shared_taken(gpu: Gpu, block: Resources) -> int:
    ampere = gpu.target >= "sm_80"
    unit, system = (128, KIB) if ampere else (256, 0)
    return -(-(block.shared + system) // unit) * unit
