"""Tiles that are turned in shared memory: the layouts, the decision, what it saves, and that results stay the same."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import tilelang
from tests.machine.profiles import profiled
from tests.machine.threads import barriers, without_barrier
from tilelang.ir.core import Kernel
from tilelang.machine import execute
from tilelang.tiling import lower
from tilelang.tiling.bank_layout import Folded, Padded
from tilelang.tiling.bank_plans import Walk, folded, passes, plan_banks, rank
from tilelang.tiling.layout import LinearLayout, linearize

TURN = """
kernel turn[T: {f32, f64, f16, i8, bool}, B: {32, 64, 16}](x: T[M, N], out y: T[N, M]) grid (cdiv(M, B), cdiv(N, B)) {
    let rows = program_id(0) * B +: B;
    let cols = program_id(1) * B +: B;
    y[cols, rows] = transpose(x[rows, cols]);
}
"""
ODD = """
kernel odd[P = 48, Q = 40](x: f32[M, N], out y: f32[N, M]) grid (cdiv(M, P), cdiv(N, Q)) {
    let rows = program_id(0) * P +: P;
    let cols = program_id(1) * Q +: Q;
    y[cols, rows] = transpose(x[rows, cols]);
}
"""
MOVES = """
kernel solid(x: f32[A, 8, 16], out y: f32[16, A, 8]) grid (1) {
    y[0 +: 16, 0 +: 8, 0 +: 8] = permute(x[0 +: 8, 0 +: 8, 0 +: 16], [2, 0, 1]);
}
kernel solid_odd(x: i16[6, 8, 12], out y: i16[12, 8, 6]) grid (1) {
    y[0 +: 12, 0 +: 8, 0 +: 6] = permute(x[0 +: 6, 0 +: 8, 0 +: 12], [2, 1, 0]);
}
kernel both(x: f64[M, N], out y: f64[M, N]) grid (1) {
    let i = 0 +: 32;
    let v = x[i, i];
    y[i, i] = v * 0.5 + transpose(v) + transpose(v * v);
}
kernel flat(x: f32[M, N], out y: f32[L]) grid (1) {
    y[0 +: 1024] = reshape(transpose(x[0 +: 32, 0 +: 32]), [1024]);
}
kernel beside(x: f32[M, N], out y: f32[M, N]) grid (1) {
    let v = x[0 +: 32, 0 +: 32];
    y[0 +: 32, 0 +: 64] = cat(v, transpose(v), axis=1);
}
kernel beneath(x: f16[M, N], out y: f16[N, M]) grid (1) {
    let v = x[0 +: 16, 0 +: 32];
    y[0 +: 32, 0 +: 48] = transpose(cat(v, v * 2.0, v, axis=0));
}
kernel down(x: f32[M, N], out y: f32[N, M]) grid (1) {
    var v = x[0 +: 32, 0 +: 32];
    for k in range(0, 3) {
        v = transpose(v) + x[0 +: 32, k +: 32];
    }
    y[0 +: 32, 0 +: 32] = v;
}
"""
CALLS = {"solid": ("f4", (7, 8, 16)), "solid_odd": ("i2", (6, 8, 12)), "both": ("f8", (32, 32)), 
         "flat": ("f4", (31, 32)),
         "beside": ("f4", (32, 30)), "beneath": ("f2", (16, 29)), "down": ("f4", (32, 33))}


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return (np.random.default_rng(1).standard_normal(shape) * 50).astype(dtype)


def walks(rows: int, columns: int, width: int = 1, threads: int = 128) -> tuple[Walk, Walk]:
    """A tile that is written by rows and read by columns."""
    return (Walk(LinearLayout((rows, columns), threads, width), lambda at: linearize(at, (rows, columns))),
            Walk(LinearLayout((columns, rows), threads, width), lambda at: linearize(at[::-1], (rows, columns))))


def outputs(name: str) -> tuple[np.ndarray, dict[str, int]]:
    dtype, shape = CALLS[name]
    lengths = {"flat": {"L": 1000}}
    return numbers(dtype, *shape), lengths.get(name, {})


# ---------------------------------------------------------------- layouts

@pytest.mark.parametrize("layout", [Padded(32, 1), Padded(40, 3), Folded(((5, 0), (6, 1), (8, 1), (9, 2), (9, 0)))])
@pytest.mark.parametrize("size", [1024, 96, 32])
def test_every_element_has_a_place_of_its_own(layout, size):
    places = [layout.position(number) for number in range(size)]
    assert len(set(places)) == size and max(places) < layout.room(size)


def test_folds_are_written_in_runs():
    layout = Folded(((8, 1), (5, 0), (6, 1), (9, 2)))
    assert layout.runs == ((5, 0, 2), (8, 1, 2))
    for number in range(1024):
        wanted = number
        for high, low in layout.folds:
            wanted ^= (number >> high & 1) << low
        assert layout.position(number) == wanted


def test_the_picture_of_the_module():
    assert [[Padded(8, 1).position(8 * row + column) % 8 for column in (0, 7)] for row in range(3)] == [
        [0, 7], [1, 0], [2, 1]]
    turned = Folded(((3, 0), (4, 1), (5, 2)))
    assert [[turned.position(8 * row + column) % 8 for column in range(8)] for row in range(3)] == [
        [0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6], [2, 3, 0, 1, 6, 7, 4, 5]]


def test_rank():
    assert [rank(v) for v in ([], [0], [1, 2], [1, 2, 3], [5, 6, 3], [4, 5, 7, 1])] == [0, 0, 2, 2, 2, 3]


# ---------------------------------------------------------------- the decision

@pytest.mark.parametrize("item", [1, 2, 4, 8])
@pytest.mark.parametrize("rows, columns", [(32, 32), (64, 64), (16, 16), (128, 16), (8, 128), (32, 64)])
def test_a_fold_without_conflicts(rows, columns, item):
    """Every access of a warp takes one pass, with 8 bytes two."""
    widest = 16 // item
    for width in {1, widest} if rows * columns % (128 * widest) == 0 else {1}:
        for walk in walks(rows, columns, width):
            registers = min(walk.layout.registers, 16)
            assert passes(walk, folded(walks(rows, columns, width), item), item) == registers * (2 if item == 8 else 1)


def test_passes_are_counted():
    written, read = walks(64, 64, 4)
    assert passes(written, None, 4) == 16 * 4 and passes(read, None, 4) == 16 * 16
    assert passes(read, Padded(64, 1), 4) < 16 * 16


def plans(text: str, *arguments: np.ndarray, name: str = "k") -> dict[str, object]:
    compiled = tilelang.compile(text)[name].compile(*arguments, target="sm_80")
    kernel = compiled.optimized
    return {value.name: layout for value, layout in plan_banks(kernel, 128, {}).items()}


def test_what_is_decided():
    assert [type(p) for p in plans(TURN, numbers("f4", 64, 64), name="turn").values()] == [Folded]
    assert [type(p) for p in plans(ODD, numbers("f4", 96, 80), name="odd").values()] == [Padded]


REFUSED = {
    "nothing is turned": "let v = x[i, i]; y[i, i] = v * 2.0;",
    "too small for conflicts": "y[0 +: 4, 0 +: 8] = transpose(x[0 +: 8, 0 +: 4]);",
    "an operand of a product": "y[i, i] = dot(transpose(x[i, i]), x[i, i]);",
    "a reduction": "y[i, 0 +: 1] = transpose(max(x[i, i], axis=0)[None, :]);",
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused(why):
    text = f"kernel k(x: f32[N, N], out y: f32[N, N]) grid (1) {{ let i = 0 +: 32; {REFUSED[why]} }}"
    assert plans(text, numbers("f4", 32, 32)) == {}


def test_padding_is_given_up_where_it_makes_a_kernel_too_large():
    """96 x 128 floats are all that the simulator's target has."""
    text = ODD.replace("P = 48, Q = 40", "P = 96, Q = 128")
    x = numbers("f4", 90, 120)
    compiled = tilelang.compile(text)["odd"].compile(x, target="simulator")
    arrays = [op.result.type.size for op in compiled.thread_ir.walk() if op.name == "shared"]
    assert arrays == [96 * 128]
    arrays = [op.result.type.size for op in tilelang.compile(text)["odd"].compile(x, target="sm_80").thread_ir.walk()
              if op.name == "shared"]
    assert arrays[0] > 96 * 128


# ---------------------------------------------------------------- what it saves

@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(128, 128), (70, 101)])
def test_transposes_are_free_of_conflicts(size, dtype, shape):
    x = numbers(dtype, *shape)
    after = profiled(TURN, x=x, B=size)
    with patch.object(lower, "plan_banks", lambda *arguments, **options: {}):
        before = profiled(TURN, x=x, B=size)
    assert after.total.conflicts == 0 < before.total.conflicts
    assert after.total.shared == before.total.shared and after.total.sectors == before.total.sectors
    assert after.resources.shared == before.resources.shared


def test_other_extents_are_nearly_free_of_conflicts():
    x = numbers("f4", 96, 80)
    after = profiled(ODD, x=x)
    with patch.object(lower, "plan_banks", lambda *arguments, **options: {}):
        before = profiled(ODD, x=x)
    assert after.total.conflicts * 4 < before.total.conflicts


# ---------------------------------------------------------------- results

@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("device", ["model", "simulator"])
def test_the_interpreter_agrees(name, device):
    kernel = tilelang.compile(MOVES)[name]
    x, dims = outputs(name)
    arguments = {"x": x, **dims}
    np.testing.assert_array_equal(kernel(**arguments, device=device), kernel(**arguments, device="reference"))


@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "?"])
@pytest.mark.parametrize("shape", [(64, 64), (33, 70), (1, 5), (0, 3)])
def test_transposes(size, dtype, shape):
    x = numbers(dtype, *shape)
    np.testing.assert_array_equal(tilelang.compile(TURN)["turn"](x, B=size, device="model"), x.T)


def test_where_a_barrier_is_missing_the_model_sees_a_race():
    for text, name, x in ((TURN, "turn", numbers("f4", 64, 64)), (ODD, "odd", numbers("f4", 48, 40))):
        kernel = tilelang.compile(text)[name]
        launch = kernel.prepare(x, device="model")
        thread: Kernel = kernel.compile(x, target="sm_80").thread_ir
        assert barriers(thread) == 1
        arguments = {key: np.copy(value) for key, value in launch.arguments.items()}
        assert not execute(thread, arguments, launch.dims, launch.grid).races
        assert execute(without_barrier(thread, 0), arguments, launch.dims, launch.grid).races


def test_who_may_share_an_array_is_told_by_its_layout():
    """Two tiles in one array need a barrier between them where they lie in different orders."""
    kernel = tilelang.compile(MOVES)["both"]
    x = numbers("f8", 32, 32)
    launch = kernel.prepare(x, device="model")
    thread = kernel.compile(x, target="sm_80").thread_ir
    arguments = {key: np.copy(value) for key, value in launch.arguments.items()}
    assert not execute(thread, arguments, launch.dims, launch.grid).races
    for number in range(barriers(thread)):
        assert execute(without_barrier(thread, number), arguments, launch.dims, launch.grid).races, number
