"""The machine model against numba's CUDA simulator: the same thread IR, blocks a second on each.

    python -m tilelang.bench.simulators

numba's simulator runs a block at a time and a thread at a time, so a launch costs what a block costs, times the
blocks: a few are enough to time it. The model runs all threads of many blocks at once, so it is timed on a launch of
many. `taking turns` is numba's simulator as `--device simulator` uses it, with threads that take turns instead of
competing for Python's lock. Every result is compared with the interpreter's.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilelang.diagnostics import InternalError
from tilelang.driver import Compilation
from tilelang.ir.batch import print_line
from tilelang.runtime import simulator
from tilelang.runtime.executables import model
from tilelang.runtime.launch import Launch
from tilelang.runtime.program import load
from tilelang.tiling.targets import TARGETS

KERNELS = Path(__file__).parents[2] / "course" / "kernels"
ROUNDS = 3
WIDE = replace(TARGETS["simulator"], name="simulator of whole warps")
"""What numba's simulator can run, with as many threads as on a GPU; `--device simulator` takes few, for speed."""
Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Case:
    """A kernel of the library; the shapes of its inputs (`()`: a number) for a launch of few blocks, and of many."""

    kernel: str
    few: Shapes
    many: Shapes
    metas: Mapping[str, Any] = field(default_factory=dict)


CASES = (
    Case("vector_add", ((2048,), (2048,)), ((1 << 20,), (1 << 20,))),
    Case("softmax", ((2, 256),), ((4096, 256),)),
    Case("layer_norm", ((2, 256), (256,), (256,), ()), ((4096, 256), (256,), (256,), ())),
    Case("transpose", ((32, 64),), ((1024, 1024),)),
    Case("matmul", ((16, 64), (64, 32)), ((512, 64), (64, 512)), {"BM": 16, "BN": 16, "BK": 16}),
    Case("matmul", ((64, 64), (64, 64)), ((512, 64), (64, 512)), {"BM": 64, "BN": 64, "BK": 32}),
)


@dataclass(frozen=True)
class Job:
    """A launch, and the kernel compiled for `WIDE`."""

    launch: Launch
    compilation: Compilation

    def stock(self) -> None:
        self._simulate(stock=True)

    def turns(self) -> None:
        self._simulate(stock=False)

    def model(self) -> None:
        model(self.compilation)(self.launch.arguments, self.launch.dims, self.launch.grid, print_line)

    def _simulate(self, stock: bool) -> None:
        source, thread_ir = self.compilation.cuda, self.compilation.thread_ir
        if source is None or thread_ir is None:
            raise InternalError("bench", "a compilation for a GPU has CUDA source")
        simulator.run(source, thread_ir, self.launch.arguments, self.launch.dims, self.launch.grid, stock=stock)

    def seconds_a_block(self, run: Callable[[], object]) -> float:
        """The median of several runs, each checked against the interpreter."""
        self.launch.run()
        want = {name: np.array(array) for name, array in self.launch.outputs.items()}
        times = []
        for _ in range(ROUNDS):
            for array in self.launch.outputs.values():
                np.asarray(array)[...] = np.nan
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) / math.prod(self.launch.grid))
            for name, array in self.launch.outputs.items():
                np.testing.assert_allclose(np.asarray(array), want[name], rtol=1e-4, atol=1e-4)
        return statistics.median(times)


def job(case: Case, shapes: Shapes) -> Job:
    """The case's kernel on random numbers."""
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(shape).astype(np.float32) if shape else 1e-5 for shape in shapes]
    kernel = load(KERNELS / f"{case.kernel}.tile")[case.kernel]
    launch = kernel.prepare(*inputs, device="reference", **case.metas)
    return Job(launch, kernel.compile(*inputs, target=WIDE, **case.metas))


def measure(case: Case) -> tuple[float, float, float]:
    """Seconds a block of numba's simulator, of the same taking turns, and of the machine model."""
    few, many = job(case, case.few), job(case, case.many)
    return few.seconds_a_block(few.stock), few.seconds_a_block(few.turns), many.seconds_a_block(many.model)


def main() -> None:
    print("Blocks of 128 threads a second, and how many times as many the model runs.\n")
    print("| kernel | numba's simulator | taking turns | machine model | model / numba | model / turns |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        stock, turns, modelled = measure(case)
        name = " ".join([case.kernel, *(f"{meta}={value}" for meta, value in case.metas.items())])
        print(f"| {name} | {1 / stock:.3g} | {1 / turns:.3g} | {1 / modelled:,.0f} | {stock / modelled:,.0f} "
              f"| {turns / modelled:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
