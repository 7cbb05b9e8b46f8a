"""`--expect`, and the summary of an output."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilelang.cli.compare import EXAMPLES, Tolerance, compare, tolerance_for
from tilelang.cli.faults import Fault
from tilelang.cli.summary import describe

EXACT = Tolerance(0.0, 0.0)


def verdict(found: object, expected: object, tolerance: Tolerance = EXACT) -> Fault | None:
    try:
        compare("y", np.asarray(found), np.asarray(expected), "ref.npy", tolerance)
    except Fault as fault:
        return fault
    return None


@pytest.mark.parametrize(
    ("found", "expected", "tolerance"),
    [
        ([1.0, 2.0], [1.0, 2.0], EXACT),
        ([1.0, 2.0], [1, 2], EXACT),
        ([np.nan, np.inf, -np.inf], [np.nan, np.inf, -np.inf], EXACT),
        ([-0.0], [0.0], EXACT),
        ([1.01], [1.0], Tolerance(0.01, 0.001)),
        ([], [], EXACT),
        (3, 3, EXACT),
        ([True, False], [True, False], EXACT),
        ([2**53 + 1], [2**53 + 1], EXACT),
        (np.array([2**64 - 1], "u8"), np.array([2**64 - 1], "u8"), EXACT),
    ],
)
def test_equal(found: object, expected: object, tolerance: Tolerance) -> None:
    assert verdict(found, expected, tolerance) is None


@pytest.mark.parametrize(
    ("found", "expected", "tolerance"),
    [
        ([1.0], [1.1], Tolerance(0.01, 0.01)),
        ([np.nan], [1.0], Tolerance(9.0, 9.0)),
        ([1.0], [np.nan], Tolerance(9.0, 9.0)),
        ([np.inf], [1.0], Tolerance(9.0, 9.0)),
        ([1.0], [np.inf], Tolerance(9.0, 9.0)),
        ([np.inf], [-np.inf], Tolerance(9.0, 9.0)),
        ([2**53], [2**53 + 1], EXACT),
        (np.array([2**64 - 1], "u8"), np.array([-1], "i8"), EXACT),
        ([True], [False], EXACT),
    ],
)
def test_different(found: object, expected: object, tolerance: Tolerance) -> None:
    fault = verdict(found, expected, tolerance)
    assert fault is not None and fault.diagnostics[0].code == "E0731" and fault.status == 1


@pytest.mark.parametrize(
    ("found", "expected"),
    [([1.0, 2.0], [[1.0, 2.0]]), ([1.0], 1.0), ([1.0, 1.0], [1.0]), ([1.0], ["1.0"])],
)
def test_what_cannot_be_compared(found: object, expected: object) -> None:
    fault = verdict(found, expected)
    assert fault is not None and fault.diagnostics[0].code == "E0730"


def test_a_difference_is_located_and_measured() -> None:
    expected = np.zeros((20, 30), "f4")
    found = expected.copy()
    found[3, 4:12] = 0.5
    found[7, 8] = -4
    fault = verdict(found, expected, Tolerance(0.0, 0.1))
    assert fault is not None
    (diagnostic,) = fault.diagnostics
    assert diagnostic.title == "`y` differs from `ref.npy` in 9 of 600 elements"
    bounds, listed, worst = diagnostic.notes
    assert bounds == "an element may be off by rtol 0, atol 0.1"
    assert listed.splitlines()[0] == "y[3, 4] is 0.5, expected 0 (off by 0.5)"
    assert listed.splitlines()[EXAMPLES:] == ["... and 4 more"]
    assert worst == "the worst is y[7, 8] is -4, expected 0 (off by 4)"


def test_nan_is_the_worst() -> None:
    fault = verdict([1.0, np.nan, 1e30], [0.0, 0.0, 0.0])
    assert fault is not None and "the worst is y[1] is nan" in fault.diagnostics[0].notes[-1]


def test_defaults_depend_on_the_element_type() -> None:
    types = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
    bounds = [tolerance_for(np.zeros(1, t), None, None).rtol for t in types]
    assert bounds == sorted(bounds) and bounds[0] > 0
    assert tolerance_for(np.zeros(1, "i4"), None, None) == EXACT
    assert tolerance_for(np.zeros(1, "f4"), 0.5, None) == Tolerance(0.5, 1e-4)
    assert tolerance_for(np.zeros(1, "f4"), None, 0.0) == Tolerance(1e-4, 0.0)


# ----------------------------------------------------------------------------------------------- summary


@pytest.mark.parametrize(
    ("array", "lines"),
    [
        (
            np.arange(4, dtype="f4").reshape(2, 2),
            ["y: f32[2, 2]  min 0  max 3  mean 1.5", "    0 1", "    2 3"],
        ),
        (np.arange(100, dtype="i8"), ["y: i64[100]  min 0  max 99  mean 49.5", "    0 1 2 3 4 5 ..."]),
        (np.zeros((0, 3), "f4"), ["y: f32[0, 3]  (no elements)"]),
        (np.array(2.5, "f8"), ["y: f64  min 2.5  max 2.5  mean 2.5", "    2.5"]),
        (np.array([True, False]), ["y: bool[2]  1 of 2 true", "    true false"]),
        (
            np.array([np.nan, 1, np.inf, -np.inf], "f2"),
            ["y: f16[4]  min 1  max 1  mean 1  NaN: 1  inf: 1  -inf: 1", "    nan 1 inf -inf"],
        ),
        (np.array([np.nan], "f4"), ["y: f32[1]  NaN: 1", "    nan"]),
        (np.array([1, 2], ml_dtypes.bfloat16), ["y: bf16[2]  min 1  max 2  mean 1.5", "    1 2"]),
        (
            np.array([2**64 - 1], "u8"),
            [
                "y: u64[1]  min 18446744073709551615  max 18446744073709551615  mean 1.84467e+19",
                "    18446744073709551615",
            ],
        ),
    ],
)
def test_summaries(array: np.ndarray, lines: list[str]) -> None:
    assert describe("y", array) == lines
