"""Predicted totals against numbers worked out by hand, for kernels whose cost is plain."""

from __future__ import annotations

import numpy as np
import pytest

from tests.machine.profiles import profiled, profiled_threads, random
from tilelang.ir.parser import parse_kernel
from tilelang.machine.invariants import movable
from tilelang.machine.profile import Profile
from tilelang.machine.report import Problem

ADD = """\
kernel add[B = 1024](x: f32[N], y: f32[N], out z: f32[N]) grid (cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    z[i] = x[i] + y[i];
}
"""


def line(profile: Profile, number: int):  # type: ignore[no-untyped-def]
    return next(entry for entry in profile.lines if entry.line == number)


# ------------------------------------------------------------------------------------ global memory


@pytest.mark.parametrize("n", [1024, 8192, 100_000])
def test_vector_add_moves_three_times_4_n_bytes_perfectly_coalesced(n: int) -> None:
    found = profiled(ADD, x=random(n), y=random(n))
    assert not found.sampled
    assert found.total.sectors * 32 == 3 * 4 * n
    assert found.total.efficiency == 1.0
    assert (found.traffic.read, found.traffic.written) == (8 * n, 4 * n)
    assert (found.eager.read, found.eager.written) == (8 * n, 4 * n)
    assert line(found, 3).sectors == found.total.sectors
    assert found.total.shared == found.total.conflicts == found.barriers == 0


def test_vector_add_is_limited_by_hbm_and_reaches_the_speed_of_light() -> None:
    n = 1 << 20
    roof = profiled(ADD, x=random(n), y=random(n)).roofline
    assert roof.limiter.name == "HBM"
    assert roof.seconds == pytest.approx(12 * n / 1555e9) == roof.light
    assert roof.flops == n
    assert roof.intensity == pytest.approx(1 / 12)


def test_the_gpu_decides_the_time() -> None:
    x = random(1 << 18)
    times = {gpu: profiled(ADD, gpu=gpu, x=x, y=x.copy()).roofline.seconds for gpu in ("t4", "h200")}
    assert times["t4"] / times["h200"] == pytest.approx(15)


def test_a_column_of_a_matrix_takes_a_sector_for_each_element() -> None:
    """32 rows of 256 f32: each of a warp's threads has a sector of its own, of which it wants an eighth."""
    text = ("kernel k[warps = 1](x: f32[32, 256], out y: f32[32]) grid (1) {\n"
            "    let r = 0 +: 32;\n    y[r] = x[r, 3];\n}\n")
    found = profiled(text, x=random(32, 256))
    assert found.total.sectors == 32 + 4
    assert found.total.efficiency == pytest.approx((128 + 128) / (36 * 32))
    assert found.traffic.read == 32 * 32


@pytest.mark.parametrize(("stride", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32), (16, 32)])
def test_strided_reads(stride: int, sectors: int) -> None:
    """A view with a stride of 2 wastes half of each sector; from a stride of 8 on every thread has its own."""
    text = "kernel k[warps = 1](x: f32[32], out y: f32[32]) grid (1) {\n    let i = 0 +: 32;\n    y[i] = x[i];\n}\n"
    found = profiled(text, x=random(32 * stride)[::stride])
    assert found.total.sectors == sectors + 4


COPY_TURNED = """
kernel @turn(%x: in f32[%M, %N], %y: out f32[%N, %M]) dims(%M, %N) thread {threads = 1024} {
  %t: i32 = thread_id
  %c31: i32 = const {value = 31}
  %c5: i32 = const {value = 5}
  %c32: i64 = const {value = 32}
  %j32: i32 = and %t, %c31
  %i32: i32 = shr %t, %c5
  %j: i64 = cast %j32
  %i: i64 = cast %i32
  %p: i64 = program_id {axis = 0}
  %q: i64 = program_id {axis = 1}
  %rows: i64 = mul %p, %c32
  %cols: i64 = mul %q, %c32
BODY
}
"""

NAIVE = """
  %r: i64 = add %rows, %i
  %c: i64 = add %cols, %j
  %from: i64 = mul %r, %N
  %from_1: i64 = add %from, %c
  %v: f32 = global.load %x, %from_1
  %to: i64 = mul %c, %M
  %to_1: i64 = add %to, %r
  global.store %y, %to_1, %v
"""

THROUGH_SHARED = """
  %tile: shared f32[1056] = shared
  %pitch: i32 = const {value = PITCH}
  %r: i64 = add %rows, %i
  %c: i64 = add %cols, %j
  %from: i64 = mul %r, %N
  %from_1: i64 = add %from, %c
  %v: f32 = global.load %x, %from_1
  %s: i32 = mul %i32, %pitch
  %s_1: i32 = add %s, %j32
  shared.store %tile, %s_1, %v
  barrier
  %u: i32 = mul %j32, %pitch
  %u_1: i32 = add %u, %i32
  %w: f32 = shared.load %tile, %u_1
  %cc: i64 = add %cols, %i
  %rr: i64 = add %rows, %j
  %to: i64 = mul %cc, %M
  %to_1: i64 = add %to, %rr
  global.store %y, %to_1, %w
"""


def turned(body: str) -> Profile:
    x, y = random(128, 64), np.zeros((64, 128), "f4")
    kernel = parse_kernel(COPY_TURNED.replace("BODY", body))
    found = profiled_threads(kernel, {"x": x, "y": y}, {"M": 128, "N": 64}, (4, 2))
    np.testing.assert_array_equal(y, x.T)
    assert found.findings == ()
    return found


def test_a_transpose_without_shared_memory_writes_a_sector_an_element() -> None:
    found = turned(NAIVE)
    assert found.total.sectors == 128 * 64 / 8 + 128 * 64
    assert found.total.efficiency == pytest.approx(2 / 9)
    assert found.total.wavefronts == 0
    assert found.traffic.total == found.traffic.compulsory == 2 * 4 * 128 * 64  # L2 puts the sectors together


def test_a_transpose_through_shared_memory_is_coalesced_but_has_bank_conflicts() -> None:
    found, accesses = turned(THROUGH_SHARED.replace("PITCH", "32")), 2 * 128 * 64 / 32
    assert found.total.sectors == 2 * 128 * 64 / 8
    assert found.total.efficiency == 1.0
    assert found.total.shared == accesses
    assert found.total.conflicts == 31 * accesses / 2  # every read goes down a column: one bank, 32 words
    assert found.barriers == 8


def test_a_pitch_of_33_has_none() -> None:
    assert turned(THROUGH_SHARED.replace("PITCH", "33")).total.conflicts == 0


# ------------------------------------------------------------------------------------ the whole report


SOFTMAX = """\
kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
    let row = program_id(0);
    let v = x[row, 0 +: BLOCK] else -inf;
    let e = exp(v - max(v, axis=0));
    y[row, 0 +: BLOCK] = e / sum(e, axis=0);
}
"""


def test_softmax_moves_the_matrix_twice_and_eagerly_eight_times() -> None:
    m, n = 200, 512
    found = profiled(SOFTMAX, x=random(m, n))
    assert found.traffic.total == 2 * 4 * m * n
    assert found.eager.bytes / found.traffic.total == pytest.approx(4, rel=0.01)
    assert found.roofline.terms[0].seconds == pytest.approx(8 * m * n / 1555e9)


def test_lines_add_up_to_the_total_and_shares_to_one() -> None:
    found = profiled(SOFTMAX, x=random(50, 300))
    for name in ("sectors", "shared", "conflicts", "instructions", "useful", "wavefronts"):
        assert sum(getattr(entry, name) for entry in found.lines) == pytest.approx(getattr(found.total, name))
    assert sum(entry.share for entry in found.lines) == pytest.approx(1)
    assert [entry.line for entry in found.lines if entry.sectors] == [3, 5]
    assert line(found, 4).text == "let e = exp(v - max(v, axis=0));"


def test_a_sample_predicts_what_all_programs_give() -> None:
    x = random(3000, 256)
    whole = profiled(SOFTMAX, x=x)
    part = profiled(SOFTMAX, x=x, budget=1_000_000)
    assert part.sampled and part.ran < 300 and not whole.sampled
    assert part.programs == whole.programs == 3000
    assert part.total.sectors == whole.total.sectors
    assert part.traffic == whole.traffic
    assert part.roofline.seconds == pytest.approx(whole.roofline.seconds)
    assert part.instructions == pytest.approx(whole.instructions)


def test_a_sample_of_a_grid_of_two_axes_sees_its_edges() -> None:
    """The programs of the last column of tiles store half as much; a sample with a stride could miss them all."""
    text = ("kernel k[B = 8](x: f32[M, N], out y: f32[M, N]) grid (cdiv(N, B), cdiv(M, B)) {\n"
            "    let c = program_id(0) * B +: B;\n    let r = program_id(1) * B +: B;\n    y[r, c] = x[r, c];\n}\n")
    x = random(2000, 60)
    whole, part = profiled(text, x=x), profiled(text, x=x, budget=2_000_000)
    assert part.sampled
    assert part.total.useful == pytest.approx(whole.total.useful, rel=0.05)


def test_what_all_programs_read_counts_once() -> None:
    text = ("kernel k(x: f32[M, 64], w: f32[64], out y: f32[M, 64]) grid (M) {\n    let r = program_id(0);\n"
            "    let c = 0 +: 64;\n    y[r, c] = x[r, c] * w[c];\n}\n")
    for budget in (10_000_000, 20_000):
        found = profiled(text, x=random(500, 64), w=random(64), budget=budget)
        assert found.traffic.read == 4 * (500 * 64 + 64)
        assert found.total.sectors * 32 == 4 * 3 * 500 * 64  # from L2, every program reads w


def test_a_matrix_that_does_not_fit_l2_is_fetched_again_by_a_later_wave() -> None:
    """Two passes over 8 MB; a T4's L2 has 4."""
    text = ("kernel k(x: f32[M, N], out y: f32[M, 2]) grid (M, 2) {\n    let r = program_id(0);\n"
            "    y[r, program_id(1)] = sum(x[r, 0 +: 1024], axis=0);\n}\n")
    x = random(2048, 1024)
    small, large = (profiled(text, gpu=gpu, x=x) for gpu in ("t4", "a100"))
    assert large.traffic.read == small.traffic.compulsory_read == x.nbytes
    assert small.traffic.read == 2 * x.nbytes


def test_arithmetic_in_a_loop_is_counted_once_if_it_does_not_change() -> None:
    text = """
kernel @k(%y: out i32[%N]) dims(%N) thread {threads = 32} {
  %c0: i32 = const {value = 0}
  %c1: i32 = const {value = 1}
  %c8: i32 = const {value = 8}
  %t: i32 = thread_id
  %s: i32 = for %c0, %c8, %c1, %c0 (%k: i32, %s0: i32) {
    %a: i32 = mul %t, %t
    %b: i32 = for %c0, %c8, %c1, %s0 {unroll = true} (%r: i32, %s1: i32) {
      %row: i32 = mul %k, %c8
      %own: i32 = mul %t, %r
      %both: i32 = mul %k, %r
      %sum: i32 = add %s1, %both
      yield %sum
    }
    yield %b
  }
  %w: i64 = cast %t
  global.store %y, %w, %s
}
"""
    kernel = parse_kernel(text)
    left = movable(kernel)
    named = {op.results[0].name: [loop.results[0].name for loop in left.get(id(op), ())]
             for op in kernel.walk() if op.results}
    assert (named["a"], named["row"], named["own"]) == (["s"], ["b"], ["s"])
    assert (named["both"], named["sum"]) == ([], [])
    y = np.zeros(32, "i4")
    found = profiled_threads(kernel, {"y": y}, {"N": 32}, (1,))
    # a: 1; row: 8; own: 8 trips of r; both and sum: 64 each; 8 trips of the outer loop: 3 each; cast 1, store 3
    assert found.total.instructions == 1 + 8 + 8 + 64 + 64 + 8 * 3 + 1 + 3


def test_a_race_of_the_program_is_reported() -> None:
    text = ("kernel k(i: i32[64], x: f32[64], inout y: f32[64]) grid (1) {\n"
            "    let n = 0 +: 64;\n    y[i[n]] = x[n];\n}\n")
    found = profiled(text, i=np.zeros(64, "i4"), x=random(64), y=random(64))
    assert {finding.problem for finding in found.findings} == {Problem.GLOBAL_RACE}


def test_what_a_kernel_reads_and_writes_is_not_spoilt_by_the_trial() -> None:
    text = "kernel k(inout y: f32[64]) grid (1) {\n    let n = 0 +: 64;\n    y[n] = y[n] + 1.0;\n}\n"
    y = np.zeros(64, "f4")
    profiled(text, y=y)
    np.testing.assert_array_equal(y, 1)


def test_an_empty_grid_costs_nothing() -> None:
    found = profiled(ADD, x=random(0), y=random(0))
    assert (found.programs, found.total.sectors, found.roofline.seconds, found.waves) == (0, 0, 0, 0)


def test_registers_of_the_assembler_are_taken_as_they_are() -> None:
    given = profiled(ADD, x=random(64), y=random(64), registers=200)
    assert (given.resources.registers, given.resources.measured) == (200, True)
    assert given.occupancy.limiter == "registers"


@pytest.mark.parametrize(("dtype", "light"), [("f4", 2 * 64**3 / 19.5e12), ("f2", 2 * 64**3 / 312e12)])
def test_the_speed_of_light_of_a_product_uses_tensor_cores_where_they_are(dtype: str, light: float) -> None:
    text = ("kernel k[T: {f32, f16}](a: T[64, 64], b: T[64, 64], out c: f32[64, 64]) grid (1) {\n"
            "    let i = 0 +: 64;\n    c[i, i] = dot(a[i, i], b[i, i]);\n}\n")
    found = profiled(text, a=random(64, 64, dtype=dtype), b=random(64, 64, dtype=dtype))
    bytes_moved = found.traffic.compulsory / 1555e9
    assert found.roofline.light == pytest.approx(max(light, bytes_moved))
