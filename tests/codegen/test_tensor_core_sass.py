"""What the machine code of products is made of: tensor-core instructions, asynchronous copies, no spills.

No GPU needed. Without the extra `cuda` there is nothing to compile with, and these tests are skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import tilelang
from tests.codegen.test_cuda_ptx import pytestmark  # noqa: F401  (skips without the toolchain)
from tilelang.dtypes import BF16, DTYPES, F16, F32, DType
from tilelang.runtime import cuda_compile, sass
from tilelang.semantics.binding import ScalarFact, TensorFact
from tilelang.tiling.targets import TARGETS

KERNELS = Path(__file__).parents[2] / "course" / "kernels"
LARGE = (("BM", 128), ("BN", 128), ("BK", 32))


@cache
def machine_code(kernel: str, dtype: DType, target: str,
                 metas: tuple[tuple[str, int], ...]) -> tuple[Counter[str], cuda_compile.Resources]:
    """How often each instruction stands in the code, and what ptxas reports."""
    matrix, heads = TensorFact(dtype, (1024, 1024)), TensorFact(dtype, (8, 1024, 64))
    arguments = {"matmul": (matrix, matrix, matrix), "attention": (heads, heads, heads, ScalarFact(0.125), heads)}
    program = tilelang.compile((KERNELS / f"{kernel}.tile").read_text())
    compiled = program[kernel].compile(*arguments[kernel], target=target, **dict(metas))
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS[target])
    text = cuda_compile.sass(ptx, TARGETS[target])
    return Counter(i.name for i in sass.read(text).instructions), cuda_compile.ptxas_report(ptx, TARGETS[target])


def count(code: Counter[str], start: str) -> int:
    return sum(number for name, number in code.items() if name.startswith(start))


@pytest.mark.parametrize(("target", "warps", "most"), [("sm_80", 4, 255), ("sm_90", 8, 168)])
def test_a_product_of_halves(target, warps, most):
    """A step of 128 x 128 x 32 is 128 * 128 * 32 / (16 * 8 * 16) products, shared among the warps."""
    code, resources = machine_code("matmul", F16, target, (*LARGE, ("warps", warps), ("stages", 3)))
    products = 128 * 128 * 32 // (16 * 8 * 16) // warps
    assert count(code, "HMMA.16816.F32") == products
    rows, columns = code["LDSM.16.M88.4"] // 2 * 16, code["LDSM.16.MT88.4"] // 2 * 16  # of a warp; 2 steps of k = 16
    assert rows * columns == 128 * 128 // warps and rows + columns <= 128
    # Two tiles of 8 KB, 16 bytes a copy: twice before the loop, once in it.
    assert count(code, "LDGSTS.E.BYPASS.128") == 3 * (2 * 8192 // 16 // (32 * warps))
    assert resources.spills == 0 and resources.local == 0 and resources.registers <= most
    assert resources.shared == 3 * 2 * 8192  # three stages; the result, halves by then, passes through the same memory
    # The result: 16 bytes of each row at a time, and nothing narrower anywhere.
    assert count(code, "STG.E.128") == count(code, "STG") == 128 * 128 * 2 // 16 // (32 * warps)


@pytest.mark.parametrize(("dtype", "tile", "warps", "most"), [
    (F16, (128, 128, 32), 4, 255), (F16, (128, 128, 32), 8, 128), (BF16, (64, 128, 64), 4, 168)])
def test_a_product_by_warp_groups(dtype, tile, warps, most):
    """A step is an instruction for each 64 rows of a group and 16 along k, with both operands in shared memory."""
    rows, columns, depth = tile
    metas = (("BM", rows), ("BN", columns), ("BK", depth), ("warps", warps), ("stages", 3))
    code, resources = machine_code("matmul", dtype, "sm_90a", metas)
    name = f"HGMMA.64x{columns}x16.F32" + ".BF16" * (dtype == BF16)
    assert code[name] == count(code, "HGMMA") == rows // (64 * warps // 4) * depth // 16
    assert count(code, "HMMA") == count(code, "LDSM") == 0
    # ptxas fences and waits once a step: where it must not trust the accumulators, it does for every instruction.
    assert count(code, "WARPGROUP.ARRIVE") == count(code, "WARPGROUP.DEPBAR") == count(code, "FENCE.VIEW.ASYNC") == 1
    assert count(code, "LDGSTS.E.BYPASS.128") == 3 * (depth * (rows + columns) * 2 // 16 // (32 * warps))
    assert resources.spills == 0 and resources.local == 0 and resources.registers <= most


def test_attention_by_warp_groups():
    """A step of 64 x 64 keys and d = 64: scores from shared memory, weights from registers, 4 instructions each."""
    code, resources = machine_code("attention", F16, "sm_90a", (("BM", 64), ("BN", 64), ("warps", 4), ("stages", 2)))
    assert code["HGMMA.64x64x16.F32"] == count(code, "HGMMA") == 8
    assert count(code, "HMMA") == count(code, "LDSM") == 0
    assert resources.spills == 0 and resources.local == 0 and resources.registers <= 128


def test_the_order_of_what_warp_groups_wait_for():
    """Copies arrive, are published, all threads meet; then the products, their end, and only then the next trip."""
    matrix = TensorFact(F16, (1024, 1024))
    compiled = tilelang.load(KERNELS / "matmul.tile")["matmul"].compile(matrix, matrix, matrix, target="sm_90a")
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS["sm_90a"])
    assert ".target sm_90a" in ptx and re.search(r"\.shared \.align 1024 ", ptx)
    wanted = ["cp.async.wait_group", "fence.proxy.async.shared::cta", "bar.sync", "cp.async.commit_group",
              "wgmma.fence.sync.aligned", *["wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"] * 2,
              "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned"]
    found = re.findall(r"(?m)^\s*((?:cp\.async\.(?:wait|commit)|fence\.proxy|bar\.sync|wgmma\.)[\w.:]*)", ptx)
    start = found.index("cp.async.wait_group")
    assert found[start:start + len(wanted)] == wanted


@pytest.mark.parametrize(("dtype", "target", "instruction"), [
    (BF16, "sm_90", "HMMA.16816.F32.BF16"), (F16, "sm_75", "HMMA.1688.F32")])
def test_other_halves_and_older_machines(dtype, target, instruction):
    code, resources = machine_code("matmul", dtype, target, ())
    assert count(code, instruction) > 0 and resources.spills == 0 and resources.local == 0
    assert (count(code, "LDGSTS") > 0) == (target != "sm_75")


@pytest.mark.parametrize("warps", [4, 8])
def test_a_step_by_way_of_registers(warps):
    """sm_75, 128 x 128 x 32: the next step's operands are loaded, 16 bytes at a time, while this one multiplies."""
    matrix, metas = TensorFact(F16, (1024, 1024)), {**dict(LARGE), "warps": warps, "stages": 2}
    compiled = tilelang.load(KERNELS / "matmul.tile")["matmul"].compile(matrix, matrix, matrix, target="sm_75", **metas)
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS["sm_75"])
    resources = cuda_compile.ptxas_report(ptx, TARGETS["sm_75"])
    instructions = sass.main_loop(sass.read(cuda_compile.sass(ptx, TARGETS["sm_75"])))
    step, chunks = Counter(i.name for i in instructions), 2 * 8192 // 16 // (32 * warps)
    assert step["HMMA.1688.F32"] == 128 * 128 * 32 // (16 * 8 * 8) // warps
    assert count(step, "LDG.E.128") == count(step, "LDG") == step["STS.128"] == count(step, "STS") == chunks
    assert count(step, "LDSM") == {4: 16, 8: 12}[warps] and count(step, "BAR") == 1
    assert resources.spills == 0 and resources.local == 0
    order = [i.kind for i in instructions if i.kind in ("BAR", "LDG", "HMMA", "STS")]
    last, first = max(n for n, kind in enumerate(order) if kind == "LDG"), order.index("STS")
    assert order[last:first].count("HMMA") >= 16  # so long, at least, the loads may take


def test_a_product_of_f32_where_tf32_is_allowed():
    """8 along k of 64 x 64 are 64 * 64 * 8 / (16 * 8 * 8) products, shared among 4 warps; the compiler may unroll."""
    text = (KERNELS / "matmul.tile").read_text().replace("cols], acc)", "cols], acc, tf32=true)")
    text = text.replace("T: {f32, f16, bf16}", "T: {f32}")
    matrix, target = TensorFact(F32, (1024, 1024)), TARGETS["sm_80"]
    compiled = tilelang.compile(text)["matmul"].compile(matrix, matrix, matrix, target="sm_80")
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, target)
    resources = cuda_compile.ptxas_report(ptx, target)
    assert cuda_compile.sass(ptx, target).count("HMMA.1688.F32.TF32") in (8, 16, 32)
    assert resources.spills == 0 and resources.local == 0 and resources.registers <= 128


@pytest.mark.parametrize(("parameter", "tile", "transposed"), [
    ("b: i8[K, N]", "b[k +: 64, cols]", True), ("b: i8[N, K]", "transpose(b[cols, k +: 64])", False)])
def test_a_product_of_bytes(parameter, tile, transposed):
    """A step of 128 x 128 x 64, by 4 warps: products of 16 x 8 x 32; two bytes are to LDSM what a half is. Where rows
    of b run along n, each product needs two registers of b to be sorted, for 64 rows."""
    i8, i32 = TensorFact(DTYPES["i8"], (1024, 1024)), TensorFact(DTYPES["i32"], (1024, 1024))
    compiled = tilelang.compile(f"""
kernel k[warps: {{4}}, stages: {{3}}](a: i8[M, K], {parameter}, out c: i32[M, N]) grid (cdiv(M, 128), cdiv(N, 128)) {{
    let rows = program_id(0) * 128 +: 128;
    let cols = program_id(1) * 128 +: 128;
    var acc = zeros([128, 128], i32);
    for k in range(0, K, 64) {{
        acc = dot(a[rows, k +: 64], {tile}, acc);
    }}
    c[rows, cols] = acc;
}}
""")["k"].compile(i8, i8, i32, target="sm_80")
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS["sm_80"])
    resources = cuda_compile.ptxas_report(ptx, TARGETS["sm_80"])
    step = Counter(i.name for i in sass.main_loop(sass.read(cuda_compile.sass(ptx, TARGETS["sm_80"]))))
    products = 128 * 128 * 64 // (16 * 8 * 32) // 4
    assert step["IMMA.16832.S8.S8"] == products
    assert (step["LDSM.16.M88.4"], step["LDSM.16.MT88.4"]) == ((8, 8) if transposed else (16, 0))
    assert step["PRMT"] == (2 * products // (64 // 16) if transposed else 0)
    assert count(step, "LDGSTS.E.BYPASS.128") == 2 * 128 * 64 // 16 // 128 and count(step, "LDS.U8") == 0
    assert count(step, "BAR") == 1 and resources.spills == 0 and resources.local == 0


def test_a_batch_of_products():
    """A step of 4 x 32 x 32 x 32 by 4 warps: one product each."""
    half, full = TensorFact(F16, (8, 128, 128)), TensorFact(F32, (8, 128, 128))
    compiled = tilelang.compile("""
kernel k[warps: {4}, stages: {3}](a: f16[G, M, K], b: f16[G, K, N], out c: f32[G, M, N])
    grid (cdiv(G, 4), cdiv(M, 32), cdiv(N, 32)) {
    let n = program_id(0) * 4 +: 4;
    let rows = program_id(1) * 32 +: 32;
    let cols = program_id(2) * 32 +: 32;
    var acc = zeros([4, 32, 32], f32);
    for k in range(0, K, 32) {
        acc = dot(a[n, rows, k +: 32], b[n, k +: 32, cols], acc);
    }
    c[n, rows, cols] = acc;
}
""")["k"].compile(half, half, full, target="sm_80")
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, TARGETS["sm_80"])
    resources = cuda_compile.ptxas_report(ptx, TARGETS["sm_80"])
    code = Counter(i.name for i in sass.main_loop(sass.read(cuda_compile.sass(ptx, TARGETS["sm_80"]))))
    assert code["HMMA.16816.F32"] == 32 * 32 * 32 // (16 * 8 * 16)
    assert (code["LDSM.16.M88.4"], code["LDSM.16.MT88.4"]) == (4, 4)
    assert count(code, "LDGSTS.E.BYPASS.128") == 2 * 4 * 32 * 32 * 2 // 16 // 128 and count(code, "BAR") == 1
    assert resources.spills == 0 and resources.local == 0


def test_register_blocking():
    """Without tensor cores: 64 x 64 f32 over 128 threads are 16 rows and 2 columns of each, 32 products for each k."""
    code, resources = machine_code("matmul", F32, "sm_80", ())
    assert count(code, "HMMA") == 0 and code["FFMA"] % 32 == 0 and code["FFMA"] > 0
    assert resources.spills == 0 and resources.local == 0 and resources.registers <= 128


def test_attention():
    """Two products a step, the second of the first's results."""
    code, resources = machine_code("attention", F16, "sm_80", ())
    assert count(code, "HMMA.16816.F32") >= 2 * 64 * 64 * 64 // (16 * 8 * 16) // 4
    assert code["LDSM.16.M88.4"] > 0 and code["LDSM.16.MT88.4"] > 0
    assert resources.spills == 0 and resources.local == 0 and resources.registers <= 255
