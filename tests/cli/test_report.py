"""`tilec report`: its tables, and what is wrong with its command line."""

from __future__ import annotations

import json
import sys

import pytest

from tilelang.bench import gpu_code
from tilelang.bench.gpu_cases import GPU_CASES
from tilelang.bench.gpu_code import Figures
from tilelang.cli.main import run

OURS, OTHERS = Figures(26, 0, 6, 6, 0, 0, 0, 0, 51), Figures(24, 2, 6, 3, 1.5, 0, 0, 1, 34)


@pytest.fixture(autouse=True)
def no_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_code, "our_figures", lambda case, target: OURS)
    monkeypatch.setattr(gpu_code, "triton_figures", lambda cases, python: [
        OTHERS if case.kernel == "softmax" else "it failed\nbadly" for case, _ in cases])


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "softmax", "vector", "--reference-python", sys.executable, "--target", "sm_90"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sm_90"
    assert lines[2].split()[:4] == ["kernel", "by", "registers", "local"]
    assert lines[3].split()[-10:] == ["26", "0", "6", "of", "6", "0", "0", "0", "0", "51"]
    assert lines[4].split() == ["Triton", "it", "failed"]
    assert lines[5].split()[-1] == "1.50"
    assert lines[6].split() == ["Triton", "24", "2", "3", "of", "6", "1.5", "0", "0", "1", "34"]


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "softmax", "--markdown", "--reference-python", sys.executable]) == 0
    out = capsys.readouterr().out
    assert out.startswith("### sm_80\n\n| kernel | by |") and "### sm_90" in out and "| --- | --- | ---: |" in out
    assert "| 0 | 51 | 1.50 |" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [r["kernel"] for r in rows] == [c.name for c in GPU_CASES] * 2
    assert {r["target"] for r in rows} == {"sm_80", "sm_90"}
    assert rows[0]["tilec"]["instructions"] == 51 and rows[0]["triton"] is None and rows[0]["ratio"] is None


@pytest.mark.parametrize(("words", "code", "shown"), [
    (["softmx"], "E0737", "there are: vector add"),
    (["--target", "sm_8"], "E0734", "did you mean `sm_"),
    (["--target", "simulator"], "E0734", "there is no GPU target `simulator`"),
    (["--reference-python", "/no/such/python"], "E0710", "there is no program"),
    (["--taget", "sm_80"], "E0703", "did you mean `--target`?")])
def test_a_wrong_command_line(capsys: pytest.CaptureFixture[str], words, code, shown) -> None:  # type: ignore[no-untyped-def]
    assert run(["report", *words]) == 2
    err = capsys.readouterr().err
    assert code in err and shown in err
