"""`tilec compile`: every stage can be shown, of the kernel and the specialisation that was asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilelang.cli.compile import EMITS
from tilelang.cli.doctor import find_tool
from tilelang.cli.main import run

from .conftest import COPY

TWO = """\
const SCALE = 2;

kernel first[T: {f32, f16}, BLOCK = next_pow2(N)](x: T[M, N], s: f32, out y: T[M, SCALE * N]) grid (M) {
    let cols = 0 +: BLOCK;
    y[program_id(0), cols] = ((x[program_id(0), cols] as f32) * s) as T;
}

kernel second(flag: bool, n: u8, out y: i32[4]) grid (1) {
    y[0 +: 4] = select(flag, n as i32, 0);
}
"""

toolchain = [
    pytest.mark.cuda_toolchain,
    pytest.mark.skipif(find_tool("ptxas") is None, reason="needs pip install -e '.[cuda]'"),
]

WORDS = {
    "tokens": "keyword  kernel",
    "tree": "kernel_def",
    "ast": "KernelDef name=copy",
    "types": "i: i64[64]",
    "tile-ir": "kernel @copy(",
    "optimized": "kernel @copy(",
    "layouts": "registers in each thread",
    "laid-out": "kernel @copy(",
    "thread-ir": " thread {",
    "cuda": "def ",
    "ptx": ".visible .entry",
    "sass": "EXIT",
    "cpu": "def ",
    "llvm": "define ",
    "asm": "\tret",
}


@pytest.fixture
def two(folder: Path) -> str:
    Path("two.tile").write_text(TWO)
    return "two.tile"


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    status = run(["compile", *words])
    out, err = capsys.readouterr()
    assert status == 0, err
    return out


def test_every_stage_is_tested() -> None:
    assert list(WORDS) == list(EMITS)


@pytest.mark.parametrize(
    "emit", [pytest.param(e, marks=toolchain if e in ("ptx", "sass") else []) for e in WORDS]
)
def test_every_stage_can_be_shown(emit: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert WORDS[emit] in shown(capsys, program, "--emit", emit)


@pytest.mark.parametrize("emit", ["llvm", "asm"])
def test_machine_code_is_shown_also_when_it_is_in_the_cache(emit: str, program: str, capsys) -> None:  # type: ignore[no-untyped-def]
    assert run(["run", program, "x=ones(100)", "--device", "cpu"]) == 0
    capsys.readouterr()
    first, second = (shown(capsys, program, "--emit", emit) for _ in range(2))
    assert WORDS[emit] in first and WORDS[emit] in second
    assert os.environ["TILEC_CACHE_DIR"] == str(Path("cache").absolute())


@pytest.mark.cuda_toolchain
@toolchain[1]
def test_all_shows_every_stage_under_a_heading(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, program, "--emit", "all")
    assert [line.split()[1] for line in out.splitlines() if line.startswith("======== ")] == [
        f"{name}:" for name in EMITS
    ]


def test_files_of_several_kernels(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "KernelDef name=second" in shown(capsys, two, "--emit", "ast")
    for words in ([f"{two}:second"], [two, "--kernel", "second"]):
        assert "@second(" in shown(capsys, *words, "--emit", "tile-ir")
    assert run(["compile", two, "--emit", "tile-ir"]) == 1
    assert "error[E0701]" in capsys.readouterr().err


def test_dims_and_metas_decide_the_specialisation(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "meta.BLOCK = 1024, meta.T = f32" in shown(capsys, f"{two}:first", "--emit", "tile-ir")
    assert "meta.BLOCK = 128, meta.T = f32" in shown(capsys, f"{two}:first", "--emit", "tile-ir", "N=100")
    words = [f"{two}:first", "--emit", "tile-ir", "--set", "T=f16", "--set", "BLOCK=8"]
    assert "meta.BLOCK = 8, meta.T = f16" in shown(capsys, *words)


def test_an_assumed_extent_is_said_where_it_matters(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", f"{two}:first", "--emit", "types", "M=3"]) == 0
    assert "compiled as for N=1024" in capsys.readouterr().err
    assert run(["compile", f"{two}:second", "--emit", "types"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (["K=3"], "E0727", 2),
        (["BLOCK=3"], "E0727", 2),
        (["N=-1"], "E0733", 2),
        (["N=ones(3)"], "E0733", 2),
        (["--target", "sm_9"], "E0734", 2),
        (["--emit", "tile"], "E0705", 2),
        (["--set", "T=f64"], "E04", 1),
        (["--set", "SIZE=3"], "E0", 1),
        (["--kernel", "frist"], "E0701", 1),
        (["-o", "two.tile"], "E0732", 1),
        (["-o", "nosuch/out"], "E0713", 1),
    ],
)
def test_what_is_refused(words: list[str], code: str, status: int, two: str, capsys) -> None:  # type: ignore[no-untyped-def]
    assert run(["compile", f"{two}:first", *words]) == status
    assert f"error[{code}" in capsys.readouterr().err
    assert Path(two).read_text() == TWO


def test_mistakes_stop_at_their_stage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.tile").write_text(COPY.replace("y[i] = x[i]", "y[i] = z"))
    assert "Name text='z'" in shown(capsys, "bad.tile", "--emit", "ast")
    assert run(["compile", "bad.tile", "--emit", "types"]) == 1
    assert "error[E02" in capsys.readouterr().err


def test_output_goes_to_a_file(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = shown(capsys, program, "--emit", "tile-ir")
    assert shown(capsys, program, "--emit", "tile-ir", "-o", "out.txt") == ""
    assert Path("out.txt").read_text() == expected


def test_a_program_can_come_from_standard_input(monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    import io

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(COPY.encode())))
    assert "kernel @copy(" in shown(capsys, "-", "--emit", "tile-ir")
