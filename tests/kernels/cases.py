"""The arguments on which the kernel library is tried: ragged, strided, tiny, empty and special ones.

`SMALL` cases fit devices that run every thread as Python; the others are for those that are fast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

from tests.kernels import references

F16, BF16, F32, F64 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32), np.dtype(np.float64)
TOLERANCE = {F64: 1e-12, F32: 2e-5, F16: 4e-3, BF16: 3e-2}
"""Absolute and relative, for results of the size of 1."""


@dataclass(frozen=True)
class Case:
    """A kernel of `course/kernels`, its inputs (a function, so that each test gets fresh ones), and the truth."""

    name: str
    file: str
    kernel: str
    inputs: Callable[[], tuple]
    truth: Callable
    metas: dict[str, object] = field(default_factory=dict)
    small: bool = False

    def __str__(self) -> str:
        return f"{self.kernel}-{self.name}"

    def expected(self) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            result = self.truth(*self.inputs())
        return result if isinstance(result, tuple) else (result,)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def randn(*shape: int, dtype: np.dtype = F32, seed: int = 0) -> np.ndarray:
    return rng(seed).standard_normal(shape).astype(dtype)


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40, 88.0, -104.0], np.float32)
"""Zeros, infinities, NaN, the largest and a denormal number, and arguments at the ends of exp's range."""


def special(rows: int, cols: int) -> np.ndarray:
    """Ordinary rows with one special number each, a row of each kind alone, and a row of all."""
    x = randn(rows, cols)
    for row in range(min(rows, len(SPECIAL))):
        x[row, row % cols] = SPECIAL[row]
    x[-1] = np.resize(SPECIAL, cols)
    x[-2], x[-3] = -np.inf, np.inf
    return x


def elementwise() -> list[Case]:
    def pair(n: int, dtype: np.dtype = F32) -> Callable[[], tuple]:
        return lambda: (randn(n, dtype=dtype), randn(n, dtype=dtype, seed=1))

    add = [
        Case("ragged", "vector_add", "vector_add", pair(10_007), references.vector_add),
        Case("small", "vector_add", "vector_add", pair(100), references.vector_add, {"BLOCK": 64}, small=True),
        Case("f64", "vector_add", "vector_add", pair(777, F64), references.vector_add),
        Case("f16", "vector_add", "vector_add", pair(777, F16), references.vector_add),
        Case("bf16", "vector_add", "vector_add", pair(777, BF16), references.vector_add),
        Case(
            "i32 wraps",
            "vector_add",
            "vector_add",
            lambda: (np.full(70, 2**31 - 1, np.int32), np.arange(70, dtype=np.int32)),
            references.vector_add,
            {"BLOCK": 64},
            small=True,
        ),
        Case("one", "vector_add", "vector_add", pair(1), references.vector_add, {"BLOCK": 64}, small=True),
        Case("empty", "vector_add", "vector_add", pair(0), references.vector_add, small=True),
        Case(
            "strided",
            "vector_add",
            "vector_add",
            lambda: (randn(90, 4)[:, 1], randn(180, seed=1)[::-2]),
            references.vector_add,
            {"BLOCK": 64},
            small=True,
        ),
        Case(
            "broadcast",
            "vector_add",
            "vector_add",
            lambda: (randn(90), np.broadcast_to(np.float32(3), (90,))),
            references.vector_add,
            {"BLOCK": 64},
            small=True,
        ),
        Case(
            "special",
            "vector_add",
            "vector_add",
            lambda: (np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))),
            references.vector_add,
            {"BLOCK": 64},
            small=True,
        ),
    ]
    drop = [
        Case(name, "dropout", "dropout", lambda x=x, p=p, seed=seed: (x, p, seed), references.dropout, metas, small)
        for name, x, p, seed, metas, small in (
            ("quarter", randn(1000), 0.25, 7, {}, False),
            ("small", randn(100), 0.5, -1, {"BLOCK": 64}, True),
            ("never", randn(65), 0.0, 2**40, {"BLOCK": 64}, True),
            ("always", randn(65), 1.0, 3, {"BLOCK": 64}, True),
            ("f16", randn(300, dtype=F16), 0.1, 3, {}, False),
            ("special", np.resize(SPECIAL, 70), 0.5, 11, {"BLOCK": 64}, True),
            ("a draw is p itself", randn(70), (references.philox_word(5, 10) >> 8) * 2.0**-24, 5, {"BLOCK": 64}, True),
            ("empty", randn(0), 0.5, 1, {}, True),
        )
    ]
    return add + drop


def rows() -> list[Case]:
    views: list[tuple[str, Callable[[], tuple], bool]] = [
        ("ragged", lambda: (randn(37, 1000),), False),
        ("small", lambda: (randn(3, 37),), True),
        ("one column", lambda: (randn(5, 1),), True),
        ("one row", lambda: (randn(1, 33),), True),
        ("no rows", lambda: (randn(0, 5),), True),
        ("no columns", lambda: (randn(5, 0),), True),
        ("transposed", lambda: (randn(20, 3).T,), True),
        ("reversed", lambda: (randn(6, 40)[::-2, ::-1],), True),
        ("broadcast", lambda: (np.broadcast_to(randn(1, 19), (4, 19)),), True),
        ("fortran", lambda: (np.asfortranarray(randn(17, 65)),), False),
        ("f16", lambda: (randn(9, 130, dtype=F16),), False),
        ("bf16", lambda: (randn(9, 130, dtype=BF16),), False),
        ("special", lambda: (special(16, 13),), True),
        ("large", lambda: (randn(4, 50) * np.float32(1e4),), False),
    ]
    cases = [
        Case(name, "softmax", "softmax", make, references.softmax if name != "no columns" else as_given, {}, small)
        for name, make, small in views
    ]
    cases += [
        Case(
            name,
            "softmax_wide",
            "softmax_wide",
            make,
            references.softmax if name != "no columns" else as_given,
            {"BLOCK": 64},
            small,
        )
        for name, make, small in views
    ]
    for kernel, metas in (("softmax", {}), ("softmax_wide", {"BLOCK": 64})):
        cases.append(Case("late start", kernel, kernel, late_start, references.softmax, metas, small=True))
    sums = [v for v in views if v[0] not in ("f16", "bf16")]
    cases += [
        Case(name, "cumsum", "cumsum", make, references.cumsum, {"BLOCK": 64}, small) for name, make, small in sums
    ]
    cases += [
        Case(
            "i32 wraps",
            "cumsum",
            "cumsum",
            lambda: (np.full((2, 100), 2**30, np.int32),),
            references.cumsum,
            {"BLOCK": 64},
            small=True,
        ),
        Case(
            "i64",
            "cumsum",
            "cumsum",
            lambda: (rng().integers(-(2**60), 2**60, (3, 130)),),
            references.cumsum,
            {"BLOCK": 64},
        ),
        Case("f64", "cumsum", "cumsum", lambda: (randn(3, 300, dtype=F64),), references.cumsum, {"BLOCK": 64}),
    ]
    return cases


def late_start() -> tuple:
    """Rows whose first 64 elements, a whole block, are -inf."""
    x = randn(2, 100)
    x[:, :64] = -np.inf
    return (x,)


def as_given(x: np.ndarray) -> np.ndarray:
    return x


def norms() -> list[Case]:
    def forward(m: int, n: int, dtype: np.dtype = F32) -> Callable[[], tuple]:
        return lambda: (
            randn(m, n, dtype=dtype) * 3 + 1,
            randn(n, dtype=dtype, seed=1),
            randn(n, dtype=dtype, seed=2),
            1e-5,
        )

    def backward(m: int, n: int, with_weight: bool) -> Callable[[], tuple]:
        def make() -> tuple:
            x, weight, bias, eps = forward(m, n)()
            _, mean, rstd = references.layer_norm(x, weight, bias, eps)
            stats = (mean.astype(np.float32), rstd.astype(np.float32))
            return (randn(m, n, seed=3), x, weight, *stats) if with_weight else (randn(m, n, seed=3), x, *stats)

        return make

    shapes = [
        ("ragged", 37, 300, False),
        ("small", 3, 19, True),
        ("one column", 4, 1, True),
        ("one row", 1, 40, False),
        ("no rows", 0, 5, True),
    ]
    cases = [
        Case(name, "layer_norm", "layer_norm", forward(m, n), references.layer_norm, {}, small)
        for name, m, n, small in shapes
    ]
    cases += [
        Case(
            "strided",
            "layer_norm",
            "layer_norm",
            lambda: (randn(40, 6).T, randn(80, seed=1)[::2], randn(40, seed=2)[::-1], 1e-3),
            references.layer_norm,
        ),
        Case(
            "constant row",
            "layer_norm",
            "layer_norm",
            lambda: (np.full((2, 24), 7, np.float32), np.ones(24, np.float32), np.zeros(24, np.float32), 1e-5),
            references.layer_norm,
            small=True,
        ),
    ]
    cases += [
        Case(name, "layer_norm_backward", "layer_norm_dx", backward(m, n, True), references.layer_norm_dx, {}, small)
        for name, m, n, small in shapes
    ]
    cases += [
        Case(
            name,
            "layer_norm_backward",
            "layer_norm_dw",
            backward(m, n, False),
            references.layer_norm_dw,
            {"BM": 8, "BN": 16} if small else {},
            small,
        )
        for name, m, n, small in shapes
    ]
    return cases


TILES = {"BM": 16, "BN": 16, "BK": 16}


def products() -> list[Case]:
    def pair(m: int, k: int, n: int, dtype: np.dtype = F32) -> Callable[[], tuple]:
        return lambda: (randn(m, k, dtype=dtype), randn(k, n, dtype=dtype, seed=1))

    return [
        Case("ragged", "matmul", "matmul", pair(200, 130, 300), references.matmul),
        Case("plain order", "matmul", "matmul", pair(200, 130, 300), references.matmul, {"GROUP": 1}),
        Case("many bands", "matmul", "matmul", pair(150, 20, 90), references.matmul, {**TILES, "GROUP": 4}),
        Case("small", "matmul", "matmul", pair(20, 18, 7), references.matmul, TILES, small=True),
        Case("one by one", "matmul", "matmul", pair(1, 1, 1), references.matmul, TILES, small=True),
        Case("no inner", "matmul", "matmul", pair(5, 0, 6), references.matmul, TILES, small=True),
        Case("no rows", "matmul", "matmul", pair(0, 3, 6), references.matmul, TILES, small=True),
        Case(
            "views",
            "matmul",
            "matmul",
            lambda: (randn(60, 40).T[::2], randn(120, 70, seed=1)[::-2, ::3]),
            references.matmul,
            TILES,
        ),
        Case("f16", "matmul", "matmul", pair(70, 50, 40, F16), references.matmul, TILES),
        Case("bf16", "matmul", "matmul", pair(70, 50, 40, BF16), references.matmul, TILES),
    ]


def attentions() -> list[Case]:
    def qkv(h: int, m: int, n: int, d: int, dtype: np.dtype = F32) -> Callable[[], tuple]:
        return lambda: (*(randn(h, r, d, dtype=dtype, seed=s) for s, r in enumerate((m, n, n))), d**-0.5)

    small = {"BM": 16, "BN": 16}
    cases = []
    for causal in (False, True):

        def truth(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, causal: bool = causal) -> np.ndarray:
            return references.attention(q, k, v, scale, causal)

        word, metas = ("causal" if causal else "full"), {"CAUSAL": causal}
        cases += [
            Case(f"{word}", "attention", "attention", qkv(3, 100, 100, 32), truth, metas),
            Case(f"{word} ragged", "attention", "attention", qkv(2, 45, 70, 20), truth, {**metas, **small}),
            Case(f"{word} small", "attention", "attention", qkv(1, 20, 18, 5), truth, {**metas, **small}, small=True),
            Case(f"{word} f16", "attention", "attention", qkv(2, 40, 40, 16, F16), truth, {**metas, **small}),
            Case(f"{word} one", "attention", "attention", qkv(1, 1, 1, 1), truth, {**metas, **small}, small=True),
            Case(
                f"{word} extreme",
                "attention",
                "attention",
                lambda: (
                    *(randn(1, 40, 16, seed=s) * np.float32(100) for s in range(2)),
                    randn(1, 40, 16, seed=2),
                    1.0,
                ),
                truth,
                {**metas, **small},
            ),
        ]
    cases.append(Case("late start", "attention", "attention", unseen_keys, not_causal, small, small=True))
    cases.append(
        Case(
            "permuted heads",
            "attention",
            "attention",
            lambda: (*(randn(50, 2, 16, seed=s).transpose(1, 0, 2) for s in range(3)), 0.25),
            lambda q, k, v, s: references.attention(q, k, v, s, False),
            small,
        )
    )
    return cases


def unseen_keys() -> tuple:
    """Queries that score -inf with the first 16 keys, a whole block."""
    q, k, v = (randn(1, 20, 5, seed=s) for s in range(3))
    q[..., 0], k[:, :16, 0] = 1.0, -np.inf
    return q, k, v, 0.5


def not_causal(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float) -> np.ndarray:
    return references.attention(q, k, v, scale, False)


def movers() -> list[Case]:
    ids = rng().integers(0, 9, 50)
    cases = [
        Case("ragged", "transpose", "transpose", lambda: (randn(70, 45),), references.transpose),
        Case(
            "small", "transpose", "transpose", lambda: (randn(5, 11),), references.transpose, {"BLOCK": 8}, small=True
        ),
        Case(
            "strided",
            "transpose",
            "transpose",
            lambda: (randn(30, 22)[::3, ::-2],),
            references.transpose,
            {"BLOCK": 8},
            small=True,
        ),
        Case("empty", "transpose", "transpose", lambda: (randn(0, 4),), references.transpose, small=True),
        Case("ragged", "embedding", "embedding", lambda: (randn(9, 150), ids), references.embedding),
        Case(
            "i32 small",
            "embedding",
            "embedding",
            lambda: (randn(9, 20), ids[:20].astype(np.int32)),
            references.embedding,
            {"BD": 16},
            small=True,
        ),
        Case(
            "bf16 strided",
            "embedding",
            "embedding",
            lambda: (randn(40, 9, dtype=BF16).T, ids[::-2]),
            references.embedding,
        ),
        Case("no ids", "embedding", "embedding", lambda: (randn(9, 20), ids[:0]), references.embedding, small=True),
    ]
    cases += [
        Case(
            str(np.dtype(t)),
            "transpose",
            "transpose",
            lambda t=t: (rng().integers(0, 2, (9, 6)).astype(t),),
            references.transpose,
            {"BLOCK": 8},
            small=True,
        )
        for t in (bool, np.int8, np.uint16, np.uint64, F16, BF16)
    ]
    for t in (np.int32, np.int64, np.uint8):
        cases.append(
            Case(
                f"{np.dtype(t)}",
                "histogram",
                "histogram",
                lambda t=t: (rng().integers(0, 20, 3000).astype(t), np.arange(16, dtype=np.int32)),
                references.histogram,
            )
        )
    cases += [
        Case(
            "all the same",
            "histogram",
            "histogram",
            lambda: (np.zeros(70, np.int32), np.zeros(3, np.int32)),
            references.histogram,
            {"BLOCK": 64},
            small=True,
        ),
        Case(
            "no bins",
            "histogram",
            "histogram",
            lambda: (np.array([-1, 5, 2**31 - 1, -(2**31), 2] * 14, np.int32), np.zeros(4, np.int32)),
            references.histogram,
            {"BLOCK": 64},
            small=True,
        ),
        Case(
            "strided bins",
            "histogram",
            "histogram",
            lambda: (rng().integers(0, 7, 70).astype(np.int32), np.zeros((7, 3), np.int32)[::-1, 1]),
            references.histogram,
            {"BLOCK": 64},
            small=True,
        ),
        Case(
            "empty",
            "histogram",
            "histogram",
            lambda: (np.zeros(0, np.int32), np.ones(4, np.int32)),
            references.histogram,
            small=True,
        ),
    ]
    return cases


CASES = [*elementwise(), *rows(), *norms(), *products(), *attentions(), *movers()]
SMALL = [case for case in CASES if case.small]
