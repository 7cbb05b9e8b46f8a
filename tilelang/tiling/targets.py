"""Targets: what the hardware can do, as data. Lowering asks the target, never the machine it runs on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One hardware target.

    Sizes in bytes. `shared_per_block` is what a block may have, declared or asked for (`tilelang.memory.placement`).
    `registers_per_thread` is the architectural maximum of 32-bit registers. `nan_extremes`: instructions for the
    maximum and the minimum of two f32 that keep NaN. `wgmma`: warp groups multiply straight from shared memory
    (`tilelang.tiling.warpgroup_plans`). Figures: CUDA C++ Programming Guide, table "Technical Specifications per
    Compute Capability".
    """

    name: str
    capability: tuple[int, int] | None
    warp_size: int = 32
    max_threads: int = 1024
    shared_per_block: int = 48 * 1024
    registers_per_thread: int = 255
    shuffles: bool = True
    mma: bool = False
    wgmma: bool = False
    async_copy: bool = False
    vector_bytes: int = 16
    nan_extremes: bool = False

    @property
    def architecture(self) -> tuple[int, int] | tuple[int, int, str] | None:
        """The capability as NVIDIA's compilers want it: `wgmma` is in no other but the one of this very chip, `a`."""
        return (*self.capability, "a") if self.capability is not None and self.wgmma else self.capability


TARGETS: dict[str, Target] = {t.name: t for t in (
    Target("sm_75", (7, 5), shared_per_block=64 * 1024, mma=True),
    Target("sm_80", (8, 0), shared_per_block=163 * 1024, mma=True, async_copy=True, nan_extremes=True),
    Target("sm_86", (8, 6), shared_per_block=99 * 1024, mma=True, async_copy=True, nan_extremes=True),
    Target("sm_89", (8, 9), shared_per_block=99 * 1024, mma=True, async_copy=True, nan_extremes=True),
    Target("sm_90", (9, 0), shared_per_block=227 * 1024, mma=True, async_copy=True, nan_extremes=True),
    Target("sm_90a", (9, 0), shared_per_block=227 * 1024, mma=True, wgmma=True, async_copy=True, nan_extremes=True),
    Target("simulator", None, shuffles=False, vector_bytes=0),
)}
"""`sm_90` and `sm_90a` are one chip, an H100. Only the second uses `wgmma`, and is for those who ask for it by name: no
device has it as its target. A wrong bit in a matrix descriptor gives wrong numbers and no message, and the code was
never run on such a chip: it is checked by the machine model, which reads operands as descriptors say, and by ptxas.
`mma.sync` is the same instruction on `sm_80` and `sm_90`, and what it reads each thread has loaded by itself."""
