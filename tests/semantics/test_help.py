"""The help that a beginner gets: what to write instead."""

from __future__ import annotations

import pytest

from tests.semantics.helpers import check, check_body, type_of

BODY = [
    ("y[0] = pid as f32;", "E0201", "`let pid = program_id(0);`"),
    ("y[0] = threadIdx as f32;", "E0201", "whole tile"),
    ("y[0] = num_warps as f32;", "E0201", "`k[warps: {4, 8}"),
    ("y[0] = program_id as f32;", "E0201", "`program_id(0)`"),
    ("__syncthreads();", "E0202", "the compiler's business"),
    ("y[0] = ceil_div(N, 2) as f32;", "E0202", "`cdiv(a, b)`"),
    ("var v = zeros([16], f16); v = x[0 +: 16]; y[0 +: 16] = v;", "E0303", "declare the variable with f32"),
    ("y[0] = x[0] ^ 2.0;", "E0304", "`pow(a, b)`"),
    ("y[0] = x[0] << 2;", "E0304", "multiply"),
    ("y[0] = ~x[0];", "E0304", "`-x`"),
    ("y[0] = x[0, 1];", "E0307", "`x[i]`"),
    ("y[0 +: 4] = sum(x[(0 +: 4)[:, None]]);", "E0308", "leave the `[:, None]` out"),
    ("y[0] = sum(x[0 +: 4], 0);", "E0318", "`sum(v, axis=...)`"),
    ("y[0] = sum(x[0 +: 4], dim=0);", "E0318", "`axis`"),
    ('print("a", n[0], n[1]);', "E0318", "one value at a time"),
    ("let _v = reshape(x[0 +: 4], 2, 2);", "E0318", "square brackets"),
    ("let _v = cat([zeros([2, 3], f32), zeros([2, 4], f32)]);", "E0324", "axis=1"),
]


@pytest.mark.parametrize(("body", "code", "help"), BODY)
def test_help_in_bodies(body: str, code: str, help: str) -> None:
    found = [d for d in check_body(body).diagnostics if d.is_error]
    assert [(d.code, help in d.help) for d in found] == [(code, True)], found


@pytest.mark.parametrize(("text", "code", "help"), [
    ("kernel k(out y: f32[N]) grid (M) { y[0] = 1.0; }", "E0201", "`x: f32[M]`"),
    ("kernel k[B = M](out y: f32[B]) grid (1) { y[0] = 1.0; }", "E0201", "`[M = 64]`"),
    ("const A = N; kernel k(out y: f32[N]) grid (A) { y[0] = 1.0; }", "E0201", "extents are known in kernels only"),
    ("fn f(v) { return v + y[0]; } kernel k(out y: f32[N]) grid (1) { y[0] = f(1.0); }", "E0201", "tensors stay"),
    ("kernel k[num_warps = 4](out y: f32[N]) grid (1) { y[0] = 1.0; }", "W0102", "`warps`"),
    ("kernel k(x: f32[M, N], out y: f32[N, M]) grid (1) { y[0 +: 2, 0 +: 4] = x[0 +: 4, 0 +: 2]; }", "E0313",
     "`transpose(v)`"),
    ("kernel k(x: f32[N], out y: f32[N, M]) grid (1) { y[0 +: 2, 0 +: 4] = x[0 +: 2]; }", "E0313", "`v[:, None]`"),
])  # fmt: skip
def test_help_in_files(text: str, code: str, help: str) -> None:
    assert [(d.code, help in d.help) for d in check(text).diagnostics] == [(code, True)]


def test_products_of_bool_count_like_sums() -> None:
    assert type_of("prod(x[0 +: 4] > 0.0)") == "i32"
    assert type_of("cumprod(x[0 +: 4] > 0.0)") == "i32[4]"
