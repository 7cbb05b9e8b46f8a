"""Tuning: the right configuration wins, wrong and failing ones do not, nothing of the caller's is changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilelang
from tilelang.diagnostics import Diagnostic
from tilelang.runtime.launch import Launch
from tilelang.runtime.tuning.clocks import Clock, Run, computer_clock
from tilelang.runtime.tuning.job import Options
from tilelang.runtime.tuning.result import TuningResult
from tilelang.runtime.tuning.tune import TuningInterrupted, tune

TEXT = """
kernel copy[BLOCK: {64, 128, 32}](x: f32[N], out y: f32[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    y[i] = x[i];
}
kernel first_rows[ROWS: {8, 4, 16}](x: f32[N], out y: f32[N]) grid (1) {   # too few ROWS leave elements unwritten
    let i = 0 +: ROWS;
    y[i] = x[i] * 2.0;
}
kernel increase[BLOCK: {64, 128}](inout x: f32[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    x[i] = x[i] + 1.0;
}
kernel count[BLOCK: {64, 128}](x: i32[N], inout bins: i32[B]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    atomic_add(bins[x[i] as i64], 1) where i < N;
}
kernel picky[BLOCK: {64, 128, 32}](x: f32[N], out y: f32[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    assert(BLOCK != 64, "not 64");
    y[i] = x[i];
}
kernel doomed[BLOCK: {64, 128}](x: f32[N], out y: f32[N]) grid (1) {
    assert(BLOCK > 64, "above 64");
    assert(BLOCK < 128, "below 128");
    y[0 +: BLOCK] = x[0 +: BLOCK];
}
kernel negative[BLOCK: {64, 128}](x: f32[N], out y: f32[N]) grid (1) {
    assert(x[0] >= 0.0, "negative");
    y[0 +: BLOCK] = x[0 +: BLOCK];
}
kernel idle[BLOCK: {64, 128}, warps: {4, 8}, stages: {2, 3}, NOBODY: {1, 2}](x: f32[N], out y: f32[N])
    grid (cdiv(N, BLOCK))
{
    let i = program_id(0) * BLOCK +: BLOCK;
    y[i] = x[i];
}
kernel switch[UP: {false, true}, BLOCK: {64, 128}](x: f32[N], out y: f32[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    y[i] = select(UP, x[i] + 1.0, x[i]);
}
kernel shaped[BLOCK: {64, 128}](x: f32[N], out y: f32[cdiv(N, BLOCK)]) grid (cdiv(N, BLOCK)) {
    y[program_id(0)] = sum(x[program_id(0) * BLOCK +: BLOCK]);
}
kernel fits[BLOCK: {64, 128}](x: f32[BLOCK], out y: f32[BLOCK]) grid (1) {
    let i = 0 +: BLOCK;
    y[i] = x[i];
}
kernel turn[BLOCK: {16, 256}](x: f32[M, N], out y: f32[N, M]) grid (cdiv(M, BLOCK), cdiv(N, BLOCK)) {
    let rows = program_id(0) * BLOCK +: BLOCK;
    let cols = program_id(1) * BLOCK +: BLOCK;
    y[cols, rows] = transpose(x[rows, cols]);
}
kernel plain[BLOCK = 64](x: f32[N], out y: f32[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    y[i] = x[i];
}
kernel nothing(x: f32[N], out y: f32[N]) grid (1) { y[0 +: 8] = x[0 +: 8]; }
"""
X = np.arange(200, dtype=np.float32)
ClockOf = Callable[[Callable[[Mapping], float]], Clock]


@pytest.fixture
def program() -> tilelang.Program:
    return tilelang.compile(TEXT, "test.tile")


def tuned(program: tilelang.Program, name: str, *args: object, clock: Clock, by: str = "auto",
          device: str = "cpu", **keywords: object) -> TuningResult:
    return tune(program[name], args, keywords, Options(device=device, by=by, clock=clock, seconds=5))


def slower_above(limit: int) -> Callable[[Mapping], float]:
    return lambda metas: float(metas["BLOCK"]) if metas["BLOCK"] > limit else 1.0


def refused(call: Callable[[], object]) -> tuple[list[str], str]:
    with pytest.raises(tilelang.CompileError) as error:
        call()
    return [d.code for d in error.value.diagnostics], str(error.value)


# ------------------------------------------------------------------------------ who wins


@pytest.mark.parametrize("best", [64, 128, 32])
def test_the_clock_decides(program: tilelang.Program, clock_of: ClockOf, best: int) -> None:
    result = tuned(program, "copy", X, clock=clock_of(lambda m: 1.0 if m["BLOCK"] == best else 2.0))
    assert result.best == {"BLOCK": best}
    assert result.gain == (1.0 if best == 64 else 2.0)
    assert result.default.metas == {"BLOCK": 64}
    assert [t.metas["BLOCK"] for t in result.trials] == [64, 128, 32]


def test_what_is_as_fast_as_can_be_told_is_the_default(program: tilelang.Program, clock_of: ClockOf) -> None:
    result = tuned(program, "copy", X, clock=clock_of(lambda m: 1.0 if m["BLOCK"] == 32 else 1.015))
    assert result.best == {"BLOCK": 64}


def test_noise_does_not_decide(program: tilelang.Program, clock_of: ClockOf) -> None:
    """Most runs of the best take long; no run of the others is short."""
    turns = iter(range(10**6))
    seconds = clock_of(lambda m: 3.0 if m["BLOCK"] != 128 else (9.0 if next(turns) % 5 == 0 else 1.0))
    assert tuned(program, "copy", X, clock=seconds).best == {"BLOCK": 128}


def test_really_measured(program: tilelang.Program) -> None:
    result = program.tune("copy", X, device="cpu", seconds=0.5)
    assert all(t.valid and t.runs > 1 and t.seconds and t.seconds > 0 for t in result.trials)
    assert result.by == "measurement"
    assert result.bytes == 2 * X.nbytes
    assert "measured on" in str(result)


# ------------------------------------------------------------------------------ who cannot win


def test_a_fast_wrong_configuration_does_not_win(program: tilelang.Program, clock_of: ClockOf) -> None:
    x = X[:8]
    clock = clock_of(lambda m: 1.0 if m["ROWS"] == 4 else 5.0)
    result = tune(program["first_rows"], (x,), {}, Options(device="cpu", clock=clock, seconds=1))
    wrong = next(t for t in result.trials if t.metas["ROWS"] == 4)
    assert "result is not that of the first configuration: 4 of 8 elements of `y` differ" in wrong.failed
    assert result.best == {"ROWS": 8}


def test_leaving_elements_out_is_seen_even_if_another_wrote_them(program: tilelang.Program, clock_of: ClockOf) -> None:
    """The default has written all of y; ROWS=4 must not get by with what is still there. Zeros would hide it too."""
    clock = clock_of(lambda m: float(m["ROWS"]))
    result = tune(program["first_rows"], (np.zeros(8, np.float32),), {}, Options(device="cpu", clock=clock))
    assert result.best == {"ROWS": 8}


def test_failing_configurations_are_reported_and_skipped(program: tilelang.Program, clock_of: ClockOf) -> None:
    result = tuned(program, "picky", X, clock=clock_of(slower_above(32)))
    assert result.trials[0].failed == "E0590: assert failed: not 64"
    assert result.best == {"BLOCK": 32}
    assert "skipped: E0590: assert failed: not 64" in str(result)


def test_too_much_shared_memory_is_reported_and_skipped(program: tilelang.Program) -> None:
    result = program.tune("turn", np.zeros((64, 64), np.float32), by="model", gpu="t4", BLOCK=(256, 16))
    (failed,) = [t for t in result.trials if t.failed]
    assert failed.metas == {"BLOCK": 256}
    assert failed.failed.startswith("E0620: kernel `turn` needs 262,144 bytes of shared memory")
    assert result.best == {"BLOCK": 16}


def test_a_bug_in_the_compiler_is_reported_as_such(
    program: tilelang.Program, clock_of: ClockOf
) -> None:
    inner = clock_of(slower_above(32))

    def clock(launch: Launch) -> Run:
        if launch.metas["BLOCK"] == 128:
            raise tilelang.InternalError("a pass", "it went wrong")
        return inner(launch)

    result = tuned(program, "copy", X, clock=clock)
    assert "a bug in the compiler" in result.trials[1].failed
    assert result.best == {"BLOCK": 32}


def test_one_that_fails_only_later_is_set_aside(program: tilelang.Program, clock_of: ClockOf) -> None:
    inner, runs = clock_of(lambda m: 1.0 if m["BLOCK"] == 128 else 2.0), []

    def clock(launch: Launch) -> Run:
        runs.append(launch.metas["BLOCK"])
        if launch.metas["BLOCK"] == 128 and runs.count(128) > 4:
            raise tilelang.CompileError([Diagnostic("E0590", "assert failed: now")])
        return inner(launch)

    result = tuned(program, "copy", X, clock=clock)
    assert result.trials[1].failed == "it failed, though not at first: error[E0590]: assert failed: now"
    assert result.best == {"BLOCK": 64}


def test_one_that_is_wrong_only_later_is_set_aside(program: tilelang.Program, clock_of: ClockOf) -> None:
    inner, runs = clock_of(lambda m: 1.0 if m["BLOCK"] == 128 else 2.0), []

    def clock(launch: Launch) -> Run:
        runs.append(launch.metas["BLOCK"])
        run = inner(launch)
        if runs.count(128) > 4 and launch.metas["BLOCK"] == 128:
            launch.arguments["y"][3] = -1.0  # type: ignore[index]
        return run

    result = tuned(program, "copy", X, clock=clock)
    assert "differs from run to run" in result.trials[1].failed
    assert result.best == {"BLOCK": 64}


def test_all_failed(program: tilelang.Program) -> None:
    codes, text = refused(lambda: program.tune("doomed", X, device="cpu"))
    assert codes == ["E0531"]
    assert "BLOCK=64: E0590: assert failed: above 64" in text and "BLOCK=128: E0590: assert failed: below 128" in text


def test_if_all_fail_alike_that_is_the_message(program: tilelang.Program) -> None:
    codes, text = refused(lambda: program.tune("negative", -1 - X, device="cpu"))
    assert codes == ["E0590"] and "negative" in text


def test_configurations_of_another_shape_are_set_aside(program: tilelang.Program, clock_of: ClockOf) -> None:
    result = tuned(program, "shaped", X, clock=clock_of(lambda m: 1.0 / m["BLOCK"]))
    assert result.best == {"BLOCK": 64}
    assert result.trials[1].failed.startswith("E04")


def test_arrays_may_fit_one_configuration_only(program: tilelang.Program, clock_of: ClockOf) -> None:
    result = tuned(program, "fits", X[:128], clock=clock_of(lambda m: 1.0))
    assert result.best == {"BLOCK": 128}


def test_what_differs_from_run_to_run_is_not_compared(program: tilelang.Program, clock_of: ClockOf) -> None:
    inner, runs = clock_of(slower_above(32)), iter(range(10**6))

    def clock(launch: Launch) -> Run:
        run = inner(launch)
        launch.arguments["y"][0] = next(runs)  # type: ignore[index]
        return run

    result = tuned(program, "copy", X, clock=clock)
    assert result.best == {"BLOCK": 32} and not any(t.failed for t in result.trials)
    assert "not compared, since it differs from run to run: y" in str(result)


def test_a_sample_is_not_compared(program: tilelang.Program, clock_of: ClockOf) -> None:
    inner = clock_of(lambda m: float(m["ROWS"]))
    options = Options(by="model", clock=lambda launch: replace(inner(launch), complete=launch.metas["ROWS"] != 8))
    result = tune(program["first_rows"], (X[:8],), {}, options)
    assert result.best == {"ROWS": 4} and "results were not compared" in str(result)


def test_an_empty_grid(program: tilelang.Program) -> None:
    result = program.tune("copy", X[:0], device="cpu", seconds=0.1)
    assert result.best == {"BLOCK": 64} or result.gain
    assert program.tune("copy", X[:0], gpu="t4").best == {"BLOCK": 64}


def test_progress_is_told(program: tilelang.Program) -> None:
    told: list[tuple[str, int, int]] = []
    program.tune("copy", X, device="cpu", seconds=0, watch=lambda *words: told.append(words))
    assert told[:4] == [("compiling", n, 3) for n in range(4)]
    assert told[-1] == ("measuring", 3, 3)


# ------------------------------------------------------------------------------ the caller's arrays


def test_arrays_that_are_written_stay_as_they_were(program: tilelang.Program, clock_of: ClockOf) -> None:
    x, bins, y = X.copy(), np.arange(4, dtype=np.int32), np.full(200, 7, np.float32)
    assert tuned(program, "increase", x, clock=clock_of(slower_above(0))).best == {"BLOCK": 64}
    np.testing.assert_array_equal(x, X)
    numbers = np.arange(200, dtype=np.int32) % 4
    assert tuned(program, "count", numbers, bins, clock=clock_of(lambda m: 1.0 / m["BLOCK"])).best == {"BLOCK": 128}
    np.testing.assert_array_equal(bins, [0, 1, 2, 3])
    tuned(program, "copy", x, y, clock=clock_of(slower_above(0)))
    np.testing.assert_array_equal(y, 7)


def test_every_run_of_a_kernel_in_place_starts_from_the_same(program: tilelang.Program) -> None:
    seen: list[float] = []

    def clock(launch: Launch) -> Run:
        seen.append(float(launch.arguments["x"][0]))  # type: ignore[index, arg-type]
        return computer_clock(launch)

    tuned(program, "increase", X + 5, clock=clock)
    assert len(seen) > 8 and set(seen) == {5.0}


@pytest.mark.parametrize("view", [
    lambda a: a[::2, ::-1], lambda a: a.T, lambda a: a[1:, 3:], lambda a: a[:0], lambda a: a[:1, :1]])
def test_views_keep_their_strides(
    program: tilelang.Program, clock_of: ClockOf, view: Callable[[np.ndarray], np.ndarray]
) -> None:
    strides = []
    inner = clock_of(lambda m: 1.0)

    def clock(launch: Launch) -> Run:
        strides.append(launch.arguments["y"].strides)  # type: ignore[union-attr]
        return inner(launch)

    x, y = view(np.ones((20, 30), np.float32)), view(np.zeros((20, 30), np.float32))
    tuned(program, "turn", x, y.T, clock=clock)
    assert set(strides) == {y.T.strides if y.size else np.empty(y.T.shape, np.float32).strides}
    np.testing.assert_array_equal(y, 0)


# ------------------------------------------------------------------------------ what is varied


def test_metas_without_effect_are_not_varied(program: tilelang.Program, clock_of: ClockOf) -> None:
    on_cpu = tuned(program, "idle", X, clock=clock_of(slower_above(0)))
    assert on_cpu.idle == ("warps", "stages", "NOBODY") and len(on_cpu.trials) == 2
    assert "warps, stages, NOBODY: without effect here" in str(on_cpu)
    assert on_cpu.best == {"BLOCK": 64, "warps": 4, "stages": 2, "NOBODY": 1}
    on_gpu = tuned(program, "idle", X, clock=clock_of(slower_above(0)), by="model")
    assert on_gpu.idle == ("NOBODY",) and len(on_gpu.trials) == 8


def test_the_same_code_is_measured_once(program: tilelang.Program, clock_of: ClockOf) -> None:
    runs = []
    inner = clock_of(slower_above(0))

    def clock(launch: Launch) -> Run:
        runs.append((launch.metas["BLOCK"], launch.metas["warps"], launch.metas["stages"]))
        return inner(launch)

    result = tuned(program, "idle", X, clock=clock, by="model")
    assert len(set(runs)) == 4  # nothing is loaded in a loop: `stages` makes no difference
    twins = [t for t in result.trials if t.twin is not None]
    assert len(twins) == 4 and all(result.trials[t.twin].metas["stages"] == 2 for t in twins)
    assert "4 of them with the same code as another" in str(result)


def test_bools_say_what_is_computed_and_are_not_varied(program: tilelang.Program, clock_of: ClockOf) -> None:
    result = tuned(program, "switch", X, clock=clock_of(lambda m: 0.1 if m["UP"] else 1.0))
    assert result.best == {"BLOCK": 64} and result.settled["UP"] is False


def test_values_that_are_given(program: tilelang.Program, clock_of: ClockOf) -> None:
    clock = clock_of(slower_above(0))
    assert [t.metas for t in tuned(program, "copy", X, clock=clock, BLOCK=128).trials] == [{"BLOCK": 128}]
    listed = tuned(program, "copy", X, clock=clock, BLOCK=[128, np.int64(32), 128])
    assert [t.metas["BLOCK"] for t in listed.trials] == [128, 32] and not listed.has_default
    free = tuned(program, "plain", X, clock=clock_of(lambda m: 1.0 / m["BLOCK"]), BLOCK=(32, 64, 128))
    assert free.best == {"BLOCK": 128} and free.default.metas == {"BLOCK": 64}


# ------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(("name", "keywords", "code", "words"), [
    ("copy", {"limit": 2}, "E0530", "3 combinations, more than 2"),
    ("nothing", {}, "E0532", "no metas to tune"),
    ("plain", {}, "E0532", "`BLOCK=(64, 128)`"),
    ("copy", {"device": "simulator"}, "E0533", "simulator"),
    ("copy", {"by": "guess"}, "E0533", "guess"),
    ("copy", {"by": "measurement", "device": "cuda:0"}, "E0521", "cuda:0"),
    ("copy", {"gpu": "a1000"}, "E0520", "did you mean `a100`?"),
    ("copy", {"device": "cpuu"}, "E0520", "cpuu"),
    ("copy", {"BLOCK": ()}, "E0504", "no value for the meta `BLOCK`"),
    ("copy", {"BLOCK": (64, "x")}, "E0504", "cannot be tuned over the string 'x'"),
    ("copy", {"BLOCK": (64, True)}, "E0504", "cannot be tuned over the bool True"),
    ("plain", {"BLOCK": [10**5000]}, "E0504", "an integer of 16610 bits"),
    ("plain", {"BLOCK": range(10**9)}, "E0530", "1,000,000,000 values"),
    ("plain", {"BLOCK": range(1, 1000)}, "E0530", "999 combinations"),
    ("copy", {"BLOCK": (64, 65)}, "E0413", "`BLOCK` cannot be 65"),
    ("copy", {"BLOCK": 65}, "E0413", "`BLOCK` cannot be 65"),
    ("switch", {"UP": (False, True)}, "E0504", "the meta `UP` cannot be a tuple"),
    ("copy", {"BLOK": 64}, "E0416", "BLOK"),
    ("copy", {"N": 3}, "E0410", ""),
])  # fmt: skip
def test_refused(program: tilelang.Program, name: str, keywords: dict, code: str, words: str) -> None:
    if keywords.get("device") == "cuda:0" and os.path.exists("/dev/nvidia0"):
        pytest.skip("there is a GPU")
    codes, text = refused(lambda: program.tune(name, X, **{"device": "cpu", **keywords}))
    assert codes == [code] and words in text


def test_the_wrong_arguments_are_told_as_in_a_call(program: tilelang.Program) -> None:
    assert refused(lambda: program.tune("copy", device="cpu"))[0] == refused(lambda: program["copy"]())[0]
    wrong = X.astype(np.float64)
    assert refused(lambda: program.tune("copy", wrong, device="cpu"))[1] == refused(lambda: program["copy"](wrong))[1]


# ------------------------------------------------------------------------------ Ctrl-C


@pytest.mark.parametrize("when", [1, 4, 9, 20])
def test_interrupted(
    program: tilelang.Program, clock_of: ClockOf, folder: Path, when: int
) -> None:
    inner, runs = clock_of(lambda m: float(m["BLOCK"])), iter(range(10**6))

    def clock(launch: Launch) -> Run:
        if next(runs) == when:
            raise KeyboardInterrupt
        return inner(launch)

    with pytest.raises(TuningInterrupted) as stop:
        tuned(program, "copy", X, clock=clock)
    assert not list(folder.rglob("best.json"))
    assert program["copy"].prepare(X, device="cpu").tuned is None
    if when == 1:
        assert stop.value.result is None
    else:
        best = stop.value.result.best  # type: ignore[union-attr]
        assert best == ({"BLOCK": 64} if when == 4 else {"BLOCK": 32})
        assert f"BLOCK={best['BLOCK']}" in str(stop.value)
