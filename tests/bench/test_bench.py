"""The benchmarks' own code: kernels compute what their references do, outcomes become a table and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilelang.bench.cases import CASES, Case
from tilelang.bench.compiled import compile_kernel
from tilelang.bench.measure import Contestant, Machine, Outcome, Start
from tilelang.bench.worker import KERNELS
from tilelang.cli.bench import MARKDOWN_HEADER, as_json, line, markdown_line

RNG = np.random.default_rng(0)

SMALL = {
    "vector_add.tile": {"x": (1500,), "y": (1500,), "z": (1500,)},
    "softmax.tile": {"x": (5, 300), "y": (5, 300)},
    "layer_norm.tile": {"x": (5, 300), "weight": (300,), "bias": (300,), "eps": 1e-5, "y": (5, 300)},
    "matmul.tile": {"a": (130, 70), "b": (70, 90), "c": (130, 90)},
    "attention.tile": {"q": (2, 70, 64), "k": (2, 90, 64), "v": (2, 90, 64), "scale": 0.125, "o": (2, 70, 64)},
    "transpose.tile": {"x": (70, 130), "y": (130, 70)},
    "embedding.tile": {"table": (50, 300), "ids": 50, "y": (20, 300)},
    "histogram.tile": {"x": 16, "counts": 16},
}
"""Ragged little arguments for every case; a number for an array stands for a bound of its integers."""


def small_arguments(case: Case) -> dict:
    arguments: dict = {}
    for name, shape in SMALL[case.file].items():
        if isinstance(shape, float):
            arguments[name] = shape
        elif name in ("ids", "x") and isinstance(shape, int):
            arguments[name] = RNG.integers(0, shape, 20 if name == "ids" else 9000, np.int32)
        elif isinstance(shape, int):
            arguments[name] = np.zeros(shape, np.int32)
        else:
            arguments[name] = RNG.standard_normal(shape, np.float32)
    return arguments


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
def test_kernels_compute_what_numpy_does(case: Case) -> None:
    arguments = small_arguments(case)
    arguments[case.result][...] = 0
    expected = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    compile_kernel(KERNELS / case.file, arguments, dict(case.metas))()
    case.numpy(**expected)
    np.testing.assert_allclose(arguments[case.result], expected[case.result], rtol=1e-4, atol=1e-4)


def test_a_contestant_in_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    contestant = Contestant("numpy", sys.executable, 1)
    seconds, error = contestant.prepare([case.file for case in CASES].index("histogram.tile"))
    assert error is None and seconds > 0
    assert contestant.run(2) > 0
    contestant.close()


def test_table_and_json() -> None:
    done = Outcome(CASES[0], {"tile": 0.002, "numpy": 0.004}, 0.5, 0.3, 0.006, {"torch": "No module named 'torch'"})
    assert "2.000" in line(done) and "0.50" in line(done) and " - " in line(done)
    assert "0.50" not in line(replace(done, ratio=None)).split("-")[-1]
    figures = json.loads(as_json(Machine(1e10, 1e11), Start(0.9, 0.4), [done]))
    assert figures["cases"][0]["ratio"] == 0.5 and figures["copy_bytes_per_second"] == 1e10
    assert figures["once_seconds"] == 0.4 and figures["cases"][0]["cached_seconds"] == 0.006


def test_markdown() -> None:
    done = Outcome(CASES[0], {"tile": 0.002, "numpy": 0.004}, 0.5, 0.3, 0.006, {"torch": "No module named 'torch'"})
    header, rule = MARKDOWN_HEADER.splitlines()
    assert header.count("|") == rule.count("|") == markdown_line(done).count("|")
    assert "| 2.00 | 4.00 |  | 0.50 | 1.00 | 0.30 | 0.006 |" in markdown_line(done)


def test_what_a_process_pays_once(tmp_path: Path) -> None:
    """And a second process finds the kernel compiled."""
    import sys

    number = [case.file for case in CASES].index("histogram.tile")
    for _ in range(2):
        contestant = Contestant("tile", sys.executable, 1, str(tmp_path))
        start = contestant.start()
        assert start.imports > 0 and start.once > 0
        seconds, error = contestant.prepare(number)
        contestant.close()
        assert error is None and seconds > 0
    assert len(list((tmp_path / "cpu").iterdir())) == 2  # the kernel that starts numba, and the histogram
