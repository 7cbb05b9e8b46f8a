"""Data sheets: what six well-known GPUs have, each figure with its source.

Figures are the makers' peaks. Where a figure follows from others it is computed, so that a reader can check it:
shared memory moves 128 bytes a clock on each SM (32 banks of 4 bytes), so an A100's 108 SMs at 1.41 GHz give
19.5 TB/s, thirteen times what its HBM gives.
"""

from __future__ import annotations

from dataclasses import dataclass

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10
GIGA, TERA = 1e9, 1e12


@dataclass(frozen=True)
class Gpu:
    """One GPU model.

    Sizes in bytes, rates in bytes or operations a second, `clock` (boost) in Hz. `tensor_half` is the dense rate of f16
    and bf16 products accumulated in f32, `tensor_tf32` and `tensor_int8` likewise; 0 where the hardware has none.
    `shared_per_sm` is the largest share of the combined L1 cache that can be shared memory. A fused multiply-add counts
    as two operations. `l2_bytes_per_clock` is 0 where it is not known.
    """

    name: str
    title: str
    target: str
    sms: int
    clock: float
    memory: int
    memory_rate: float
    l2: int
    shared_per_sm: int
    warps_per_sm: int
    blocks_per_sm: int
    f32: float
    f64: float
    tensor_half: float
    tensor_tf32: float
    tensor_int8: float
    sources: tuple[str, ...]
    registers_per_sm: int = 65536
    warp_size: int = 32
    l2_bytes_per_clock: int = 0

    def source(self, figure: str) -> str:
        """Where a field's figure is from: the model's own paper, the chip's, or the table of limits."""
        if figure in LIMITS:
            return self.sources[-1]
        if figure == "l2_bytes_per_clock":
            return L2_SOURCES.get(self.name, SM_PORT)
        return self.sources[0] if figure in OWN_FIGURES or len(self.sources) == 2 else self.sources[1]

    @property
    def shared_rate(self) -> float:
        """Bytes a second that all SMs together move to and from shared memory, without bank conflicts."""
        return self.sms * 128 * self.clock

    @property
    def l2_rate(self) -> float:
        """Bytes a second between the L2 cache and all SMs. Where it is not published: 64 bytes a clock for each SM."""
        return (self.l2_bytes_per_clock or self.sms * 64) * self.clock

    @property
    def sm_rate(self) -> float:
        """Bytes a second that one SM takes from the L2 cache, at most: its port moves 64 bytes a clock."""
        return 64 * self.clock

    @property
    def integer_rate(self) -> float:
        """32-bit integer operations a second: 64 a clock on each SM."""
        return self.sms * 64 * self.clock

    @property
    def special_rate(self) -> float:
        """Special functions (reciprocal, square root, 2^x, log2, sine) a second: 16 a clock on each SM."""
        return self.sms * 16 * self.clock

    @property
    def register_bytes(self) -> int:
        """Size of all register files together."""
        return self.sms * self.registers_per_sm * 4

    @property
    def issue_rate(self) -> float:
        """Warp instructions a second: four schedulers on each SM issue one a clock."""
        return self.sms * 4 * self.clock


_CAPABILITY = "CUDA C++ Programming Guide, Technical Specifications per Compute Capability"

LIMITS = ("shared_per_sm", "warps_per_sm", "blocks_per_sm", "registers_per_sm", "warp_size")
"""Figures that belong to the compute capability, not to the model."""

OWN_FIGURES = ("memory", "memory_rate", "f32", "f64", "tensor_half", "tensor_int8")
"""What even a two-page data sheet gives; the rest is in the paper on the chip, if a model has both."""

SM_PORT = "not published; taken as what the ports of the SMs can take, 64 bytes a clock each"
L2_SOURCES = {
    "t4": "measured: Jia et al., Dissecting the NVidia Turing T4 GPU via Microbenchmarking, 2019 (1270 GB/s)",
    "a100": "NVIDIA A100 Tensor Core GPU Architecture whitepaper (5120 bytes a clock)",
    "h100": "not published; the A100's 5120 bytes a clock",
    "h200": "not published; the A100's 5120 bytes a clock",
}

GPUS: dict[str, Gpu] = {g.name: g for g in (
    Gpu("t4", "Tesla T4", "sm_75", sms=40, clock=1.59 * GIGA, memory=16 * GIB, memory_rate=320 * GIGA, l2=4 * MIB,
        shared_per_sm=64 * KIB, warps_per_sm=32, blocks_per_sm=16, f32=8.1 * TERA, f64=0.25 * TERA,
        tensor_half=65 * TERA, tensor_tf32=0, tensor_int8=130 * TERA, l2_bytes_per_clock=800,
        sources=("NVIDIA T4 Tensor Core GPU datasheet", "NVIDIA Turing GPU Architecture whitepaper", _CAPABILITY)),
    Gpu("a100", "A100 SXM4 40 GB", "sm_80", sms=108, clock=1.41 * GIGA, memory=40 * GIB, memory_rate=1555 * GIGA,
        l2=40 * MIB, shared_per_sm=164 * KIB, warps_per_sm=64, blocks_per_sm=32, f32=19.5 * TERA, f64=9.7 * TERA,
        tensor_half=312 * TERA, tensor_tf32=156 * TERA, tensor_int8=624 * TERA, l2_bytes_per_clock=5120,
        sources=("NVIDIA A100 Tensor Core GPU Architecture whitepaper", _CAPABILITY)),
    Gpu("rtx3090", "GeForce RTX 3090", "sm_86", sms=82, clock=1.695 * GIGA, memory=24 * GIB, memory_rate=936 * GIGA,
        l2=6 * MIB, shared_per_sm=100 * KIB, warps_per_sm=48, blocks_per_sm=16, f32=35.6 * TERA, f64=0.556 * TERA,
        tensor_half=71 * TERA, tensor_tf32=35.6 * TERA, tensor_int8=284 * TERA,
        sources=("NVIDIA Ampere GA102 GPU Architecture whitepaper", _CAPABILITY)),
    Gpu("rtx4090", "GeForce RTX 4090", "sm_89", sms=128, clock=2.52 * GIGA, memory=24 * GIB, memory_rate=1008 * GIGA,
        l2=72 * MIB, shared_per_sm=100 * KIB, warps_per_sm=48, blocks_per_sm=24, f32=82.6 * TERA, f64=1.29 * TERA,
        tensor_half=165.2 * TERA, tensor_tf32=82.6 * TERA, tensor_int8=660.6 * TERA,
        sources=("NVIDIA Ada GPU Architecture whitepaper", _CAPABILITY)),
    Gpu("h100", "H100 SXM5 80 GB", "sm_90", sms=132, clock=1.98 * GIGA, memory=80 * GIB, memory_rate=3350 * GIGA,
        l2=50 * MIB, shared_per_sm=228 * KIB, warps_per_sm=64, blocks_per_sm=32, f32=66.9 * TERA, f64=33.5 * TERA,
        tensor_half=989.4 * TERA, tensor_tf32=494.7 * TERA, tensor_int8=1978.9 * TERA, l2_bytes_per_clock=5120,
        sources=("NVIDIA H100 Tensor Core GPU Architecture whitepaper", _CAPABILITY)),
    Gpu("h200", "H200 SXM 141 GB", "sm_90", sms=132, clock=1.98 * GIGA, memory=141 * 10**9, memory_rate=4800 * GIGA,
        l2=50 * MIB, shared_per_sm=228 * KIB, warps_per_sm=64, blocks_per_sm=32, f32=66.9 * TERA, f64=33.5 * TERA,
        tensor_half=989.4 * TERA, tensor_tf32=494.7 * TERA, tensor_int8=1978.9 * TERA, l2_bytes_per_clock=5120,
        sources=("NVIDIA H200 Tensor Core GPU datasheet", "NVIDIA H100 Tensor Core GPU Architecture whitepaper",
                 _CAPABILITY)),
)}
