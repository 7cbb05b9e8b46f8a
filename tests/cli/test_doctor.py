"""`tilec doctor` answers whatever the state of the machine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tilelang.cli import doctor
from tilelang.cli.main import run


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    probe_gives(monkeypatch, "[]")


def probe_gives(monkeypatch: pytest.MonkeyPatch, stdout: str, stderr: str = "", status: int = 0) -> None:
    done = SimpleNamespace(stdout=stdout, stderr=stderr, returncode=status)
    monkeypatch.setattr(doctor.subprocess, "run", lambda *_, **__: done)


def answer(capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    out = answer(capsys)
    for word in ("Python", "CPU cores", "numba-cuda", "ptxas", "folder", "takes cpu here", "no: no GPU"):
        assert word in out


def test_a_gpu_is_listed_and_taken(monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    probe_gives(monkeypatch, 'chatter\n[["NVIDIA T4", [7, 5], 16106127360]]\n')
    out = answer(capsys)
    assert "NVIDIA T4, sm_75, 15 GiB" in out and "takes cuda:0 here" in out and "\n  a GPU " not in out


@pytest.mark.parametrize(
    ("stdout", "stderr", "status", "shown"),
    [
        ("", "Traceback\nCudaSupportError: driver too old\n", 1, "driver too old"),
        ("", "", -11, "numba.cuda ended with -11"),
        ("not json", "", 0, "numba.cuda ended with 0"),
    ],
)
def test_a_probe_that_fails_is_reported(monkeypatch, capsys, stdout, stderr, status, shown) -> None:  # type: ignore[no-untyped-def]
    probe_gives(monkeypatch, stdout, stderr, status)
    out = answer(capsys)
    assert "none found" in out and shown in out


def test_a_probe_that_hangs_is_reported(monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("probe", 60)

    monkeypatch.setattr(doctor.subprocess, "run", hang)
    assert "asking for one did not work" in answer(capsys)


def test_what_is_missing_comes_with_what_to_install(monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(doctor, "_version", lambda name: None)
    monkeypatch.setattr(doctor, "find_tool", lambda name: None)
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    out = answer(capsys)
    assert "pip install lark numpy numba" in out and "pip install -e '.[cuda]'" in out
    assert "no: numba is missing" in out and "no: numba-cuda is missing" in out


def test_the_state_of_the_cache(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = folder / "cache"
    assert "empty" in answer(capsys)
    cache.mkdir()
    (cache / "entry").write_bytes(bytes(2**20))
    assert "1 file, 1.0 MiB" in answer(capsys)
    (cache / "entry").unlink()
    cache.rmdir()
    cache.touch()
    assert "a file is in its place" in answer(capsys)


def test_the_probe_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real one, in its own process: a list comes back, or a reason why not."""
    monkeypatch.undo()
    gpus, trouble = doctor.find_gpus()
    assert isinstance(gpus, list) and (gpus or isinstance(trouble, str))
