"""Binding arguments: dims, metas, grid, shapes, and every message about what does not fit."""

from __future__ import annotations

import pytest

from tests.semantics.helpers import check
from tilelang.diagnostics import Diagnostic, Sink
from tilelang.dtypes import BF16, F16, F32, F64, I32
from tilelang.semantics.check import check_kernel
from tilelang.semantics.specialize import Binder, Binding, ScalarFact, TensorFact, bind, signature

SOFTMAX = """
kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
    let cols = 0 +: BLOCK;
    y[program_id(0), cols] = x[program_id(0), cols];
}
"""

MATMUL = """
kernel matmul[T: {f16, bf16, f32}, BM: {64, 128}, BN: {64, 128} = 128, warps: {4, 8}]
             (a: T[M, K], b: T[K, N], out c: T[M, N], alpha: T)
    grid (cdiv(M, BM), cdiv(N, BN))
{
    c[program_id(0) * BM +: BM, program_id(1) * BN +: BN] = alpha;
}
"""

PARTIALS = """
const SPLIT = 4;
kernel partials[B = 16, CHUNKS = cdiv(N, B * SPLIT), BIG = N > 100](
    x: f32[N], w: f32[SPLIT, B], sums: f32[cdiv(N, B), 2 * M], n: i32, out y: f32[M], inout z: f32[2 * M + 1]
) grid (CHUNKS, M, SPLIT) {
    if BIG { y[n] = x[n] + w[0, n] + sums[0, n]; z[n] += 1.0; }
}
"""


def binder(text: str) -> Binder:
    checked = check(text)
    assert checked.codes == []
    return Binder(checked.names, checked.names.module.kernels[0])


def bound(text: str, args: dict, metas: dict | None = None, dims: dict | None = None) -> Binding:
    sink = Sink()
    result = binder(text).bind(args, metas or {}, sink, dims)
    assert result is not None, [d.title for d in sink.diagnostics]
    return result


def wrong(text: str, args: dict, metas: dict | None = None, dims: dict | None = None) -> Diagnostic:
    """The only message."""
    sink = Sink()
    assert binder(text).bind(args, metas or {}, sink, dims) is None
    (diagnostic,) = sink.diagnostics
    assert diagnostic.span is not None and diagnostic.span.end > 0
    return diagnostic


def tensor(*shape: int, dtype=F32) -> TensorFact:  # type: ignore[no-untyped-def]
    return TensorFact(dtype, shape)


def operands(m: int = 100, k: int = 30, n: int = 200, dtype=F16) -> dict:  # type: ignore[no-untyped-def]
    return {"a": tensor(m, k, dtype=dtype), "b": tensor(k, n, dtype=dtype), "alpha": ScalarFact(0.5)}


def test_dims_and_computed_metas() -> None:
    result = bound(SOFTMAX, {"x": tensor(5, 37)})
    assert result.dims == {"M": 5, "N": 37}
    assert result.metas == {"BLOCK": 64}
    assert result.grid == (5,)
    assert result.shapes == {"x": (5, 37), "y": (5, 37)}
    assert result.dtypes == {"x": F32, "y": F32}


def test_an_output_may_bind_a_dim_and_is_checked() -> None:
    assert bound(SOFTMAX, {"x": tensor(5, 37), "y": tensor(5, 37)}).dims == {"M": 5, "N": 37}
    assert (
        wrong(SOFTMAX, {"x": tensor(5, 37), "y": tensor(5, 38)}).title
        == "y.shape[1] is 38, but N is 37 (from x.shape[1])"
    )


def test_dtype_metas_come_from_the_arguments() -> None:
    result = bound(MATMUL, operands(dtype=BF16))
    assert result.metas == {"T": BF16, "BM": 64, "BN": 128, "warps": 4}
    assert result.grid == (2, 2)
    assert result.dtypes["c"] is BF16


def test_metas_by_keyword() -> None:
    result = bound(MATMUL, operands(), {"BM": 128, "BN": "64", "warps": 8, "T": "f16"})
    assert result.metas == {"T": F16, "BM": 128, "BN": 64, "warps": 8}
    assert bound(SOFTMAX, {"x": tensor(5, 37)}, {"BLOCK": 2048}).metas == {"BLOCK": 2048}
    assert bound(SOFTMAX, {"x": tensor(5, 37)}, {"BLOCK": "0x20"}).metas == {"BLOCK": 32}


def test_hidden_dims_consts_and_three_grid_axes() -> None:
    args = {
        "x": tensor(130),
        "w": tensor(4, 16),
        "sums": tensor(9, 6),
        "n": ScalarFact(-3),
        "y": tensor(3),
        "z": tensor(7),
    }
    result = bound(PARTIALS, args)
    assert result.dims == {"N": 130, "M": 3, "sums.0": 9, "sums.1": 6, "z.0": 7}
    assert result.metas == {"B": 16, "CHUNKS": 3, "BIG": True}
    assert result.grid == (3, 3, 4)
    assert result.shapes == {"x": (130,), "w": (4, 16), "sums": (9, 6), "y": (3,), "z": (7,)}


def test_the_typed_kernel_has_the_same_dims() -> None:
    checked = check(PARTIALS)
    args = {
        "x": tensor(130),
        "w": tensor(4, 16),
        "sums": tensor(9, 6),
        "n": ScalarFact(-3),
        "y": tensor(3),
        "z": tensor(7),
    }
    result = bound(PARTIALS, args)
    sink = Sink()
    kernel = check_kernel(checked.names, checked.names.module.kernels[0], result, sink)
    assert not sink.diagnostics
    assert set(kernel.dims) == set(result.dims)
    assert kernel.grid == (3, "M", 4)
    assert kernel.params[2].dims == ("sums.0", "sums.1")  # type: ignore[union-attr]


def test_dims_given_by_name() -> None:
    args = {"x": tensor(130), "w": tensor(4, 16), "sums": tensor(9, 6), "n": ScalarFact(0), "z": tensor(7)}
    assert bound(PARTIALS, args, dims={"M": 3}).shapes["y"] == (3,)
    missing = wrong(PARTIALS, args)
    assert missing.code == "E0414" and "`M=...`" not in missing.title and "M=..." in missing.help
    assert wrong(SOFTMAX, {"x": tensor(5, 37)}, dims={"N": 40}).title == "x.shape[1] is 37, but N is 40 (as given)"


def test_empty_arrays() -> None:
    assert bound(SOFTMAX, {"x": tensor(0, 37)}).grid == (0,)
    assert bound(SOFTMAX, {"x": tensor(5, 0)}).metas == {"BLOCK": 1}


WRONG = [
    (SOFTMAX, {}, {}, {}, "E0416", "`x` is missing"),
    (SOFTMAX, {"x": tensor(5, 37), "q": tensor(1)}, {}, {}, "E0416", "no parameter `q`"),
    (SOFTMAX, {"x": tensor(5, 37)}, {"BLOKC": 64}, {}, "E0416", "no meta `BLOKC`"),
    (SOFTMAX, {"x": tensor(5, 37)}, {}, {"K": 64}, "E0416", "no dim `K`"),
    (SOFTMAX, {"x": tensor(5)}, {}, {}, "E0412", "`x` has shape [5], but the kernel takes 2 axes"),
    (SOFTMAX, {"x": tensor(5, 37, dtype=F64)}, {}, {}, "E0411", "`x` is f64, but the kernel takes f32"),
    (SOFTMAX, {"x": ScalarFact(3)}, {}, {}, "E0411", "the number 3 is given for the tensor `x`"),
    (SOFTMAX, {"x": tensor(5, 37)}, {"BLOCK": "many"}, {}, "E0413", "`BLOCK` cannot be many"),
    (SOFTMAX, {"x": tensor(5, 37)}, {"BLOCK": "f32"}, {}, "E0413", "`BLOCK` cannot be f32"),
    (SOFTMAX, {"x": tensor(5, 37)}, {}, {"M": -1}, "E0410", "x.shape[0] is 5, but M is -1"),
    (
        MATMUL,
        operands() | {"b": tensor(31, 200, dtype=F16)},
        {},
        {},
        "E0410",
        "b.shape[0] is 31, but K is 30 (from a.shape[1])",
    ),
    (MATMUL, operands() | {"b": tensor(30, 200)}, {}, {}, "E0411", "`b` is f32, but T is f16 (from `a`)"),
    (MATMUL, operands(dtype=F64), {}, {}, "E0411", "`a` is f64, and T is one of f16, bf16, f32"),
    (MATMUL, operands(), {"T": "f32"}, {}, "E0411", "`a` is f16, but T is f32"),
    (MATMUL, operands(), {"T": "f64"}, {}, "E0413", "`T` cannot be f64"),
    (MATMUL, operands(), {"T": 3}, {}, "E0413", "`T` cannot be 3"),
    (MATMUL, operands(), {"BM": 96}, {}, "E0413", "`BM` cannot be 96"),
    (MATMUL, operands(), {"BM": True}, {}, "E0413", "`BM` cannot be true"),
    (MATMUL, operands(), {"warps": 16}, {}, "E0413", "`warps` cannot be 16"),
    (MATMUL, operands() | {"alpha": ScalarFact(1e6)}, {}, {}, "E0415", "1000000.0 does not fit `alpha: T`"),
    (MATMUL, operands() | {"alpha": tensor(3)}, {}, {}, "E0411", "given for the scalar `alpha`"),
]


@pytest.mark.parametrize(("text", "args", "metas", "dims", "code", "title"), WRONG)
def test_what_does_not_fit(text: str, args: dict, metas: dict, dims: dict, code: str, title: str) -> None:
    diagnostic = wrong(text, args, metas, dims)
    assert diagnostic.code == code
    assert title in diagnostic.title


def test_all_missing_and_unknown_arguments_are_named() -> None:
    sink = Sink()
    binder(MATMUL).bind({}, {}, sink)
    assert [d.title for d in sink.diagnostics] == [f"the argument `{n}` is missing" for n in ("a", "b", "alpha")]
    sink = Sink()
    binder(MATMUL).bind({"A": tensor(1)}, {"bm": 64}, sink)
    assert [d.help for d in sink.diagnostics] == ["did you mean `a`?", "did you mean `BM`?"]


def test_a_transposed_array_is_recognised() -> None:
    assert "`b.T`" in wrong(MATMUL, operands() | {"b": tensor(200, 30, dtype=F16)}).help
    assert wrong(MATMUL, operands() | {"b": tensor(200, 31, dtype=F16)}).help == ""
    assert "`c.T`" in wrong(MATMUL, operands() | {"c": tensor(200, 100, dtype=F16)}).help


@pytest.mark.parametrize(
    ("dtype", "value", "fits"),
    [
        ("i32", 2**31 - 1, True),
        ("i32", 2**31, False),
        ("i32", -(2**31), True),
        ("u8", 255, True),
        ("u8", -1, False),
        ("u64", 2**64 - 1, True),
        ("i32", 1.0, False),
        ("i32", True, False),
        ("bool", True, True),
        ("bool", 1, False),
        ("f16", 65504, True),
        ("f16", 65520.0, False),
        ("f16", float("inf"), True),
        ("f32", 10**400, False),
        ("f32", 1e39, False),
        ("f64", 3, True),
        ("bf16", float("nan"), True),
        ("f32", True, False),
        ("f32", 16777217, True),
    ],
)
def test_scalars(dtype: str, value: float, fits: bool) -> None:
    text = f"kernel k(s: {dtype}, out y: {dtype}[1]) grid (1) {{ y[0] = s; }}"
    if fits:
        assert bound(text, {"s": ScalarFact(value)}).grid == (1,)
    else:
        assert wrong(text, {"s": ScalarFact(value)}).code == "E0415"


DEPENDENT = "kernel k[B: {8, 16} = N // 2](x: f32[N], out y: f32[N - 4]) grid (N - 8) { y[0] = sum(x[0 +: B]); }"


def test_a_default_that_depends_on_dims_must_be_a_choice() -> None:
    assert bound(DEPENDENT, {"x": tensor(16)}).metas == {"B": 8}
    assert wrong(DEPENDENT, {"x": tensor(20)}).code == "E0413"
    assert bound(DEPENDENT, {"x": tensor(20)}, {"B": 16}).metas == {"B": 16}


def test_negative_extents_and_grids() -> None:
    assert bound(DEPENDENT, {"x": tensor(8)}, {"B": 8}).grid == (0,)
    assert wrong(DEPENDENT, {"x": tensor(7)}, {"B": 8}).code == "E0408"
    assert wrong(DEPENDENT, {"x": tensor(3)}, {"B": 8}).code == "E0410"


def test_warps_that_depend_on_dims_are_checked() -> None:
    text = "kernel k[warps = N](x: f32[N], out y: f32[N]) grid (1) { y[0] = x[0]; }"
    assert bound(text, {"x": tensor(8)}).metas == {"warps": 8}
    assert wrong(text, {"x": tensor(3)}).code == "E0404"


def test_dtype_metas_of_no_argument_take_their_default() -> None:
    text = "kernel k[T: {f16, f32}, U: {f16, f32} = f32](x: T[N], out y: U[N]) grid (1) { y[0] = x[0] as U; }"
    assert bound(text, {"x": tensor(3, dtype=F16)}).dtypes == {"x": F16, "y": F32}
    assert bound(text, {"x": tensor(3, dtype=F16)}, {"U": "f16"}).dtypes == {"x": F16, "y": F16}


def test_bool_and_float_metas() -> None:
    text = "kernel k[F: {true, false}, E: {0.5, 1.0}](out y: f32[1]) grid (1) { if F { y[0] = E; } }"
    assert bound(text, {}, {"F": "false", "E": 1}).metas == {"F": False, "E": 1.0}
    assert wrong(text, {}, {"F": 1}).code == "E0413"


def test_expressions_nested_as_deep_as_the_parser_allows() -> None:
    deep = "(" * 190 + "N" + " + 1)" * 190
    text = f"kernel k(x: f32[N], out y: f32[{deep}]) grid ({deep}) {{ y[0] = x[0]; }}"
    assert bound(text, {"x": tensor(8)}).grid == (198,)
    assert bound(text, {"x": tensor(8)}).shapes["y"] == (198,)


def test_the_signature_reads_like_the_source() -> None:
    checked = check(MATMUL)
    sig = signature(checked.names, checked.names.module.kernels[0])
    assert sig.show() == (
        "kernel matmul[T: {f16, bf16, f32}, BM: {64, 128}, BN: {64, 128} = 128, warps: {4, 8}]"
        "(a: T[M, K], b: T[K, N], out c: T[M, N], alpha: T) grid (cdiv(M, BM), cdiv(N, BN))"
    )
    assert sig.param("c").mode == "out"
    assert sig.dims == ("M", "K", "N")
    assert bind(sig, operands(), {}, Sink()) == bound(MATMUL, operands())


@pytest.mark.parametrize(
    "text",
    [
        "2 * (N + 1)",
        "N - 1 - (N - 2)",
        "N - (1 - N)",
        "-(N + 1) // 2 % 3",
        "N << 1 | 1",
        "N & 3 + 1",
        "maximum(N, 2) + abs(-N)",
    ],
)
def test_expressions_keep_their_parentheses(text: str) -> None:
    checked = check(f"kernel k(x: f32[N], out y: f32[N]) grid ({text}) {{ y[0] = x[0]; }}")
    assert signature(checked.names, checked.names.module.kernels[0]).grid == (text,)


def test_signatures_of_scalars_consts_and_inout() -> None:
    checked = check(PARTIALS)
    sig = signature(checked.names, checked.names.module.kernels[0])
    assert "n: i32, out y: f32[M], inout z: f32[2 * M + 1]" in sig.show()
    assert "BIG = N > 100" in sig.show()
    assert sig.param("n").dims is None
    assert sig.param("n").dtype == I32.name


def test_a_signature_of_long_sums_can_be_shown() -> None:
    checked = check(f"kernel k(out y: f32[N]) grid (N{' + 1' * 1500}) {{ y[0] = 1.0; }}")
    assert signature(checked.names, checked.names.module.kernels[0]).show().count("+ 1") == 1500
