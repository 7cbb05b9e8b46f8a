"""The standard streams when they take no more."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from tilelang.cli.main import main; main()"]
WORDS = ("--help", "explain", "compile copy.tile --emit tokens", "fmt --diff ugly.tile", "course",
         "run copy.tile x=arange(3000) --device reference", "doctor --help")  # fmt: skip


def full_disk() -> None:
    """In the process to come: no file may grow beyond 16 bytes, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_the_users_affair(words: str, unbuffered: str, program: str) -> None:
    Path("ugly.tile").write_text("kernel   k(out y: i32[1]) grid (1) { y[0] = 1 ; }")
    environment = {**os.environ, "TILEC_CACHE_DIR": "", "PYTHONUNBUFFERED": unbuffered}
    with open("out", "wb") as out:
        result = subprocess.run([*COMMAND, *words.split()], stdout=out, stderr=subprocess.PIPE, text=True, timeout=120,
                                preexec_fn=full_disk, env=environment)  # fmt: skip
    assert result.returncode == 1
    assert result.stderr == "error[E0713]: the standard output cannot be written\n  = note: File too large\n\n"


@pytest.mark.parametrize("words", ["check nosuch.tile", "nosuch", "explain E9999"])
def test_errors_that_cannot_be_shown_are_errors_still(words: str) -> None:
    with open("err", "wb") as err:
        result = subprocess.run([*COMMAND, *words.split()], stdout=subprocess.PIPE, stderr=err, timeout=120,
                                preexec_fn=full_disk)  # fmt: skip
    assert result.returncode in (1, 2) and result.stdout == b""


def test_both_streams_full() -> None:
    with open("out", "wb") as out:
        result = subprocess.run([*COMMAND, "explain"], stdout=out, stderr=out, timeout=120, preexec_fn=full_disk)
    assert result.returncode == 1


def test_a_stream_that_the_caller_has_closed() -> None:
    result = subprocess.run([*COMMAND, "explain", "E0312"], stderr=subprocess.PIPE, timeout=120,
                            preexec_fn=lambda: os.close(1))  # fmt: skip
    assert (result.returncode, result.stderr) == (0, b"")
