"""What the machine code of streaming kernels is made of: shuffles, barriers, registers. No GPU needed.

Without the extra `cuda` there is nothing to compile with, and these tests are skipped.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

import tilelang
from tests.codegen.test_cuda_ptx import pytestmark  # noqa: F401  (skips without the toolchain)
from tilelang.dtypes import DTYPES, F32
from tilelang.runtime import cuda_compile, sass
from tilelang.semantics.binding import ScalarFact, TensorFact
from tilelang.tiling import lower
from tilelang.tiling.targets import TARGETS

PROGRAM = """
kernel vector_add[B = 1024](x: f32[N], y: f32[N], out z: f32[N]) grid (cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    z[i] = x[i] + y[i];
}
kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
    let row  = program_id(0);
    let cols = 0 +: BLOCK;
    let v    = x[row, cols] else -inf;
    let e    = exp(v - max(v, axis=0));
    y[row, cols] = e / sum(e, axis=0);
}
kernel layernorm[BLOCK = next_pow2(N)](x: f32[M, N], w: f32[N], b: f32[N], eps: f32, out y: f32[M, N]) grid (M) {
    let r = program_id(0);
    let c = 0 +: BLOCK;
    let v = x[r, c];
    let n = N as f32;
    let mean = sum(v) / n;
    let d = select(c < N, v - mean, 0.0);
    let inv = rsqrt(sum(d * d) / n + eps);
    y[r, c] = d * inv * w[c] + b[c];
}
"""
ROW, ROWS = TensorFact(F32, (1024,)), TensorFact(F32, (64, 1024))
ARGUMENTS = {"vector_add": (ROW, ROW, ROW), "softmax": (ROWS, ROWS),
             "layernorm": (ROWS, ROW, ROW, ScalarFact(1e-5), ROWS)}
KERNELS = [(name, target) for name in ARGUMENTS for target in ("sm_80", "sm_90")]


@cache
def machine_code(name: str, target: str) -> tuple[Counter[str], cuda_compile.Resources]:
    """How often each instruction stands in the code, and what ptxas reports."""
    compiled = tilelang.compile(PROGRAM)[name].compile(*ARGUMENTS[name], target=target)
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS[target])
    text = cuda_compile.sass(ptx, TARGETS[target])
    return Counter(i.name for i in sass.read(text).instructions), cuda_compile.ptxas_report(ptx, TARGETS[target])


def count(code: Counter[str], *starts: str) -> int:
    return sum(number for name, number in code.items() if name.startswith(starts))


@pytest.mark.parametrize(("name", "target"), KERNELS)
def test_everything_is_in_registers(name, target):
    _, resources = machine_code(name, target)
    assert resources.spills == 0 and resources.local == 0
    assert resources.registers <= {"vector_add": 32, "softmax": 36, "layernorm": 48}[name]


@pytest.mark.parametrize(("name", "target"), KERNELS)
def test_all_of_global_memory_is_accessed_128_bits_at_a_time(name, target):
    """1024 elements of 4 bytes over 128 threads: two accesses of a thread for each row that is read or written."""
    code, _ = machine_code(name, target)
    loads, stores = {"vector_add": (4, 2), "softmax": (2, 2), "layernorm": (6, 2)}[name]
    assert (count(code, "LDG.E.128"), count(code, "STG.E.128")) == (loads, stores)
    assert (count(code, "LDG"), count(code, "STG"), count(code, "LDL", "STL")) == (loads, stores, 0)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_indexes_take_no_64_bit_multiplications(name):
    """IMAD.WIDE makes an address of 32-bit factors; a product of 64 bits would take several IMADs and an IMAD.X."""
    code, _ = machine_code(name, "sm_80")
    assert count(code, "IMAD.X") == 0 and count(code, "IMAD.HI") == 0


def test_an_odd_extent_takes_single_elements_and_is_still_in_registers():
    compiled = tilelang.compile(PROGRAM)["softmax"].compile(*[TensorFact(F32, (64, 1001))] * 2, target="sm_80")
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS["sm_80"])
    resources = cuda_compile.ptxas_report(ptx, TARGETS["sm_80"])
    assert "ld.global.v4" not in ptx and resources.spills == 0 and resources.local == 0


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_every_vector_compiles_to_one_instruction(dtype):
    """As wide as 16 bytes allow; a converted half float is none the narrower."""
    text = f"kernel copy[B = 4096](x: {dtype}[N], out y: {dtype}[N]) grid (1) {{ y[0 +: B] = x[0 +: B]; }}"
    fact = TensorFact(DTYPES[dtype], (4096,))
    compiled = tilelang.compile(text)["copy"].compile(fact, fact, target="sm_80")
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS["sm_80"])
    code = cuda_compile.sass(ptx, TARGETS["sm_80"])
    accesses = 4096 * DTYPES[dtype].bytes // 16 // 128
    assert (code.count("LDG.E.128"), code.count("STG.E.128")) == (accesses, accesses)


@pytest.mark.parametrize("dtype", ["u8", "u64", "f16", "bf16", "f64", "i16"])
def test_every_type_can_be_shuffled(dtype):
    text = f"""kernel least[B = 256](x: {dtype}[N], out y: {dtype}[1], out z: i32[1], out b: bool[1]) grid (1) {{
        y[0] = min(x[0 +: B]);
        z[0] = argmax(x[0 +: B]);
        b[0] = any(x[0 +: B] > x[0]);
    }}"""
    one = [TensorFact(d, (1,)) for d in (DTYPES[dtype], DTYPES["i32"], DTYPES["bool"])]
    compiled = tilelang.compile(text)["least"].compile(TensorFact(DTYPES[dtype], (256,)), *one, target="sm_80")
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS["sm_80"])
    moves = 2 if DTYPES[dtype].bits == 64 else 1
    assert ptx.count("shfl.sync.bfly") == 5 * (moves + (moves + 1) + 1)


@pytest.mark.parametrize(("name", "target"), KERNELS)
def test_a_reduction_is_five_shuffles_and_one_barrier(name, target):
    """Five steps within a warp of 32; then one barrier, after which all threads read a number from each warp."""
    code, resources = machine_code(name, target)
    reductions = 0 if name == "vector_add" else 2
    assert (count(code, "SHFL"), count(code, "BAR")) == (5 * reductions, reductions)
    assert resources.shared == reductions * 4 * 4


@pytest.mark.parametrize(("target", "instructions"), [("sm_75", 0), ("sm_80", 1), ("sm_90", 1)])
def test_a_maximum_that_keeps_nan_is_one_instruction_where_there_is_one(target, instructions):
    text = """kernel most[B = 128](x: f32[N], y: f32[N], out z: f32[N]) grid (1) {
        z[0 +: B] = maximum(x[0 +: B], y[0 +: B]);
    }"""
    compiled = tilelang.compile(text)["most"].compile(*[TensorFact(F32, (128,))] * 3, target=target)
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS[target])
    code = cuda_compile.sass(ptx, TARGETS[target])
    assert code.count("FMNMX.NAN") == instructions and ("FSETP" in code) == (instructions == 0)


def test_without_negative_strides_an_address_needs_no_first_element():
    forward = tilelang.compile(PROGRAM)["vector_add"].compile(*ARGUMENTS["vector_add"], target="sm_80").cuda
    x = np.zeros(1024, np.float32)
    backward = tilelang.compile(PROGRAM)["vector_add"].compile(x[::-1], x, x.copy(), target="sm_80").cuda
    assert "x_first +" not in forward and "y_first +" not in forward
    assert "x_first +" in backward and "y_first +" not in backward


TURN = """
kernel turn[T: {f16, f32}, B: {32, 64}](x: T[M, N], out y: T[N, M]) grid (cdiv(M, B), cdiv(N, B)) {
    let rows = program_id(0) * B +: B;
    let cols = program_id(1) * B +: B;
    y[cols, rows] = transpose(x[rows, cols]);
}
"""


def turned(dtype: str, size: int, target: str) -> tuple[Counter[str], cuda_compile.Resources]:
    fact = TensorFact(DTYPES[dtype], (256, 256))
    compiled = tilelang.compile(TURN)["turn"].compile(fact, fact, B=size, target=target)
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS[target])
    code = sass.read(cuda_compile.sass(ptx, TARGETS[target])).instructions
    return Counter(i.name for i in code), cuda_compile.ptxas_report(ptx, TARGETS[target])


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize(("dtype", "size"), [("f16", 32)])
def test_a_transpose_is_wide_and_its_folds_cost_next_to_nothing(dtype, size, target):
    """Each place in shared memory is one exclusive or of what a thread and what a register add to it."""
    code, resources = turned(dtype, size, target)
    assert resources.spills == 0 and resources.local == 0
    each = size * size * DTYPES[dtype].bytes // 16 // 128
    assert (count(code, "LDG.E.128"), count(code, "STG.E.128")) == (each, each)
    assert (count(code, "LDG"), count(code, "STG")) == (each, each)
    with patch.object(lower, "plan_banks", lambda *arguments, **options: {}):
        plain, _ = turned(dtype, size, target)
    assert sum(code.values()) < sum(plain.values())


def arithmetic(expression: str, target: str, dtype: str = "f32") -> Counter[str]:
    """The float instructions for one expression of v, a tile with one element a thread."""
    text = f"""kernel k[B = 128](x: {dtype}[N], out y: {dtype}[N]) grid (1) {{
        let v = x[0 +: B];
        y[0 +: B] = {expression};
    }}"""
    compiled = tilelang.compile(text)["k"].compile(*[TensorFact(DTYPES[dtype], (128,))] * 2, target=target)
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS[target])
    names = [i.name for i in sass.read(cuda_compile.sass(ptx, TARGETS[target])).instructions]
    return Counter(n.split(".")[0] if n[0] == "F" else n for n in names if n.startswith(("F", "MUFU")))


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize(("expression", "instructions"), [
    ("divide(1.0, v, approx=true)", "MUFU.RCP"), ("divide(v, v + 1.0, approx=true)", "FADD MUFU.RCP FMUL"),
    ("divide(v, 3.0, approx=true)", "FMUL"), ("exp(v, approx=true)", "FMUL MUFU.EX2"),
    ("exp2(v, approx=true)", "MUFU.EX2"), ("log(v, approx=true)", "MUFU.LG2 FMUL"),
    ("log2(v, approx=true)", "MUFU.LG2"),
    ("sqrt(v, approx=true)", "MUFU.SQRT"), ("rsqrt(v, approx=true)", "MUFU.RSQ"),
    ("sin(v, approx=true)", "FMUL MUFU.SIN"), ("cos(v, approx=true)", "FMUL MUFU.COS"),
    ("tanh(v, approx=true)", "MUFU.TANH"), ("sigmoid(v, approx=true)", "FMUL MUFU.EX2 FADD MUFU.RCP"),
    ("fma(v, v, v)", "FFMA"), ("fma(-v, v, v)", "FFMA"), ("v * v + v", "FMUL FADD")])
def test_approximate_arithmetic_is_a_few_instructions(expression, instructions, target):
    assert arithmetic(expression, target) == Counter(instructions.split())


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_floats_are_approximated_in_f32(dtype):
    found = arithmetic("exp(divide(v, v + 1.0, approx=true), approx=true)", "sm_80", dtype)
    assert found["MUFU.RCP"] == found["MUFU.EX2"] == 1 and found["FCHK"] == 0


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_an_approximate_softmax_takes_one_reciprocal_and_two_instructions_an_exponential(target):
    text = PROGRAM.replace("exp(v - max(v, axis=0))", "exp(v - max(v, axis=0), approx=true)").replace(
        "e / sum(e, axis=0)", "divide(e, sum(e, axis=0), approx=true)")
    compiled = tilelang.compile(text)["softmax"].compile(ROWS, ROWS, target=target)
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS[target])
    code = Counter(i.name for i in sass.read(cuda_compile.sass(ptx, TARGETS[target])).instructions)
    assert (code["MUFU.RCP"], code["MUFU.EX2"], code["FMUL"], count(code, "CALL")) == (1, 8, 16, 0)
