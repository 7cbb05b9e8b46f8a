"""The course's kernels and data as files: every command line in a header works, and the data is what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tilelang.cli.main import run
from tilelang.diagnostics import Sink, Source
from tilelang.syntax.format import format_source

ROOT = Path(__file__).parents[2]
KERNELS = sorted((ROOT / "course" / "kernels").glob("*.tile"))
COMMANDS = [
    (path.stem, line) for path in KERNELS for line in re.findall(r"^# +(tilec run .*)$", path.read_text(), re.MULTILINE)
]


def test_the_library_is_complete() -> None:
    assert {p.stem for p in KERNELS} == {
        "attention",
        "cumsum",
        "dropout",
        "embedding",
        "histogram",
        "layer_norm",
        "layer_norm_backward",
        "matmul",
        "softmax",
        "softmax_wide",
        "transpose",
        "vector_add",
    }
    assert {name for name, _ in COMMANDS} == {p.stem for p in KERNELS}, "every header says how to run it"


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_a_kernel_file_teaches_and_is_clean(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ") and len(text.split("\n\n")[0].split()) > 40, "a header that explains"
    assert run(["check", str(path)]) == 0
    assert capsys.readouterr().err == "", "no warnings"
    assert format_source(Source(text), Sink()) == text


@pytest.mark.parametrize("name, line", COMMANDS)
def test_the_command_in_the_header_runs(
    name: str, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    status = run([*shlex.split(line)[1:], "--device", "reference"])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    assert " on reference" in captured.out and "nan" not in captured.out.lower()


def test_the_irises_are_fisher_s() -> None:
    """Against the means of Fisher's paper (1936), table II, in cm."""
    irises, species = (np.load(ROOT / "course" / "data" / f"{n}.npy") for n in ("iris", "iris_species"))
    assert (irises.dtype, irises.shape, species.dtype, species.shape) == (np.float32, (150, 4), np.int32, (150,))
    means = np.array([irises[species == s].mean(axis=0, dtype=np.float64) for s in range(3)])
    fisher = [[5.006, 3.428, 1.462, 0.246], [5.936, 2.770, 4.260, 1.326], [6.588, 2.974, 5.552, 2.026]]
    np.testing.assert_allclose(means, fisher, atol=1e-4)


def test_the_digits_are_images_of_ink() -> None:
    digits, labels = (np.load(ROOT / "course" / "data" / f"{n}.npy") for n in ("digits", "digits_labels"))
    assert (digits.dtype, digits.shape, labels.dtype, labels.shape) == (np.uint8, (256, 64), np.int32, (256,))
    assert digits.max() == 16 and labels[:10].tolist() == list(range(10)) and set(labels) == set(range(10))
    # A 0 is hollow, a 1 is not: the four middle pixels of their mean images say so.
    middle = digits.reshape(-1, 8, 8)[:, 3:5, 3:5].mean(axis=(1, 2))
    assert middle[labels == 0].mean() < 4 < 8 < middle[labels == 1].mean()
