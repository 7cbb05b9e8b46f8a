"""What the kernels of the library should compute, in plain NumPy and double precision."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def wide(array: Array) -> Array:
    return array.astype(np.float64)


def vector_add(x: Array, y: Array) -> Array:
    return x + y


def softmax(x: Array) -> Array:
    v = wide(x)
    e = np.exp(v - v.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def matmul(a: Array, b: Array) -> Array:
    return wide(a) @ wide(b)


def layer_norm(x: Array, weight: Array, bias: Array, eps: float) -> tuple[Array, Array, Array]:
    v = wide(x)
    mean = v.mean(axis=1)
    rstd = 1 / np.sqrt(v.var(axis=1) + eps)
    return (v - mean[:, None]) * rstd[:, None] * wide(weight) + wide(bias), mean, rstd


def layer_norm_dx(dy: Array, x: Array, weight: Array, mean: Array, rstd: Array) -> Array:
    h = (wide(x) - mean[:, None]) * rstd[:, None]
    g = wide(dy) * wide(weight)
    return rstd[:, None] * (g - g.mean(axis=1, keepdims=True) - h * (g * h).mean(axis=1, keepdims=True))


def layer_norm_dw(dy: Array, x: Array, mean: Array, rstd: Array) -> tuple[Array, Array]:
    h = (wide(x) - mean[:, None]) * rstd[:, None]
    return (wide(dy) * h).sum(axis=0), wide(dy).sum(axis=0)


def attention(q: Array, k: Array, v: Array, scale: float, causal: bool) -> Array:
    scores = wide(q) @ wide(k).transpose(0, 2, 1) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
    e = np.exp(scores - scores.max(axis=2, keepdims=True))
    return e / e.sum(axis=2, keepdims=True) @ wide(v)


def transpose(x: Array) -> Array:
    return x.T


def embedding(table: Array, ids: Array) -> Array:
    return table[ids]


def histogram(x: Array, counts: Array) -> Array:
    inside = x[(x >= 0) & (x < len(counts))]
    return counts + np.bincount(inside, minlength=len(counts)).astype(np.int32)


def cumsum(x: Array) -> Array:
    return np.cumsum(x, axis=1, dtype=x.dtype if x.dtype.kind == "i" else np.float64)


PHILOX_KEYS, PHILOX_FACTORS = (0x9E3779B9, 0xBB67AE85), (0xD2511F53, 0xCD9E8D57)


def philox_word(seed: int, offset: int) -> int:
    """The first word of Philox 4x32-10, straight from Salmon et al. (2011), figure 4, in Python ints."""
    low = 0xFFFFFFFF
    key = [seed & low, seed >> 32 & low]
    counter = [offset & low, offset >> 32 & low, 0, 0]
    for _ in range(10):
        first, second = PHILOX_FACTORS[0] * counter[0], PHILOX_FACTORS[1] * counter[2]
        counter = [second >> 32 ^ counter[1] ^ key[0], second & low, first >> 32 ^ counter[3] ^ key[1], first & low]
        key = [(k + bump) & low for k, bump in zip(key, PHILOX_KEYS, strict=True)]
    return counter[0]


def dropout(x: Array, p: float, seed: int) -> Array:
    """`p` is compared as the f32 that the kernel gets."""
    uniform = np.array([(philox_word(seed & (1 << 64) - 1, i) >> 8) * 2.0**-24 for i in range(len(x))])
    kept = uniform >= np.float32(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(kept, wide(x) / (1 - np.float64(np.float32(p))), 0.0)
