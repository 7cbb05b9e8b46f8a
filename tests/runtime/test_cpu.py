"""Launching on device `cpu`: layouts, all cores, asserts and prints, Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from tilelang.codegen.cpu import generate
from tilelang.codegen.cpu_words import VOCABULARY
from tilelang.diagnostics import Source
from tilelang.ir.parser import parse_kernel
from tilelang.runtime import cpu_vocabulary
from tilelang.runtime.cpu import CompiledCpu, compile

DOUBLE = """
kernel @double(%x: in f32[%M, %N], %y: out f32[%M, %N]) dims(%M, %N) tile {
  %row: i64 = program_id {axis = 0}
  %cols: i32[8] = iota
  %v: f32[8] = load %x, %row, %cols {checked = (true, true), mask = false, other = false, pointwise = false}
  %w: f32[8] = add %v, %v
  store %y, %row, %cols, %w {checked = (true, true), mask = false, pointwise = false}
}
"""


def compiled(text: str) -> CompiledCpu:
    kernel = parse_kernel(text)
    return compile(generate(kernel, Source("")), kernel)


def test_every_word_the_generator_may_use_exists() -> None:
    assert {word for word in VOCABULARY if not hasattr(cpu_vocabulary, word)} == set()


BASE = np.arange(20 * 18, dtype=np.float32).reshape(20, 18)


@pytest.mark.parametrize("view", [
    BASE[:10, :7], BASE[:10, :7].T, BASE[::2, ::3], BASE[::-1, ::-2], np.asfortranarray(BASE[:9, :5]),
    np.broadcast_to(BASE[0, :6], (4, 6)), np.broadcast_to(BASE[:4, :1], (4, 6)), BASE[:1, :1], BASE[:3, :0],
    BASE[:0, :5],
], ids=["rows", "transposed", "steps", "backwards", "fortran", "same rows", "same columns", "one",
        "no columns", "no rows"])
def test_any_layout(view: np.ndarray) -> None:
    double = compiled(DOUBLE)
    rows, columns = view.shape
    target = np.full((2 * rows + 1, 3 * columns + 1), -1, np.float32)
    y = target[:-1:2, :-1:3]
    double.launch({"x": view, "y": y}, {"M": rows, "N": columns}, (rows + 3,))
    np.testing.assert_array_equal(y[:, :8], 2 * view[:, :8])
    np.testing.assert_array_equal(y[:, 8:], -1)
    assert (target == -1).sum() >= target.size - min(columns, 8) * rows


def test_each_layout_is_compiled_once() -> None:
    double = compiled(DOUBLE)
    x, y = np.ones((4, 4), np.float32), np.zeros((4, 4), np.float32)
    for view in (x, x, x.T, x.T):
        double.launch({"x": view, "y": y}, {"M": 4, "N": 4}, (4,))
    assert len(double._variants) == 2


def test_many_programs_on_all_cores_each_run_once() -> None:
    count = compiled("""
kernel @count(%y: inout i32[%N]) dims(%N) tile {
  %p: i64 = program_id {axis = 0}
  %one: i32 = const {value = 1}
  %old: i32 = atomic %y, %p, %one {checked = (true,), kind = "add", mask = false, pointwise = false}
}
""")
    y = np.zeros(100_003, np.int32)
    count.launch({"y": y}, {"N": len(y)}, (len(y),))
    assert (y == 1).all()
    count.launch({"y": y}, {"N": len(y)}, (len(y),))
    assert (y == 2).all()


def test_three_grid_axes() -> None:
    ids = compiled("""
kernel @ids(%y: out i64[%A, %B, %C]) dims(%A, %B, %C) tile {
  %a: i64 = program_id {axis = 0}
  %b: i64 = program_id {axis = 1}
  %c: i64 = program_id {axis = 2}
  %n: i64 = num_programs {axis = 1}
  %hundred: i64 = const {value = 100}
  %s: i64 = mul %a, %hundred
  %t: i64 = add %s, %b
  %u: i64 = mul %t, %hundred
  %v: i64 = add %u, %c
  %w: i64 = mul %v, %n
  store %y, %a, %b, %c, %w {checked = (false, false, false), mask = false, pointwise = false}
}
""")
    y = np.zeros((4, 3, 5), np.int64)
    ids.launch({"y": y}, dict(zip("ABC", y.shape, strict=True)), y.shape)
    a, b, c = np.indices(y.shape)
    np.testing.assert_array_equal(y, ((a * 100 + b) * 100 + c) * 3)


def test_atomic_maximum_of_floats_keeps_nan() -> None:
    top = compiled("""
kernel @top(%x: in f32[%N], %y: inout f32[1], %z: inout f32[1]) dims(%N) tile {
  %p: i64 = program_id {axis = 0}
  %zero: i64 = const {value = 0}
  %v: f32 = load %x, %p {checked = (true,), mask = false, other = false, pointwise = false}
  %a: f32 = atomic %y, %zero, %v {checked = (true,), kind = "max", mask = false, pointwise = false}
  %b: f32 = atomic %z, %zero, %v {checked = (true,), kind = "min", mask = false, pointwise = false}
}
""")
    x = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    args = {"x": x, "y": np.full(1, -np.inf, np.float32), "z": np.full(1, np.inf, np.float32)}
    top.launch(args, {"N": len(x)}, (len(x),))
    assert args["y"][0] == x.max() and args["z"][0] == x.min()
    x[1234] = np.nan
    top.launch(args, {"N": len(x)}, (len(x),))
    assert np.isnan(args["y"][0]) and np.isnan(args["z"][0])


CHECK = """
kernel @check(%x: in i32[%N], %y: out i32[%N]) dims(%N) tile {
  %p: i64 = program_id {axis = 0}
  %v: i32 = load %x, %p {checked = (true,), mask = false, other = false, pointwise = false}
  print %v {text = "v"}
  %zero: i32 = const {value = 0}
  %ok: bool = ge %v, %zero
  assert %ok {text = "not negative"}
  store %y, %p, %v {checked = (true,), mask = false, pointwise = false}
}
"""


def test_the_first_failed_program_is_reported() -> None:
    check = compiled(CHECK)
    x = np.arange(500, dtype=np.int32)
    x[[77, 301, 499]] = -1
    report = check.launch({"x": x, "y": np.zeros_like(x)}, {"N": 500}, (500,))
    assert report is not None and report.failure is not None
    assert report.failure.program == (77,) and report.failure.site.text == "not negative"


def test_prints_come_in_order() -> None:
    check = compiled(CHECK)
    x = np.arange(100, 200, dtype=np.int32)
    report = check.launch({"x": x, "y": np.zeros_like(x)}, {"N": 100}, (100,))
    assert report is not None and report.failure is None
    assert [int(p.value) for p in report.printed if p.value is not None] == list(range(100, 200))


FOREVER = """
kernel @long(%y: inout i64[1], %n: i64) dims() tile {
  %lo: i64 = const {value = 0}
  %one: i64 = const {value = 1}
  %t: i64 = for %lo, %n, %one, %lo (%k: i64, %s: i64) {
    %old: i64 = atomic %y, %lo, %one {checked = (true,), kind = "add", mask = false, pointwise = false}
    %u: i64 = add %s, %old
    yield %u
  }
}
"""


def test_ctrl_c_ends_a_long_launch() -> None:
    """A million programs of about a millisecond each; the signal comes after half a second."""
    long = compiled(FOREVER)
    y = np.zeros(1, np.int64)
    long.launch({"y": y, "n": 1}, {}, (8,))
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        long.launch({"y": y, "n": 100_000}, {}, (1_000_000,))
    assert time.perf_counter() - start < 10


def test_looking_at_the_code() -> None:
    double = compiled(DOUBLE)
    assert "define" in double.llvm_ir() and "!alias.scope" in double.llvm_ir()
    assert "ret" in double.asm()


def test_scalars_of_every_type() -> None:
    from tilelang.dtypes import DTYPES
    from tilelang.ir.host_types import numpy_dtype

    for name, dtype in DTYPES.items():
        copy = compiled(f"""
kernel @copy(%s: {name}, %y: out {name}[1]) dims() tile {{
  %i: i64 = const {{value = 0}}
  store %y, %i, %s {{checked = (false,), mask = false, pointwise = false}}
}}
""")
        y = np.zeros(1, numpy_dtype(dtype))
        value = True if dtype.is_bool else -1.5 if dtype.is_float else dtype.max_int
        copy.launch({"s": value, "y": y}, {}, (1,))
        assert y[0] == value, name


HISTOGRAM = """
kernel @histogram(%x: in i32[%N], %w: in f32[%N],
                  %counts: inout i32[%A, %B], %sums: inout f32[%B]) dims(%N, %A, %B) tile {
  %p: i64 = program_id {axis = 0}
  %size: i64 = const {value = 64}
  %s: i64 = mul %p, %size
  %b: i64[64] = broadcast %s
  %o: i64[64] = iota
  %i: i64[64] = add %b, %o
  %n: i64[64] = broadcast %N
  %m: bool[64] = lt %i, %n
  %v: i32[64] = load %x, %i {checked = (true,), mask = false, other = false, pointwise = false}
  %f: f32[64] = load %w, %i {checked = (true,), mask = false, other = false, pointwise = false}
  %two: i32[64] = const {value = 2}
  %r: i32[64] = mod %v, %two
  %one: i32[64] = const {value = 1}
  %u: i32[64] = atomic %counts, %r, %v, %one, %m {checked = (true, true), kind = "add", mask = true, pointwise = true}
  %t: f32[64] = atomic %sums, %v, %f, %m {checked = (true,), kind = "add", mask = true, pointwise = true}
}
"""


@pytest.mark.parametrize("size", [0, 1, 63, 100_000])
def test_private_copies_of_what_is_only_added_to(size: int) -> None:
    """Large launches add to copies, small ones to the tensor; both count what was there before, in any layout."""
    histogram = compiled(HISTOGRAM)
    assert "private_copy(counts" in histogram.text and "private_copy(sums" in histogram.text
    rng = np.random.default_rng(2)
    x = rng.integers(-5, 40, size, np.int32)
    w = rng.integers(0, 8, size).astype(np.float32)
    counts, sums = np.full((32, 4), 7, np.int32)[:, ::2].T, np.ones(32, np.float32)
    want, want_sums = counts.copy(), sums.copy()
    inside = (x >= 0) & (x < 32)
    np.add.at(want, (x[inside] % 2, x[inside]), 1)
    np.add.at(want_sums, x[inside], w[inside])
    programs = max(1, -(-size // 64))
    args = {"x": x, "w": w, "counts": counts, "sums": sums}
    histogram.launch(args, {"N": size, "A": 2, "B": 32}, (programs,))
    np.testing.assert_array_equal(counts, want)
    np.testing.assert_allclose(sums, want_sums, rtol=1e-4)
