"""`tilec tune`: what it prints, keeps, lists and forgets, and its messages. Times are never compared."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilelang.cli.main import run
from tilelang.cli.tune import parse_values

PROGRAM = """\
kernel copy[T: {f32, f16}, BLOCK: {64, 128}, warps: {4, 8}](x: T[N], out y: T[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    y[i] = x[i];
}
kernel some[ROWS = 8](x: f32[N], out y: f32[N]) grid (1) { y[0 +: ROWS] = x[0 +: ROWS]; }
"""


@pytest.fixture(autouse=True)
def program(folder: Path) -> str:
    Path("copy.tile").write_text(PROGRAM)
    return "copy.tile"


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    status = run([*words])
    out, err = capsys.readouterr()
    assert status == 0, err
    return out, err


def tuned(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    """The JSON of a short tuning."""
    return json.loads(shown(capsys, "tune", *words, "--device", "cpu", "--seconds", "0", "--json")[0])


def failing(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = run(["tune", *words])
    out, err = capsys.readouterr()
    assert out == ""
    return status, err


# ------------------------------------------------------------------------------ tuning


def test_a_table_and_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = shown(capsys, "tune", "copy.tile:copy", "N=1000", "--device", "cpu", "--seconds", "0")
    assert out.startswith("copy, N=1000, T=f32: 2 configurations, measured on ")
    assert "BLOCK  warps" in out and "default" in out and "B/s" in out
    assert "warps: without effect here, not varied" in out
    assert "kept: from now on `tilec run`" in out
    assert err == "compiling 2 configurations\nmeasuring 2 configurations\n"
    assert "\x1b" not in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    data = tuned(capsys, "copy.tile:copy", "N=1000", "--set", "T=f16")
    assert data["settled"] == {"N": 1000, "T": "f16"} and data["by"] == "measurement"
    assert [t["metas"]["BLOCK"] for t in data["trials"]] == [64, 128]
    assert data["best"]["BLOCK"] in (64, 128) and data["gain"] >= 1
    assert all(t["seconds"] > 0 and t["runs"] > 0 for t in data["trials"])
    assert json.loads(Path(data["kept"]).read_text())["answer"]["metas"] == data["best"]


def test_later_runs_use_it_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    tuned(capsys, "copy.tile:copy", "N=1000", "--set", "BLOCK=128")
    line = "BLOCK, warps: found by `tilec tune` on 20"
    run_it = ("run", "copy.tile:copy", "N=1000", "--device", "cpu")
    out, _ = shown(capsys, *run_it)
    assert "BLOCK=128" in out and line in out
    for other in (["--no-tuned"], ["--set", "BLOCK=64"]):
        out, _ = shown(capsys, *run_it, *other)
        assert "BLOCK=64" in out and line not in out
    out, _ = shown(capsys, "run", "copy.tile:copy", "N=1001", "--device", "cpu")
    assert "BLOCK=64" in out and line not in out


def test_only_looking(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert tuned(capsys, "copy.tile:copy", "N=1000", "--no-keep")["kept"] is None
    assert not list(folder.rglob("best.json"))


def test_wrong_configurations_are_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    data = tuned(capsys, "copy.tile:some", "N=8", "--set", "ROWS=8,4,16")
    assert [t["failed"] is None for t in data["trials"]] == [True, False, True]
    assert "result is not that of the first" in data["trials"][1]["failed"]


@pytest.mark.parametrize("how", [["--gpu", "t4"], ["--by", "model", "--gpu", "t4"], ["--device", "cuda:0"]])
def test_estimates(capsys: pytest.CaptureFixture[str], how: list[str]) -> None:
    if "cuda:0" in how and os.path.exists("/dev/nvidia0"):
        pytest.skip("there is a GPU")
    out, _ = shown(capsys, "tune", "copy.tile:copy", "N=100", *how)
    assert "estimated for " + ("A100" if "cuda:0" in how else "Tesla T4") in out
    assert "nothing was run on a GPU" in out
    assert ("there is no cuda:0 here" in out) == ("cuda:0" in how)
    assert "kept: used on a GPU of this kind" in out
    assert "BLOCK=64" in shown(capsys, "run", "copy.tile:copy", "N=100", "--device", "cpu")[0]


@pytest.mark.parametrize(("words", "wanted"), [
    (["B=64,128"], {"B": (64, 128)}), (["B=64"], {"B": 64}), (["T=f16"], {"T": "f16"}), (["S=0.5,1"], {"S": (0.5, 1)}),
    (["B=64,x"], {"B": "64,x"}), (["B=64,"], {"B": "64,"}), (["U=true"], {"U": True}),
])  # fmt: skip
def test_values_of_metas(words: list[str], wanted: dict) -> None:
    assert parse_values(words) == wanted


@pytest.mark.parametrize(("words", "code", "status"), [
    ([], "E0704", 2),
    (["copy.tile"], "E0701", 1),
    (["copy.tile:copy", "N=8", "--gpu", "a1000"], "E0735", 2),
    (["copy.tile:copy", "N=8", "--by", "guess"], "E0705", 2),
    (["copy.tile:copy", "N=8", "--limit", "0"], "E0705", 2),
    (["copy.tile:copy", "N=8", "--limit", "1"], "E0530", 1),
    (["copy.tile:copy", "N=8", "--set", "BLOCK=64,"], "E0413", 1),
    (["copy.tile:copy", "N=8", "--set", "BLOCK=64,100"], "E0413", 1),
    (["copy.tile:copy", "N=8", "--set", "T=f32,f16"], "E0413", 1),
    (["copy.tile:some", "N=8"], "E0532", 1),
    (["copy.tile:copy", "N=8", "--device", "model"], "E0533", 1),
    (["copy.tile:copy"], "E0728", 2),
    (["none.tile"], "E0710", 1),
])  # fmt: skip
def test_refused(capsys: pytest.CaptureFixture[str], words: list[str], code: str, status: int) -> None:
    found, err = failing(capsys, *words)
    assert (found, err.split("]")[0]) == (status, f"error[{code}")


def test_names_that_are_options_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    """What `tilec tune` and Python call their options may be names of a kernel's own."""
    Path("odd.tile").write_text(
        "kernel odd[limit: {8, 16}](device: f32[seconds], out tuned: f32[seconds], gpu: f32) grid (1) {\n"
        "    tuned[0 +: limit] = device[0 +: limit] * gpu;\n}\n")
    assert tuned(capsys, "odd.tile", "seconds=8", "gpu=2.0")["best"]["limit"] in (8, 16)


# ------------------------------------------------------------------------------ what is kept


def test_listing_and_forgetting(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert shown(capsys, "tune", "--list")[0] == "no tuning results are kept\n"
    tuned(capsys, "copy.tile:copy", "N=1000")
    tuned(capsys, "copy.tile:some", "N=8", "--set", "ROWS=8,16")
    Path("other.tile").write_text(PROGRAM)
    tuned(capsys, "other.tile:copy", "N=7")
    out, _ = shown(capsys, "tune", "--list")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == ["kernel", "copy.tile:copy", "copy.tile:some", "other.tile:copy"]
    assert "N=1000 f32" in lines[1]
    listed = json.loads(shown(capsys, "tune", "--list", "copy.tile:copy", "--json")[0])
    assert [(entry["kernel"], entry["dims"]) for entry in listed] == [("copy", {"N": 1000})]
    assert shown(capsys, "tune", "--forget", "copy.tile:copy")[0] == "1 result forgotten\n"
    assert shown(capsys, "tune", "--forget", f"{folder}/copy.tile")[0] == "1 result forgotten\n"
    assert len(shown(capsys, "tune", "--list")[0].splitlines()) == 2
    assert shown(capsys, "tune", "--forget")[0] == "1 result forgotten\n"
    assert shown(capsys, "tune", "--forget")[0] == "0 results forgotten\n"


# ------------------------------------------------------------------------------ processes


COMMAND = [sys.executable, "-c", "import sys; from tilelang.cli.main import main; main()"]
SLOW = """\
kernel slow[BLOCK: {1, 2, 3, 4}](x: f32[N], out y: f32[N]) grid (1) {
    var total = 0.0;
    for k in range(0, 40000000, BLOCK) { total = total + sin(total + x[k % 8]); }
    y[0] = total;
}
"""


def test_ctrl_c_says_the_best_so_far_and_keeps_nothing(folder: Path) -> None:
    Path("slow.tile").write_text(SLOW)
    process = subprocess.Popen([*COMMAND, "tune", "slow.tile", "N=8", "--device", "cpu"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "compiling 4 configurations\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted: nothing is kept" and "Traceback" not in err
    assert not list(folder.rglob("best.json"))


def test_a_bar_on_a_terminal() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "tune", "copy.tile:copy", "N=100", "--gpu", "t4"], stdout=subprocess.PIPE, stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""})
    out, _ = process.communicate(timeout=200)
    os.close(theirs)
    drawn = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert process.returncode == 0 and b"estimated for Tesla T4" in out
    assert "compiling" in drawn and "/4" in drawn
