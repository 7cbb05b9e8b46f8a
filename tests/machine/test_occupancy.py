"""Occupancy against NVIDIA's calculator, and the register estimate against counts by hand and ptxas."""

from __future__ import annotations

import pytest

from tests.machine.profiles import A100
from tilelang.ir.parser import parse_kernel
from tilelang.machine.constants import constant_values
from tilelang.machine.gpus import GPUS, KIB
from tilelang.machine.occupancy import Resources, occupancy, shared_bytes
from tilelang.machine.registers import OVERHEAD, estimate_registers


@pytest.mark.parametrize(("gpu", "threads", "registers", "shared", "blocks", "limiter"), [
    ("a100", 128, 32, 0, 16, "warps"),
    ("a100", 256, 64, 0, 4, "registers"),
    ("a100", 128, 255, 0, 2, "registers"),          # 255 * 32 rounded up to 8192 a warp: 8 warps
    ("a100", 128, 33, 0, 12, "registers"),          # 1056 -> 1280 a warp: 51 warps, 48 in whole fours
    ("a100", 128, 32, 48 * KIB, 3, "shared memory"),  # 49 KiB each with the system's
    ("a100", 128, 32, 163 * KIB, 1, "shared memory"),
    ("a100", 128, 32, 164 * KIB, 0, "shared memory"),
    ("a100", 32, 16, 0, 32, "blocks"),
    ("a100", 1024, 65, 0, 0, "registers"),
    ("t4", 128, 32, 0, 8, "warps"),
    ("t4", 128, 32, 32 * KIB, 2, "shared memory"),  # Turing takes nothing for itself
    ("rtx3090", 32, 16, 0, 16, "blocks"),
    ("rtx4090", 32, 16, 0, 24, "blocks"),
    ("h100", 256, 32, 64 * KIB, 3, "shared memory"),
])
def test_as_the_calculator_says(gpu: str, threads: int, registers: int, shared: int, blocks: int, limiter: str) -> None:
    found = occupancy(GPUS[gpu], Resources(threads, registers, shared))
    assert (found.blocks, found.limiter) == (blocks, limiter)


def test_part_of_a_warp_takes_a_whole_one() -> None:
    found = occupancy(A100, Resources(33, 32, 0))
    assert (found.blocks, found.warps, found.fraction) == (32, 64, 1.0)


KERNEL = """
kernel @k(%x: in f32[%N], %y: out f32[%N]) dims(%N) thread {{threads = 32}} {{
  %c0: i32 = const {{value = 0}}
  %c1: i32 = const {{value = 1}}
  %c4: i32 = const {{value = 4}}
  %t: i32 = thread_id
{body}
}}
"""


def kernel(body: str):  # type: ignore[no-untyped-def]
    return parse_kernel(KERNEL.format(body=body))


@pytest.mark.parametrize(("body", "registers"), [
    ("", 1),                                                                         # t
    ("  %w: i64 = cast %t\n  %v: f32 = global.load %x, %w\n  global.store %y, %w, %v", 3),   # w (2), v
    ("  %p: bool = lt %t, %c4\n  %s: i32 = select %p, %t, %c0\n  %w: i64 = cast %s", 2),  # p is a predicate
    ("  %a: local f32[8] = local", 8),
    ("  %a: local f16[8] = local", 4),                                               # two halves to a register
    ("  %a: local f64[8] = local", 16),
    ("  %a: shared f32[8] = shared", 1),
    ("  %n: i32 = add %c1, %c4\n  %m: i32 = mul %n, %c4\n  %i: i32 = add %t, %m", 1),  # n and m are constants
])
def test_registers_by_hand(body: str, registers: int) -> None:
    assert estimate_registers(kernel(body)) - OVERHEAD == registers


def test_loads_of_an_unrolled_loop_are_in_flight_together() -> None:
    loop = ("  for %c0, %c4, %c1 {{{unroll}}} (%r: i32) {{\n    %w: i64 = cast %r\n    %v: f32 = global.load %x, %w\n"
            "    global.store %y, %w, %v\n    yield\n  }}")
    rolled, unrolled = (estimate_registers(kernel(loop.format(unroll=u))) for u in ("", "unroll = true"))
    assert unrolled > rolled - 2  # the index became a constant, ...
    assert unrolled - OVERHEAD == 1 + 3  # one value, and three more on their way


def test_an_unrolled_loop_s_index_is_a_constant() -> None:
    body = ("  for %c0, %c4, %c1 {unroll = true} (%r: i32) {\n    %a: i32 = mul %r, %c4\n"
            "    %b: i32 = add %a, %t\n    yield\n  }\n"
            "  for %c0, %c4, %c1 (%q: i32) {\n    %d: i32 = mul %q, %c4\n    yield\n  }")
    constants = constant_values(parse_kernel(KERNEL.replace("{{", "{").replace("}}", "}").replace("{body}", body)))
    assert {"a", "c4", "r", "N", "x"} <= constants
    assert not {"b", "d", "q", "t"} & constants


def test_shared_memory_is_the_sum_of_the_arrays() -> None:
    assert shared_bytes(kernel("  %a: shared f32[8] = shared\n  %b: shared f16[3] = shared")) == 38


@pytest.mark.cuda_toolchain
def test_the_estimate_is_near_what_ptxas_takes() -> None:
    pytest.importorskip("cuda.bindings.nvvm", reason="the extra `cuda` is not installed")
    import tilelang
    from tilelang.dtypes import F32
    from tilelang.runtime.cuda_compile import compile_ptx, ptxas_report
    from tilelang.semantics.binding import TensorFact
    from tilelang.tiling.targets import TARGETS

    text = ("kernel add[B = 1024](x: f32[N], y: f32[N], out z: f32[N]) grid (cdiv(N, B)) {\n"
            "    let i = program_id(0) * B +: B;\n    z[i] = x[i] + y[i];\n}\n")
    fact = TensorFact(F32, (5000,))
    compiled = tilelang.compile(text)["add"].compile(fact, fact, fact, target="sm_80")
    assert compiled.thread_ir is not None and compiled.cuda is not None
    ptx = compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS["sm_80"])
    measured = ptxas_report(ptx, TARGETS["sm_80"]).registers
    assert 0.5 * measured <= estimate_registers(compiled.thread_ir) <= 1.5 * measured
