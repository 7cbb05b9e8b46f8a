"""The benchmarks: arguments, and what NumPy and PyTorch users would write for the same result.

Standalone on purpose: the process that times PyTorch imports this file by its path, without the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, Any]
"""Arguments by parameter name: arrays, and numbers for scalars."""

Function = Callable[..., object]


@dataclass(frozen=True)
class Case:
    """One benchmark of a kernel in `course/kernels`, with some of its metas.

    `make` gives its arguments; `numpy` takes them and returns the result, which the kernel leaves in argument
    `result`; `torch` makes, from the torch module and the arguments, what is to be timed.

    `limit`: the ratio to the fastest other contestant that the project aims at. `bytes`, `flops`: what one run moves
    and computes at least, for the reader's arithmetic.
    """

    name: str
    file: str
    make: Callable[[], Arrays]
    result: str
    numpy: Function
    torch: Callable[[Any, Arrays], Callable[[], object]]
    limit: float
    bytes: int = 0
    flops: int = 0
    metas: tuple[tuple[str, int], ...] = ()
    tolerance: float = 1e-5


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape, np.float32)


# ------------------------------------------------------------------------------------ elementwise and rows


def _vector_add() -> Arrays:
    n = 1 << 24
    return {"x": _normal(n), "y": _normal(n), "z": np.zeros(n, np.float32)}


def _torch_add(torch: Any, a: Arrays) -> Callable[[], object]:
    x, y, z = (torch.from_numpy(a[name]) for name in "xyz")
    return lambda: torch.add(x, y, out=z)


def _rows() -> Arrays:
    return {"x": _normal(4096, 1024), "y": np.zeros((4096, 1024), np.float32)}


def _numpy_softmax(x: Any, y: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.divide(e, e.sum(axis=1, keepdims=True), out=y)


def _torch_softmax(torch: Any, a: Arrays) -> Callable[[], object]:
    x, y = torch.from_numpy(a["x"]), torch.from_numpy(a["y"])
    return lambda: torch.softmax(x, 1, out=y)


def _layer_norm() -> Arrays:
    rows = _rows()
    return {"x": rows["x"], "weight": _normal(1024), "bias": _normal(1024) + 1, "eps": 1e-5, "y": rows["y"]}


def _numpy_layer_norm(x: Any, weight: Any, bias: Any, eps: Any, y: Any) -> Any:
    d = x - x.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((d * d).mean(axis=1, keepdims=True) + np.float32(eps))
    return np.add(d * scale * weight, bias, out=y)


def _torch_layer_norm(torch: Any, a: Arrays) -> Callable[[], object]:
    x, weight, bias = (torch.from_numpy(a[name]) for name in ("x", "weight", "bias"))
    return lambda: torch.nn.functional.layer_norm(x, (1024,), weight, bias, a["eps"])


# ------------------------------------------------------------------------------------ products


def _matmul() -> Arrays:
    n = 1024
    return {"a": _normal(n, n), "b": _normal(n, n), "c": np.zeros((n, n), np.float32)}


def _torch_matmul(torch: Any, a: Arrays) -> Callable[[], object]:
    left, right, out = (torch.from_numpy(a[name]) for name in "abc")
    return lambda: torch.matmul(left, right, out=out)


def _attention() -> Arrays:
    shape = (4, 1024, 64)
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal(shape, np.float32) for _ in range(3))
    return {"q": q, "k": k, "v": v, "scale": 0.125, "o": np.zeros(shape, np.float32)}


def _numpy_attention(q: Any, k: Any, v: Any, scale: Any, o: Any) -> Any:
    scores = q @ k.transpose(0, 2, 1) * np.float32(scale)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.matmul(e / e.sum(axis=-1, keepdims=True), v, out=o)


def _torch_attention(torch: Any, a: Arrays) -> Callable[[], object]:
    q, k, v = (torch.from_numpy(a[name])[None] for name in "qkv")
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)


# ------------------------------------------------------------------------------------ moving data


def _transpose() -> Arrays:
    return {"x": _normal(4096, 4096), "y": np.zeros((4096, 4096), np.float32)}


def _numpy_transpose(x: Any, y: Any) -> Any:
    np.copyto(y, x.T)
    return y


def _torch_transpose(torch: Any, a: Arrays) -> Callable[[], object]:
    x, y = torch.from_numpy(a["x"]), torch.from_numpy(a["y"])
    return lambda: y.copy_(x.T)


def _embedding() -> Arrays:
    ids = np.random.default_rng(2).integers(0, 50_000, 16_384, np.int32)
    return {"table": _normal(50_000, 256), "ids": ids, "y": np.zeros((16_384, 256), np.float32)}


def _numpy_embedding(table: Any, ids: Any, y: Any) -> Any:
    return np.take(table, ids, axis=0, out=y, mode="clip")


def _torch_embedding(torch: Any, a: Arrays) -> Callable[[], object]:
    table, ids = torch.from_numpy(a["table"]), torch.from_numpy(a["ids"])
    return lambda: torch.nn.functional.embedding(ids, table)


def _histogram() -> Arrays:
    x = np.random.default_rng(3).integers(0, 256, 1 << 22, np.int32)
    return {"x": x, "counts": np.zeros(256, np.int32)}


def _numpy_histogram(x: Any, counts: Any) -> Any:
    counts += np.bincount(x, minlength=len(counts)).astype(np.int32)
    return counts


def _torch_histogram(torch: Any, a: Arrays) -> Callable[[], object]:
    x = torch.from_numpy(a["x"])
    return lambda: torch.bincount(x, minlength=256)


MIB = 1 << 20

CASES: tuple[Case, ...] = (
    Case("vector add, 2^24", "vector_add.tile", _vector_add, "z", lambda x, y, z: np.add(x, y, out=z), _torch_add, 1.0,
         bytes=3 * 64 * MIB),
    Case("softmax, 4096 x 1024", "softmax.tile", _rows, "y", _numpy_softmax, _torch_softmax, 0.75, bytes=32 * MIB),
    Case("layer norm, 4096 x 1024", "layer_norm.tile", _layer_norm, "y", _numpy_layer_norm, _torch_layer_norm, 0.9,
         bytes=32 * MIB, tolerance=1e-4),
    Case("matmul, 1024^3", "matmul.tile", _matmul, "c", lambda a, b, c: np.matmul(a, b, out=c), _torch_matmul, 1.15,
         flops=2 << 30, metas=(("BM", 128), ("BN", 128), ("BK", 64)), tolerance=1e-3),
    Case("attention, 4 x 1024 x 64", "attention.tile", _attention, "o", _numpy_attention, _torch_attention, 1.1,
         flops=4 * 4 * 64 << 20),
    Case("transposed copy, 4096^2", "transpose.tile", _transpose, "y", _numpy_transpose, _torch_transpose, 1.0,
         bytes=128 * MIB, metas=(("BLOCK", 64),)),
    Case("embedding, 16384 of 50000 x 256", "embedding.tile", _embedding, "y", _numpy_embedding, _torch_embedding, 1.0,
         bytes=32 * MIB, metas=(("BD", 256),)),
    Case("histogram, 2^22 in 256 bins", "histogram.tile", _histogram, "counts", _numpy_histogram, _torch_histogram, 0.5,
         bytes=16 * MIB, metas=(("BLOCK", 4096),)),
)
