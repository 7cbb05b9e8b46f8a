"""The eager version: kernels and bytes, counted by hand for programs whose array formula is plain."""

from __future__ import annotations

import pytest

import tilelang
from tests.machine.profiles import random
from tilelang.dtypes import F16, F32, I32
from tilelang.machine.eager import Eager, eager
from tilelang.machine.spaces import Axis, Space, merged, normal, reduced, reshaped


def eager_of(text: str, **arguments: object) -> Eager:
    program = tilelang.compile(text)
    launch = program[program.kernels[0]].prepare(device="reference", **arguments)
    assert launch.compilation.optimized is not None
    return eager(launch.compilation.optimized, launch.arguments, launch.dims, launch.grid)


def kernels(found: Eager) -> list[tuple[str, float, float]]:
    return [(op.name, op.read, op.written) for op in found.ops]


def test_vector_add_is_one_kernel_clipped_to_the_tensor() -> None:
    text = ("kernel k[B = 64](x: f32[N], y: f32[N], out z: f32[N]) grid (cdiv(N, B)) {\n"
            "    let i = program_id(0) * B +: B;\n    z[i] = x[i] + y[i];\n}")
    assert kernels(eager_of(text, x=random(100), y=random(100))) == [("add", 800, 400)]


SOFTMAX = """
kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
    let row = program_id(0);
    let v = x[row, 0 +: BLOCK] else -inf;
    let e = exp(v - max(v, axis=0));
    y[row, 0 +: BLOCK] = e / sum(e, axis=0);
}"""


def test_softmax_moves_the_matrix_eight_times() -> None:
    """5MN + 2M read, 3MN + 2M written: the count of Triton's fused-softmax tutorial."""
    m, n = 37, 1000
    found = eager_of(SOFTMAX, x=random(m, n))
    assert [op.name for op in found.ops] == ["max", "sub", "exp", "sum", "div"]
    assert found.read == 4 * (5 * m * n + 2 * m)
    assert found.written == 4 * (3 * m * n + 2 * m)
    assert found.launches == 5


def test_a_chain_of_operations_reads_and_writes_for_each() -> None:
    text = ("kernel k[B = 32](x: f32[N], out y: f32[N]) grid (cdiv(N, B)) {\n"
            "    let i = program_id(0) * B +: B;\n    y[i] = exp(x[i] * 2.0) + 1.0;\n}")
    assert kernels(eager_of(text, x=random(64))) == [("mul", 256, 256), ("exp", 256, 256), ("add", 256, 256)]


def test_views_are_free_and_a_view_that_is_stored_is_copied() -> None:
    text = ("kernel k[B = 8](x: f32[M, N], out y: f32[N, M]) grid (cdiv(M, B), cdiv(N, B)) {\n"
            "    let r = program_id(0) * B +: B;\n    let c = program_id(1) * B +: B;\n"
            "    y[c, r] = transpose(x[r, c]);\n}")
    assert kernels(eager_of(text, x=random(10, 20))) == [("copy", 800, 800)]


MATMUL = """
kernel matmul[T: {f32, f16}, BM = 16, BN = 16, BK = 16](a: T[M, K], b: T[K, N], out c: f32[M, N])
    grid (cdiv(M, BM) * cdiv(N, BN))
{
    let across = cdiv(N, BN);
    let rows = program_id(0) // across * BM +: BM;
    let cols = program_id(0) % across * BN +: BN;
    var acc = zeros([BM, BN], f32);
    for k in range(0, K, BK) {
        acc = dot(a[rows, k +: BK], b[k +: BK, cols], acc);
    }
    c[rows, cols] = acc;
}"""


@pytest.mark.parametrize(("dtype", "item", "key"), [("f4", 4, F32), ("f2", 2, F16)])
def test_a_product_summed_in_a_loop_is_one_kernel(dtype: str, item: int, key: object) -> None:
    """Although both axes of the result are moved by one axis of the grid, and tiles hang over every edge."""
    m, k, n = 40, 50, 24
    found = eager_of(MATMUL, a=random(m, k, dtype=dtype), b=random(k, n, dtype=dtype))
    assert kernels(found) == [("dot", item * (m * k + k * n), 4 * m * n)]
    assert found.launches == 1
    assert dict(found.dot_flops) == {key: 2 * m * k * n}


def test_other_ops_in_a_loop_are_a_kernel_a_trip() -> None:
    text = ("kernel k[B = 8](x: f32[M, N], out y: f32[M]) grid (cdiv(M, B)) {\n"
            "    let r = program_id(0) * B +: B;\n    var top = full([B], -inf, f32);\n"
            "    for c in range(0, N, 16) { top = maximum(top, max(x[r, c +: 16] else -inf, axis=1)); }\n"
            "    y[r] = top;\n}")
    m, n, trips = 20, 100, 7
    found = eager_of(text, x=random(m, n))
    assert [op.name for op in found.ops] == ["max", "maximum"]
    # The partial maxima are 24 a trip, not 20: the axis of x that is left ends at M.
    assert kernels(found) == [("max", 4 * m * n, 4 * m * trips), ("maximum", 4 * 2 * m * trips, 4 * m * trips)]
    assert found.launches == 2 * trips


def test_what_a_loop_does_not_change_is_read_again_each_trip() -> None:
    text = ("kernel k(x: f32[4], w: f32[4], inout y: f32[4]) grid (1) {\n    let i = 0 +: 4;\n"
            "    var s = x[i];\n    for t in range(0, 5) { s = s * w[i]; }\n    y[i] = s;\n}")
    found = eager_of(text, x=random(4), w=random(4), y=random(4))
    assert kernels(found) == [("mul", 5 * (16 + 16), 5 * 16)]


def test_trips_that_depend_on_the_program_are_averaged() -> None:
    """Program p makes p trips over a scalar each: 0 + 1 + 2 + 3 in all."""
    text = ("kernel k(x: f32[4, 4], out y: f32[4]) grid (4) {\n    let p = program_id(0);\n    var s = 0.0;\n"
            "    for t in range(0, p) { s = s + x[p, t]; }\n    y[p] = s;\n}")
    found = eager_of(text, x=random(4, 4))
    assert not found.guessed
    assert found.ops[0].read == pytest.approx(2 * 6 * 4)


def test_trips_that_depend_on_data_are_one_and_said_to_be() -> None:
    text = ("kernel k(n: i32[1], x: f32[1], out y: f32[1]) grid (1) {\n    var s = x[0];\n"
            "    for t in range(0, n[0]) { s = s * 2.0; }\n    y[0] = s;\n}")
    found = eager_of(text, n=random(1).astype("i4"), x=random(1))
    assert found.guessed
    assert kernels(found) == [("mul", 4, 4)]


def test_a_gather_is_a_kernel_that_reads_the_indices_too() -> None:
    text = ("kernel k[B = 4](t: f32[V, D], i: i32[N], out y: f32[N, D]) grid (cdiv(N, B)) {\n"
            "    let n = program_id(0) * B +: B;\n    let d = 0 +: 8;\n    y[n, d] = t[i[n], d] * 2.0;\n}")
    found = eager_of(text, t=random(50, 8), i=random(8).astype("i4") * 0)
    assert kernels(found) == [("gather", 4 * 8 + 4 * 64, 4 * 64), ("mul", 4 * 64, 4 * 64)]


def test_a_scatter_writes_what_it_is_given() -> None:
    text = ("kernel k(x: f32[8], i: i32[8], inout y: f32[50]) grid (1) {\n"
            "    let n = 0 +: 8;\n    y[i[n]] = x[n];\n}")
    assert kernels(eager_of(text, x=random(8), i=random(8).astype("i4") * 0, y=random(50))) == [("scatter", 64, 32)]


def test_atomics_read_and_write_their_target() -> None:
    text = ("kernel k(x: i32[8], inout y: i32[50]) grid (1) {\n"
            "    let v = x[0 +: 8];\n    atomic_add(y[v], 1);\n}")
    zeros = random(8).astype("i4") * 0
    assert kernels(eager_of(text, x=zeros, y=random(50).astype("i4"))) == [("atomic add", 32 + 32, 32)]


def test_random_numbers_are_a_kernel_without_operands() -> None:
    text = ("kernel k(x: f32[64], out y: f32[64]) grid (1) {\n    let i = 0 +: 64;\n"
            "    y[i] = x[i] * rand(7, i);\n}")
    assert kernels(eager_of(text, x=random(64))) == [("rand", 0, 256), ("mul", 512, 256)]


def test_what_follows_from_indices_alone_costs_one_write() -> None:
    text = "kernel k(out y: i32[64]) grid (1) {\n    let i = 0 +: 64;\n    y[i] = i * 3;\n}"
    found = eager_of(text)
    assert kernels(found) == [("fill", 0, 256)]
    assert dict(found.dot_flops) == {} and I32 not in found.dot_flops


# ------------------------------------------------------------------------------------ spaces

SIZES = {"grid.0": 7.0, "grid.1": 3.0, "k": 5.0}
G0, G1, K = frozenset(["grid.0"]), frozenset(["grid.1"]), frozenset(["k"])


def test_an_axis_ends_at_its_limit() -> None:
    assert Axis(16, G0, 100.0).count(SIZES) == 100
    assert Axis(16, G0).count(SIZES) == 112


def test_two_axes_moved_by_one_symbol_are_not_counted_twice() -> None:
    assert Space((Axis(4, G0), Axis(4, G0))).count(SIZES) == 16 * 7
    assert Space((Axis(4, G0, 10.0), Axis(4, G0, 9.0))).count(SIZES) == 90


def test_an_elementwise_op_moves_with_both_operands() -> None:
    space = merged([Space((Axis(8, G0, 50.0), Axis(1))), Space((Axis(4, G1, 11.0),))], 2)
    assert space.axes == (Axis(8, G0, 50.0), Axis(4, G1, 11.0))


def test_a_reduction_leaves_partial_results() -> None:
    assert reduced(Space((Axis(8, G0), Axis(4, K))), [1]).count(SIZES) == 8 * 7 * 5
    assert reduced(Space((Axis(8, G0), Axis(4))), [1]).count(SIZES) == 8 * 7


def test_outer_axes_that_say_nothing_new_are_dropped() -> None:
    assert normal([Axis(8, G0)], [Axis(1, G0), Axis(1, K)]).outer == frozenset([Axis(1, K)])


def test_a_new_axis_of_one_keeps_what_the_others_know() -> None:
    space = Space((Axis(8, G0, 50.0),))
    assert reshaped(space, (8, 1), SIZES).axes == (Axis(8, G0, 50.0), Axis(1))
    assert reshaped(space, (2, 4), SIZES).count(SIZES) == 50
