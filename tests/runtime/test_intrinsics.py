"""The intrinsics become the machine instructions they are named for. No GPU needed, only NVIDIA's compilers."""

from __future__ import annotations

import re

import pytest

from tests.toolchain import needs_toolchain
from tilelang.runtime import cuda_compile
from tilelang.tiling.targets import TARGETS

pytestmark = [pytest.mark.cuda_toolchain, needs_toolchain]

HEAD = """
import numpy as np
from numba import cuda
from tilelang.runtime.intrinsics import *
def kernel(x, y):
    t = cuda.threadIdx.x
    s = cuda.shared.array(2048, np.uint16)
    a = cuda.local.array(4, np.uint32)
    b = cuda.local.array(4, np.uint32)
"""


def compiled(body: str, target: str, element: str = "float32") -> tuple[str, cuda_compile.Resources]:
    """The machine code of a kernel with these lines."""
    from numba import cuda
    from numba.cuda import types

    names: dict = {}
    exec(compile(HEAD + "".join(f"    {line}\n" for line in body.splitlines()), "kernel", "exec"), names)
    signature = types.void(types.Array(types.uint16, 1, "C"), types.Array(getattr(types, element), 1, "C"))
    ptx, _ = cuda.compile_ptx(names["kernel"], signature, cc=TARGETS[target].capability)
    return cuda_compile.sass(ptx, TARGETS[target]), cuda_compile.ptxas_report(ptx, TARGETS[target])


MULTIPLY = """
acc = cuda.local.array(4, np.{number})
for k in range(4):
    acc[k] = 0
    s[t * 8 + k] = x[t * 8 + k]
cuda.syncthreads()
load_matrix(a, 0, s, t * 8)
load_matrix_trans(b, 0, s, 1024 + t * 8)
{mma}(acc, 0, a, 0, b, 0)
for k in range(4):
    y[4 * t + k] = acc[k]
"""


@pytest.mark.parametrize(("mma", "target", "instruction"), [
    ("mma_f16", "sm_80", r"HMMA\.16816\.F32 "), ("mma_bf16", "sm_80", r"HMMA\.16816\.F32\.BF16"),
    ("mma_f16", "sm_90", r"HMMA\.16816\.F32 "), ("mma_f16_k8", "sm_75", r"HMMA\.1688\.F32 "),
    ("mma_tf32", "sm_80", r"HMMA\.1688\.F32\.TF32"), ("mma_i8", "sm_80", r"IMMA\.16832\.S8\.S8")])
def test_a_product_of_two_fragments(mma, target, instruction):
    number = "int32" if mma == "mma_i8" else "float32"
    code, resources = compiled(MULTIPLY.format(mma=mma, number=number), target, number)
    assert len(re.findall(instruction, code)) == 1
    assert len(re.findall(r"LDSM\.16\.M88\.4", code)) == 1 and len(re.findall(r"LDSM\.16\.MT88\.4", code)) == 1
    assert resources.local == 0 and resources.spills == 0


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_asynchronous_copies(target):
    code, _ = compiled("""
copy_async(s, t * 8, x, t * 8, 8)
commit_async()
copy_async(s, 1024 + t * 8, x, t * 8, min(t, 8))
commit_async()
wait_async_1()
cuda.syncthreads()
y[t] = s[t ^ 1]""", target)
    assert len(re.findall(r"LDGSTS\.E\.BYPASS\.\S*128", code)) == 2
    assert "LDGDEPBAR" in code and re.search(r"DEPBAR\.LE SB0, 0x1", code)


@pytest.mark.parametrize("target", ["sm_75", "sm_80"])
def test_chunks_by_way_of_registers(target):
    code, resources = compiled("""
load_chunk(a, 0, x, t * 8, t < 7)
store_chunk(s, t * 8, a, 0)
cuda.syncthreads()
y[t] = s[t ^ 1]""", target)
    assert len(re.findall(r"LDG\.E\.128", code)) == len(re.findall(r"STS\.128", code)) == 1
    assert resources.local == 0


@pytest.mark.parametrize(("function", "target"), [("maximum_nan", "sm_80"), ("minimum_nan", "sm_90")])
def test_a_maximum_that_keeps_nan_is_one_instruction(function, target):
    code, _ = compiled(f"y[t] = {function}(y[t], y[t + 1])", target)
    assert len(re.findall(r"FMNMX\.NAN", code)) == 1 and "FSETP" not in code


def test_a_number_is_rounded_to_tf32():
    """Half of the last bit is added, and NaN looked for."""
    code, _ = compiled("a[0] = round_tf32(y[t])\nx[t] = a[0] & np.uint32(0xffff)\nx[t + 32] = a[0] >> np.uint32(16)",
                       "sm_80")
    assert len(re.findall(r"0x1000\b", code)) == 1 and len(re.findall(r"FSETP\.NAN", code)) == 1


def test_bytes_of_two_words():
    code, _ = compiled("""
a[0], a[1], a[2] = np.uint32(x[t]), np.uint32(x[t + 32]), np.uint32(x[t + 64])
a[0] = permute_bytes(a[0], a[1], a[2])
x[t] = a[0] & np.uint32(0xffff)
x[t + 32] = a[0] >> np.uint32(16)""", "sm_80")
    assert re.search(r"PRMT R\d+, R\d+, R\d+, R\d+", code)


@pytest.mark.parametrize(("half", "target", "instruction"), [
    ("f16", "sm_80", r"F2FP\.\S*PACK_AB"), ("bf16", "sm_80", r"F2FP\.BF16"), ("f16", "sm_90", r"F2FP\.\S*PACK_AB"),
    ("f16", "sm_75", r"F2F")])
def test_two_numbers_in_one_register(half, target, instruction):
    code, _ = compiled(f"""
a[0] = pack_{half}(np.float32(y[t]), np.float32(y[t + 32]))
x[t] = a[0] & np.uint32(0xffff)
x[t + 32] = a[0] >> np.uint32(16)""", target)
    assert re.search(instruction, code)
