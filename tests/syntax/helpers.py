"""What the syntax tests share."""

from __future__ import annotations

from dataclasses import fields

from tilelang.diagnostics import Diagnostic, Sink, Source
from tilelang.syntax import ast
from tilelang.syntax.parsing import parse

SOFTMAX = """\
# softmax.tile — one program per row
kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
    let row  = program_id(0);
    let cols = 0 +: BLOCK;                       # i32[BLOCK]: 0, 1, ..., BLOCK-1
    let v    = x[row, cols] else -inf;           # outside the tensor reads as -inf
    let e    = exp(v - max(v, axis=0));
    y[row, cols] = e / sum(e, axis=0);           # outside the tensor is not written
}
"""

MATMUL = """\
kernel matmul[T: {f16, bf16, f32}, BM: {64, 128}, BN: {64, 128}, BK: {32, 64}, warps: {4, 8}, stages: {2, 3}]
             (a: T[M, K], b: T[K, N], out c: T[M, N])
    grid (cdiv(M, BM), cdiv(N, BN))
{
    let rows = program_id(0) * BM +: BM;
    let cols = program_id(1) * BN +: BN;
    var acc  = zeros([BM, BN], f32);
    for k in range(0, K, BK) {
        acc = dot(a[rows, k +: BK], b[k +: BK, cols], acc);
    }
    c[rows, cols] = acc as T;
}
"""

KERNEL = "kernel k(x: f32[N], out y: f32[N]) grid (1) {{\n    {}\n}}\n"


def parsed(text: str) -> ast.Module:
    """The AST of a text that must be free of mistakes."""
    sink = Sink()
    module = parse(Source(text), sink)
    assert sink.diagnostics == [], sink.diagnostics
    return module


def statement(text: str) -> ast.Stmt:
    """The AST of one statement in a kernel."""
    (only,) = parsed(KERNEL.format(text)).kernels[0].body.body
    return only


def expression(text: str) -> ast.Expr:
    (only,) = parsed(f"const C = {text};").consts
    return only.value


def mistakes(text: str) -> list[Diagnostic]:
    sink = Sink()
    parse(Source(text), sink)
    return sink.diagnostics


def in_kernel(text: str) -> list[str]:
    """The codes that a kernel with this body gives."""
    return [d.code for d in mistakes(KERNEL.format(text))]


def show(node: object) -> str:
    """An expression with a pair of parentheses for each operator."""
    match node:
        case ast.Binary(op, left, right):
            return f"({show(left)} {op} {show(right)})"
        case ast.Unary(op, operand):
            return f"({op} {show(operand)})"
        case ast.Cast(value, dtype):
            return f"({show(value)} as {dtype.text})"
        case ast.IntLit(value) | ast.FloatLit(value) | ast.BoolLit(value):
            return str(value)
        case ast.Name(text):
            return text
        case ast.Call(func, args, keywords):
            words = [show(a) for a in args] + [f"{k.name.text}={show(k.value)}" for k in keywords]
            return f"{func.text}({', '.join(words)})"
        case ast.ListExpr(items):
            return f"[{', '.join(show(i) for i in items)}]"
        case ast.NewAxis():
            return "None"
        case ast.FullAxis():
            return ":"
        case ast.Index(base, items, pointwise, mask, other):
            inner = ", ".join(show(i) for i in items)
            text = f"{base.text}[[{inner}]]" if pointwise else f"{base.text}[{inner}]"
            text += f" where {show(mask)}" if mask else ""
            text += f" else {show(other)}" if other else ""
            return f"({text})" if mask or other else text
    raise AssertionError(node)


def same(one: object, other: object) -> bool:
    """What `==` says of two trees, without recursion: dataclasses compare themselves through C, for whose stack Python
    3.12 has a limit of its own."""
    pairs = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, ast.Node) and type(a) is type(b):
            pairs += [(getattr(a, field.name), getattr(b, field.name)) for field in fields(a) if field.compare]
        elif isinstance(a, (tuple, list)) and type(a) is type(b) and len(a) == len(b):  # type: ignore[arg-type]
            pairs += zip(a, b, strict=True)  # type: ignore[call-overload]
        elif isinstance(a, ast.Node) or a != b:
            return False
    return True
