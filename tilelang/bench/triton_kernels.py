"""The kernels of the report once more, for Triton: the same tiles, the same masks, the same order of loops.

Imported by `triton_worker.py` alone, in a Python that has Triton. Tensors are contiguous; strides of 1 are left out, as
the compiler's own kernels leave them out where a launch's facts say so.
"""

# mypy: ignore-errors
# Triton kernels are Python only in their syntax.

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, z, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < N
    tl.store(z + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    first = tl.program_id(0) * N
    cols = tl.arange(0, BLOCK)
    inside = cols < N
    v = tl.load(x + first + cols, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + first + cols, e / tl.sum(e, 0), mask=inside)


@triton.jit
def layer_norm(x, weight, bias, eps, y, mean, rstd, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first = row * N
    cols = tl.arange(0, BLOCK)
    inside = cols < N
    v = tl.load(x + first + cols, mask=inside, other=0.0)
    middle = tl.sum(v, 0) / N
    d = tl.where(inside, v - middle, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, 0) / N + eps)
    w = tl.load(weight + cols, mask=inside)
    b = tl.load(bias + cols, mask=inside)
    tl.store(y + first + cols, d * scale * w + b, mask=inside)
    tl.store(mean + row, middle)
    tl.store(rstd + row, scale)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    down = tl.cdiv(M, BM)
    across = tl.cdiv(N, BN)
    group = tl.program_id(0) // (GROUP * across)
    within = tl.program_id(0) % (GROUP * across)
    height = min(down - group * GROUP, GROUP)
    rows = (group * GROUP + within % height) * BM + tl.arange(0, BM)
    cols = (within // height) * BN + tl.arange(0, BN)
    steps = tl.arange(0, BK)
    left = a + rows[:, None] * K + steps[None, :]
    right = b + steps[:, None] * N + cols[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(left, mask=(rows[:, None] < M) & (k + steps[None, :] < K), other=0.0)
        y = tl.load(right, mask=(k + steps[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        left += BK
        right += BK * N
    tl.store(c + rows[:, None] * N + cols[None, :], acc.to(c.dtype.element_ty),
             mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def attention(q, k, v, scale, o, M, N, D, BM: tl.constexpr, BN: tl.constexpr, WIDTH: tl.constexpr):
    head = tl.program_id(1)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    width = tl.arange(0, WIDTH)
    place = head * M * D + rows[:, None] * D + width[None, :]
    inside = (rows[:, None] < M) & (width[None, :] < D)
    query = tl.load(q + place, mask=inside, other=0.0)
    best = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, WIDTH), tl.float32)
    for start in range(0, N, BN):
        keys = start + tl.arange(0, BN)
        there = (keys[:, None] < N) & (width[None, :] < D)
        at = head * N * D + keys[:, None] * D + width[None, :]
        key = tl.load(k + at, mask=there, other=0.0)
        scores = tl.dot(query, tl.trans(key)) * scale
        seen = tl.where(keys[None, :] < N, scores, -float("inf"))
        top = tl.maximum(best, tl.max(seen, 1))
        shift = tl.where(top == -float("inf"), 0.0, top)
        weights = tl.exp(seen - shift[:, None])
        faded = tl.exp(best - shift)
        total = total * faded + tl.sum(weights, 1)
        value = tl.load(v + at, mask=there, other=0.0)
        acc = tl.dot(weights.to(v.dtype.element_ty), value, acc * faded[:, None])
        best = top
    tl.store(o + place, (acc / total[:, None]).to(o.dtype.element_ty), mask=inside)
