"""Kernels that need more shared memory than a kernel may declare: they run where a block may have as much."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilelang
from tests.tiling.test_tensor_cores import MATMUL, agrees, compiled, executed, pair, random
from tests.tiling.threads import GPU, agree, tile_kernel
from tilelang.diagnostics import CompileError
from tilelang.memory.placement import DECLARABLE, dynamic_bytes, place_arrays

ATTENTION = (Path(__file__).parents[2] / "course" / "kernels" / "attention.tile").read_text()

TURN = """
kernel k(x: f32[N, N], out y: f32[N, N]) grid (1) {
    let i = 0 +: N;
    y[i, i] = transpose(x[i, i]);
}
"""


def heads(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [random(*shape, dtype=np.float32, seed=n) for n, shape in enumerate(shapes)]


@pytest.mark.parametrize("rows", [64, 70])
def test_attention_of_f32_by_tiles_of_64(rows):
    """Queries, keys, values and weights of 16 KiB each, and what is exchanged."""
    q, k, v = heads((2, rows, 64), (2, 100, 64), (2, 100, 64))
    program = tilelang.compile(ATTENTION)["attention"]
    made = program.compile(q, k, v, np.float32(0.125), target="sm_80")
    assert dynamic_bytes(made.thread_ir) > DECLARABLE
    got = program(q, k, v, np.float32(0.125), device="model")
    wanted = program(q, k, v, np.float32(0.125), device="reference")
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stages", [3, 4])
def test_products_with_as_many_stages_as_asked_for(stages):
    """A stage of 128 x 32 and 32 x 128 halves takes 16 KiB; the accumulator leaves by way of 16 KiB more."""
    arrays = pair(130, 160, 136)
    _, thread, _, _ = compiled(MATMUL, *arrays, BM=128, BN=128, stages=stages)
    rings = [op.result.type.size for op in thread.body.ops if op.name == "shared" and "ring" in op.result.name]
    assert rings == [stages * 128 * 32] * 2
    report = agrees(MATMUL, *arrays, BM=128, BN=128, stages=stages)
    assert executed(report, "mma") > 0


@pytest.mark.parametrize(("target", "extent"), [
    ("simulator", 110), ("sm_75", 128), ("sm_86", 158), ("sm_89", 158), ("sm_80", 204), ("sm_90", 240)])
def test_the_limit_is_the_targets(target, extent):
    """A tile of f32 with this extent fits, one with a third more does not: 48, 64, 99, 163 and 227 KiB."""
    made = compile_turn(extent, target)
    limit = {"simulator": 48, "sm_75": 64, "sm_80": 163, "sm_86": 99, "sm_89": 99, "sm_90": 227}[target] * 1024
    assert 4 * extent * extent <= place_arrays(made.thread_ir)[1] <= limit  # padded, where there is room
    with pytest.raises(CompileError) as failed:
        compile_turn(extent * 4 // 3, target)
    (diagnostic,) = failed.value.diagnostics
    assert diagnostic.code == "E0620" and f"{target} has {limit:,}" in str(failed.value)


def compile_turn(extent: int, target: str):
    x = np.zeros((extent, extent), np.float32)
    text = TURN.replace("0 +: N", f"0 +: {extent}")
    return tilelang.compile(text)["k"].compile(x, x.copy(), target=target)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bool", "i64"])
def test_dynamic_memory_in_the_simulator(dtype):
    """The generated source for a GPU, and what its launch asks for, on numba's simulator."""
    extent = {"f32": 128, "f16": 160, "bool": 224, "i64": 80}[dtype]
    load = "{checked = (true, true), mask = false, other = false, pointwise = false}"
    store = "{checked = (true, true), mask = false, pointwise = false}"
    kernel = tile_kernel(f"%x: in {dtype}[%N, %N], %y: out {dtype}[%N, %N]", f"""
  %i: i32[{extent}] = iota
  %a: {dtype}[{extent}, {extent}] = load %x, %i, %i {load}
  %b: {dtype}[{extent}, {extent}] = permute %a {{axes = (1, 0)}}
  store %y, %i, %i, %b {store}
""", dims=("N",))
    x = np.random.default_rng(0).integers(0, 2, (70, 70)).astype(
        {"f32": np.float32, "f16": np.float16, "bool": np.bool_, "i64": np.int64}[dtype])
    agree(kernel, {"x": x, "y": np.zeros_like(x)}, {"N": 70}, targets=(GPU,))
