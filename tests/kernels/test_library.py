"""Every kernel of the library, on every device, against NumPy."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tilelang
from tests.kernels.cases import CASES, F32, SMALL, TOLERANCE, Case

KERNELS = Path(__file__).parents[2] / "course" / "kernels"
FAST = ("reference", "cpu")
SLOW = ("simulator", "model")
RUNS = [(device, case) for device in FAST for case in CASES] + [(device, case) for device in SLOW for case in SMALL]


@cache
def program(name: str) -> tilelang.Program:
    return tilelang.load(KERNELS / f"{name}.tile")


def run(case: Case, device: str, **outputs: np.ndarray) -> tuple[np.ndarray, ...]:
    """The results; a call gives several as a tuple, one as it is."""
    result = program(case.file)[case.kernel](*case.inputs(), device=device, **case.metas, **outputs)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("device, case", RUNS, ids=[f"{device}-{case}" for device, case in RUNS])
def test_kernel_computes_what_numpy_does(device: str, case: Case) -> None:
    for found, expected in zip(run(case, device), case.expected(), strict=True):
        check(found, expected)


def check(found: np.ndarray, expected: np.ndarray) -> None:
    """Integers and moved data to the bit, floats within bounds; NaN and infinity where NumPy has them."""
    assert found.shape == expected.shape
    if found.dtype == expected.dtype and found.dtype.kind not in "fV":
        np.testing.assert_array_equal(found, expected)
        return
    tolerance = TOLERANCE[found.dtype]
    with np.errstate(over="ignore"):  # what is too large for the element type is infinite in it
        rounded = expected.astype(found.dtype).astype(np.float64)
    size = np.nanmax(np.abs(rounded), initial=1.0, where=np.isfinite(rounded))
    np.testing.assert_allclose(found.astype(np.float64), rounded, rtol=tolerance, atol=tolerance * min(size, 1e3))


@pytest.mark.parametrize("device", FAST)
def test_outputs_go_where_they_are_told(device: str) -> None:
    """Into every other column of a larger array, backwards; what lies between is not touched."""
    x = np.random.default_rng(0).standard_normal((6, 9)).astype(np.float32)
    around = np.full((6, 20), 77, np.float32)
    view = around[::-1, 1:19:2]
    returned = program("softmax")["softmax"](x, view, device=device)
    assert returned is view
    check(
        view,
        Case("", "", "", lambda: (x,), __import__("tests.kernels.references", fromlist=["softmax"]).softmax).expected()[
            0
        ],
    )
    assert (around[:, ::2] == 77).all() and (around[:, 19] == 77).all()


@pytest.mark.parametrize("device", [*FAST, *SLOW])
def test_an_id_that_is_no_row_is_reported(device: str) -> None:
    table, ids = np.zeros((4, 5), np.float32), np.array([0, 1, 2, 3] * 10, np.int32)
    ids[37] = 4
    with pytest.raises(tilelang.CompileError) as error:
        program("embedding")["embedding"](table, ids, device=device, BD=16)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "E0590"
    assert "program (2, 0)" in diagnostic.label
    assert "assert(0 <= id and id < V" in str(error.value)


@pytest.mark.parametrize("device", FAST)
def test_dropout_is_the_same_backwards_and_in_blocks(device: str) -> None:
    drop = program("dropout")["dropout"]
    x = np.ones(5000, np.float32)
    first = drop(x, 0.3, 42, device=device)
    np.testing.assert_array_equal(first, drop(x, 0.3, 42, device=device, BLOCK=64))
    assert abs((first == 0).mean() - 0.3) < 0.02
    assert (first != drop(x, 0.3, 43, device=device)).any()


@pytest.mark.parametrize("device", FAST)
def test_backward_is_the_gradient_of_forward(device: str) -> None:
    """Against differences of the reference's forward pass, so that both references being wrong would show."""
    from tests.kernels.references import layer_norm

    rng = np.random.default_rng(5)
    x, dy = rng.standard_normal((3, 7)), rng.standard_normal((3, 7))
    weight, bias, eps, step = rng.standard_normal(7), rng.standard_normal(7), 1e-2, 1e-5

    def loss(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> float:
        return float((layer_norm(x, weight, bias, eps)[0] * dy).sum())

    def slope(index: int, shape: tuple[int, ...]) -> np.ndarray:
        result = np.zeros(shape)
        for place in np.ndindex(shape):
            ends = []
            for sign in (1, -1):
                moved = [x.copy(), weight.copy(), bias.copy()]
                moved[index][place] += sign * step
                ends.append(loss(*moved))
            result[place] = (ends[0] - ends[1]) / (2 * step)
        return result

    f = [a.astype(F32) for a in (dy, x, weight, bias)]
    _, mean, rstd = program("layer_norm")["layer_norm"](f[1], f[2], f[3], eps, device=device)
    backward = program("layer_norm_backward")
    dx = backward["layer_norm_dx"](f[0], f[1], f[2], mean, rstd, device=device)
    dw, db = backward["layer_norm_dw"](f[0], f[1], mean, rstd, device=device)
    for found, index, shape in ((dx, 0, (3, 7)), (dw, 1, (7,)), (db, 2, (7,))):
        np.testing.assert_allclose(found, slope(index, shape), rtol=1e-3, atol=1e-3)
