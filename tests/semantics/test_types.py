"""The type of every kind of expression: element type and shape."""

from __future__ import annotations

import pytest

from tests.semantics.helpers import check_body, type_of

HALF = "h[0]"
ROWS = "w[0 +: 4, 0 +: 8]"

LITERALS = [
    ("3", "i32"),
    ("3.5", "f32"),
    ("true", "bool"),
    ("-3", "i32"),
    ("inf", "f32"),
    ("-inf", "f32"),
    ("pi", "f32"),
    ("2147483647", "i32"),
    ("2147483648", "i64"),
    ("-2147483648", "i32"),
    ("-2147483649", "i64"),
    ("9223372036854775808", "u64"),
    ("18446744073709551615", "u64"),
    ("-9223372036854775808", "i64"),
    ("1 + 2.5", "f32"),
    ("7 // 2", "i32"),
    ("1 < 2", "bool"),
    ("2147483647 + 1", "i64"),
    ("1.0 / 0.0", "f32"),
    ("1 as u8", "u8"),
    ("300 as u8", "u8"),
    ("1.5 as i32", "i32"),
    ("1 as bool", "bool"),
    ("not true", "bool"),
]

DTYPES = [
    # A literal takes the type of what it meets.
    ("h[0] * 2", "f16"),
    ("h[0] * 2.5", "f16"),
    ("2 * h[0]", "f16"),
    ("u[0] + 1", "u32"),
    ("d[0] + 1.0", "f64"),
    ("h[0] + 2048", "f16"),
    ("(u[0] as u8) + 255", "u8"),
    ("n[0] == 3", "bool"),
    ("n[0] + 2147483647", "i32"),
    # Within a kind the wider type wins.
    ("h[0] + x[0]", "f32"),
    ("x[0] + d[0]", "f64"),
    ("n[0] + program_id(0)", "i64"),
    ("n[0] + N", "i64"),
    ("(n[0] as i8) + n[0]", "i32"),
    ("(u[0] as u8) * u[0]", "u32"),
    ("(h[0] as bf16) + x[0]", "f32"),
    # Comparisons, logic, bits.
    ("h[0] < x[0]", "bool"),
    ("s > 0.0 and n[0] > 0", "bool"),
    ("(s > 0.0) == (s > 1.0)", "bool"),
    ("(s > 0.0) & (s < 1.0)", "bool"),
    ("n[0] & 255", "i32"),
    ("~u[0]", "u32"),
    ("-u[0]", "u32"),
    ("n[0] << 3", "i32"),
    ("n[0] << 40", "i32"),
    ("1 << u[0]", "u32"),
    ("(n[0] as i64) << n[0]", "i64"),
    ("n[0] >> -1", "i32"),
    ("n[0] // 0", "i32"),
    ("n[0] % 7", "i32"),
    ("s / 2", "f32"),
    ("n[0] as f32 / 2", "f32"),
    # Dims and program ids are 64-bit.
    ("N", "i64"),
    ("program_id(0)", "i64"),
    ("num_programs(0)", "i64"),
    ("cdiv(N, 2)", "i64"),
    ("N * 2 + 1", "i64"),
]

TILES = [
    ("0 +: 4", "i32[4]"),
    ("program_id(0) +: 4", "i64[4]"),
    ("(u[0] as u8) +: 3", "u8[3]"),
    ("N - 4 +: _B", "i64[16]"),
    ("0 +: _B * 2", "i32[32]"),
    ("0 +: cdiv(_B, 3)", "i32[6]"),
    ("0 +: next_pow2(_B + 1)", "i32[32]"),
    ("0 +: maximum(_B, 20)", "i32[20]"),
    ("5000000000 +: 2", "i64[2]"),
    ("-3 +: 2", "i32[2]"),
    ("x[0]", "f32"),
    ("x[0 +: 4]", "f32[4]"),
    (ROWS, "f32[4, 8]"),
    ("w[0, 0 +: 8]", "f32[8]"),
    ("w[0 +: 4, 0]", "f32[4]"),
    ("w[[0 +: 4, 0 +: 4]]", "f32[4]"),
    ("w[[0 +: 4, 1]]", "f32[4]"),
    ("x[[reshape(0 +: 16, [4, 4])]]", "f32[4, 4]"),
    ("x[u[0] as u8]", "f32"),
    ("x[n[0 +: 4]]", "f32[4]"),
    ("x[0 +: 4] where 0 +: 4 < 2 else 1", "f32[4]"),
    ("x[0 +: 4] else -inf", "f32[4]"),
    ("x[0] where s > 0.0", "f32"),
    ("x[0 +: 4] + s", "f32[4]"),
    (f"{ROWS} + x[0 +: 8]", "f32[4, 8]"),
    (f"{ROWS} + x[0 +: 1]", "f32[4, 8]"),
    ("zeros([4], f16)", "f16[4]"),
    ("zeros(4, bool)", "bool[4]"),
    ("ones([2, 3], u8)", "u8[2, 3]"),
    ("full([4], 1)", "i32[4]"),
    ("full([4], 1, f16)", "f16[4]"),
    ("full([4], s)", "f32[4]"),
    ("full([4], s, f64)", "f64[4]"),
    ("zeros([1, 1, 1, 1048576], i8)", "i8[1, 1, 1, 1048576]"),
    ("zeros(dtype=f32, shape=[3])", "f32[3]"),
    (f"reshape({ROWS}, [2, 16])", "f32[2, 16]"),
    (f"reshape({ROWS}, 32)", "f32[32]"),
    ("reshape(s, [1, 1])", "f32[1, 1]"),
    (f"transpose({ROWS})", "f32[8, 4]"),
    (f"permute({ROWS}, [-1, 0])", "f32[8, 4]"),
    ("transpose(zeros([2, 3, 4], f32))", "f32[2, 4, 3]"),
    ("permute(zeros([2, 3, 4], f32), [2, 0, 1])", "f32[4, 2, 3]"),
    ("broadcast_to(x[0 +: 8], [4, 8])", "f32[4, 8]"),
    ("broadcast_to(s, [4])", "f32[4]"),
    ("broadcast_to(1, [4])", "i32[4]"),
    ("cat(x[0 +: 4], x[0 +: 2])", "f32[6]"),
    ("cat([x[0 +: 4], x[0 +: 2]], axis=0)", "f32[6]"),
    (f"cat({ROWS}, {ROWS}, {ROWS}, axis=-1)", "f32[4, 24]"),
    ("cat(h[0 +: 4], x[0 +: 4])", "f32[8]"),
]

REDUCTIONS = [
    (f"sum({ROWS})", "f32"),
    (f"sum({ROWS}, axis=0)", "f32[8]"),
    (f"sum({ROWS}, axis=-1)", "f32[4]"),
    (f"sum({ROWS}, axis=1, keepdims=true)", "f32[4, 1]"),
    (f"sum({ROWS}, axis=[0, 1])", "f32"),
    (f"max({ROWS}, keepdims=true)", "f32[1, 1]"),
    ("sum(zeros([2, 3, 4], f32), axis=[2, 0])", "f32[3]"),
    ("sum(x[0 +: 4] > 0.0)", "i32"),
    ("sum(zeros([4], u8))", "u32"),
    ("sum(zeros([4], i16))", "i32"),
    ("sum(zeros([4], u64))", "u64"),
    ("sum(h[0 +: 4])", "f16"),
    ("prod(zeros([4], i8))", "i32"),
    ("max(zeros([4], i8))", "i8"),
    (f"argmax({ROWS}, axis=1)", "i32[4]"),
    (f"argmin({ROWS})", "i32"),
    (f"argmax({ROWS}, axis=0, keepdims=true)", "i32[1, 8]"),
    ("any(x[0 +: 4] > 0.0)", "bool"),
    (f"all({ROWS} > 0.0, axis=0)", "bool[8]"),
    ("sum(s)", "f32"),
    ("max(3)", "i32"),
    ("cumsum(x[0 +: 4])", "f32[4]"),
    (f"cumsum({ROWS}, axis=1, reverse=true)", "f32[4, 8]"),
    ("cumsum(x[0 +: 4] > 0.0)", "i32[4]"),
    ("cummax(zeros([4], u8))", "u8[4]"),
    ("cumprod(zeros([4], u8))", "u32[4]"),
]

DOTS = [
    ("dot(zeros([4, 8], f16), zeros([8, 2], f16))", "f32[4, 2]"),
    ("dot(zeros([4, 8], f64), zeros([8, 2], f64))", "f64[4, 2]"),
    ("dot(zeros([4, 8], bf16), zeros([8, 2], bf16), zeros([4, 2], f32))", "f32[4, 2]"),
    ("dot(zeros([4, 8], f32), zeros([8, 2], f32), acc=zeros([4, 2], f16))", "f32[4, 2]"),
    ("dot(zeros([4, 8], f32), zeros([8, 2], f32), tf32=true)", "f32[4, 2]"),
    ("dot(zeros([4, 8], i8), zeros([8, 2], i8))", "i32[4, 2]"),
    ("dot(zeros([4, 8], u8), zeros([8, 2], u8))", "u32[4, 2]"),
    ("dot(zeros([4, 8], i64), zeros([8, 2], i64))", "i64[4, 2]"),
    ("dot(zeros([1, 5], u64), zeros([5, 1], u64))", "u64[1, 1]"),
    ("dot(zeros([3, 4, 8], f16), zeros([3, 8, 2], f16))", "f32[3, 4, 2]"),
]

FUNCTIONS = [
    ("exp(h[0 +: 4])", "f16[4]"),
    ("sqrt(2.0)", "f32"),
    ("rsqrt(d[0])", "f64"),
    ("exp(h[0 +: 4], approx=true)", "f16[4]"),
    ("sigmoid(d[0], approx=3 < 2)", "f64"),
    ("divide(h[0], x[0 +: 4], approx=true)", "f32[4]"),
    ("divide(1, s)", "f32"),
    ("abs(n[0])", "i32"),
    ("abs(-3)", "i32"),
    ("sign(u[0])", "u32"),
    ("floor(s)", "f32"),
    ("isnan(h[0 +: 4])", "bool[4]"),
    ("isinf(s)", "bool"),
    ("maximum(h[0], 0)", "f16"),
    ("minimum(n[0 +: 4], 3)", "i32[4]"),
    ("clamp(s, 0, 1)", "f32"),
    ("clamp(x[0 +: 4], s, 1.0)", "f32[4]"),
    ("pow(s, 2)", "f32"),
    ("pow(n[0], 3)", "i32"),
    ("fma(s, 2.0, x[0 +: 4])", "f32[4]"),
    ("fma(1.0, 2.0, 3.0)", "f32"),
    ("select(s > 0.0, h[0], x[0 +: 4])", "f32[4]"),
    ("select(x[0 +: 4] > 0.0, 1, 0)", "i32[4]"),
    ("select(true, s > 0.0, false)", "bool"),
    ("select(true, 1, 2.5)", "f32"),
    ("rand(3, 0 +: 4)", "f32[4]"),
    ("randn(n[0], u[0])", "f32"),
    ("randint(18446744073709551615, 0 +: 4)", "u32[4]"),
    ("cdiv(n[0 +: 4], 3)", "i32[4]"),
    ("cdiv(u[0], 3)", "u32"),
    ("cdiv(7, 2)", "i32"),
    ("atomic_add(z[0 +: 4], 1)", "i32[4]"),
    ("atomic_cas(z[0], 0, 1)", "i32"),
    ("atomic_max(z[n[0 +: 4]], n[0])", "i32[4]"),
    ("atomic_xchg(z[0 +: 4], 1) where 0 +: 4 < 2", "i32[4]"),
]


@pytest.mark.parametrize(("expression", "expected"), LITERALS + DTYPES + TILES + REDUCTIONS + DOTS + FUNCTIONS)
def test_type(expression: str, expected: str) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("v[:, None]", "f32[4, 1]"),
        ("v[None, :]", "f32[1, 4]"),
        ("v[None]", "f32[1, 4]"),
        ("v[:]", "f32[4]"),
        ("v[None, :, None]", "f32[1, 4, 1]"),
        ("v[:, None] + v[None, :]", "f32[4, 4]"),
    ],
)
def test_new_axes(view: str, expected: str) -> None:
    kernel = check_body(f"let v = x[0 +: 4]; let _w = {view};").kernel
    assert str(kernel.body[1].vars[0].type) == expected


FNS = [
    ("f(x[0 +: 4])", "fn f(a) { return a * a; }", "f32[4]"),
    ("f(h[0], 2.5)", "fn f(a, b) { return a * b; }", "f16"),  # a literal argument stays free inside
    ("f(_B)", "fn f(n) { return 0 +: n; }", "i32[16]"),  # ... and may be an extent
    ("f(_B)", "fn f(n: i64) { return 0 +: n; }", "i32[16]"),
    ("f(2)", "fn f(n: f64) { return n; }", "f64"),
    ("f(h[0])", "fn f(n: f32) { return n; }", "f32"),
    ("0 +: f(_B)", "fn f(n) { return n // 2; }", "i32[8]"),  # a constant of constants is a literal again
    ("f(b=s, a=h[0])", "fn f(a, b: f64) { return a; }", "f16"),
    ("max(f(3, 4))", "fn f(max, min) { return max - min; }", "i32"),
    ("foo(s)", "fn foo(foo) { return foo + foo; }", "f32"),
    ("g(f(s))", "fn g(x) { return f(f(x)); } fn f(y) { let _z = y; var w = y; w += 1.0; return w; }", "f32"),
    (
        "f(s)",
        "const N2 = 3; fn f(y) { var t = y; for i in range(N2) { t = t + (i as f32); } return t; }",
        "f32",
    ),
]


@pytest.mark.parametrize(("expression", "before", "expected"), FNS)
def test_fn_calls(expression: str, before: str, expected: str) -> None:
    assert type_of(expression, before) == expected


def test_a_let_bound_to_a_constant_is_an_extent() -> None:
    kernel = check_body("let half = _B // 2; let _v = 0 +: 2 * half + 1;").kernel
    assert str(kernel.body[1].vars[0].type) == "i32[17]"


@pytest.mark.parametrize(
    "body", ["var half = 8; half = 9; let _v = 0 +: half;", "let a = 2147483647; let _v = 0 +: a + 1;"]
)
def test_a_var_or_a_wrapped_int_is_no_extent(body: str) -> None:
    assert "E0310" in check_body(body).codes


BOUNDS = [
    ("range(4)", "i32"),
    ("range(N)", "i64"),
    ("range(0, n[0])", "i32"),
    ("range(n[0], N, 2)", "i64"),
    ("range(0, 5000000000)", "i64"),
    ("range(u[0])", "u32"),
    ("range(10, 0, -1)", "i32"),
    ("range(N, 0, -4)", "i64"),
    ("range(h8[0], 7)", "i8"),
]


@pytest.mark.parametrize(("bounds", "expected"), BOUNDS)
def test_loop_variables(bounds: str, expected: str) -> None:
    kernel = check_body(f"for i in {bounds} {{ z[i] = 0; }}", "n: i32[N], u: u32[N], h8: i8[N], inout z: i32[N]").kernel
    loop = kernel.body[0]
    assert str(loop.var.type) == expected
    assert {str(loop.lo.type), str(loop.hi.type), str(loop.step.type)} == {expected}
