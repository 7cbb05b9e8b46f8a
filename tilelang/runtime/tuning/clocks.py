"""How long one launch takes: by the computer's clock, by a GPU's events, or as the machine model estimates it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilelang.diagnostics import CompileError, Diagnostic, InternalError
from tilelang.driver import GPU
from tilelang.near import nearest
from tilelang.runtime.devices import DEVICES, Device
from tilelang.runtime.launch import Launch
from tilelang.tiling.targets import TARGETS

if TYPE_CHECKING:
    from tilelang.machine.gpus import Gpu



@dataclass(frozen=True)
class Run:
    """One run of a launch. `complete`: all programs were run, so the outputs are what the kernel makes."""

    seconds: float
    complete: bool = True


Clock = Callable[[Launch], Run]
"""Runs a launch. Raises CompileError if it fails."""

MODEL_BUDGET = 20_000_000
"""Work of the machine model for one configuration, a tenth of what a profile takes: there are many."""


def computer_clock(launch: Launch) -> Run:
    """Seconds from the call to its end, on the computer's own processor."""
    start = time.perf_counter()
    launch.run(_ignore)
    return Run(time.perf_counter() - start)


def gpu_clock(launch: Launch) -> Run:
    """Seconds between two CUDA events around the kernel: copies to and from the GPU are not in it."""
    from tilelang.runtime.gpu import timed

    with timed() as spent:
        launch.run(_ignore)
    return Run(sum(spent))


def model_clock(gpu: Gpu) -> Clock:
    """The least seconds that a launch takes on this GPU, by the machine model's roofline. Nothing runs on a GPU."""

    def estimate(launch: Launch) -> Run:
        from tilelang.ir.batch import TileAssertionError
        from tilelang.machine.profile import profile

        c = launch.compilation
        if c.thread_ir is None or c.optimized is None:
            raise InternalError("tuning", "the model was given a kernel that is not compiled for it")
        if 0 in launch.grid:
            return Run(0.0)
        try:
            found = profile(c.thread_ir, c.optimized, gpu, launch.arguments, launch.dims,  # type: ignore[arg-type]
                            launch.grid, c.source, budget=MODEL_BUDGET)
        except TileAssertionError as failed:
            raise CompileError([Diagnostic("E0590", f"assert failed: {failed.text}", failed.span)], c.source) from None
        if not found.occupancy.blocks:
            raise InternalError("tuning", f"no block fits on an SM, too little {found.occupancy.limiter}")
        if found.findings:
            raise InternalError("tuning", f"the model finds faults in `{c.kernel}`: {found.findings[0]}")
        return Run(found.roofline.seconds, not found.sampled)

    return estimate


def find_gpu(name: str) -> Gpu:
    """The data sheet of this name. Raises CompileError (E0520)."""
    from tilelang.machine.gpus import GPUS

    if name in GPUS:
        return GPUS[name]
    guess = nearest(name, GPUS) if isinstance(name, str) else None
    raise CompileError([Diagnostic("E0520", f"there is no data sheet of a GPU `{name}`",
                                   notes=(f"the GPUs are {', '.join(GPUS)}",),
                                   help=f"did you mean `{guess}`?" if guess else "")])


def model_device(gpu: Gpu) -> Device:
    """A device whose kernels are compiled for this GPU and run on the model."""
    model = next(device for device in DEVICES if device.name == "model")
    return replace(model, name=f"model of {gpu.name}", target=TARGETS[gpu.target], stages=GPU)


def _ignore(text: str, value: np.ndarray | None, program: tuple[int, ...]) -> None:
    """What a kernel prints while it is tuned is not wanted."""
