"""The generated source compiles for GPUs, with everything in registers. No GPU needed, only NVIDIA's compilers.

Without the extra `cuda` there is nothing to compile with, and these tests are skipped.
"""

from __future__ import annotations

import re

import pytest

from tests.corpus import Case, load_corpus
from tests.runtime.test_device_math import by_dtype, kernel_of
from tests.tiling.threads import lowered, tile_kernel
from tests.toolchain import needs_toolchain
from tilelang.codegen.cuda import generate
from tilelang.diagnostics import CompileError, Source
from tilelang.dtypes import BOOL, DTYPES
from tilelang.ir.core import Kernel
from tilelang.ir.rules import ATOMIC_DTYPES
from tilelang.ir.tile_ops import ATOMIC_KINDS, BINARY, UNARY
from tilelang.runtime import cuda_compile
from tilelang.tiling.targets import TARGETS, Target

pytestmark = [pytest.mark.cuda_toolchain, needs_toolchain]

SM_80, SM_90 = TARGETS["sm_80"], TARGETS["sm_90"]

PROGRAMS = ("vector_add-0", "softmax-0", "matmul-0", "layernorm-0", "scans-0", "gather-0", "histogram-0",
            "transpose_tiles-0",
            "attention-0", "cat_columns-0", "atomics_mix-0", "bf16_sums-0", "while_tile-0", "prints-0")


NOWHERE = Source("", "test.tile")


def compiled(tile: Kernel, target: Target, source: Source = NOWHERE) -> tuple[str, cuda_compile.Resources]:
    thread = lowered(tile, target)
    ptx = cuda_compile.compile_ptx(generate(thread, target, source), thread, target)
    return ptx, cuda_compile.ptxas_report(ptx, target)


def uses_f64(ptx: str) -> list[str]:
    return [line.strip() for line in ptx.splitlines() if re.search(r"\.f64\b", line) and ".reg" not in line]


def chosen(*names: str) -> list[Case]:
    return [case for case in load_corpus() if str(case) in names]


@pytest.mark.parametrize(("case", "target"), [*((c, SM_80) for c in chosen(*PROGRAMS)),
                                              *((c, SM_90) for c in chosen("softmax-0", "matmul-0", "scans-0"))],
                         ids=lambda value: getattr(value, "name", str(value)))
def test_small_kernels_stay_in_registers(case, target):
    """No local memory, no spills; and no f64 creeps into a kernel that has none."""
    tile = case.specialise(case.arguments()).tile
    ptx, resources = compiled(tile, target, case.source)
    assert resources.local == 0 and resources.spills == 0 and 0 < resources.registers <= 128
    prints = any(op.name == "print" for op in tile.walk())
    has_f64 = any(v.dtype == DTYPES["f64"] for op in tile.walk() for v in (*op.operands, *op.results))
    assert prints or has_f64 or not uses_f64(ptx)
    assert f".target {target.name}" in ptx


def test_all_programs_of_the_list_exist():
    assert set(PROGRAMS) <= {str(case) for case in load_corpus()}


def chained(names: list[str], dtype: str) -> Kernel:
    """One kernel with many elementwise ops on one type."""
    n, lines = 32, []
    for number, name in enumerate(names):
        count = 1 if name in UNARY else 2
        result = BOOL if name in ("isnan", "isinf") else DTYPES[dtype]
        body = kernel_of(name, DTYPES[dtype], result, count, n)
        op = next(o for o in body.walk() if o.name == name)
        operands = ", ".join("%v" for _ in op.operands)
        lines.append(f"  %r{number}: {result}[{n}] = {name} {operands}")
        if result == DTYPES[dtype]:
            lines.append(f"  store %y, %i, %r{number} {{checked = (false,), mask = false, pointwise = false}}")
    return tile_kernel(f"%x: in {dtype}[{n}], %y: out {dtype}[{n}]", "\n".join([
        f"  %i: i32[{n}] = iota",
        f"  %v: {dtype}[{n}] = load %x, %i {{checked = (false,), mask = false, other = false, pointwise = false}}",
        *lines]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_elementwise_op_compiles(dtype):
    names = [name for name, d in by_dtype([n for n in (*UNARY, *BINARY) if n != "cast"]) if d.name == dtype]
    ptx, _ = compiled(chained(names, dtype), SM_80)
    assert dtype == "f64" or "sin" in names or not uses_f64(ptx)


@pytest.mark.parametrize("source", DTYPES)
def test_every_cast_compiles(source):
    n, body = 32, []
    for result in DTYPES:
        body.append(f"  %r{result}: {result}[{n}] = cast %v\n  %b{result}: {source}[{n}] = cast %r{result}\n"
                    f"  store %y, %i, %b{result} {{checked = (false,), mask = false, pointwise = false}}")
    kernel = tile_kernel(f"%x: in {source}[{n}], %y: out {source}[{n}]", "\n".join([
        f"  %i: i32[{n}] = iota",
        f"  %v: {source}[{n}] = load %x, %i {{checked = (false,), mask = false, other = false, pointwise = false}}",
        *body]))
    compiled(kernel, SM_80)


@pytest.mark.parametrize("dtype", ATOMIC_DTYPES, ids=str)
def test_every_atomic_assembles(dtype):
    kinds = [kind for kind in ATOMIC_KINDS]
    lines = [f"  %a{kind}: {dtype}[32] = atomic %x, %i, {'%v, %v' if kind == 'cas' else '%v'} "
             f"{{checked = (true,), kind = \"{kind}\", mask = false, pointwise = false}}" for kind in kinds]
    kernel = tile_kernel(f"%x: inout {dtype}[32]", "\n".join([
        "  %i: i32[32] = iota", f"  %v: {dtype}[32] = const {{value = {'1.0' if dtype.is_float else '1'}}}", *lines]))
    ptx, _ = compiled(kernel, SM_80)
    assert ptx.count("atom.") >= len(kinds)


def test_products_are_not_fused_with_sums():
    """`a * b + c` is rounded twice, as the language says; only `fma` and `dot` fuse."""
    kernel = tile_kernel("%x: in f32[32], %y: out f32[32]", """
  %i: i32[32] = iota
  %v: f32[32] = load %x, %i {checked = (false,), mask = false, other = false, pointwise = false}
  %p: f32[32] = mul %v, %v
  %s: f32[32] = add %p, %v
  store %y, %i, %s {checked = (false,), mask = false, pointwise = false}""")
    ptx, _ = compiled(kernel, SM_80)
    assert "fma.rn.f32" not in ptx and "mul.rn.f32" in ptx


def test_machine_code_can_be_read():
    case = next(c for c in load_corpus() if str(c) == "vector_add-0")
    thread = lowered(case.specialise(case.arguments()).tile, SM_80)
    ptx = cuda_compile.compile_ptx(generate(thread, SM_80, case.source), thread, SM_80)
    assert "LDG" in cuda_compile.sass(ptx, SM_80)


def test_missing_tools_are_a_message_with_the_command(monkeypatch):
    monkeypatch.setattr(cuda_compile, "sys", type("Sys", (), {"path": []}))
    monkeypatch.setattr(cuda_compile, "site", type("Site", (), {
        "getsitepackages": staticmethod(lambda: []), "getusersitepackages": staticmethod(lambda: "/nowhere")}))
    with pytest.raises(CompileError) as caught:
        cuda_compile.tool("ptxas")
    assert caught.value.diagnostics[0].code == "E0630" and "[cuda]" in caught.value.diagnostics[0].help
