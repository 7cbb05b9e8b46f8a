"""`tilec profile`: the report's figures, its JSON, and its messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilelang.cli.main import run
from tilelang.machine.gpus import GPUS

SOFTMAX = """\
kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
    let row = program_id(0);
    let v = x[row, 0 +: BLOCK] else -inf;
    let e = exp(v - max(v, axis=0));   # [b]bold?[/b]
    y[row, 0 +: BLOCK] = e / sum(e, axis=0);
}
"""


@pytest.fixture
def softmax(folder: Path) -> str:
    Path("softmax.tile").write_text(SOFTMAX)
    return "softmax.tile"


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    status = run(["profile", *words])
    out, err = capsys.readouterr()
    assert status == 0, err
    return out


def failing(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = run(["profile", *words])
    out, err = capsys.readouterr()
    assert out == ""
    return status, err


def row(out: str, start: str) -> list[str]:
    """The cells of the first line that begins with `start`."""
    found = next(line for line in out.splitlines() if line.strip().startswith(start))
    return [cell for cell in found.strip().split("  ") if cell]


def test_softmax_tells_its_story(softmax: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, softmax, "M=512", "N=1024")
    assert out.startswith("softmax (softmax.tile), M=512, N=1024, BLOCK=1024\non A100 SXM4 40 GB (sm_80): 108 SMs")
    assert "grid 512: 512 programs of 128 threads; all were run" in out
    assert [cell.strip() for cell in row(out, "HBM together")] == ["HBM together", "4.19 MB", "16.8 MB", "4.0x"]
    assert [cell.strip() for cell in row(out, "kernels")] == ["kernels", "1", "5"]
    assert [cell.strip() for cell in row(out, "3")][1:4] == ["let v = x[row, 0 +: BLOCK] else -inf;", "65,536", "100%"]
    assert "limited by HBM: 2.7 us at least" in out
    assert "occupancy" in out and "(estimate)" in out and "speed of light 2.7 us" in out


def test_plain_output_has_no_colours_and_takes_text_as_it_is(softmax: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, softmax, "M=4", "N=8")
    assert "\x1b" not in out
    assert "# [b]bold?[/b]" in out
    assert max(map(len, out.splitlines())) <= 150


def test_json_holds_the_same_figures(softmax: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(shown(capsys, softmax, "M=64", "N=1000", "--gpu", "h100", "--json"))
    assert found["gpu"]["name"] == "h100"
    assert found["settings"] == {"M": 64, "N": 1000, "BLOCK": 1024}
    assert found["traffic"]["read"] == found["traffic"]["written"] == 4 * 64 * 1000
    assert found["eager"]["read"] == 4 * (5 * 64 * 1000 + 2 * 64)
    assert [entry["line"] for entry in found["lines"] if entry["sectors"]] == [3, 5]
    assert found["total"]["efficiency"] == 1.0
    assert found["findings"] == []
    assert found["roofline"]["seconds"] == max(term["seconds"] for term in found["roofline"]["terms"])


def test_the_eager_kernels_are_listed_when_asked_for(softmax: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "eager kernel" not in shown(capsys, softmax, "M=4", "N=8")
    out = shown(capsys, softmax, "M=4", "N=8", "--eager")
    listed = out[out.index("eager kernel"):].splitlines()[1:]
    assert [line.split()[0] for line in listed] == ["max", "sub", "exp", "sum", "div"]


def test_a_large_launch_is_sampled_and_says_so(softmax: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, softmax, "M=40000", "N=512")
    assert "of them were run, counts are scaled up" in out
    assert "HBM traffic of a sample" in out
    assert [cell.strip() for cell in row(out, "HBM together")][1] == "164 MB"


@pytest.mark.parametrize("gpu", GPUS)
def test_every_gpu(gpu: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert GPUS[gpu].title in shown(capsys, program, "N=1000", "--gpu", gpu)


def test_metas_can_be_set(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "grid 8: " in shown(capsys, program, "N=1000", "--set", "BLOCK=128")


def test_an_empty_grid(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing to do: the grid is empty" in shown(capsys, program, "N=0")


def test_a_failed_assert_is_an_error_with_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.tile").write_text("kernel a(out y: i32[4]) grid (2) {\n    assert(program_id(0) < 1, \"too far\");\n"
                              "    y[0 +: 4] = 1;\n}\n")
    status, err = failing(capsys, "a.tile")
    assert status == 1
    assert "error[E0590]: assert failed: too far" in err and "a.tile:2:" in err


def test_a_race_is_a_warning_with_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.tile").write_text("kernel r(i: i32[64], inout y: f32[64]) grid (1) {\n    let n = 0 +: 64;\n"
                              "    y[i[n]] = 1.0;\n}\n")
    out = shown(capsys, "r.tile", "i=zeros(64, i32)", "y=zeros(64)")
    assert "warning: r.tile:3:" in out and "race on global memory" in out


@pytest.mark.parametrize(("words", "status", "text"), [
    (("--gpu", "A100", "N=8"), 2, "did you mean `a100`?"),
    (("--gpu", "gtx", "N=8"), 2, "E0735"),
    ((), 2, "E0728"),
    (("N=8", "BLOCK=4"), 2, "--set BLOCK=4"),
    (("N=8", "--nosuch"), 2, "E0703"),
])
def test_what_is_wrong_with_the_command_line_is_said(words: tuple[str, ...], status: int, text: str, program: str,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    found, err = failing(capsys, program, *words)
    assert (found, text in err) == (status, True), err


@pytest.mark.cuda_toolchain
def test_ptxas_can_be_asked_for_the_registers(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.bindings.nvvm", reason="the extra `cuda` is not installed")
    assert "registers a thread (ptxas)" in shown(capsys, program, "N=1000", "--ptxas")
