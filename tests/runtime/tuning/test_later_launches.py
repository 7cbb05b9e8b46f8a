"""Later launches use what tuning found: for the same types, dims, layout, device and program; and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import tilelang
from tilelang.driver import GPU
from tilelang.runtime import devices, executables
from tilelang.runtime.devices import Device
from tilelang.runtime.launch import Launch
from tilelang.runtime.tuning import store, subject
from tilelang.runtime.tuning.clocks import Clock
from tilelang.runtime.tuning.job import Options
from tilelang.runtime.tuning.tune import tune
from tilelang.tiling.targets import TARGETS

TEXT = """
const TWO = 2.0;
fn scaled(v) { return v * TWO; }
fn unused(v) { return v; }
kernel copy[T: {f32, f64}, UP: {false, true}, BLOCK: {64, 128}, FREE = 3](x: T[M, N], out y: T[M, N])
    grid (M, cdiv(N, BLOCK))
{
    let i = program_id(1) * BLOCK +: BLOCK;      # a comment
    y[program_id(0), i] = scaled(x[program_id(0), i] as f32) as T;
}
kernel other(x: f32[N], out y: f32[N]) grid (1) { y[0 +: 8] = x[0 +: 8]; }
"""
X = np.ones((3, 200), np.float32)
ClockOf = Callable[[Callable[[Mapping], float]], Clock]


@pytest.fixture
def tuned(clock_of: ClockOf) -> tilelang.Program:
    """A program whose copy of X is fastest with BLOCK=128."""
    program = tilelang.compile(TEXT, "test.tile")
    clock = clock_of(lambda metas: 1.0 / metas["BLOCK"])
    result = tune(program["copy"], (X,), {}, Options(device="cpu", clock=clock))
    assert result.best == {"BLOCK": 128} and result.kept is not None
    return program


def fresh(text: str = TEXT) -> tilelang.KernelHandle:
    """The kernel of a program that knows nothing but what is on disk."""
    return tilelang.compile(text, "test.tile")["copy"]


def block(kernel: tilelang.KernelHandle, *args: object, **keywords: object) -> tuple[object, bool]:
    launch: Launch = kernel.prepare(*args, **{"device": "cpu", **keywords})
    assert (launch.tuned is not None) == (launch.metas["BLOCK"] == 128 and "BLOCK" not in keywords)
    return launch.metas["BLOCK"], launch.tuned is not None


def test_in_this_process_and_from_disk(tuned: tilelang.Program) -> None:
    assert block(tuned["copy"], X) == (128, True)
    assert block(fresh(), X) == (128, True)
    assert block(fresh(), X * 5) == (128, True), "the numbers do not matter"
    np.testing.assert_array_equal(fresh()(X, device="cpu"), 2 * X)


def test_a_launch_before_tuning_does_not_stick(clock_of: ClockOf) -> None:
    program = tilelang.compile(TEXT, "test.tile")
    assert block(program["copy"], X) == (64, False)
    tune(program["copy"], (X,), {}, Options(device="cpu", clock=clock_of(lambda m: 1.0 / m["BLOCK"])))
    assert block(program["copy"], X) == (128, True)


def test_in_another_process(tuned: tilelang.Program) -> None:
    script = (f"import numpy as np, tilelang; k = tilelang.compile({TEXT!r})['copy']\n"
              "print(k.prepare(np.ones((3, 200), np.float32), device='cpu').metas['BLOCK'])")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "128\n", done.stderr


def test_it_says_since_when(tuned: tilelang.Program) -> None:
    answer = fresh().prepare(X, device="cpu").tuned
    assert answer is not None and answer.when.startswith("20") and answer.by == "measurement"
    assert answer.seconds == 1 / 128 and answer.default_seconds == 1 / 64 and answer.tried == 2


def test_what_the_caller_says_counts(tuned: tilelang.Program) -> None:
    for kernel in (tuned["copy"], fresh()):
        assert block(kernel, X, tuned=False) == (64, False)
        assert block(kernel, X, BLOCK=64) == (64, False)
        assert block(kernel, X, BLOCK=128) == (128, False)
        assert block(kernel, X) == (128, True)


def test_not_for_something_else(tuned: tilelang.Program) -> None:
    for kernel in (tuned["copy"], fresh()):
        assert block(kernel, X[:2]) == (64, False), "other dims"
        assert block(kernel, X.astype(np.float64)) == (64, False), "another element type"
        assert block(kernel, np.asfortranarray(X)) == (64, False), "another layout"
        assert block(kernel, X, UP=True) == (64, False), "a switch"
        assert block(kernel, X, FREE=4) == (64, False), "a meta that is not tuned"
        assert block(kernel, X, device="reference") == (64, False), "another device"
        assert block(kernel, X, UP=False) == (128, True), "the switch's default"


@pytest.mark.parametrize(("old", "new", "same"), [
    ("# a comment", "# another", True),
    ("    let i", "  let  i", True),
    ("fn unused(v) { return v; }", "", True),
    ("y[0 +: 8] = x[0 +: 8]", "y[0 +: 4] = x[0 +: 4]", True),
    ("TWO = 2.0", "TWO = 3.0", False),
    ("v * TWO", "v + TWO", False),
    ("[program_id(0), i] = ", "[program_id(0), i + 0] = ", False),
    ("BLOCK: {64, 128}", "BLOCK: {64, 256}", False),
])  # fmt: skip
def test_the_program_may_change_where_it_does_not_matter(
    tuned: tilelang.Program, old: str, new: str, same: bool
) -> None:
    assert TEXT.count(old) == 1
    assert fresh(TEXT.replace(old, new)).prepare(X, device="cpu").metas["BLOCK"] == (128 if same else 64)


def test_the_last_tuning_counts(tuned: tilelang.Program, clock_of: ClockOf) -> None:
    tune(fresh(), (X,), {"BLOCK": 64}, Options(device="cpu", clock=clock_of(lambda m: 1.0)))
    launch = fresh().prepare(X, device="cpu")
    assert launch.metas["BLOCK"] == 64 and launch.tuned is not None


def test_a_meta_without_choices_that_was_tuned(clock_of: ClockOf) -> None:
    text = "kernel copy[B = 8](x: f32[N], out y: f32[N]) grid (cdiv(N, B)) {\n    let i = program_id(0) * B +: B;\n"
    text += "    y[i] = x[i];\n}"
    tune(fresh(text), (X[0],), {"B": (8, 16, 32)}, Options(device="cpu", clock=clock_of(lambda m: 1.0 / m["B"])))
    assert fresh(text).prepare(X[0], device="cpu").metas["B"] == 32
    assert fresh(text).prepare(X[0], device="cpu", B=8).metas["B"] == 8
    assert fresh(text).prepare(X[0, :9], device="cpu").metas["B"] == 8


def test_only_looking_changes_nothing(clock_of: ClockOf, folder: Path) -> None:
    program = tilelang.compile(TEXT, "test.tile")
    options = Options(device="cpu", keep=False, clock=clock_of(lambda m: 1.0 / m["BLOCK"]))
    assert tune(program["copy"], (X,), {}, options).kept is None
    assert block(program["copy"], X) == (64, False)
    assert not (folder / store.KIND).exists()


def test_without_a_cache_it_holds_for_this_program(clock_of: ClockOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_CACHE_DIR", "")
    program = tilelang.compile(TEXT, "test.tile")
    options = Options(device="cpu", clock=clock_of(lambda m: 1.0 / m["BLOCK"]))
    result = tune(program["copy"], (X,), {}, options)
    assert result.kept is None and "not kept on disk" in str(result)
    assert block(program["copy"], X) == (128, True)
    assert block(fresh(), X) == (64, False)


def test_an_estimate_is_not_used_on_the_cpu(clock_of: ClockOf) -> None:
    options = Options(by="model", gpu="a100", clock=clock_of(lambda m: 1.0 / m["BLOCK"]))
    result = tune(fresh(), (X,), {}, options)
    assert result.best == {"BLOCK": 128} and "nothing was run on a GPU" in str(result)
    assert block(fresh(), X) == (64, False)


@pytest.fixture
def made_up_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device `cuda:0` that compiles for sm_80 and computes with the interpreter."""
    device = Device("cuda:0", "made up", executables.reference, GPU, TARGETS["sm_80"], gpu=0)
    monkeypatch.setattr(devices, "gpu_device", lambda number: device)
    monkeypatch.setattr(subject, "gpu_name", lambda number: "Made-up GPU")


def test_on_a_gpu_a_measured_result_comes_before_an_estimate(clock_of: ClockOf, made_up_gpu: None) -> None:
    estimated = Options(by="model", gpu="a100", clock=clock_of(lambda m: 1.0 / m["BLOCK"]))
    assert tune(fresh(), (X,), {}, estimated).best == {"BLOCK": 128}
    launch = fresh().prepare(X, device="cuda:0")
    assert launch.metas["BLOCK"] == 128 and launch.tuned is not None and launch.tuned.by == "model"
    measured = Options(device="cuda:0", clock=clock_of(lambda m: m["BLOCK"] / 64))
    result = tune(fresh(), (X,), {}, measured)
    assert (result.by, result.device, result.best) == ("measurement", "Made-up GPU", {"BLOCK": 64})
    launch = fresh().prepare(X, device="cuda:0")
    assert launch.metas["BLOCK"] == 64 and launch.tuned is not None and launch.tuned.by == "measurement"
    assert block(fresh(), X) == (64, False), "and the CPU has neither"


def test_an_estimate_for_another_kind_of_gpu_is_not_used(clock_of: ClockOf, made_up_gpu: None) -> None:
    tune(fresh(), (X,), {}, Options(gpu="t4", clock=clock_of(lambda m: 1.0 / m["BLOCK"])))
    assert fresh().prepare(X, device="cuda:0").tuned is None


def test_benchmarks_do_not_use_it(tuned: tilelang.Program, tmp_path: Path) -> None:
    from tilelang.bench.compiled import compile_kernel

    path = tmp_path / "copy.tile"
    path.write_text(TEXT[: TEXT.index("kernel other")])
    assert fresh(path.read_text()).prepare(X, device="cpu").metas["BLOCK"] == 128
    run = compile_kernel(path, {"x": X}, {})
    assert run.__self__.metas["BLOCK"] == 64  # type: ignore[attr-defined]


def test_a_parameter_called_tuned_is_given_by_position() -> None:
    kernel = tilelang.compile("kernel k(tuned: f32[N], out y: f32[N]) grid (1) { y[0 +: 8] = tuned[0 +: 8]; }")["k"]
    np.testing.assert_array_equal(kernel(X[0, :8], device="reference"), X[0, :8])
    with pytest.raises(tilelang.CompileError, match="by its position"):
        kernel(tuned=X[0, :8], device="reference")
