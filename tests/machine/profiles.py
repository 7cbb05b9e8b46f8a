"""Helpers: a `.tile` text or thread IR, profiled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import tilelang
from tilelang.diagnostics import Source
from tilelang.driver import GPU, run
from tilelang.ir.core import Kernel
from tilelang.machine.gpus import GPUS
from tilelang.machine.profile import BUDGET, Profile, profile
from tilelang.tiling.targets import TARGETS

A100 = GPUS["a100"]


def profiled(text: str, *, gpu: str = "a100", budget: int = BUDGET, registers: int | None = None,
             **arguments: object) -> Profile:
    """The profile of the only kernel of `text`."""
    program = tilelang.compile(text, "test.tile")
    launch = program[program.kernels[0]].prepare(device="model", **arguments)
    target = TARGETS[GPUS[gpu].target]
    compiled = run(replace(launch.compilation, target=target, thread_ir=None), GPU, until="thread_ir")
    return profile(compiled.thread_ir, compiled.optimized, GPUS[gpu], launch.arguments, launch.dims, launch.grid,
                   Source(text, "test.tile"), registers=registers, budget=budget)


def profiled_threads(kernel: Kernel, args: dict[str, np.ndarray], dims: dict[str, int], grid: tuple[int, ...],
                     gpu: str = "a100", budget: int = BUDGET) -> Profile:
    """The profile of thread IR; there is no tile IR, so its eager version is empty."""
    empty = replace(kernel, level="tile", body=replace(kernel.body, ops=()))
    return profile(kernel, empty, GPUS[gpu], args, dims, grid, Source(""), budget=budget)


def random(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)
