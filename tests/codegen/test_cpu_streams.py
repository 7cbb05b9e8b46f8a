"""Rows asked for early and written past the cache, and selects that the loops' bounds decide."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilelang
from tilelang.runtime.cpu_streams import STREAMED_BYTES

TWICE = """
kernel centre[T: {f32, f64, f16, bf16, i8, u8, i64}, BLOCK = next_pow2(N)](x: T[M, N], out y: T[M, N]) grid (M) {
    let v = x[program_id(0), 0 +: BLOCK];
    y[program_id(0), 0 +: BLOCK] = v - max(v, axis=0);
}
"""
ONCE = """
kernel add(x: f32[N], out y: f32[N]) grid (cdiv(N, 1024)) {
    let i = program_id(0) * 1024 +: 1024;
    y[i] = x[i] + 1.0;
}
"""
CENTRE = tilelang.compile(TWICE)["centre"]


def source_of(text: str, *arguments: object) -> str:
    program = tilelang.compile(text)
    (name,) = program.kernels
    return program[name].compile(*arguments, device="cpu").cpu or ""


def test_a_program_that_passes_twice_asks_for_the_next_row_and_streams() -> None:
    text = source_of(TWICE, np.zeros((3, 300), np.float32))
    assert text.count("prefetch_row(x, (program_id + 1) * x_s0, x_s1, ") == 1
    assert text.count("stream_row(y, ") == 1 and text.count("settle_streams()") == 1


def test_a_program_of_one_loop_does_neither() -> None:
    text = source_of(ONCE, np.zeros(3000, np.float32))
    assert "prefetch_row" not in text and "stream" not in text


def test_short_rows_are_not_streamed() -> None:
    assert "stream_row" not in source_of(TWICE, np.zeros((3, 60), np.float32))


def test_a_kernel_with_atomics_streams_nothing() -> None:
    text = TWICE.replace("out y: T[M, N])", "out y: T[M, N], inout done: i32[1])").replace(
        "    let v", "    atomic_add(done[0], 1);\n    let v")
    assert "stream_row" not in source_of(text, np.zeros((3, 300), np.float32), np.zeros((3, 300), np.float32),
                                          np.zeros(1, np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("columns", [997, 1024])
def test_large_outputs_of_any_alignment(dtype: type, columns: int) -> None:
    """One element in the rows' middle too few or too many would show: all around the output lies something else."""
    rows = STREAMED_BYTES // (columns * np.dtype(dtype).itemsize) + 5
    x = np.random.default_rng(1).integers(0, 9, (rows, columns)).astype(dtype)
    room = np.full((rows, columns + 13), 7, dtype)
    y = room[:, 3:3 + columns]
    CENTRE(x, y, device="cpu")
    np.testing.assert_array_equal(y, x - x.max(axis=1, keepdims=True))
    assert (room[:, :3] == 7).all() and (room[:, 3 + columns:] == 7).all()


def test_a_large_output_with_gaps_in_its_rows() -> None:
    x = np.random.default_rng(1).integers(0, 9, (4200, 700)).astype(np.float32)
    wide, turned = np.full((4200, 1400), 7, np.float32), np.zeros((700, 4200), np.float32).T
    CENTRE(x, wide[:, ::2], device="cpu")
    CENTRE(x, turned, device="cpu")
    expected = x - x.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(wide[:, ::2], expected)
    np.testing.assert_array_equal(turned, expected)
    assert (wide[:, 1::2] == 7).all()


@pytest.mark.parametrize("condition", ["c < N", "c <= N", "c < N - 3", "N > c", "c >= 2", "c < n",
                                       "c + 1 < N", "c > N"])
def test_selects_that_the_bounds_may_decide(condition: str) -> None:
    """Only the first and the fourth say what the loads' bounds say already."""
    program = tilelang.compile(f"""
    kernel pick(x: f32[M, N], n: i32, out y: f32[M, 64]) grid (M) {{
        let c = 0 +: 64;
        let v = x[program_id(0), c] + 1.0;
        y[program_id(0), c] = select({condition}, v, -v) + sum(select({condition}, v, 0.5 * v), axis=0);
    }}""")["pick"]
    for columns in (1, 40, 63, 64, 65, 100):
        x = np.random.default_rng(columns).integers(-5, 6, (3, columns)).astype(np.float32)
        c, limit = np.arange(64), columns // 2
        v = np.where(c < columns, np.pad(x, ((0, 0), (0, 64)))[:, :64], 0) + 1
        holds = eval(condition, {"c": c, "N": columns, "n": limit})
        expected = np.where(holds, v, -v) + np.where(holds, v, v / 2).sum(axis=1, keepdims=True)
        np.testing.assert_array_equal(program(x, limit, device="cpu"), expected.astype(np.float32))
