"""Vectors: which accesses move several elements at once, that it needs facts of the launch, and the results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.corpus import Case, load_corpus
from tests.machine.profiles import profiled
from tests.tiling.threads import GPU, lowered, simulate
from tilelang import compile as compile_program
from tilelang.ir.core import Kernel
from tilelang.machine import execute
from tilelang.passes import optimize
from tilelang.runtime.facts import launch_facts
from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.targets import TARGETS


def test_a_layout_with_runs_is_one_to_one():
    layout = LinearLayout((4, 16), 4, vector=2)
    places = {layout.place((i, j)): (i, j) for i in range(4) for j in range(16)}
    assert len(places) == 64 and not layout.padded
    assert all(layout.coordinates(*place) == at for place, at in places.items())
    assert [layout.place((0, j)) for j in range(10)] == [
        (0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (0, 2), (0, 3)]


PROGRAM = """
kernel add[B = 512](x: f32[N], y: f32[N], out z: f32[N]) grid (cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    z[i] = x[i] + y[i];
}
kernel halves[B = 1024](x: f16[N], out y: f16[N]) grid (cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    y[i] = x[i] * 2.0;
}
kernel widen[B = 1024](x: f16[N], out y: f32[N]) grid (cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    y[i] = x[i] as f32;
}
kernel masked[B = 512](x: f32[N], n: i32, out y: f32[N]) grid (cdiv(N, B)) {
    let i = 0 +: B;
    y[program_id(0) * B + i] = (x[program_id(0) * B + i] where i < n else 1.0);
}
kernel shifted[B = 512](x: f32[N], out y: f32[N]) grid (cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    y[i] = x[i + 1];
}
kernel rows[BM = 16, BN = 64](x: f32[M, N], out y: f32[M], out z: f32[M, N]) grid (cdiv(M, BM)) {
    let i = program_id(0) * BM +: BM;
    let j = 0 +: BN;
    let v = x[i, j];
    let s = sum(v, axis=1);
    y[i] = s;
    z[i, j] = v / s[:, None];
}
kernel turned[B = 32](x: f32[M, N], out y: f32[N, M]) grid (cdiv(M, B), cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    let j = program_id(1) * B +: B;
    y[j, i] = transpose(x[i, j]);
}
kernel running[B = 512](x: i32[N], out y: i32[N]) grid (1) {
    let i = 0 +: B;
    y[i] = cumsum(x[i], axis=0) + argmax(x[i]);
}
kernel loop[B = 128](x: f32[M, N], out y: f32[M]) grid (M) {
    let r = program_id(0);
    var acc = zeros([B], f32);
    for k in range(0, N, B) {
        acc = acc + x[r, k +: B];
    }
    y[r] = sum(acc);
}
"""
F = np.float32
RNG = np.random.default_rng(3)


def noise(*shape: int, dtype: type = F) -> np.ndarray:
    return (RNG.standard_normal(shape) * 4).astype(dtype)


def wide(kernel: Kernel) -> list[tuple[str, int]]:
    """The wide accesses: tensor and width."""
    return [(op.operands[0].name, op.attrs["width"]) for op in kernel.walk() if op.name.endswith("_vector")]


CASES = [
    ("add", (noise(1024), noise(1024)), [("x", 4), ("y", 4), ("z", 4)]),
    ("add", (noise(2000), noise(2000)), [("x", 4), ("y", 4), ("z", 4)]),
    ("add", (noise(1001), noise(1001)), []),
    ("add", (noise(2048)[::2], noise(1024)), [("y", 4), ("z", 4)]),
    ("add", (noise(1024)[::-1], noise(1024)), [("y", 4), ("z", 4)]),
    ("halves", (noise(2048, dtype=np.float16),), [("x", 8), ("y", 8)]),
    ("widen", (noise(2048, dtype=np.float16),), [("x", 4), ("y", 4)]),
    ("masked", (noise(1024), np.int32(100)), []),
    ("shifted", (noise(1024),), []),
    ("rows", (noise(32, 64),), [("x", 4), ("z", 4)]),
    ("rows", (noise(31, 48),), [("x", 4), ("z", 4)]),
    ("rows", (noise(32, 63),), []),
    ("rows", (np.abs(noise(32, 128))[:, ::2],), []),
    ("turned", (noise(64, 32),), [("x", 4), ("y", 4)]),
    ("turned", (noise(50, 34),), []),
    ("running", (noise(512, dtype=np.int32),), [("x", 4), ("y", 4)]),
    ("loop", (noise(3, 256),), []),
]


@pytest.mark.parametrize(("name", "arguments", "wanted"), CASES)
def test_what_is_proved_is_wide_and_right(name, arguments, wanted):
    kernel = compile_program(PROGRAM)[name]
    compiled = kernel.compile(*arguments, device="model")
    assert set(wide(compiled.thread_ir)) == set(wanted)
    expected = kernel(*arguments, device="reference")
    got = kernel(*arguments, device="model")
    for a, b in zip(_all(got), _all(expected), strict=True):
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("name", "x", "outputs"), [
    ("halves", noise(1024, dtype=np.float16), {"y": np.zeros(1024, np.float16)}),
    ("widen", noise(1024, dtype=np.float16), {"y": np.zeros(1024, F)}),
    ("rows", noise(16, 64), {"y": np.zeros(16, F), "z": np.zeros((16, 64), F)}),
    ("turned", noise(32, 32), {"y": np.zeros((32, 32), F)})])
def test_the_source_runs_in_the_simulator(name, x, outputs):
    kernel = compile_program(PROGRAM)[name]
    compiled = kernel.compile(x, device="model")
    assert compiled.binding is not None and wide(compiled.thread_ir)
    got = simulate(compiled.thread_ir, {"x": x, **outputs}, compiled.binding.dims, compiled.binding.grid)
    for output, expected in zip(outputs, _all(kernel(x, device="reference")), strict=True):
        np.testing.assert_allclose(got[output].astype(F), expected.astype(F), rtol=1e-5)


STREAMS = """
kernel copy[B = 1024](x: f32[N], out y: f32[N]) grid (cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    y[i] = x[i];
}
"""


@pytest.mark.parametrize(("x", "sectors", "count"), [
    (noise(8192)[::2], 1024 + 512, 0), (noise(4096)[::-1], 512 + 512, 0), (noise(4096), 512 + 512, 2)])
def test_no_access_asks_for_more_sectors_than_its_elements_lie_in(x, sectors, count):
    """A store that would be wide does not spread the lanes of a load that cannot be."""
    thread = compile_program(STREAMS)["copy"].compile(x, device="model").thread_ir
    assert len(wide(thread)) == count
    assert profiled(STREAMS, x=x).total.sectors == sectors


def test_an_access_that_jumps_anyway_loses_nothing():
    text = """
    kernel pick[B = 1024](x: f32[M], k: i32[N], out y: f32[N]) grid (cdiv(N, B)) {
        let i = program_id(0) * B +: B;
        y[i] = x[k[i]];
    }
    """
    k = RNG.integers(0, 100, 4096).astype(np.int32)
    thread = compile_program(text)["pick"].compile(noise(100), k, device="model").thread_ir
    assert set(wide(thread)) == {("k", 4), ("y", 4)}


def _all(results: object) -> tuple:
    return results if isinstance(results, tuple) else (results,)


def test_without_facts_or_vectors_nothing_is_wide():
    compiled = compile_program(PROGRAM)["add"].compile(noise(1024), noise(1024), target="simulator")
    assert wide(compiled.thread_ir) == []
    assert wide(lowered(compiled.optimized, GPU)) == []


def facts_of(case: Case) -> dict[str, object]:
    arguments = case.arguments()
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    return dict(launch_facts(case._bind(arguments), arrays))


@pytest.mark.parametrize("case", [c for c in load_corpus() if c.fails is None], ids=str)
def test_the_corpus_with_facts_on_one_warp(case):
    """One warp, so that small tiles have vectors too."""
    bound = case.specialise()
    tile = optimize(bound.tile)
    kernel = lowered(replace(tile, attrs={**tile.attrs, **facts_of(case), "warps": 1}), TARGETS["sm_80"])
    got, wanted = case.arguments(), case.arguments()
    report = execute(kernel, got, bound.dims, bound.grid, max_steps=1_000_000, output=lambda *line: None)
    assert report.findings == ()
    case.interpret(bound.tile, wanted, bound)
    case.compare(got, wanted)
