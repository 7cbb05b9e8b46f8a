"""The simulator's worker: results come back, and nothing that goes wrong there hangs or is lost."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from tests.tiling.threads import SIMULATOR, lowered, tile_kernel
from tilelang.codegen.cuda import generate
from tilelang.diagnostics import CompileError, InternalError, Source
from tilelang.ir.core import Kernel
from tilelang.runtime import simulator

LOAD = "{checked = (true, true), mask = false, other = false, pointwise = false}"
STORE = "{checked = (true, true), mask = false, pointwise = false}"

ADD = tile_kernel("%x: in f32[%M, %N], %y: inout f32[%M, %N]", f"""
  %i: i32[8] = iota
  %a: f32[8, 8] = load %x, %i, %i {LOAD}
  %b: f32[8, 8] = load %y, %i, %i {LOAD}
  %c: f32[8, 8] = add %a, %b
  store %y, %i, %i, %c {STORE}
""", dims=("M", "N"))

FOREVER = tile_kernel("%y: out f32[8]", """
  %t: bool = const {value = true}
  while %t (%a: bool) {
    condition %a, %a
  } do (%b: bool) {
    yield %b
  }
""".replace("while %t", "%r: bool = while %t"))


def launch(kernel: Kernel, args: dict, dims: dict[str, int], grid: tuple[int, ...] = (1,), **options) -> None:
    thread = lowered(kernel, SIMULATOR)
    simulator.run(generate(thread, SIMULATOR, Source("", "t.tile")), thread, args, dims, grid, **options)


VIEWS = {
    "plain": lambda a: a.copy(),
    "transposed": lambda a: np.asfortranarray(a),
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "odd strides": lambda a: np.zeros(a.shape, [("p", "i1"), ("v", "f4")])["v"],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_every_kind(view):
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    given, output = VIEWS[view](x), VIEWS[view](x * 10)
    given[...], output[...] = x, x * 10
    launch(ADD, {"x": given, "y": output}, {"M": 5, "N": 7})
    np.testing.assert_array_equal(output, x * 11)


def test_what_lies_between_an_outputs_elements_is_left_alone():
    base = np.zeros((5, 14), np.float32)
    launch(ADD, {"x": np.ones((5, 7), np.float32), "y": base[:, ::2]}, {"M": 5, "N": 7})
    assert base[:, ::2].min() == 1.0 and base[:, 1::2].max() == 0.0


def test_read_only_and_broadcast_inputs_and_empty_tensors():
    x = np.broadcast_to(np.float32(2.0), (5, 7))
    y = np.ones((5, 7), np.float32)
    launch(ADD, {"x": x, "y": y}, {"M": 5, "N": 7})
    assert (y == 3.0).all()
    launch(ADD, {"x": np.zeros((0, 7), np.float32), "y": np.zeros((0, 7), np.float32)}, {"M": 0, "N": 7})


def test_an_empty_grid_runs_nothing():
    y = np.ones((5, 7), np.float32)
    launch(ADD, {"x": y.copy(), "y": y}, {"M": 5, "N": 7}, (0,))
    assert (y == 1.0).all()


def works() -> None:
    y = np.ones((1, 1), np.float32)
    launch(ADD, {"x": y.copy(), "y": y}, {"M": 1, "N": 1})
    assert y[0, 0] == 2.0


def test_a_loop_without_end_is_stopped_and_the_next_launch_works():
    with pytest.raises(CompileError) as caught:
        launch(FOREVER, {"y": np.zeros(8, np.float32)}, {}, seconds=1.5)
    assert caught.value.diagnostics[0].code == "E0640"
    works()


def test_the_limit_is_the_environments(monkeypatch):
    monkeypatch.setenv(simulator.LIMIT, "1")
    with pytest.raises(CompileError, match="after 1 seconds"):
        launch(FOREVER, {"y": np.zeros(8, np.float32)}, {})
    monkeypatch.setenv(simulator.LIMIT, "soon")
    works()


def test_a_worker_that_dies_is_an_error_and_is_replaced():
    works()
    os.kill(simulator._worker._process.pid, signal.SIGKILL)
    simulator._worker._process.wait()
    works()  # noticed before the launch: a new worker


def test_code_that_fails_is_an_internal_error_with_its_reason():
    thread = lowered(ADD, SIMULATOR)
    source = generate(thread, SIMULATOR, Source("", "t.tile")).replace("x[", "x[10**9 + ")
    with pytest.raises(InternalError, match="IndexError"):
        simulator.run(source, thread, {"x": np.ones((1, 1), np.float32), "y": np.ones((1, 1), np.float32)},
                      {"M": 1, "N": 1}, (1,))
    works()


def test_a_barrier_that_not_all_threads_reach_is_an_error():
    thread = lowered(ADD, SIMULATOR)
    source = generate(thread, SIMULATOR, Source("", "t.tile"))
    first = "    t = i32(cuda.threadIdx.x)\n"
    broken = source.replace(first, f"{first}    if t == 0:\n        cuda.syncthreads()\n")
    assert broken != source
    with pytest.raises(InternalError, match="barrier was not reached by all"):
        simulator.run(broken, thread, {"x": np.ones((1, 1), np.float32), "y": np.ones((1, 1), np.float32)},
                      {"M": 1, "N": 1}, (1,))
