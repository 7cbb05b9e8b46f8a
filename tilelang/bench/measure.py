"""Contestants in processes of their own, taking turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilelang.bench.cases import Case

WORKER = Path(__file__).with_name("worker.py")
TURN_SECONDS = 0.25
"""A contestant runs about this long before the next one's turn."""
PAUSE_SECONDS = 0.03
"""Between turns: idle threads of the last contestant stop spinning."""


class Contestant:
    """A process that runs one library's version of each case. Kernels are compiled into the folder `cache`."""

    def __init__(self, name: str, python: str, threads: int, cache: str = ""):
        self.name, self.threads = name, threads
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # let OpenBLAS choose the kernels for this CPU
            environment.pop(setting, None)
        root = str(Path(__file__).parents[2])
        if name == "tile":
            environment["TILEC_CACHE_DIR"] = cache
            environment["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen([python, str(WORKER), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, env=environment)

    def start(self) -> Start:
        """What the process pays before its first kernel; of the kernel's process only."""
        return Start(**self._ask({"start": self.threads}))

    def prepare(self, number: int) -> tuple[float, str | None]:
        """(seconds until case `number` had its first result, or why it cannot run)"""
        answer = self._ask({"prepare": number, "threads": self.threads})
        return float(answer["seconds"]), answer["error"]

    def run(self, times: int) -> float:
        """Seconds of one run, the median of so many."""
        return float(self._ask({"run": times})["seconds"])

    def machine(self) -> Machine:
        """What this contestant's library reaches on this machine."""
        return Machine(**self._ask({"machine": 3}))

    def close(self) -> None:
        self._process.communicate()

    def _ask(self, request: dict) -> dict:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the worker has no pipes")
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the {self.name} process ended with status {self._process.wait()}")
        return json.loads(line)


@dataclass(frozen=True)
class Machine:
    """`copy`: bytes a second, read and written, of a large copy. `flops`: f32 operations a second of a product."""

    copy: float
    flops: float


@dataclass(frozen=True)
class Start:
    """Seconds that a process pays once: for imports, and for what all kernels share."""

    imports: float
    once: float


@dataclass(frozen=True)
class Outcome:
    """One case. `seconds`: median of a run, by contestant. `ratio`: of the kernel to the fastest other one, the
    median over rounds. `cold`: seconds from source to the first result; `cached`: the same in a second process, which
    finds the kernel compiled. `missing`: contestants that could not run."""

    case: Case
    seconds: dict[str, float]
    ratio: float | None
    cold: float
    cached: float
    missing: dict[str, str]


def measure(case: Case, number: int, contestants: Sequence[Contestant], rounds: int, second: Contestant) -> Outcome:
    """Let the contestants take turns at one case. `second`: another process for the kernel, which only starts it."""
    times: dict[str, list[float]] = {}
    missing: dict[str, str] = {}
    runs: dict[str, int] = {}
    cold = 0.0
    for contestant in contestants:
        first, error = contestant.prepare(number)
        if error is not None:
            missing[contestant.name] = error
            continue
        if contestant.name == "tile":
            cold = first
        times[contestant.name] = []
        runs[contestant.name] = max(1, min(1000, int(TURN_SECONDS / max(contestant.run(1), 1e-6))))
    for _ in range(rounds):
        for contestant in contestants:
            if contestant.name in times:
                times[contestant.name].append(contestant.run(runs[contestant.name]))
                time.sleep(PAUSE_SECONDS)
    medians = {name: statistics.median(samples) for name, samples in times.items()}
    others = {name: value for name, value in medians.items() if name != "tile"}
    ratio = None
    if others and "tile" in times:
        best = min(others, key=lambda name: others[name])
        ratio = statistics.median(a / b for a, b in zip(times["tile"], times[best], strict=True))
    return Outcome(case, medians, ratio, cold, second.prepare(number)[0], missing)


def contestants(threads: int, reference_python: str, cache: str, cpu_time: bool = False) -> list[Contestant]:
    """The kernel, compiled into the folder `cache`, NumPy and PyTorch; these two in `reference_python`, which may have
    other packages.

    `cpu_time`: count processor time instead of time, which makes sense with one thread.
    """
    os.environ["TILEC_BENCH_CLOCK"] = "cpu" if cpu_time else ""
    return [Contestant("tile", sys.executable, threads, cache), Contestant("numpy", reference_python, threads),
            Contestant("torch", reference_python, threads)]
