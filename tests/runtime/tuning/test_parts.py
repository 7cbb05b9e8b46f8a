"""The parts of tuning by themselves: the space, arrays for trials, agreement, clocks."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import ml_dtypes
import numba
import numpy as np
import pytest

import tilelang
from tilelang.runtime import gpu
from tilelang.runtime.tuning.agreement import disagreement
from tilelang.runtime.tuning.arena import Arena, poison, twin
from tilelang.runtime.tuning.clocks import computer_clock, find_gpu, gpu_clock, model_clock, model_device
from tilelang.runtime.tuning.space import configurations

X = np.arange(100, dtype=np.float32)

# ------------------------------------------------------------------------------ the space


def test_configurations_are_all_combinations_with_the_default_first() -> None:
    choices = {"A": (1, 2), "B": (3,), "C": (4, 5, 6)}
    found = [tuple(config.values()) for config in configurations(choices, {"A": 2, "B": 3, "C": 5})]
    assert found == [(2, 3, 5), (1, 3, 4), (1, 3, 5), (1, 3, 6), (2, 3, 4), (2, 3, 6)]
    assert configurations({}, {}) == [{}]
    assert [c["A"] for c in configurations({"A": (1, 2)}, {"A": 7})] == [1, 2]


# ------------------------------------------------------------------------------ arrays for trials


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint64, np.bool_])
@pytest.mark.parametrize("cut", [
    np.s_[:, :], np.s_[::2, ::-3], np.s_[1:, 2:5], np.s_[::-1, ::-1], np.s_[:0, :], np.s_[3:4, 3:4]])
def test_a_twin_lies_in_memory_as_the_original_does(dtype: type, cut: tuple) -> None:
    for array in (np.zeros((7, 9), dtype)[cut], np.zeros((7, 9), dtype)[cut].T):
        made = twin(array)
        assert (made.shape, made.dtype) == (array.shape, array.dtype)
        if array.size:
            assert made.strides == array.strides
            assert (made.ctypes.data - array.ctypes.data) % 64 == 0
        assert not np.shares_memory(made, array)
        made[...] = poison(made.dtype)
        assert not (made == array).any()
        assert made.size == 0 or disagreement({"y": made}, {"y": made.copy()}) == ""


def test_the_arena_starts_every_run_anew() -> None:
    kernel = tilelang.compile(
        "kernel k(x: f32[N], out y: f32[N], inout z: i32[N], out left: f64[N]) grid (1) { y[0] = x[0]; }")["k"]
    given = {"x": X, "y": np.zeros(100, np.float32), "z": np.arange(100, dtype=np.int32)}
    arena = Arena(kernel.signature, given, kernel.bind(given, {}, {}))
    assert list(arena.arguments) == ["x", "y", "z", "left"] and arena.arguments["x"] is X
    for _ in range(2):
        arena.reset()
        outputs = arena.outputs()
        assert np.isnan(outputs["y"]).all() and np.isnan(outputs["left"]).all()
        np.testing.assert_array_equal(outputs["z"], given["z"])
        for array in outputs.values():
            array[...] = 1
    before = arena.snapshot()
    arena.reset()
    assert (before["z"] == 1).all() and given["y"].sum() == 0


# ------------------------------------------------------------------------------ agreement


@pytest.mark.parametrize(("found", "wanted", "words"), [
    ([1.0, 2.0], [1.0, 2.0], ""),
    ([1.0, 2.00001], [1.0, 2.0], ""),
    ([1.0, 2.1], [1.0, 2.0], "1 of 2 elements of `y` differ: y[1] is 2.1"),
    ([np.nan, np.inf], [np.nan, np.inf], ""),
    ([0.0, np.inf], [np.nan, np.inf], "y[0] is 0.0, not nan"),
    ([1.0, -np.inf], [1.0, np.inf], "y[1] is -inf, not inf"),
    ([1e-3, 1e3], [0.0, 1e3], ""),            # what is left of a sum that cancels
    ([1e-3, 1e3], [0.0, np.inf], "y[0]"),
    ([0.0, 1e-30], [0.0, 2e-30], "y[1]"),
    ([], [], ""),
    ([1.0], [1.0, 2.0], "shape"),
])  # fmt: skip
def test_floats_agree_within_a_tolerance(found: list, wanted: list, words: str) -> None:
    said = disagreement({"y": np.array(found, np.float32)}, {"y": np.array(wanted, np.float32)})
    assert (said == "") == (words == "") and words in said


def test_integers_and_bools_agree_exactly() -> None:
    large = np.array([2**62, 5], np.int64)
    assert disagreement({"y": large}, {"y": large.copy()}) == ""
    assert "y[0]" in disagreement({"y": large + np.array([1, 0])}, {"y": large})
    assert "y[1]" in disagreement({"y": np.array([True, True])}, {"y": np.array([True, False])})


def test_scalars_and_half_floats() -> None:
    half = np.array(1.0, ml_dtypes.bfloat16)
    assert disagreement({"y": half}, {"y": half * ml_dtypes.bfloat16(1.01)}) == ""
    assert "y is 1" in disagreement({"y": half}, {"y": half * ml_dtypes.bfloat16(2)})


# ------------------------------------------------------------------------------ clocks


def launch(device: str = "cpu") -> tilelang.Launch:
    text = "kernel k(x: f32[N], out y: f32[N]) grid (1) { let i = 0 +: 128; y[i] = x[i]; }"
    return tilelang.compile(text)["k"].prepare(X, device=device)


def test_the_computers_clock_runs_the_launch() -> None:
    started = launch()
    run = computer_clock(started)
    assert 0 < run.seconds < 60 and run.complete
    np.testing.assert_array_equal(started.result, X)


def test_prints_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tilelang.compile('kernel k(x: f32[N]) grid (1) { print("x", x[0]); }')["k"]
    computer_clock(kernel.prepare(X, device="cpu"))
    assert capsys.readouterr().out == ""


class FakeEvent:
    """A CUDA event whose time is the number of things that were done before it."""

    done: list[str]

    def __init__(self) -> None:
        self.at = -1

    def record(self) -> None:
        self.at = len(self.done)

    def synchronize(self) -> None:
        self.done.append("waited")


def test_a_gpus_clock_takes_the_time_between_two_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a made-up `numba.cuda`: the events stand right before and after the kernel, and copies are not in it."""
    done: list[str] = []
    FakeEvent.done = done
    fake = SimpleNamespace(event=FakeEvent, event_elapsed_time=lambda start, end: 1000.0 * (end.at - start.at))
    monkeypatch.setitem(sys.modules, "numba.cuda", fake)
    monkeypatch.setattr(numba, "cuda", fake, raising=False)

    def run(output: object) -> None:
        done.append("copied")
        with gpu._watched():
            done.append("kernel")
        done.append("copied")

    assert gpu_clock(SimpleNamespace(run=run)).seconds == 1.0  # type: ignore[arg-type]
    assert done == ["copied", "kernel", "waited", "copied"]
    with gpu._watched():  # nobody asks: no events
        done.append("kernel")
    assert done[-1] == "kernel"


def test_the_models_estimate_is_the_rooflines() -> None:
    sheet = find_gpu("t4")
    device = model_device(sheet)
    assert device.target is not None and device.target.name == "sm_75"
    kernel = tilelang.compile("kernel k(x: f32[N], out y: f32[N]) grid (1) { y[0 +: 128] = x[0 +: 128]; }")["k"]
    small = kernel.launch_on(device, {"x": X[:64], "y": np.zeros(64, np.float32)}, {}, {})
    run = model_clock(sheet)(small)
    assert run.complete and 0 < run.seconds < 1e-3
    np.testing.assert_array_equal(small.result, X[:64])
    with pytest.raises(tilelang.CompileError, match="did you mean `t4`"):
        find_gpu("T4")
