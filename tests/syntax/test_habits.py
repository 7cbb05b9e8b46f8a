"""What people write out of habit, and the one message that tells them what to write instead."""

from __future__ import annotations

import pytest

from tests.syntax.helpers import KERNEL, mistakes

BODY = [
    ("y[0] = x.shape[0];", "E0003", "extents have names"),
    ("y[0] = x.T[0];", "E0003", "`transpose(v)`"),
    ("y[0] = x[0].sum();", "E0003", "`sum(v)`"),
    ("y[0] = x[0].to(f32);", "E0003", "`v as f16`"),
    ("let v = tl.load(x + 1);", "E0003", "`x[i] where m else 0.0`"),
    ("y[0] = np.exp(x[0]);", "E0003", "write `exp(...)`"),
    ("let t = blockIdx.x;", "E0003", "`program_id(0)`"),
    ("y[0] = x[...];", "E0003", "one index for each axis"),
    ("y[0] = x[0] as tl.float16;", "E0003", "the type is `f16`"),
    ("y[0] = 1.5f;", "E0004", "write `1.5`"),
    ("y[0] = 1e-5f;", "E0004", "write `1e-5`"),
    ("y[0] = 1.5e+3_f32;", "E0004", "write `1.5e+3`"),
    ("y[0] = (float)x[0];", "E0101", "`x as f32`"),
    ("y[0] = where(x[0] > 0.0, 1.0, 2.0);", "E0101", "`select(condition, a, b)`"),
    ('print(f"{N}");', "E0101", "takes no prefix"),
    ("let b = x[0] is y[0];", "E0101", "write `==`"),
    ("else { }", "E0101", "behind the `}` of an `if`"),
    ("if (N == 0) y[0] = 1.0;", "E0101", "stands in braces"),
    ("let a = b = 1.0;", "E0101", "end it with `;`"),
    ("return\n y[0] = 1.0;", "E0101", "ends in `;`"),
    ("let (a, b) = f(x[0]);", "E0101", "leave the parentheses away: `let a, ...`"),
    ("y[0] = x[0], x[1];", "E0101", "one value stands here"),
    ("y[0] = x[0] y[1] = x[1];", "E0101", "end the statement before it with `;`"),
    ("y[0] = fn(a) + 1.0;", "E0101", "at the top level"),
    ("let for = 3;", "E0114", "another name"),
    ("y[0] = x[0, 0:32];", "E0115", "`start +: length`"),
    ("do { y[0] = 1.0; }", "E0115", "`while condition"),
    ("shared s;", "E0115", "where a tile lives"),
    ("y[0] = x[0][1];", "E0116", "one pair of brackets"),
]

FILE = [
    ("kernel k(x, y) grid (1) { }", "E0101", "`x: f32[N]` is a tensor"),
    ("kernel k(f32[N] x) grid (1) { }", "E0101", "the name stands first"),
    ("kernel k(float* x) grid (1) { }", "E0101", "the name stands first"),
    ("kernel k(int n) grid (1) { }", "E0101", "the name stands first"),
    ("kernel k(x: *f32) grid (1) { }", "E0101", "no pointers"),
    ("kernel k(x: f32[N][M]) grid (1) { }", "E0101", "one pair of brackets"),
    ("kernel k(x: f32[:]) grid (1) { }", "E0101", "give every axis a name"),
    ("kernel k(y: out f32[N]) grid (1) { }", "E0101", "`out y: ...`"),
    ("kernel k(in x: f32[N]) grid (1) { }", "E0101", "leave `in` away"),
    ("kernel k(const x: f32[N]) grid (1) { }", "E0101", "leave `const` away"),
    ("kernel k(x: f32[N] out y: f32[N]) grid (1) { }", "E0101", "a `,` stands between"),
    ("kernel k(x: f32[N]; out y: f32[N]) grid (1) { }", "E0101", "a `,` stands between"),
    ("kernel k(x: f32 = 1.0) grid (1) { }", "E0101", "no default value"),
    ("kernel k[BLOCK](x: f32[N]) grid (1) { }", "E0101", "`BLOCK: {64, 128}`"),
    ("kernel k[BLOCK: 64](x: f32[N]) grid (1) { }", "E0101", "for one value write `BLOCK = 64`"),
    ("kernel k[warps: 4](x: f32[N]) grid (1) { }", "E0101", "`warps: {4, 8}`"),
    ("kernel k[BLOCK = {64, 128}](x: f32[N]) grid (1) { }", "E0101", "`BLOCK: {64, 128}`"),
    ("kernel k<B = 4>(x: f32[N]) grid (1) { }", "E0101", "after the kernel's name"),
    ("kernel k(x: f32[N])[B = 4] grid (1) { }", "E0101", "after the kernel's name"),
    ("kernel k(x: f32[N]) grid 1 { }", "E0101", "`grid (1)`"),
    ("kernel k(x: f32[N]) grid [N] { }", "E0101", "`grid (1)`"),
    ("kernel k(x: f32[N]) grid (N);", "E0101", "stands in braces"),
    ("fn f(x) return x;", "E0101", "stands in braces"),
    ("kernel (x: f32[N]) grid (1) { }", "E0101", "`kernel name(...)`"),
    ("kernal k(x: f32[N]) grid (1) { }", "E0101", "did you mean `kernel`?"),
    ("__global__ void k() { }", "E0101", "`kernel name"),
    ("A = 4;", "E0101", "`const A = ...;`"),
    ("y[0] = 1.0;", "E0101", "in the body"),
    ("const A: i32 = 4;", "E0101", "`const A = ...;`"),
    ("const A = 4 kernel k(x: f32[A]) grid (1) { }", "E0102", "add `;`"),
    ("import triton.language as tl", "E0115", "one file"),
    ("@triton.jit\nfn f(x) { return x; }", "E0003", "no decorator"),
]


@pytest.mark.parametrize(("text", "code", "help"), [(KERNEL.format(s), c, h) for s, c, h in BODY] + FILE)
def test_one_message_that_says_what_to_write(text: str, code: str, help: str) -> None:
    (found,) = mistakes(text)
    assert (found.code, help in found.help) == (code, True), found


def test_a_missing_body_brace_does_not_unbalance_the_rest() -> None:
    text = KERNEL.format("if N > 0 y[0] = 1.0;\n    if N > 1 { y[1] = 2.0; }\n    y[2] = $;")
    assert [found.code for found in mistakes(text)] == ["E0101", "E0003"]
    text = KERNEL.format("if N > 0\n y[0] = 1.0;\n y[1] = 2.0;\n }")  # the `}` is there, the `{` is not
    assert [found.code for found in mistakes(text)] == ["E0101"]


@pytest.mark.parametrize("deep", ["(", "x[", "-(", "f("])
def test_a_body_without_braces_may_not_nest_deeper_either(deep: str) -> None:
    codes = [found.code for found in mistakes(KERNEL.format(f"if N > 0 y[0] = {deep * 5000}1;"))]
    assert codes[0] == "E0101" and "E0105" in codes


def test_mistakes_found_while_the_tree_is_built_are_counted_too() -> None:
    found = mistakes(KERNEL.format("y[0] = x[0]" + " else x[0]" * 1000 + ";"))
    assert len(found) == 100
    assert "more are not shown" in found[-1].notes[-1]
