"""A result as a table and as data."""

from __future__ import annotations

import json
from pathlib import Path

from tilelang.runtime.tuning.result import ESTIMATED, MEASURED, Trial, TuningResult
from tilelang.runtime.tuning.table import as_html, as_text

TRIALS = (
    Trial(0, {"BM": 64, "G": 1}, 2e-3, 9),
    Trial(1, {"BM": 64, "G": 2}, failed="E0620: too much <shared> [memory]"),
    Trial(2, {"BM": 128, "G": 1}, 1e-3, 12),
    Trial(3, {"BM": 128, "G": 2}, 1e-3, 12, twin=2),
    Trial(4, {"BM": 16, "G": 1}, 8e-3, 3, left=True),
)
RESULT = TuningResult("matmul", "a CPU", MEASURED, TRIALS, {"M": 512, "UP": False}, ("stages",), flops=2e9, bytes=1e6,
                      when="2026-01-31T12:00:00+00:00", kept=Path("/somewhere/best.json"))

TEXT = """\
matmul, M=512, UP=false: 5 configurations, measured on a CPU
 BM  G  time  of default         rate  runs
128  1  1 ms        0.50   2 TFLOP/s    12  best
 64  1  2 ms        1.00   1 TFLOP/s     9  default
 16  1  8 ms        4.00  250 GFLOP/s     3  clearly slower, left early
 64  2     -           -           -     -  skipped: E0620: too much <shared> [memory]
... and 1 more, 1 of them with the same code as another
stages: without effect here, not varied
best: BM=128 G=1, 2.00 times as fast as the default"""


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n")]


def test_as_text() -> None:
    assert words(str(RESULT)) == words(TEXT)
    assert repr(RESULT) == str(RESULT)


def test_everything_is_listed_when_asked_for() -> None:
    assert "same code as BM=128 G=1" in as_text(RESULT, everything=True)
    assert "... and" not in as_text(RESULT, everything=True)


def test_many_configurations_are_cut_but_not_the_default() -> None:
    trials = (Trial(0, {"B": 0}, 99.0, 1), *(Trial(n, {"B": n}, float(n), 1) for n in range(1, 40)))
    text = str(TuningResult("k", "a CPU", MEASURED, trials))
    assert text.count("\n") == 14 and "default" in text and "... and 29 more" in text


def test_estimates_are_called_so() -> None:
    text = str(TuningResult("k", "A100", ESTIMATED, TRIALS))
    assert "estimated for A100" in text and "nothing was run on a GPU" in text and "measured" not in text


def test_html_takes_no_text_for_tags() -> None:
    html = as_html(RESULT)
    assert "<shared>" not in html and "&lt;shared&gt;" in html
    assert html == RESULT._repr_html_() and html.count("<tr") == 5


def test_without_a_default_the_first_is_compared_with() -> None:
    result = TuningResult("k", "a CPU", MEASURED, TRIALS, has_default=False)
    assert "of first" in str(result) and "default" not in str(result)


def test_as_data() -> None:
    data = json.loads(json.dumps(RESULT.as_dict()))
    assert data["best"] == {"BM": 128, "G": 1} and data["gain"] == 2.0
    assert [t["failed"] for t in data["trials"]][1] == TRIALS[1].failed
    assert data["trials"][3]["same_code_as"] == {"BM": 128, "G": 1}
    assert data["kept"] == "/somewhere/best.json" and data["settled"] == {"M": 512, "UP": False}


def test_nothing_was_measured() -> None:
    result = TuningResult("k", "a CPU", MEASURED, (Trial(0, {"B": 1}, failed="no"),))
    assert result.best == {} and result.winner is None and result.gain is None
    assert "skipped: no" in str(result)


def test_an_empty_grid_takes_no_time() -> None:
    result = TuningResult("k", "a CPU", MEASURED, (Trial(0, {"B": 1}, 0.0, 1), Trial(1, {"B": 2}, 0.0, 1)), flops=1.0)
    assert result.best == {"B": 1} and result.gain is None and result.rate(result.trials[0]) is None
    assert "best: the default, B=1" in str(result)
