"""What lowering makes of tiles: loops that are shared, values that are computed again, memory that is not touched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiling.threads import GPU, SIMULATOR, agree, lowered, names, tile_kernel
from tilelang.diagnostics import Sink
from tilelang.ir.core import Kernel
from tilelang.tiling.lower import lower
from tilelang.tiling.targets import TARGETS

ONE = "checked = (true,), mask = false, pointwise = false"
FREE = "checked = (false,), mask = false, pointwise = false"
N = 64


def vector(body: str, header: str = "%x: in f32[64], %y: inout f32[64]", warps: int = 1) -> Kernel:
    return tile_kernel(header, f"  %i: i32[{N}] = iota\n  %v: f32[{N}] = load %x, %i {{{FREE}, other = false}}\n{body}",
                       warps=warps)


def count(kernel: Kernel, *wanted: str) -> int:
    return sum(name in wanted for name in names(kernel))


def test_a_chain_of_elementwise_ops_is_one_loop_without_arrays():
    thread = lowered(vector(f"""
  %a: f32[64] = exp %v
  %b: f32[64] = mul %a, %v
  %c: f32[64] = add %b, %a
  store %y, %i, %c {{{FREE}}}"""))
    assert count(thread, "for") == 1 and count(thread, "local", "shared", "barrier", "if") == 0


def test_what_a_later_loop_needs_is_kept_in_registers():
    thread = lowered(vector(f"""
  %s: f32 = reduce %v {{axes = (0,), kind = "sum"}}
  %b: f32[64] = broadcast %s
  %c: f32[64] = div %v, %b
  store %y, %i, %c {{{FREE}}}"""))
    assert count(thread, "local") == 1 and count(thread, "global.load") == 1


def test_index_arithmetic_is_computed_again_and_not_exchanged():
    thread = lowered(tile_kernel("%y: out i32[8, 8]", """
  %i: i32[8] = iota
  %c: i32[8, 1] = reshape %i
  %cb: i32[8, 8] = broadcast %c
  %r: i32[8, 8] = broadcast %i
  %s: i32[8, 8] = add %cb, %r
  store %y, %i, %i, %s {checked = (false, false), mask = false, pointwise = false}"""))
    assert count(thread, "local", "shared", "barrier") == 0


def test_only_checked_axes_are_tested():
    """Against 0 only where an index may be negative."""
    body = """
  %c: i32[8] = const {{value = {2}}}
  %e: i32[8] = iota
  %i: i32[8] = add %e, %c
  %v: f32[8, 8] = load %x, %i, %i {{checked = ({0}, {1}), mask = false, other = false, pointwise = false}}
  store %y, %i, %i, %v {{checked = (false, false), mask = false, pointwise = false}}"""
    tests = [count(lowered(tile_kernel("%x: in f32[8, 8], %y: out f32[8, 8]", body.format(a, b, c))), "ge", "lt")
             for a, b, c in (("false", "false", -1), ("true", "false", -1), ("true", "true", -1), ("true", "true", 0))]
    assert tests == [0, 2, 4, 2]


def test_padding_is_guarded_only_where_there_is_some():
    def guards(size: int) -> int:
        return count(lowered(tile_kernel("%y: out i32[64]", f"""
  %i: i32[{size}] = iota
  store %y, %i, %i {{{FREE}}}""")), "if")

    assert (guards(64), guards(40)) == (0, 1)


def test_a_loop_that_swaps_two_tiles():
    agree(vector(f"""
  %lo: i32 = const {{value = 0}}
  %hi: i32 = const {{value = 5}}
  %one: i32 = const {{value = 1}}
  %w: f32[64] = exp %v
  %p: f32[64], %q: f32[64] = for %lo, %hi, %one, %v, %w (%k: i32, %a: f32[64], %b: f32[64]) {{
    yield %b, %a
  }}
  %d: f32[64] = sub %p, %q
  store %y, %i, %d {{{FREE}}}"""), {"x": np.linspace(0, 1, 64, dtype=np.float32), "y": np.zeros(64, np.float32)})


def test_a_program_sees_its_own_writes_in_another_order():
    agree(vector(f"""
  store %y, %i, %v {{{FREE}}}
  %c: i32[64] = const {{value = 63}}
  %j: i32[64] = sub %c, %i
  %w: f32[64] = load %y, %j {{{FREE}, other = false}}
  store %y, %i, %w {{{FREE}}}"""), {"x": np.arange(64, dtype=np.float32), "y": np.zeros(64, np.float32)})


def test_a_shifting_window_of_one_tensor():
    """y[k+1 ...] = y[k ...] + 1: each trip reads what other threads wrote in the trip before."""
    agree(vector("""
  %lo: i32 = const {value = 0}
  %hi: i32 = const {value = 7}
  %one: i32 = const {value = 1}
  %f: f32[64] = const {value = 1.0}
  for %lo, %hi, %one (%k: i32) {
    %kb: i32[64] = broadcast %k
    %a: i32[64] = add %i, %kb
    %w: f32[64] = load %y, %a {checked = (true,), mask = false, other = false, pointwise = false}
    %u: f32[64] = add %w, %f
    %k1: i32 = add %k, %one
    %k1b: i32[64] = broadcast %k1
    %b: i32[64] = add %i, %k1b
    store %y, %b, %u {checked = (true,), mask = false, pointwise = false}
    yield
  }"""), {"x": np.zeros(64, np.float32), "y": np.arange(64, dtype=np.float32)})


def test_stores_to_several_rows_need_no_barrier():
    store = "{checked = (false, false), mask = false, pointwise = false}"
    thread = lowered(tile_kernel("%y: out i32[2, 64]", f"""
  %i: i32[64] = iota
  %r0: i32 = const {{value = 0}}
  %r1: i32 = const {{value = 1}}
  store %y, %r0, %i, %i {store}
  store %y, %r1, %i, %i {store}"""))
    assert count(thread, "barrier") == 0


def test_a_scalar_atomic_hands_its_old_value_to_all_threads():
    kernel = tile_kernel("%c: inout i32[1], %y: out i32[64]", f"""
  %i: i32[64] = iota
  %z: i32 = const {{value = 0}}
  %five: i32 = const {{value = 5}}
  %old: i32 = atomic %c, %z, %five {{checked = (true,), kind = "add", mask = false, pointwise = false}}
  %b: i32[64] = broadcast %old
  store %y, %i, %b {{{FREE}}}""")
    assert count(lowered(kernel), "global.atomic") == 1
    agree(kernel, {"c": np.full(1, 7, np.int32), "y": np.zeros(64, np.int32)})


def test_a_step_of_zero_makes_no_trip():
    kernel = tile_kernel("%n: i32, %y: inout i32[1]", f"""
  %z: i32 = const {{value = 0}}
  %hi: i32 = const {{value = 9}}
  %r: i32 = for %z, %hi, %n, %z (%k: i32, %a: i32) {{
    %b: i32 = add %a, %hi
    yield %b
  }}
  store %y, %z, %r {{{FREE}}}""")
    from tests.tiling.threads import simulate

    for step, trips in ((0, 0), (3, 3), (-1, 0)):
        got = simulate(lowered(kernel, SIMULATOR), {"n": step, "y": np.full(1, 5, np.int32)})["y"]
        assert got[0] == 9 * trips  # type: ignore[index]


def test_deep_recipes_end():
    """A sum of 2,000 index tiles is computed once, not as an expression 2,000 deep."""
    lines = ["  %i: i32[8] = iota", "  %s0: i32[8] = add %i, %i"]
    lines += [f"  %s{n + 1}: i32[8] = add %s{n}, %i" for n in range(2000)]
    kernel = tile_kernel("%y: out i32[8]", "\n".join([*lines, f"  store %y, %i, %s2000 {{{FREE}}}"]))
    agree(kernel, {"y": np.zeros(8, np.int32)}, targets=[SIMULATOR])


# ------------------------------------------------------------------------------------ limits


def errors(kernel: Kernel, target: str) -> list[str]:
    sink = Sink()
    lower(kernel, TARGETS[target], sink)
    return [d.code for d in sink.diagnostics]


def test_shared_memory_has_an_end():
    def turned(extent: int) -> Kernel:
        square, free = f"[{extent}, {extent}]", "checked = (false, false), mask = false, pointwise = false"
        return tile_kernel(f"%x: in f32{square}, %y: out f32{square}", f"""
  %i: i32[{extent}] = iota
  %v: f32{square} = load %x, %i, %i {{{free}, other = false}}
  %r: f32{square} = permute %v {{axes = (1, 0)}}
  store %y, %i, %i, %r {{{free}}}""")

    for target, last in (("simulator", 110), ("sm_80", 204)):  # 48 and 163 KiB
        assert errors(turned(last), target) == [] and errors(turned(last + 1), target) == ["E0620"]


def test_loops_nest_only_so_deep():
    def nested(depth: int) -> Kernel:
        lines = ["  %z: i32 = const {value = 0}", "  %o: i32 = const {value = 1}"]
        lines += [f"  for %z, %o, %o (%k{n}: i32) {{" for n in range(depth)]
        lines += [f"  store %y, %z, %z {{{ONE}}}", *["yield\n}"] * depth]
        return tile_kernel("%y: out i32[1]", "\n".join(lines))

    assert errors(nested(16), "sm_80") == [] and errors(nested(17), "sm_80") == ["E0621"]
    agree(nested(16), {"y": np.ones(1, np.int32)}, targets=[SIMULATOR])


@pytest.mark.parametrize(("warps", "threads"), [(1, 32), (4, 128), (16, 512)])
def test_warps_decide_the_threads_of_a_gpu(warps, threads):
    assert lowered(vector("", warps=warps), GPU).attrs["threads"] == threads


@pytest.mark.parametrize(("size", "threads"), [(1, 1), (3, 4), (64, 8)])
def test_the_simulator_takes_few_threads(size, threads):
    kernel = tile_kernel("%y: out i32[64]", f"  %i: i32[{size}] = iota\n  store %y, %i, %i {{{FREE}}}")
    assert lowered(kernel, SIMULATOR).attrs["threads"] == threads
