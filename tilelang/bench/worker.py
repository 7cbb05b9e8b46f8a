"""One contestant, in a process of its own: reads requests and answers them, one JSON object a line.

    {"start": 2}                  ->  {"imports": 0.9, "once": 0.5}       what a process pays once, on 2 threads
    {"prepare": 2, "threads": 2}  ->  {"seconds": 0.61, "error": null}    time until the first result was there
    {"run": 5}                    ->  {"seconds": 0.0021}                 the median of 5 runs
    {"machine": 3}                ->  {"copy": 2.1e10, "flops": 1.5e11}   what the machine can do, medians of 3

Run as a file, `python worker.py numpy`: the compiler is imported by the contestant `tile` alone.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "course" / "kernels"

CLOCK = time.process_time if os.environ.get("TILEC_BENCH_CLOCK") == "cpu" else time.perf_counter
"""With one thread, processor time: a fair clock on a busy machine."""


def prepare_numpy(case: Any, arguments: dict[str, Any], threads: int) -> Callable[[], object]:
    return lambda: case.numpy(**arguments)


def prepare_torch(case: Any, arguments: dict[str, Any], threads: int) -> Callable[[], object]:
    import torch

    torch.set_num_threads(threads)
    return case.torch(torch, arguments)


def prepare_tile(case: Any, arguments: dict[str, Any], threads: int) -> Callable[[], object]:
    from tilelang.bench.compiled import compile_kernel

    return compile_kernel(KERNELS / case.file, arguments, dict(case.metas))


def start_tile(threads: int) -> dict[str, float]:
    """Seconds of the imports; seconds of what is done once for all kernels: the grammar's table, numba's own start,
    the driver that hands programs to the cores."""
    start = time.perf_counter()
    import numba

    from tilelang.bench.compiled import STAGES, compile_text

    for stage in STAGES:
        importlib.import_module(stage)
    imported = time.perf_counter()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    compile_text("kernel one(out y: i32[N]) grid (N) { y[program_id(0)] = 1; }", y=np.zeros(64, np.int32))()
    return {"imports": imported - start, "once": time.perf_counter() - imported}


def check(case: Any, arguments: dict[str, Any]) -> None:
    """A fast wrong kernel is no contestant: is the result there what NumPy says?"""
    got = arguments[case.result].copy()
    arguments[case.result][...] = 0
    want = case.numpy(**arguments)
    if not np.allclose(got, want, rtol=case.tolerance, atol=case.tolerance):
        raise ValueError(f"wrong result, off by {np.abs(got - want).max()}")


PREPARE = {"numpy": prepare_numpy, "torch": prepare_torch, "tile": prepare_tile}


def main(contestant: str) -> None:
    sys.path.insert(0, str(HERE))
    from cases import CASES  # type: ignore[import-not-found]  # by its path, see there

    run: Callable[[], object] = list
    for line in sys.stdin:
        request = json.loads(line)
        start = time.perf_counter()
        if "prepare" in request:
            case = CASES[request["prepare"]]
            try:
                arguments = case.make()
                start = time.perf_counter()
                run = PREPARE[contestant](case, arguments, request["threads"])
                run()
                answer: dict[str, float | str | None] = {"seconds": time.perf_counter() - start, "error": None}
                if contestant == "tile":
                    check(case, arguments)
            except (ImportError, ValueError) as error:
                answer = {"seconds": 0.0, "error": str(error)}
        elif "start" in request:
            answer = {**start_tile(request["start"])}
        elif "machine" in request:
            answer = machine(request["machine"])
        else:
            answer = {"seconds": statistics.median(_timed(run) for _ in range(request["run"]))}
        print(json.dumps(answer), flush=True)


def machine(times: int) -> dict[str, float | str | None]:
    """What NumPy reaches here: bytes a second, read and written, of copying 256 MiB; f32 operations a second of a
    product of 2048 x 2048 matrices (OpenBLAS's peak, or close to it)."""
    source, target = np.ones(1 << 26, np.float32), np.zeros(1 << 26, np.float32)
    square, product = np.ones((2048, 2048), np.float32), np.zeros((2048, 2048), np.float32)
    copying = statistics.median(_timed(lambda: np.copyto(target, source)) for _ in range(times))
    multiplying = statistics.median(_timed(lambda: np.matmul(square, square, out=product)) for _ in range(times))
    return {"copy": 2 * source.nbytes / copying, "flops": 2 * 2048**3 / multiplying}


def _timed(run: Callable[[], object]) -> float:
    start = CLOCK()
    run()
    return CLOCK() - start


if __name__ == "__main__":
    main(sys.argv[1])
