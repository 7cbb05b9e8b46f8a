"""`tilec fmt`: what is written, printed and counted. The layout itself is tested with the formatter."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest

from tilelang.cli import fmt
from tilelang.cli.main import run

from .conftest import COPY

UGLY = COPY.replace(" = ", "=").replace("    ", "\t")


@pytest.fixture
def ugly(folder: Path) -> Path:
    path = folder / "ugly.tile"
    path.write_text(UGLY)
    return path


def test_a_file_is_rewritten(ugly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fmt", "ugly.tile"]) == 0
    assert ugly.read_text() == COPY
    assert capsys.readouterr() == ("", "")


def test_a_file_in_the_standard_layout_is_not_touched(program: str) -> None:
    os.utime(program, (1, 1))
    assert run(["fmt", program]) == 0
    assert os.stat(program).st_mtime == 1


def test_check_names_the_files_and_changes_nothing(ugly: Path, program: str, capsys) -> None:  # type: ignore[no-untyped-def]
    assert run(["fmt", "--check", "ugly.tile", program]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("ugly.tile\n", "1 file would be laid out differently\n")
    assert ugly.read_text() == UGLY
    assert run(["fmt", "--check", program]) == 0


def test_diff_prints_and_changes_nothing(ugly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fmt", "--diff", "ugly.tile"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("--- ugly.tile\n+++ ugly.tile (formatted)\n@@ ")
    assert "+    y[i] = x[i];\n" in out and "-\ty[i]=x[i];\n" in out
    assert ugly.read_text() == UGLY
    assert run(["fmt", "--diff", "--check", "ugly.tile"]) == 1


def test_standard_input_goes_to_standard_output(monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(UGLY.encode())))
    assert run(["fmt", "-"]) == 0
    assert capsys.readouterr().out == COPY


def test_a_syntax_error_leaves_that_file_alone_and_formats_the_others(ugly: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    Path("broken.tile").write_text("kernel ( {")
    assert run(["fmt", "broken.tile", "nosuch.tile", "ugly.tile"]) == 1
    err = capsys.readouterr().err
    assert "error[E01" in err and "error[E0710]" in err
    assert Path("broken.tile").read_text() == "kernel ( {"
    assert ugly.read_text() == COPY


def test_a_crash_while_formatting_leaves_the_file_alone(ugly: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    def crash(source: object) -> str:
        raise KeyError("bug")

    monkeypatch.setattr(fmt, "formatted", crash)
    assert run(["fmt", "ugly.tile"]) == 3
    assert ugly.read_text() == UGLY


@pytest.mark.parametrize("step", ["tempfile.mkstemp", "os.fsync", "os.replace"])
def test_a_disk_that_refuses_leaves_the_file_alone(step: str, ugly: Path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(step, refuse)
    assert run(["fmt", "ugly.tile"]) == 1
    assert "error[E0713]" in capsys.readouterr().err
    assert ugly.read_text() == UGLY and [p.name for p in ugly.parent.iterdir()] == ["ugly.tile"]
