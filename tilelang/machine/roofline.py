"""The roofline: how long a launch takes at least, and what it waits for.

Each part of the GPU has its own work and its own rate, and all work at the same time, so the slowest decides:

    time = max(bytes / HBM rate, bytes / L2 rate, wavefronts / shared rate, instructions / issue rate, ...)

That is the time of a launch that overlaps everything perfectly. A real one is slower: it also waits for latency when an
SM has too few warps, and for the launch itself (a few microseconds). So the prediction is a lower bound; it tells
which part to relieve, and how much there is to gain.

What happens inside an SM takes as long as the busiest SM, the one that gets a block more than the others.

Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", CACM 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.machine.gpus import Gpu

LANES = 32


@dataclass(frozen=True)
class Work:
    """What a whole launch asks of the GPU.

    `hbm`, `compulsory`, `l2`: bytes. `wavefronts`: of shared memory. `issue`: warp instructions. `f32`, `f64`,
    `integer`, `special`: warp instructions of each unit. `flops`: floating-point operations; `dot_flops` of them are
    products, which tensor cores of rate `tensor` could do (0 if they could not); `products` they did.
    """

    programs: int
    hbm: float = 0
    compulsory: float = 0
    l2: float = 0
    wavefronts: float = 0
    issue: float = 0
    f32: float = 0
    f64: float = 0
    integer: float = 0
    special: float = 0
    flops: float = 0
    products: float = 0
    dot_flops: float = 0
    tensor: float = 0


@dataclass(frozen=True)
class Term:
    """One part of the GPU: `amount` of `unit`, at `rate` a second, takes `seconds`."""

    name: str
    amount: float
    unit: str
    rate: float
    seconds: float


@dataclass(frozen=True)
class Roofline:
    """`terms` as in the maximum. `light`: seconds at the speed of light, see `speed_of_light`."""

    terms: tuple[Term, ...]
    flops: float
    hbm: float
    ridge: float
    light: float

    @property
    def limiter(self) -> Term:
        return max(self.terms, key=lambda term: term.seconds)

    @property
    def seconds(self) -> float:
        return self.limiter.seconds

    @property
    def intensity(self) -> float:
        """Floating-point operations for each byte from HBM. Below `ridge`, HBM limits even a perfect kernel."""
        return self.flops / self.hbm if self.hbm else 0.0


def roofline(gpu: Gpu, work: Work) -> Roofline:
    """The terms for this GPU. A term without work takes no time."""
    share = 1.0 if not work.programs else -(-work.programs // gpu.sms) * gpu.sms / work.programs
    l2_rate = min(gpu.l2_rate, gpu.sm_rate * gpu.sms / share)
    terms = (
        _term("HBM", work.hbm, "B", gpu.memory_rate),
        _term("L2", work.l2, "B", l2_rate),
        _term("shared memory", work.wavefronts, "wavefronts", gpu.sms * gpu.clock / share),
        _term("f32 arithmetic", work.f32, "warp instructions", gpu.f32 / 2 / LANES / share),
        _term("f64 arithmetic", work.f64, "warp instructions", gpu.f64 / 2 / LANES / share),
        _term("integer arithmetic", work.integer, "warp instructions", gpu.integer_rate / LANES / share),
        _term("special functions", work.special, "warp instructions", gpu.special_rate / LANES / share),
        _term("tensor cores", work.products, "operations", (work.tensor or gpu.f32) / share),
        _term("instruction issue", work.issue, "warp instructions", gpu.issue_rate / share),
    )
    return Roofline(terms, work.flops, work.hbm, gpu.f32 / gpu.memory_rate, speed_of_light(gpu, work))


def speed_of_light(gpu: Gpu, work: Work) -> float:
    """Seconds that no kernel for the same result can beat: compulsory bytes from HBM, or products at full rate.

    Products run on tensor cores where the element type allows it, else as fused multiply-adds at the f32 or f64 peak.
    """
    plain = gpu.f64 if work.f64 > work.f32 else gpu.f32
    return max(work.compulsory / gpu.memory_rate, work.dot_flops / (work.tensor or plain))


def _term(name: str, amount: float, unit: str, rate: float) -> Term:
    return Term(name, amount, unit, rate, amount / rate if amount else 0.0)
