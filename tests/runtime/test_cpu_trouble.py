"""When programs cannot go on: no memory for scratch, and Ctrl-C in a loop that never ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import tilelang

ENDLESS = tilelang.compile("""
kernel endless(x: i32[N], out y: i32[N]) grid (N) {
    let i = program_id(0);
    var n = x[i];
    while n >= 0 { n = (n + 1) % 1000; }
    y[i] = n;
}
""")["endless"]

NO_ALLOCATOR = """
import ctypes
import llvmlite.binding
failing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(lambda *sizes: None)
for name in ("malloc", "calloc"):
    llvmlite.binding.add_symbol(name, ctypes.cast(failing, ctypes.c_void_p).value)
import numpy as np, tilelang
"""


def without_memory(code: str) -> str:
    """What Python prints in a process where generated code gets no memory."""
    environment = {**os.environ, "TILEC_CACHE_DIR": ""}
    done = subprocess.run([sys.executable, "-c", NO_ALLOCATOR + textwrap.dedent(code)], env=environment, text=True,
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_memory_for_scratch_is_an_error_with_a_code() -> None:
    said = without_memory('''
        program = tilelang.compile("""
        kernel total(x: f32[M, 64], out y: f32[M, 64]) grid (M) {
            let v = exp(x[program_id(0), 0 +: 64]);
            y[program_id(0), 0 +: 64] = v / sum(v, axis=0);
        }""")["total"]
        for programs in (1, 100):
            try:
                program(np.ones((programs, 64), np.float32), device="cpu")
            except tilelang.CompileError as error:
                print(error.diagnostics[0].code, error.source.text[error.diagnostics[0].span.start:][:5])
    ''')
    assert said.split() == ["E0592", "total"] * 2


def test_without_memory_for_private_copies_the_sums_are_right() -> None:
    said = without_memory('''
        program = tilelang.compile("""
        kernel count(x: i32[N], inout y: i32[B]) grid (cdiv(N, 1024)) {
            let i = program_id(0) * 1024 +: 1024;
            atomic_add(y[[x[i]]], 1) where i < N;
        }""")["count"]
        x = np.arange(9000, dtype=np.int32) % 7
        y = np.zeros(7, np.int32)
        program(x, y, device="cpu")
        assert (y == np.bincount(x)).all(), y
    ''')
    assert said == ""


@pytest.mark.parametrize("programs", [1, 50])
def test_ctrl_c_ends_an_endless_loop(programs: int) -> None:
    """Of one program in the main thread, and of many on all cores."""
    ENDLESS(-np.ones(programs, np.int32), device="cpu")
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        ENDLESS(np.ones(programs, np.int32), device="cpu")
    assert (ENDLESS(-np.ones(programs, np.int32), device="cpu") == -1).all()


def test_who_waits_for_signals_still_hears_of_them() -> None:
    """As an event loop does: its own wakeup pipe is back after a launch, and gets the signals of the meantime."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write)
    try:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            ENDLESS(np.ones(3, np.int32), device="cpu")
        assert os.read(read, 10) == bytes([signal.SIGINT])
    finally:
        assert signal.set_wakeup_fd(before) == write
        os.close(read)
        os.close(write)
