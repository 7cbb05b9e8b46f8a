"""What every puzzle must compute, in NumPy.

A spec's parameters are the kernel's inputs, by name. It computes in f64, and its result is rounded at the end, so that
it is as exact as the output can be.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def f64(x: Array | float) -> Array:
    return np.asarray(x, np.float64)


def copy(x: Array) -> Array:
    return x


def scale(x: Array, a: float, b: float) -> Array:
    return f64(a) * f64(x) + f64(b)


def broadcast_add(x: Array, y: Array) -> Array:
    return f64(x)[:, None] + f64(y)[None, :]


def outer_product(x: Array, y: Array) -> Array:
    return f64(x)[:, None] * f64(y)[None, :]


def mul_relu(x: Array, y: Array) -> Array:
    return np.maximum(f64(x) * f64(y), 0.0)


def mul_relu_backward(x: Array, y: Array, dz: Array) -> Array:
    return np.where(f64(x) * f64(y) > 0, f64(dz) * f64(y), 0.0)


def row_sum(x: Array) -> Array:
    return f64(x).sum(axis=1)


def column_max(x: Array) -> Array:
    return f64(x).max(axis=0)


def transpose(x: Array) -> Array:
    return x.T


def softmax(x: Array) -> Array:
    e = np.exp(f64(x) - f64(x).max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def matmul(a: Array, b: Array) -> Array:
    return f64(a) @ f64(b)


def conv1d(x: Array, w: Array) -> Array:
    n, padded = len(x), np.pad(f64(x), (0, len(w)))
    return sum((f64(w[t]) * padded[t : t + n] for t in range(len(w))), np.zeros(n))


def conv2d(x: Array, w: Array) -> Array:
    (rows, cols), (s, t) = x.shape, w.shape
    padded = np.pad(f64(x), ((0, s), (0, t)))
    parts = (f64(w[i, j]) * padded[i : i + rows, j : j + cols] for i in range(s) for j in range(t))
    return sum(parts, np.zeros(x.shape))


def prefix_sum(x: Array) -> Array:
    return np.cumsum(f64(x), axis=1)


def histogram(x: Array, counts: Array) -> Array:
    inside = x[(x >= 0) & (x < len(counts))]
    return counts + np.bincount(inside, minlength=len(counts)).astype(np.int32)


def embedding(table: Array, ids: Array) -> Array:
    return table[ids]


def rms_norm(x: Array, w: Array, eps: float) -> Array:
    return f64(x) / np.sqrt((f64(x) ** 2).mean(axis=1, keepdims=True) + eps) * f64(w)


def rotary(c: Array, s: Array, x: Array) -> Array:
    left, right = np.split(f64(x), 2, axis=1)
    return np.concatenate([left * c - right * s, left * s + right * c], axis=1)


def cross_entropy(x: Array, label: Array) -> Array:
    m = f64(x).max(axis=1, keepdims=True)
    return np.log(np.exp(f64(x) - m).sum(axis=1)) + m[:, 0] - f64(x)[np.arange(len(x)), label]


def attention(q: Array, k: Array, v: Array) -> Array:
    return softmax(f64(q) @ f64(k).T / np.sqrt(q.shape[1])) @ f64(v)


def quantized_matmul(a: Array, w: Array, scale: Array) -> Array:
    return f64(a) @ f64(w) * f64(scale)


def packed_matmul(w: Array, a: Array, scale: Array) -> Array:
    weights = np.stack([w & 15, w >> 4], axis=1).reshape(-1, w.shape[1])  # rows: low 0, high 0, low 1, high 1, ...
    return f64(a) @ (f64(weights) - 8) * f64(scale)
