"""The simulator's process: reads launches from stdin, runs them with numba's CUDA simulator, writes arrays to stdout.

numba runs the threads of a block as threads of the operating system and polls them until all wait at a barrier, all
of them competing for Python's one lock. Here they take turns instead: each runs until it reaches a barrier or ends,
then the next. That is much faster and the same every time. Shared and local arrays start out filled with a pattern, in
every block.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numba import cuda
from numba.cuda.simulator import kernel as simulator
from numba.cuda.simulator import kernelapi

from tilelang.runtime.generated import define
from tilelang.runtime.simulator import receive, send

POISON = 0xA5
"""Every byte of a fresh integer array (floats are NaN): what a kernel reads without having written it shows."""


NAN_BYTE = 0xFF
"""Every byte of fresh dynamic memory: any float there is NaN."""

DYNAMIC = 0
"""The dynamic array's place among those that lines declare."""


def poisoned(shape: int, dtype: type) -> np.ndarray:
    array: np.ndarray = np.empty(shape, dtype)
    array.view(np.uint8)[...] = POISON
    if array.dtype.kind == "f":
        array[...] = np.nan
    return array


class Shared:
    """Shared memory: one array for each line that declares one, the same for all threads of a block; and one of the
    size that the launch asks for, which the shape 0 stands for."""

    def __init__(self, dynamic_size: int = 0):
        self.dynamic_size = dynamic_size
        self.arrays: dict[int, np.ndarray] = {}

    def array(self, shape: int, dtype: type) -> np.ndarray:
        if shape == 0:
            if DYNAMIC not in self.arrays:
                self.arrays[DYNAMIC] = np.full(self.dynamic_size, NAN_BYTE, np.uint8)
            return self.arrays[DYNAMIC]
        line = sys._getframe(1).f_lineno
        if line not in self.arrays:
            self.arrays[line] = poisoned(shape, dtype)
        return self.arrays[line]


class Local:
    """Local arrays: new ones for each thread."""

    def array(self, shape: int, dtype: type) -> np.ndarray:
        return poisoned(shape, dtype)


class TurnThread(simulator.BlockThread):
    """A thread of a block that runs only when it is its turn."""

    def __init__(self, function: Callable, manager: TurnManager, block: tuple, thread: tuple, debug: bool):
        super().__init__(function, manager, block, thread, debug)
        self.go = threading.Lock()
        self.go.acquire()
        self.ended = False

    def run(self) -> None:
        self.go.acquire()
        if not self.abort:
            super().run()
        self.ended = True
        self._manager.back.release()

    def syncthreads(self) -> None:
        self._manager.back.release()
        self.go.acquire()
        if self.abort:
            raise RuntimeError("another thread of the block failed")


class TurnManager(simulator.BlockManager):
    """Runs the threads of a block one after another, from barrier to barrier."""

    backwards = False
    """Last thread first."""

    def run(self, grid_point: tuple, *args: object) -> None:
        self.back = threading.Lock()
        self.back.acquire()
        self.exchange: dict[int, object] = {}  # what threads shuffle, by number
        simulator._get_kernel_context().shared.arrays.clear()
        threads = [TurnThread(lambda: self._f(*args), self, grid_point, point, self._debug)
                   for point in np.ndindex(*self._block_dim)]
        for thread in threads:
            thread.start()
        waiting = threads[::-1] if self.backwards else threads
        while waiting:
            for thread in waiting:
                self.turn(thread)
                if thread.exception:
                    self.abandon([t for t in threads if not t.ended])
                    raise thread.exception[0].with_traceback(thread.exception[1])
            running = [thread for thread in waiting if not thread.ended]
            if running and len(running) < len(waiting):
                self.abandon(running)
                raise RuntimeError("a barrier was not reached by all threads of the block")
            waiting = running

    def turn(self, thread: TurnThread) -> None:
        thread.go.release()
        self.back.acquire()

    def abandon(self, threads: list[TurnThread]) -> None:
        for thread in threads:
            thread.abort = True
            self.turn(thread)


@lru_cache(maxsize=256)
def compiled(source: str, function: str) -> object:
    return cuda.jit(define(source, function))


def launch(source: str, function: str, blocks: int, threads: int, shared: int, backwards: bool,
           arguments: list) -> list[np.ndarray]:
    """Run one kernel, with `shared` bytes of dynamic memory; returns its array arguments as they are afterwards."""
    TurnManager.backwards = backwards
    arguments = [np.array(a) if isinstance(a, np.ndarray) and not a.flags.writeable else a for a in arguments]
    compiled(source, function)[blocks, threads, 0, shared](*arguments)  # type: ignore[index]
    return [argument for argument in arguments if isinstance(argument, np.ndarray)]


def main() -> None:
    """Serve launches until stdin ends. The replies have stdout to themselves. With `--stock`, as numba would."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us; it stops us
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.simplefilter("ignore")
    replacements = ((simulator, "BlockManager", TurnManager), (kernelapi, "FakeCUDAShared", Shared),
                    (kernelapi, "FakeCUDALocal", Local))
    for module, name, replacement in () if "--stock" in sys.argv else replacements:
        setattr(module, name, replacement)
    while (message := receive(sys.stdin.buffer)) is not None:
        outcome: tuple[str, object]
        try:
            outcome = "done", launch(*pickle.loads(message))
        except Exception as failure:
            outcome = "error", f"{type(failure).__name__}: {failure}"
        send(replies, pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL))


if __name__ == "__main__":
    main()
