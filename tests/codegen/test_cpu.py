"""The CPU code generator, on kernels written as IR text: what the source looks like, and odd cases of what it does."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilelang
from tilelang.codegen.cpu import generate, with_units
from tilelang.diagnostics import CompileError, Source
from tilelang.ir.interpreter import interpret
from tilelang.ir.parser import parse_kernel
from tilelang.runtime.cpu import compile


def run(text: str, args: dict, dims: dict | None = None, grid: tuple[int, ...] = (1,)):
    """Run on the CPU and on the interpreter; outputs must agree. Returns (source, log report)."""
    kernel = parse_kernel(text)
    expected = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in args.items()}
    source = generate(kernel, Source(""))
    report = compile(source, kernel).launch(args, dims or {}, grid)
    interpret(kernel, expected, dims or {}, grid, output=lambda *_: None)
    for name, want in expected.items():
        if isinstance(want, np.ndarray):
            np.testing.assert_allclose(args[name].astype("f8"), want.astype("f8"), rtol=1e-5, atol=1e-5, err_msg=name)
    return source, report


SOFTMAX = """
kernel @softmax(%x: in f32[%M, %N], %y: out f32[%M, %N]) dims(%M, %N) tile {
  %row: i64 = program_id {axis = 0}
  %cols: i32[16] = iota
  %ninf: f32[16] = const {value = -inf}
  %v: f32[16] = load %x, %row, %cols, %ninf {checked = (false, true), mask = false, other = true, pointwise = false}
  %m: f32 = reduce %v {axes = (0,), kind = "max"}
  %mb: f32[16] = broadcast %m
  %d: f32[16] = sub %v, %mb
  %e: f32[16] = exp %d
  %s: f32 = reduce %e {axes = (0,), kind = "sum"}
  %sb: f32[16] = broadcast %s
  %q: f32[16] = div %e, %sb
  store %y, %row, %cols, %q {checked = (false, true), mask = false, pointwise = false}
}
"""


def softmax_arguments(rows: int = 5, columns: int = 13) -> tuple[dict, dict]:
    x = np.random.default_rng(0).standard_normal((rows, columns), np.float32)
    return {"x": x, "y": np.zeros_like(x)}, {"M": rows, "N": columns}


def test_softmax_is_three_loops_and_one_scratch_tile() -> None:
    """max; exp, its sum, and e kept; the division. The second loop of the first two is for what is outside."""
    args, dims = softmax_arguments()
    source, _ = run(SOFTMAX, args, dims, (5,))
    assert source.count("= scratch(") == 1
    assert source.count("    for i in range") == 5
    assert "e_tile = scratch" in source and "allocate(64)" in source


def test_elementwise_chains_become_one_loop_without_scratch() -> None:
    chain = "\n".join(f"  %v{i + 1}: f32[64] = mul %v{i}, %v{i}" for i in range(130))
    text = f"""
kernel @chain(%x: in f32[64], %y: out f32[64]) dims() tile {{
  %i: i64[64] = iota
  %v0: f32[64] = load %x, %i {{checked = (false,), mask = false, other = false, pointwise = false}}
{chain}
  store %y, %i, %v40 {{checked = (false,), mask = false, pointwise = false}}
}}
"""
    source, _ = run(text, {"x": np.linspace(0.99, 1.01, 64, dtype=np.float32), "y": np.zeros(64, np.float32)})
    assert source.count("for i in") == 1 and "scratch" not in source and "allocate" not in source


def test_thousands_of_lazy_ops_do_not_exhaust_the_stack() -> None:
    chain = "\n".join(f"  %v{i + 1}: i32[8] = add %v{i}, %i" for i in range(3000))
    text = f"""
kernel @deep(%y: out i32[8]) dims() tile {{
  %i: i32[8] = iota
  %v0: i32[8] = const {{value = 0}}
{chain}
  store %y, %i, %v3000 {{checked = (false,), mask = false, pointwise = false}}
}}
"""
    assert generate(parse_kernel(text), Source("")).count("add(") > 2990


SHIFT = """
kernel @shift(%y: inout i32[10]) dims() tile {{
  %i: i64[8] = iota
  %one: i64[8] = const {{value = 1}}
  %j: i64[8] = add %i, %one
  %v: i32[8] = load %y, {0} {{checked = (true,), mask = false, other = false, pointwise = false}}
  %w: i32[8] = add %v, %v
  store %y, {1}, %w {{checked = (true,), mask = false, pointwise = false}}
  store %y, {0}, %v {{checked = (true,), mask = false, pointwise = false}}
}}
"""


@pytest.mark.parametrize(("first", "second"), [("%i", "%j"), ("%j", "%i"), ("%i", "%i")])
def test_a_store_does_not_overtake_a_load_of_its_tensor(first: str, second: str) -> None:
    """Fused element by element, the store would change what the next element loads."""
    run(SHIFT.format(first, second), {"y": np.arange(1, 11, dtype=np.int32)})


def test_a_transposed_read_back_sees_the_programs_own_writes() -> None:
    text = """
kernel @turn(%y: inout f32[24, 24]) dims() tile {
  %i: i64[24] = iota
  %v: f32[24, 24] = load %y, %i, %i {checked = (false, false), mask = false, other = false, pointwise = false}
  %t: f32[24, 24] = permute %v {axes = (1, 0)}
  store %y, %i, %i, %t {checked = (false, false), mask = false, pointwise = false}
  %w: f32[24, 24] = load %y, %i, %i {checked = (false, false), mask = false, other = false, pointwise = false}
  %s: f32[24, 24] = add %w, %v
  store %y, %i, %i, %s {checked = (false, false), mask = false, pointwise = false}
}
"""
    run(text, {"y": np.arange(576, dtype=np.float32).reshape(24, 24)})


def test_carried_tiles_that_trade_places() -> None:
    text = """
kernel @swap(%x: in f32[8], %y: out f32[8], %n: i32) dims() tile {
  %i: i64[8] = iota
  %a0: f32[8] = load %x, %i {checked = (false,), mask = false, other = false, pointwise = false}
  %b0: f32[8] = const {value = 1.0}
  %lo: i32 = const {value = 0}
  %one: i32 = const {value = 1}
  %p0: i32 = const {value = 3}
  %q0: i32 = const {value = 4}
  %a: f32[8], %b: f32[8], %p: i32, %q: i32 = for %lo, %n, %one, %a0, %b0, %p0, %q0
      (%k: i32, %ak: f32[8], %bk: f32[8], %pk: i32, %qk: i32) {
    %c: f32[8] = add %ak, %bk
    %d: f32[8] = mul %c, %ak
    yield %bk, %d, %qk, %pk
  }
  %r: f32[8] = sub %a, %b
  %pf: f32 = cast %p
  %pb: f32[8] = broadcast %pf
  %z: f32[8] = add %r, %pb
  store %y, %i, %z {checked = (false,), mask = false, pointwise = false}
}
"""
    for n in (0, 1, 2, 3):
        run(text, {"x": np.linspace(0, 1, 8, dtype=np.float32), "y": np.zeros(8, np.float32), "n": n})


@pytest.mark.parametrize("base", [-20, -3, 0, 5, 9, 11, 2**31 - 4, -2**31])
@pytest.mark.parametrize("dtype", ["i32", "i64", "u32", "i16"])
def test_index_tiles_that_stick_out_on_either_side(base: int, dtype: str) -> None:
    """The element that overflows an index type wraps around; it must not be taken for one inside."""
    text = f"""
kernel @window(%x: in f32[%N], %y: out f32[16], %s: {dtype}) dims(%N) tile {{
  %i: {dtype}[16] = iota
  %b: {dtype}[16] = broadcast %s
  %at: {dtype}[16] = add %b, %i
  %j: i64[16] = iota
  %else: f32[16] = const {{value = -1.0}}
  %v: f32[16] = load %x, %at, %else {{checked = (true,), mask = false, other = true, pointwise = false}}
  store %y, %j, %v {{checked = (false,), mask = false, pointwise = false}}
}}
"""
    bits = int(dtype[1:])
    value = base & (2**bits - 1)
    value -= 2**bits if dtype[0] == "i" and value >= 2 ** (bits - 1) else 0
    run(text, {"x": np.arange(10, dtype=np.float32), "y": np.zeros(16, np.float32), "s": value}, {"N": 10})


@pytest.mark.parametrize(("lo", "hi", "step"), [(0, 10, 3), (10, 0, -3), (5, 5, 1), (2**31 - 5, 2**31 - 1, 2),
                                                (-2**31, 2**31 - 1, 2**30), (3, -3, 1)])
def test_loops_over_the_whole_range_of_their_type(lo: int, hi: int, step: int) -> None:
    text = """
kernel @count(%y: out i64[1], %lo: i32, %hi: i32, %step: i32) dims() tile {
  %zero: i64 = const {value = 0}
  %total: i64 = for %lo, %hi, %step, %zero (%k: i32, %t: i64) {
    %w: i64 = cast %k
    %u: i64 = add %t, %w
    yield %u
  }
  store %y, %zero, %total {checked = (false,), mask = false, pointwise = false}
}
"""
    args = {"y": np.zeros(1, np.int64), "lo": lo, "hi": hi, "step": step}
    run(text, args)
    assert args["y"][0] == sum(range(lo, hi, step))


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (8, 32, 16), (24, 40, 48), (9, 33, 17), (64, 65, 1),
                                   (25, 37, 259), (31, 70, 6)])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i8", "i16", "i64", "u8", "u64", "f16", "bf16"])
def test_dot_of_any_extents_and_types(shape: tuple[int, int, int], dtype: str) -> None:
    from tilelang.dtypes import DTYPES
    from tilelang.ir.host_types import numpy_dtype

    m, n, k = shape
    acc = {"f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32", "u8": "u32"}.get(dtype, dtype)
    text = f"""
kernel @product(%a: in {dtype}[{m}, {k}], %b: in {dtype}[{k}, {n}], %c: inout {acc}[{m}, {n}]) dims() tile {{
  %i: i64[{m}] = iota
  %j: i64[{n}] = iota
  %p: i64[{k}] = iota
  %x: {dtype}[{m}, {k}] = load %a, %i, %p {{checked = (false, false), mask = false, other = false, pointwise = false}}
  %y: {dtype}[{k}, {n}] = load %b, %p, %j {{checked = (false, false), mask = false, other = false, pointwise = false}}
  %z: {acc}[{m}, {n}] = load %c, %i, %j {{checked = (false, false), mask = false, other = false, pointwise = false}}
  %r: {acc}[{m}, {n}] = dot %x, %y, %z {{tf32 = false}}
  store %c, %i, %j, %r {{checked = (false, false), mask = false, pointwise = false}}
}}
"""
    rng = np.random.default_rng(1)
    element, total = numpy_dtype(DTYPES[dtype]), numpy_dtype(DTYPES[acc])

    def values(*extents: int, of: np.dtype) -> np.ndarray:
        if DTYPES[dtype].is_float:
            return rng.standard_normal(extents).astype(of)
        return rng.integers(np.iinfo(of).min, np.iinfo(of).max, extents, of, endpoint=True)

    run(text, {"a": values(m, k, of=element), "b": values(k, n, of=element), "c": values(m, n, of=total)})


def test_names_that_python_or_the_generator_use() -> None:
    """Parameters and values called like keywords, built-ins, words of the generated source, loop variables."""
    text = SOFTMAX
    for old, new in (("x", "load"), ("y", "__import__"), ("M", "lambda"), ("N", "range"), ("row", "memory"),
                     ("cols", "i"), ("v", "args"), ("e", "exp"), ("s", "kernel"), ("q", "program"), ("m", "None")):
        text = re.sub(rf"%{old}\b", f"%{new}", text)
    args, _ = softmax_arguments()
    run(text, {"load": args["x"], "__import__": args["y"]}, {"lambda": 5, "range": 13}, (5,))


def test_nothing_of_the_source_escapes_a_comment() -> None:
    evil = "let v = x;  # \x0c\u2028\x85\r__import__('os').system('false')\n"
    kernel = parse_kernel("""
kernel @k(%y: out f32[4]) dims() tile {
  %i: i64[4] = iota
  %v: f32[4] = const {value = 1.0}
  store %y, %i, %v {checked = (false,), mask = false, pointwise = false} @0:5
}
""")
    lines = generate(kernel, Source(evil, "a\nimport os\n.tile")).splitlines()
    assert [line for line in lines if "os" in line and not line.lstrip().startswith("#")] == []
    assert any("system" in line for line in lines)


def test_constants_survive() -> None:
    text = """
kernel @constants(%y: out f64[6], %z: out f16[2], %u: out u64[1], %s: out i64[1]) dims() tile {
  %i: i64[1] = iota
  %o: i64 = const {value = 0}
  %c1: f64 = const {value = -0.0}
  %c2: f64 = const {value = nan}
  %c3: f64 = const {value = -inf}
  %c4: f64 = const {value = 5e-324}
  %h: f16 = const {value = 0.1}
  %big: u64 = const {value = 18446744073709551615}
  %small: i64 = const {value = -9223372036854775808}
  %p1: i64 = const {value = 1}
  %p2: i64 = const {value = 2}
  %p3: i64 = const {value = 3}
  store %y, %o, %c1 {checked = (false,), mask = false, pointwise = false}
  store %y, %p1, %c2 {checked = (false,), mask = false, pointwise = false}
  store %y, %p2, %c3 {checked = (false,), mask = false, pointwise = false}
  store %y, %p3, %c4 {checked = (false,), mask = false, pointwise = false}
  store %z, %o, %h {checked = (false,), mask = false, pointwise = false}
  store %u, %o, %big {checked = (false,), mask = false, pointwise = false}
  store %s, %o, %small {checked = (false,), mask = false, pointwise = false}
}
"""
    args = {"y": np.zeros(6), "z": np.zeros(2, np.float16), "u": np.zeros(1, np.uint64), "s": np.zeros(1, np.int64)}
    run(text, args)
    assert np.signbit(args["y"][0]) and np.isnan(args["y"][1]) and args["y"][3] == 5e-324
    assert args["z"][0] == np.float16(0.1) and args["u"][0] == 2**64 - 1 and args["s"][0] == -2**63


def test_units_are_filled_in_by_position() -> None:
    text = "x_unit = -1\nx_unit_2 = -1\n\ndef f():\n    x_unit = -1\n"
    assert with_units(text, (1, 0)) == "x_unit = 1\nx_unit_2 = 0\n\ndef f():\n    x_unit = -1\n"


def test_too_much_scratch_is_a_diagnostic() -> None:
    scan = "scan %v {axis = 0, kind = \"sum\", reverse = false}"
    tiles = "\n".join(f"  %s{n}: f64[1048576] = {scan}" for n in range(130))
    flags = "{checked = (true,), mask = false, pointwise = false}"
    stores = "\n".join(f"  store %y, %i, %s{n} {flags}" for n in range(130))
    text = f"""
kernel @large(%y: out f64[%N]) dims(%N) tile {{
  %i: i64[1048576] = iota
  %v: f64[1048576] = const {{value = 1.0}}
{tiles}
{stores}
}}
"""
    with pytest.raises(CompileError, match="E0650"):
        generate(parse_kernel(text), Source(""))


def nested(loops: int) -> str:
    opening = "".join(f"  for %lo, %hi, %one (%k{n}: i64) {{\n" for n in range(loops))
    return f"""
kernel @nest(%y: inout i64[1]) dims() tile {{
  %lo: i64 = const {{value = 0}}
  %hi: i64 = const {{value = 1}}
  %one: i64 = const {{value = 1}}
{opening}
  store %y, %lo, %one {{checked = (true,), mask = false, pointwise = false}}
{"  yield }" * loops}
}}
"""


def test_loops_nested_deeper_than_python_can_are_a_diagnostic() -> None:
    run(nested(15), {"y": np.zeros(1, np.int64)})
    with pytest.raises(CompileError, match="E0651"):
        generate(parse_kernel(nested(30)), Source(""))


# ------------------------------------------------------------------------------------ right at the ends of i64


EXTREMES = """
kernel grows(n: i64[N], out y: bool[8]) grid (1) { y[0 +: 8] = n[0 +: 8] + 1 > n[0 +: 8]; }
kernel doubles(s: i64, out y: bool[1]) grid (1) { y[0] = s * 2 // 2 == s; }
kernel counts(s: i64, out y: i32[8]) grid (1) { for k in range(5, s) { y[0 +: 8] = 1; } }
kernel masked(n: i64[N], out y: i32[8]) grid (1) { y[0 +: 8] = 1 where ((9223372036854775805 as i64) +: 8) < n[0]; }
kernel wraps32(x: i32[N], out y: i32[8]) grid (1) {
    for k in range(4094, 4097) { y[0 +: 8] = x[k * 524288 +: 8] else -5; }
}
kernel wraps64(x: i32[N], out y: i32[8]) grid (1) {
    for k in range(0, 17592186044417, 8796093022208) { y[0 +: 8] = x[k * 1048576 +: 8] else -5; }
}
kernel outside(s: i64, x: i32[N], out y: i32[8]) grid (1) { y[0 +: 8] = x[s +: 8] else -5; }
"""
"""numba's operators on i64 leave overflow undefined; the language's integers wrap, and nothing outside is read."""


@pytest.mark.parametrize("kernel, arguments", [
    ("grows", (np.array([2**63 - 1, -2, 2**63 - 1, 0, -2**63, 5, 6, 7]),)), ("doubles", (2**63 - 1,)),
    ("counts", (-2**63,)), ("masked", (np.full(8, -2),)), ("wraps32", (np.arange(10, dtype=np.int32),)),
    ("wraps64", (np.arange(10, dtype=np.int32),)), ("outside", (2**63 - 3, np.arange(10, dtype=np.int32))),
    ("outside", (-2**63, np.arange(10, dtype=np.int32))), ("outside", (-3, np.arange(10, dtype=np.int32))),
])
def test_the_ends_of_i64(kernel: str, arguments: tuple) -> None:
    handle = tilelang.compile(EXTREMES)[kernel]
    np.testing.assert_array_equal(handle(*arguments, device="cpu"), handle(*arguments, device="reference"))


def test_a_kernel_that_does_nothing() -> None:
    idle = tilelang.compile("kernel idle(x: f32[N]) grid (N) { }")["idle"]
    assert idle(np.zeros(3, np.float32), device="cpu") is None


@pytest.mark.parametrize("body", [
    "let w = x[0 +: 8] where any(x[0 +: 4] > 1.0, axis=0) else max(x[2 +: 4], axis=0); y[0 +: 8] = w;",
    "y[0 +: 8] *= max(x[0 +: 2][:, None] + x[0 +: 8][None, :], axis=0);",
    "let m = all(x[0 +: 3] > 0.0, axis=0); let t = x[0 +: 2][:, None] + x[0 +: 8][None, :];"
    "y[0 +: 8] = select(m, max(t, axis=0), max(select(m, t * 2.0, t), axis=0));",
    "let t = x[0 +: 4][:, None] + x[(max(x[0 +: 4], axis=0) as i32) % 3 +: 8][None, :];"
    "y[0 +: 8] = max(t + sum(x[0 +: 8], axis=0), axis=0);",
])
def test_reductions_of_a_loop_not_yet_written(body: str) -> None:
    handle = tilelang.compile(f"kernel k(x: f32[N], inout y: f32[8]) grid (1) {{ {body} }}")["k"]
    x = np.arange(8, dtype=np.float32)
    found, expected = (handle(x, np.ones(8, np.float32), device=device) for device in ("cpu", "reference"))
    np.testing.assert_array_equal(found, expected)
