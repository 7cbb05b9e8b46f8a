"""Whole kernels in IR text against NumPy, and how a grid is run: arguments, batches, empty grids."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.running import ld, run, st
from tilelang.diagnostics import InternalError
from tilelang.dtypes import DTYPES
from tilelang.ir import interpreter
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.interpreter import interpret
from tilelang.ir.numerics import evaluate
from tilelang.ir.parser import parse_kernel

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("rows", "columns"), [(5, 37), (1, 1), (3, 64), (0, 4), (130, 7)])
def test_softmax(rows: int, columns: int) -> None:
    x = RNG.standard_normal((rows, columns)).astype(np.float32)
    y = np.full_like(x, np.nan)
    run(
        "%x: in f32[%M, %N], %y: out f32[%M, %N]",
        f"""
      %row: i64 = program_id {{axis = 0}}
      %cols: i32[64] = iota
      %ninf: f32[64] = const {{value = -inf}}
      %v: f32[64] = load %x, %row, %cols, %ninf {ld(False, True, other=True)}
      %m: f32 = reduce %v {{axes = (0,), kind = "max"}}
      %mb: f32[64] = broadcast %m
      %d: f32[64] = sub %v, %mb
      %e: f32[64] = exp %d
      %s: f32 = reduce %e {{axes = (0,), kind = "sum"}}
      %sb: f32[64] = broadcast %s
      %q: f32[64] = div %e, %sb
      store %y, %row, %cols, %q {st(False, True)}
    """,
        (rows,),
        {"M": rows, "N": columns},
        x=x,
        y=y,
    )
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True, initial=-np.inf))
    np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i8", "i32", "u64"])
@pytest.mark.parametrize("shape", [(5, 7, 9), (16, 8, 16), (33, 1, 2), (4, 0, 4)])
def test_matmul_with_a_loop(dtype: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape[0], shape[2], shape[1]
    host, acc = (
        numpy_dtype(DTYPES[dtype]),
        {"f64": "f64", "i8": "i32", "i32": "i32", "u64": "u64"}.get(dtype, "f32"),
    )
    a, b = (RNG.integers(-100, 100, s).astype(host) for s in ((m, k), (k, n)))
    if DTYPES[dtype].is_float:
        a, b = (v / np.asarray(7, host) for v in (a, b))
    c = np.zeros((m, n), numpy_dtype(DTYPES[acc]))
    zero = "0.0" if DTYPES[acc].is_float else "0"
    run(
        f"%a: in {dtype}[%M, %K], %b: in {dtype}[%K, %N], %c: out {acc}[%M, %N]",
        f"""
      %p: i64 = program_id {{axis = 0}}
      %q: i64 = program_id {{axis = 1}}
      %four: i64 = const {{value = 4}}
      %zero: i64 = const {{value = 0}}
      %io: i64[4] = iota
      %p4: i64 = mul %p, %four
      %q4: i64 = mul %q, %four
      %pb: i64[4] = broadcast %p4
      %qb: i64[4] = broadcast %q4
      %rows: i64[4] = add %pb, %io
      %cols: i64[4] = add %qb, %io
      %init: {acc}[4, 4] = const {{value = {zero}}}
      %acc: {acc}[4, 4] = for %zero, %K, %four, %init (%k: i64, %s: {acc}[4, 4]) {{
        %kb: i64[4] = broadcast %k
        %ks: i64[4] = add %kb, %io
        %x: {dtype}[4, 4] = load %a, %rows, %ks {ld(True, True)}
        %y: {dtype}[4, 4] = load %b, %ks, %cols {ld(True, True)}
        %t: {acc}[4, 4] = dot %x, %y, %s {{tf32 = false}}
        yield %t
      }}
      store %c, %rows, %cols, %acc {st(True, True)}
    """,
        (-(-m // 4), -(-n // 4)),
        {"M": m, "N": n, "K": k},
        a=a,
        b=b,
        c=c,
    )
    if DTYPES[acc].is_float:
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-4)
    else:
        exact = a.astype(object) @ b.astype(object) if k else np.zeros((m, n), object)
        bits = 8 * c.dtype.itemsize
        assert [int(v) % 2**bits for v in c.flat] == [int(v) % 2**bits for v in exact.flat]


def test_gather_with_indexes_outside() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    i = np.array([[0, 2, -1, 3, 1]], np.int32)
    j = np.array([[3, 0, 0, 0, -4]], np.int32)
    y = np.zeros((1, 5), np.float32)
    run(
        "%x: in f32[3, 4], %i: in i32[1, 5], %j: in i32[1, 5], %y: out f32[1, 5]",
        f"""
      %c: i32[5] = iota
      %z: i32 = const {{value = 0}}
      %a: i32[5] = load %i, %z, %c {ld(True, True)}
      %b: i32[5] = load %j, %z, %c {ld(True, True)}
      %minus: f32[5] = const {{value = -1.0}}
      %v: f32[5] = load %x, %a, %b, %minus {ld(True, True, pointwise=True, other=True)}
      store %y, %z, %c, %v {st(True, True)}
    """,
        x=x,
        i=i,
        j=j,
        y=y,
    )
    assert y.tolist() == [[3.0, 8.0, -1.0, -1.0, -1.0]]


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "i32", "u32", "i64", "u64"])
def test_index_types(dtype: str) -> None:
    """No index wraps: the largest u64 is outside, not -1 and so the last element."""
    d = DTYPES[dtype]
    i = np.array([0, 3, d.max_int, d.min_int, 4], numpy_dtype(d))
    y = np.full(5, -7, np.int64)
    run(
        f"%i: in {dtype}[5], %x: in i64[4], %y: out i64[5]",
        f"""
      %c: i32[5] = iota
      %a: {dtype}[5] = load %i, %c {ld(True)}
      %v: i64[5] = load %x, %a {ld(True)}
      store %y, %c, %v {st(True)}
    """,
        i=i,
        x=np.array([10, 11, 12, 13]),
        y=y,
    )
    assert y.tolist() == [10, 13, 0, 10 if d.min_int == 0 else 0, 0]


def test_a_program_sees_its_own_writes() -> None:
    """Write a tile, read it back transposed."""
    y = np.zeros((3, 4, 4), np.int32)
    run(
        "%y: inout i32[3, 4, 4]",
        f"""
      %p: i64 = program_id {{axis = 0}}
      %c: i32[4] = iota
      %col: i32[4, 1] = reshape %c
      %ten: i32[4, 1] = const {{value = 10}}
      %tens: i32[4, 1] = mul %col, %ten
      %a: i32[4, 4] = broadcast %tens
      %b: i32[4, 4] = broadcast %c
      %s: i32[4, 4] = add %a, %b
      store %y, %p, %c, %c, %s {st(True, True, True)}
      %rt: i32[4, 4] = broadcast %c
      %ct: i32[4, 4] = broadcast %col
      %pi: i32 = cast %p
      %pp: i32[4, 4] = broadcast %pi
      %t: i32[4, 4] = load %y, %pp, %rt, %ct {ld(True, True, True, pointwise=True)}
      store %y, %p, %c, %c, %t {st(True, True, True)}
    """,
        (3,),
        y=y,
    )
    assert y[2].tolist() == [[10 * j + i for j in range(4)] for i in range(4)]


def test_a_loaded_value_does_not_change_with_memory() -> None:
    """A load is a copy, also where NumPy would hand out a view (a rank-0 tensor, a scalar index)."""
    y, z = np.array(1, np.int32), np.zeros(2, np.int32)
    run(
        "%y: inout i32[], %z: out i32[2]",
        f"""
      %c0: i32 = const {{value = 0}}
      %c1: i32 = const {{value = 1}}
      %old: i32 = load %y {{checked = (), mask = false, other = false, pointwise = false}}
      %two: i32 = const {{value = 2}}
      store %y, %two {{checked = (), mask = false, pointwise = false}}
      store %z, %c0, %old {st(True)}
      %new: i32 = load %y {{checked = (), mask = false, other = false, pointwise = false}}
      store %z, %c1, %new {st(True)}
    """,
        y=y,
        z=z,
    )
    assert (y.item(), z.tolist()) == (2, [1, 2])


def test_scalar_arguments_of_every_type() -> None:
    for dtype in DTYPES.values():
        y = np.zeros(1, numpy_dtype(dtype))
        value: int | float = True if dtype.is_bool else 1.5 if dtype.is_float else dtype.max_int
        run(
            f"%s: {dtype}, %y: out {dtype}[1]",
            f"%z: i32 = const {{value = 0}}\nstore %y, %z, %s {st(True)}",
            s=value,
            y=y,
        )
        assert y[0] == value


def test_dims_are_values() -> None:
    y = np.zeros(2, np.int64)
    run(
        "%y: out i64[%N]",
        f"""
      %i: i64[2] = iota
      %b: i64[2] = broadcast %y.0
      %v: i64[2] = add %i, %b
      store %y, %i, %v {st(True)}
    """,
        dims={"N": 2, "y.0": 40},
        y=y,
    )
    assert y.tolist() == [40, 41]


@pytest.mark.parametrize("argument", [np.zeros(3, np.float64), np.zeros((3, 1), np.float32), 1.0, [1.0]])
def test_wrong_arguments_are_internal_errors(argument: object) -> None:
    kernel = parse_kernel("kernel @k(%x: in f32[3]) dims() tile {\n}")
    with pytest.raises(InternalError, match="is not a in f32"):
        interpret(kernel, {"x": argument}, {}, (1,))  # type: ignore[dict-item]


def test_thread_level_is_not_for_this_interpreter() -> None:
    with pytest.raises(InternalError, match="tile level"):
        interpret(parse_kernel("kernel @k() dims() thread {\n}"), {}, {}, (1,))


@pytest.mark.parametrize("grid", [(0,), (3, 0), (0, 2, 2)])
def test_an_empty_grid_runs_nothing(grid: tuple[int, ...]) -> None:
    kernel = parse_kernel(
        'kernel @k() dims() tile {\n%f: bool = const {value = false}\nassert %f {text = "ran"}\n}'
    )
    interpret(kernel, {}, {}, grid)


def test_a_thousand_programs_are_not_a_thousand_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def counting(*args):
        nonlocal calls
        calls += 1
        return evaluate(*args)

    monkeypatch.setattr(interpreter, "evaluate", counting)
    y = np.zeros(1000, np.int64)
    kernel = parse_kernel(f"""kernel @k(%y: out i64[1000]) dims() tile {{
      %p: i64 = program_id {{axis = 0}}
      %z: i64 = const {{value = 0}}
      %one: i64 = const {{value = 1}}
      %ten: i64 = const {{value = 10}}
      %n: i64 = mod %p, %ten
      %s: i64 = for %z, %n, %one, %p (%k: i64, %a: i64) {{
        %b: i64 = add %a, %k
        yield %b
      }}
      store %y, %p, %s {st(True)}
    }}""")
    interpret(kernel, {"y": y}, {}, (1000,))
    assert y.tolist() == [p + sum(range(p % 10)) for p in range(1000)]
    assert calls <= 1 + 9


def test_batches_are_bounded_by_the_largest_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []

    def watching(name, operands, dtype):
        shapes.append(np.broadcast_shapes(*(o.shape for o in operands)))
        return evaluate(name, operands, dtype)

    monkeypatch.setattr(interpreter, "evaluate", watching)
    kernel = parse_kernel("""kernel @k() dims() tile {
      %p: i64 = program_id {axis = 0}
      %b: i64[65536] = broadcast %p
      %c: i64[65536] = neg %b
    }""")
    interpret(kernel, {}, {}, (40,))
    assert [s[0] for s in shapes] == [16, 16, 8]
