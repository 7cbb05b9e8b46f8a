"""The word of a launch that says why programs should stop, or have stopped (`tilelang.codegen.cpu_arguments`).

Ctrl-C reaches Python only when a launch returns. A kernel with a `while` looks at the word in each round, and while
one runs, a thread waits to write it: Python lets the C handler of a signal put a byte into a pipe
(`signal.set_wakeup_fd`), and launches do not hold Python's lock.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

from tilelang.codegen.cpu_arguments import INTERRUPTED, NO_MEMORY


class NoScratch(MemoryError):
    """The system has no memory for the scratch of a kernel's programs. What the outputs hold is not decided."""


class _Watch:
    """A thread that reads the numbers of signals from a pipe, and stops the launch at hand for SIGINT."""

    def __init__(self) -> None:
        self.words: np.ndarray | None = None
        self.slot, self.before = 0, -1
        self._read, self.write = os.pipe()
        os.set_blocking(self.write, False)
        threading.Thread(target=self._run, daemon=True, name="tilec Ctrl-C").start()

    def _run(self) -> None:
        while numbers := os.read(self._read, 64):
            words = self.words
            if words is not None and signal.SIGINT in numbers:
                words[self.slot] = INTERRUPTED
            if self.before >= 0:  # whoever waited for signals before still hears of them
                with suppress(OSError):
                    os.write(self.before, numbers)


_watches: dict[int, _Watch] = {}
"""By process: threads and what they wait for do not survive a fork."""


@contextmanager
def stopping_for_ctrl_c(words: np.ndarray, slot: int) -> Iterator[None]:
    """While this lasts, Ctrl-C writes INTERRUPTED into `words[slot]`. In threads that get no signals, nothing."""
    if threading.current_thread() is not threading.main_thread() or os.name != "posix":
        yield
        return
    watch = _watches.get(os.getpid()) or _watches.setdefault(os.getpid(), _Watch())
    before = signal.set_wakeup_fd(watch.write, warn_on_full_buffer=False)
    watch.words, watch.slot, watch.before = words, slot, -1 if before == watch.write else before
    try:
        yield
    finally:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        watch.words = None


def check(words: np.ndarray, slot: int) -> None:
    """After a launch: raise what its word for trouble says.

    Raises:
        NoScratch: a chunk of programs had no memory.
        KeyboardInterrupt: the user pressed Ctrl-C.
    """
    if words[slot] == NO_MEMORY:
        raise NoScratch
    if words[slot] == INTERRUPTED:
        raise KeyboardInterrupt
