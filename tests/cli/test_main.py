"""The command line as a whole: exit codes, and what becomes of every kind of failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from tilelang.cli import main
from tilelang.cli.faults import Fault
from tilelang.diagnostics import CompileError, Diagnostic, InternalError, Source, Span

from .conftest import COPY


def tilec(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run `tilec` as a process of its own."""
    command = [sys.executable, "-c", "from tilelang.cli.main import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def failing_with(error: BaseException) -> click.Command:
    @click.command("check")
    @click.argument("words", nargs=-1)
    def command(words: tuple[str, ...]) -> None:
        raise error

    return command


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Make `tilec check` fail in the way that a test gives."""

    def install(error: BaseException) -> None:
        from tilelang.cli import check

        monkeypatch.setattr(check, "command", failing_with(error))

    return install


# ----------------------------------------------------------------------------------------- exit codes


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([]) == main.run(["--help"]) == main.run(["-h"]) == 0
    out = capsys.readouterr().out
    assert all(out.count(f"\n  {name} ") == 3 for name in main.COMMANDS)


@pytest.mark.parametrize("name", list(main.COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([name, "--help"]) == 0
    assert f"Usage: tilec {name}" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tilec, version ")


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["chekc"], "E0702", "`tilec check`"),
        (["softmax.tile"], "E0702", "tilec check softmax.tile"),
        (["fmt", "--dif", "x"], "E0703", "`--diff`"),
        (["--versoin"], "E0703", "`--version`"),
        (["check"], "E0704", "--help"),
        (["run", "a.tile", "--seed", "x"], "E0705", "--seed"),
        (["compile", "a.tile", "--emit"], "E0705", "--emit"),
        (["doctor", "now"], "E0705", "doctor"),
        (["explain", "E9999"], "E0706", ""),
    ],
)
def test_wrong_usage(words: list[str], code: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(words) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error[{code}]: ") and hint in err


def test_a_coded_error_exits_with_1(fail, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    fail(CompileError([Diagnostic("E0301", "bad", Span(0, 1))], Source("ab", "f.tile")))
    assert main.run(["check"]) == 1
    assert "error[E0301]: bad\n --> f.tile:1:1\n" in capsys.readouterr().err


def test_a_fault_exits_with_its_own_status(fail, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    fail(Fault("E0799", "bad", status=2))
    assert main.run(["check"]) == 2


def test_an_interrupt_exits_with_130(fail, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    fail(KeyboardInterrupt())
    assert main.run(["check"]) == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_no_memory_is_a_message(fail, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    fail(MemoryError())
    assert main.run(["check"]) == 1
    assert "error[E0707]" in capsys.readouterr().err


# --------------------------------------------------------------------------------------- compiler bugs


@pytest.mark.parametrize(
    "error", [InternalError("fold", "no result", "the kernel\nbefore"), KeyError("x"), RecursionError("deep")]
)
def test_a_bug_writes_a_report_and_shows_no_traceback(error, fail, program, capsys) -> None:  # type: ignore[no-untyped-def]
    fail(error)
    assert main.run(["check", program]) == 3
    err = capsys.readouterr().err
    assert "internal error" in err and "Traceback" not in err
    (report,) = Path("cache/crashes").iterdir()
    assert str(report) in err
    text = report.read_text()
    assert "Traceback" in text and "'check' 'copy.tile'" in text and COPY in text
    assert (getattr(error, "dump", "") or "Traceback") in text


def test_a_report_goes_elsewhere_if_the_cache_cannot_be_written(fail, program, capsys, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    Path("file").touch()
    monkeypatch.setenv("TILEC_CACHE_DIR", "file")
    monkeypatch.setattr("tempfile.tempdir", str(Path("elsewhere").absolute()))
    fail(InternalError("fold", "x"))
    assert main.run(["check"]) == 3
    assert len(list(Path("elsewhere").iterdir())) == 1
    capsys.readouterr()


def test_a_report_is_printed_if_no_folder_can_be_written(fail, program, capsys, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    Path("file").touch()
    monkeypatch.setenv("TILEC_CACHE_DIR", "file/x")
    monkeypatch.setattr("tempfile.tempdir", str(Path("file").absolute()))
    fail(InternalError("fold", "x", "THE DUMP"))
    assert main.run(["check"]) == 3
    assert "THE DUMP" in capsys.readouterr().err


# -------------------------------------------------------------------------------------- as a process


def test_a_closed_pipe_is_no_error() -> None:
    command = [sys.executable, "-c", "from tilelang.cli.main import main; main()", "explain"]
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=60)
    os.close(write)
    assert (result.returncode, result.stderr) == (141, b"")


def test_a_stream_that_cannot_show_a_character_gets_an_escape(program: str) -> None:
    Path(program).write_text("kernel 名", encoding="utf-8")
    result = tilec("check", program, env={**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"})
    assert result.returncode == 1 and "1 | kernel \\u540d" in result.stderr


def opened_once_read(fifo: Path) -> int:
    """The writing end of a pipe, opened when somebody has opened the other: the process waits for what comes."""
    for _ in range(600):
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.1)
    raise AssertionError("nobody reads")


def test_ctrl_c_ends_a_process_cleanly(tmp_path: Path) -> None:
    fifo = tmp_path / "never-written.tile"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [sys.executable, "-c", "from tilelang.cli.main import main; main()", "check", str(fifo)],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    writer = opened_once_read(fifo)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    os.close(writer)
    assert (process.returncode, err.strip()) == (130, "interrupted")


def test_colours_only_for_a_terminal(program: str) -> None:
    Path(program).write_text("kernel")
    assert "\x1b" not in tilec("check", program).stderr
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    for extra, coloured in ({}, True), ({"NO_COLOR": "1"}, False):
        parent, child = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", **extra}
        environment.pop("NO_COLOR" if coloured else "", None)
        subprocess.run(
            [sys.executable, "-c", "from tilelang.cli.main import main; main()", "check", program],
            stderr=child, env=environment, timeout=60,
        )  # fmt: skip
        os.close(child)
        shown = os.read(parent, 10_000).decode()
        os.close(parent)
        assert ("\x1b[" in shown) == coloured and "error" in shown
