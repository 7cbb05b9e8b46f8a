"""What the world does to a process: it is killed, the disk is full, the clock is set back. Nothing wrong afterwards."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilelang.runtime import cache

ROOT = Path(__file__).resolve().parents[2]
RUN = """
from tests.runtime.test_cpu_cache import run
print("hits", run())
"""


def started(folder: Path, **options: object) -> subprocess.Popen[str]:
    environment = {**os.environ, cache.VARIABLE: str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment, **options)  # type: ignore[call-overload,no-any-return]  # fmt: skip


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out, err


def test_killed_at_any_moment_nothing_is_wrong_afterwards(tmp_path: Path) -> None:
    """Killed when the first file of its entry appears, and a little later."""
    for pause in (0.0, 0.05):
        process = started(tmp_path / "cache")
        while process.poll() is None and not list((tmp_path / "cache").rglob("*.py")):
            time.sleep(0.005)
        time.sleep(pause)
        process.kill()
        process.communicate(timeout=60)
    finished(started(tmp_path / "cache"))
    assert finished(started(tmp_path / "cache")) == ("hits 1\n", "")


@pytest.mark.parametrize("room", [0, 1000])
def test_on_a_full_disk_kernels_run(tmp_path: Path, room: int) -> None:
    """No file may grow beyond `room` bytes; then there is room again."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))  # noqa: E731
    out, err = finished(started(tmp_path / "cache", preexec_fn=limit))
    assert out == "hits 0\n" and "Traceback" not in err
    finished(started(tmp_path / "cache"))
    assert finished(started(tmp_path / "cache")) == ("hits 1\n", "")


@pytest.mark.parametrize("when", [0, 1 << 32])
def test_a_clock_that_was_set_back_or_forward(tmp_path: Path, when: int) -> None:
    finished(started(tmp_path / "cache"))
    for path in [*(tmp_path / "cache").rglob("*")]:
        os.utime(path, (when, when))
    for _ in range(2):
        out, err = finished(started(tmp_path / "cache"))
        assert out.startswith("hits") and "Traceback" not in err
