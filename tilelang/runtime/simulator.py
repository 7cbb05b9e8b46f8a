"""numba's CUDA simulator on generated source, in a process of its own.

The simulator replaces `numba.cuda` as a whole and only if NUMBA_ENABLE_CUDASIM is set before the first import, so it
cannot live in a process that compiles for a GPU or may do so later. A worker is started at the first launch and
kept; launches go through pipes. A launch that crashes or takes too long ends in an error, and the next in a new worker.
"""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tilelang.codegen.cuda import function_name
from tilelang.diagnostics import CompileError, Diagnostic, InternalError
from tilelang.ir.core import Kernel, TensorType
from tilelang.memory.placement import dynamic_bytes
from tilelang.runtime.cuda_arguments import copy_back, count_programs, flat_arguments, in_order
from tilelang.runtime.log import new_log

TIMED_OUT = "E0640"
LIMIT = "TILEC_SIMULATOR_SECONDS"
"""The environment variable that says how long one launch may take."""
SECONDS = 600.0
"""How long one may take otherwise."""
LENGTH = struct.Struct("<Q")


def run(cuda_source: str, thread_kernel: Kernel, args: Mapping[str, object], dims: Mapping[str, int],
        grid: Sequence[int], *, log: np.ndarray | None = None, seconds: float | None = None,
        backwards: bool = False, stock: bool = False) -> np.ndarray:
    """Run every program of `grid`; `out` and `inout` arrays are updated in place. Returns the log.

    `args` holds arrays and numbers by parameter name. `log` is one of `tilelang.runtime.log.new_log`. Between two
    barriers the threads of a block run one after the other, `backwards` from the last to the first: a kernel that
    gives different results then lacks a barrier. `stock`: they compete instead, as numba's simulator lets them,
    which is slower; it is there to be measured.

    Raises:
        CompileError: E0622, too many programs; E0640, it took more than `seconds` (by default what the environment
            variable TILEC_SIMULATOR_SECONDS says, or ten minutes).
        InternalError: the generated code failed, or the worker did.
    """
    if log is None:
        log = new_log(())
    programs = count_programs(grid)
    if programs == 0:
        return log
    flats = flat_arguments(thread_kernel, args)
    arguments = in_order(thread_kernel, flats, args, dims, grid, log)
    job = (cuda_source, function_name(thread_kernel), programs, int(thread_kernel.attrs["threads"]),  # type: ignore[arg-type]
           dynamic_bytes(thread_kernel), backwards, arguments)
    worker = _stock if stock else _worker
    returned = worker.launch(pickle.dumps(job, pickle.HIGHEST_PROTOCOL), _limit() if seconds is None else seconds)
    log[:] = returned[-1]
    arrays = iter(returned)
    for param in thread_kernel.params:
        if isinstance(param.type, TensorType):
            memory = next(arrays)
            if param.type.mode != "in":
                copy_back(np.asarray(args[param.name]), memory, flats[param.name])
    return log


class _Worker:
    """A worker process, started when needed, with these options on its command line."""

    def __init__(self, *options: str) -> None:
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._replies: queue.Queue[bytes | None] = queue.Queue()
        self._one_launch = threading.Lock()

    def launch(self, job: bytes, seconds: float) -> list[np.ndarray]:
        with self._one_launch:
            process = self._started()
            try:
                send(process.stdin, job)  # type: ignore[arg-type]
                reply = self._replies.get(timeout=seconds)
            except queue.Empty:
                self.stop()
                raise _too_slow(seconds) from None
            except OSError:
                reply = None
            except BaseException:
                self.stop()  # interrupted: a late reply must not be taken for the next launch's
                raise
        if reply is None:
            self.stop()
            raise InternalError("simulator", "its process ended unexpectedly")
        outcome, value = pickle.loads(reply)
        if outcome == "error":
            raise InternalError("simulator", value)
        return value

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            package_parent = str(Path(__file__).resolve().parents[2])
            path = os.pathsep.join(filter(None, (package_parent, os.environ.get("PYTHONPATH"))))
            self._replies = queue.Queue()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tilelang.runtime.simulator_worker", *self._options],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": path})
            threading.Thread(target=_listen, args=(self._process.stdout, self._replies), daemon=True).start()
        return self._process

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _listen(pipe: BinaryIO, replies: queue.Queue[bytes | None]) -> None:
    """Put each reply into the queue, and None at the end of the stream."""
    while (message := receive(pipe)) is not None:
        replies.put(message)
    replies.put(None)


def send(pipe: BinaryIO, message: bytes) -> None:
    pipe.write(LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def receive(pipe: BinaryIO) -> bytes | None:
    """The next message, or None if the other side is gone."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    message = pipe.read(length)
    return message if len(message) == length else None


def _limit() -> float:
    try:
        return max(float(os.environ.get(LIMIT, SECONDS)), 0.0)
    except ValueError:
        return SECONDS


def _too_slow(seconds: float) -> CompileError:
    return CompileError([Diagnostic(
        TIMED_OUT, f"the simulator was stopped after {seconds:g} seconds",
        notes=(f"the environment variable {LIMIT} sets another limit",),
        help="use smaller tensors or another device, and check that every loop of the kernel ends")])


_worker = _Worker()
_stock = _Worker("--stock")
atexit.register(_worker.stop)
atexit.register(_stock.stop)
