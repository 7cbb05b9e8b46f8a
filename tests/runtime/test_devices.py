"""Devices: which there are, what each does with asserts and prints, and how a missing one is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilelang
from tilelang.runtime import devices
from tilelang.runtime.devices import DEVICES, find_device, find_target, gpu_count, gpu_device
from tilelang.tiling.targets import TARGETS

HERE = [d.name for d in DEVICES]
X = np.arange(10, dtype=np.float32)
PROGRAM = tilelang.compile(
    """
kernel loud(x: f32[N]) grid (N) {
    let i = program_id(0);
    print("half");
    print("row", x[i +: 2]);
    assert(x[i] < 3.0, "too large");
}
kernel scatter(x: f32[N], out y: f32[N]) grid (1) {
    let i = 0 +: 16;
    y[[i // 2]] = x[i];
}
kernel pair(out y: i32[2, 3]) grid (2, 3) {
    assert(program_id(0) + program_id(1) < 3, "corner");
    y[program_id(0), program_id(1)] = (program_id(0) * 10 + program_id(1)) as i32;
}
""",
    "devices.tile",
)


@pytest.mark.parametrize("name", HERE)
def test_every_device_is_there_and_runs(name: str) -> None:
    device = find_device(name)
    assert device.available() is None and str(device) == name and device.does
    source = "kernel k(x: f32[N], s: f32, out y: f32[N]) grid (N) { y[program_id(0)] = x[program_id(0)] * s; }"
    y = tilelang.compile(source)["k"](X, 0.5, device=name)
    np.testing.assert_array_equal(y, X / 2)


@pytest.mark.parametrize("name", HERE)
def test_prints_come_in_the_order_of_programs_up_to_the_failed_assert(name: str) -> None:
    seen: list[tuple] = []
    launch = PROGRAM["loud"].prepare(X, device=name)
    with pytest.raises(tilelang.CompileError) as error:
        launch.run(lambda text, value, at: seen.append((text, None if value is None else value.tolist(), at)))
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "E0590" and diagnostic.label == "false in program (3)"
    assert 'assert(x[i] < 3.0, "too large");' in str(error.value)
    expected = [entry for n in range(4) for entry in (("half", None, (n,)), ("row", [n, n + 1.0], (n,)))]
    assert seen == expected


@pytest.mark.parametrize("name", HERE)
def test_axis_0_of_the_grid_goes_fastest(name: str) -> None:
    seen: list[tuple[int, ...]] = []
    source = 'kernel k(x: f32[N]) grid (2, 3) { print("here"); }'
    tilelang.compile(source)["k"].prepare(X, device=name).run(lambda text, value, at: seen.append(at))
    assert seen == [(i, j) for j in range(3) for i in range(2)]


@pytest.mark.parametrize("name", HERE)
def test_a_failed_assert_names_all_ids_of_its_program(name: str) -> None:
    with pytest.raises(tilelang.CompileError) as error:
        PROGRAM["pair"](device=name)
    assert error.value.diagnostics[0].label == "false in program (1, 2)"


def test_the_model_sees_two_writes_to_one_place() -> None:
    PROGRAM["scatter"](X, device="reference")
    with pytest.raises(tilelang.CompileError) as error:
        PROGRAM["scatter"](X, device="model")
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "E0591" and "`y`" in diagnostic.title
    assert "y[[i // 2]] = x[i];" in str(error.value)


def test_auto_is_the_cpu_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "gpu_count", lambda: 0)
    assert find_device("auto").name == "cpu"
    monkeypatch.setattr(devices, "gpu_count", lambda: 2)
    assert find_device("auto").name == "cuda:0"
    assert find_device("auto", [1]).name == "cuda:1"
    assert find_device("cuda").name == "cuda:0"
    assert "cuda:1" in devices.device_names()


@pytest.mark.parametrize(
    "name, guess",
    [
        ("cpuu", "cpu"),
        ("gpu", "cuda:0"),
        ("refrence", "reference"),
        ("CUDA:0", "cuda:0"),
        ("cuda:x", "cuda:0"),
        ("", None),
        ("cuda:99999", None),
        (3, None),
    ],
)
def test_an_unknown_device_has_near_misses(name: str, guess: str | None) -> None:
    with pytest.raises(tilelang.CompileError) as error:
        PROGRAM["pair"](device=name)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "E0520" and "cpu, reference, simulator, model, cuda:0" in diagnostic.notes[0]
    assert guess is None or diagnostic.help == f"did you mean `{guess}`?"


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    number = gpu_count()
    with pytest.raises(tilelang.CompileError) as error:
        PROGRAM["pair"](device=f"cuda:{number}")
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "E0521" and "GPU" in diagnostic.notes[0]
    monkeypatch.setattr(devices, "gpu_count", lambda: 1)
    assert gpu_device(0).available() is None
    assert "number 1" in (gpu_device(1).available() or "")


class Hopper:
    """A driver whose GPU is an H100."""

    def cuDeviceGetAttribute(self, found: Any, attribute: int, number: int) -> int:
        found._obj.value = {devices.CAPABILITY_MAJOR: 9, devices.CAPABILITY_MINOR: 0}[attribute]
        return 0


def test_an_h100_has_the_target_without_wgmma(monkeypatch: pytest.MonkeyPatch) -> None:
    """`sm_90a` is its, too, but was never tried on one: it is for those who ask."""
    monkeypatch.setattr(devices, "_driver", Hopper)
    monkeypatch.setattr(devices, "gpu_count", lambda: 1)
    assert devices._target_of(0) is TARGETS["sm_90"] and find_target("sm_90a").wgmma


def test_targets_by_name() -> None:
    assert find_target("sm_90") is TARGETS["sm_90"] and find_target(TARGETS["sm_75"]) is TARGETS["sm_75"]
    with pytest.raises(tilelang.CompileError, match="did you mean `sm_90`"):
        find_target("sm90")
