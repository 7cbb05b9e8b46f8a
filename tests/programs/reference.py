"""What the programs of the corpus compute, said again in NumPy and plain Python.

A function is named for its kernel; it takes the kernel's parameters, metas and dims by name, as many as it
needs, and writes the outputs in place. What it does not write still holds the poison, as it must after a run.
The formulas share no code with the compiler. Half floats are computed in f32 and rounded once for each operation.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
OTHER_NAMES: dict[str, Callable[..., None]] = {}
"""References of kernels whose names are no Python identifiers, or taken."""


def run_reference(kernel: str, known: dict[str, Any]) -> bool:
    """Run the reference of a kernel on its arguments, in place; False if there is none."""
    function = OTHER_NAMES.get(kernel) or globals().get(f"ref_{kernel}")
    if function is None:
        return False
    wanted = inspect.signature(function).parameters
    with np.errstate(all="ignore"):
        function(**{name: known[KEYWORDS.get(name, name)] for name in wanted})
    return True


KEYWORDS = {"lambda_": "lambda", "yield_": "yield", "class_": "class", "del_": "del", "self_": "self"}
"""Parameter names that Python does not allow."""


def f32(x: Array) -> Array:
    """Half floats widened; everything else as it is."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def spread(x: Array, index: Array, other: Any = 0) -> Array:
    """x[index] with `other` outside."""
    index = np.asarray(index, np.int64)
    inside = (index >= 0) & (index < len(x))
    return np.where(inside, x[np.where(inside, index, 0)], np.asarray(other, x.dtype))


# --- elementwise ---------------------------------------------------------------------------------


def ref_vector_add(x, y, z):
    z[...] = x + y


def wrapped(value: int, dtype: np.dtype) -> int:
    bits = dtype.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def shifted(value: int, amount: int, bits: int, left: bool) -> int:
    if amount < 0 or amount >= bits:
        return 0 if left or value >= 0 else -1
    return value << amount if left else value >> amount


def ref_int_arith(a, b, y):
    bits = a.dtype.itemsize * 8
    for i, (p, q) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        rows = [p + q, p - q, p * q, p // q if q else 0, p % q if q else 0, p & q, p | q, p ^ q,
                shifted(p, q, bits, True), shifted(p, q, bits, False), -p, ~p, abs(p), max(p, q),
                min(p, (q > 0) - (q < 0))]
        y[:, i] = [wrapped(row, a.dtype) for row in rows]


def ref_negative_divisors(a, q, r):
    for i, value in enumerate(a.tolist()):
        v = value - 20
        q[:, i] = [v // d if d else 0 for d in (7, -7, 1, -1, 0, 8)]
        r[:, i] = [v % d if d else 0 for d in (7, -7, 1, -1, 0, 8)]


def ref_shifts(a, s, y, u):
    for i, (v, n) in enumerate(zip(a.tolist(), s.tolist(), strict=True)):
        y[:, i] = [wrapped(r, a.dtype) for r in (
            shifted(v, n, 32, True), shifted(v, n, 32, False), v >> 31, -1 if v < 0 else 0, 0, v >> 3)]
        w = v & 0xFFFFFFFF
        u[:, i] = [shifted(w, n & 0xFFFFFFFF, 32, False), w << 5 & 0xFFFFFFFF, 0]


def ref_float_arith(a, b, y):
    p, q = f32(a), f32(b)
    nan = np.isnan(p) | np.isnan(q)
    hi = np.where(nan, np.nan, np.where(p > q, p, q))
    clamped = np.where(nan, np.nan, np.minimum(np.maximum(p, -1), q))
    rows = [p + q, p - q, p * q, p / q, -p, np.abs(p), hi, np.where(nan, np.nan, np.where(p < q, p, q)),
            np.sign(p), clamped]
    for i, row in enumerate(rows):
        y[i] = row.astype(y.dtype)


def ref_comparisons(a, b, y):
    a, b = f32(a), f32(b)
    y[...] = [a == b, a != b, a < b, a <= b, a > b, a >= b]


def ref_logic(a, b, y, n):
    y[...] = [a & b, a | b, ~a, a == b, a != b, ~(a | ~b), np.where(a, b, ~b)]
    n[...] = [a.sum(), (a & b).sum(), int(a.any()) + (10 if a.all() else 20)]


def saturated(value: float, dtype: np.dtype) -> int:
    info = np.iinfo(dtype)
    if math.isnan(value):
        return 0
    return max(info.min, min(info.max, int(max(-1e30, min(1e30, value)))))


def ref_casts_to_int(x, a, b, c, d, e, f, g, h, z):
    values = x.astype(np.float64).tolist()
    for out in (a, b, c, d, e, f, g, h):
        out[...] = [saturated(v, out.dtype) for v in values]
    z[...] = [v != 0 for v in values]


def to_bf16(value: float) -> float:
    """A number with 8 significant bits, rounded once, to nearest even."""
    if isinstance(value, int):
        shift = max(0, abs(value).bit_length() - 8)
        kept, lost = divmod(abs(value), 1 << shift)
        kept += 2 * lost > (1 << shift) or (2 * lost == (1 << shift) and kept % 2)
        return math.copysign(kept << shift, value)
    if value == 0 or not math.isfinite(value):
        return value
    digits, exponent = math.frexp(value)
    return math.ldexp(round(digits * 256), exponent - 8)


def ref_casts_from_int(x, a, b, c, d, e, f, g, h, z):
    values = x.tolist()
    a[...] = [np.float16(float(v)) for v in values]
    b[...] = [to_bf16(v) for v in values]
    c[...], d[...] = x.astype(np.float32), x.astype(np.float64)
    for out in (e, f, g, h):
        out[...] = [wrapped(v, out.dtype) for v in values]
    z[...] = x != 0


def ref_casts_float(x, a, b, c, d):
    b[...] = [to_bf16(v) for v in x.tolist()]
    a[...], c[...] = x.astype(np.float16), x.astype(np.float32)
    d[...] = x.astype(np.float16).astype(np.float64)


def ref_casts_bool(x, a, b, c, d, e):
    for out in (a, b, c, d, e):
        out[...] = x.astype(out.dtype)


def ref_math_functions(x, y):
    v = x.astype(np.float64)
    w = np.abs(v)
    rows = [np.exp(v), np.exp2(v), np.expm1(v), np.log(w), np.log2(w), np.log1p(w), np.sqrt(w), 1 / np.sqrt(w),
            np.sin(v), np.cos(v), np.tanh(v), np.array([math.erf(i) for i in v]), 1 / (1 + np.exp(-v)), w**1.5,
            np.floor(v), np.ceil(v), np.round(v)]
    for i, row in enumerate(rows):
        y[i] = row.astype(y.dtype)


def ref_classify(x, y, nan_, inf_, r):
    nan_[...], inf_[...] = np.isnan(x), np.isinf(x)
    r[...] = (x.astype(np.float64) * y.astype(np.float64) + 0.25).astype(np.float32)


def ref_int_pow(a, b, y):
    def power(base: int, exponent: int) -> int:
        if exponent >= 0:
            return base**exponent
        return base ** (-exponent) if base in (1, -1) else 0

    for i, (p, q) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        y[:, i] = [wrapped(power(p, q), a.dtype), wrapped(p**3, a.dtype)]


def ref_precedence(a, b, c, y, z):
    p, q, r = a, b, c
    floor = np.floor_divide
    y[...] = [p + q * r, p | (q ^ (r & p)), p << 4, floor(-p, r), (p - q) - r, floor(floor(p, r), 3) * r, ~p & q,
              p & (q << 2), (p % r) * q, (p >> 4) + r]
    z[...] = [(p < q) | ((q < r) & ~(r < p)), p != q, (p & 1) == (q & 1)]


def ref_signed_zeros(x, y):
    v = f32(x)
    rows = [v + 0.0, v * 0.0, v - v, 0.0 - v, v, v, v / v, v, -v]
    for i, row in enumerate(rows):
        y[i] = row.astype(y.dtype)


def ref_cast_chains(x, n, a, b):
    a[...] = [x.astype(np.float32), x.astype(np.float16), [saturated(v, np.dtype(np.int32)) for v in x.tolist()]]
    kinds = (np.int8, np.uint32, np.int16)
    for row, kind in enumerate(kinds):
        b[row] = [wrapped(v, np.dtype(kind)) for v in n.tolist()]
    b[3] = [saturated(float(np.float32(v)), np.dtype(np.int64)) for v in n.tolist()]
    b[4] = [wrapped(v, np.dtype(np.int32)) for v in n.tolist()]


def ref_mixed_widths(a, b, c, d, u, w, x, y, z, t):
    x[...] = a.astype(np.int16) + b
    x[3] = a[3].astype(np.int16) - b[4]
    y[...] = c.astype(np.float32) * d
    z[...] = u.astype(np.uint32) + w
    t[...] = (a < b) & (c.astype(np.float32) >= d)


def ref_literals(x, n, y, m, k):
    y[...] = [x * (1 / 3), x + 1e-5, x * np.pi, np.where(x > 0, np.nan, -np.inf), x * 2]
    m[...] = [n, n ^ np.uint64(0b10101010), n + np.uint64(1000000)]
    k[...] = [-4, 2, (1 << 30) - 6, 0x7FFFFFFF]


def ref_unused_work(x, y):
    y[...] = x + 4


def ref_constant_branches(x, y, MODE):
    v = x + 1 if MODE == 0 else x * 3 if MODE == 1 else x
    y[...] = v if MODE else -v


def ref_long_sum(x, y):
    y[...] = 300 * x


# --- reductions, scans, shapes -------------------------------------------------------------------


def ref_softmax(x, y):
    e = np.exp(x - x.max(axis=1, keepdims=True, initial=-np.inf))
    y[...] = e / e.sum(axis=1, keepdims=True)


def ref_reductions(x, r, c, s, d):
    for out, axis in ((r, 1), (c, 0), (s, None)):
        out[0], out[1], out[2], out[3] = x.sum(axis), x.max(axis), x.min(axis), x.prod(axis)
    d[...] = x - x.max(axis=1, keepdims=True)


def ref_column_sums(x, s, top):
    s[...], top[...] = x.sum(axis=0), x.max(axis=0, initial=-np.inf)


def ref_int_reductions(x, z, s, p, m, w):
    s[...], p[...] = x.sum(axis=1, dtype=np.int32), x.prod(axis=1, dtype=np.int32)
    m[...] = [x.max(axis=0), x.min(axis=0)]
    w[...] = [z.sum(), z.prod(), z.max(), z.min()]


def ref_argmax_rows(x, hi, lo, col, all_):
    hi[...], lo[...], col[...] = x.argmax(axis=1), x.argmin(axis=1), x.argmax(axis=0)
    all_[...] = [x.argmax(), x.argmin()]


def ref_any_all(x, a, b, n, s):
    a[...], b[...], n[...] = x.any(axis=1), x.all(axis=0), x.sum(axis=1)
    s[...] = [x.any(), x.all()]


def ref_multi_axis(x, w, a, b, c, d):
    a[...], b[...], c[...] = x.sum(axis=(0, 2)), x.max(axis=1), w.sum(axis=(1, 2))
    d[...] = w.min(axis=(0, 3)).max(axis=1, keepdims=True)


def ref_scans(x, n, a, b):
    a[...] = [x.cumsum(axis=1), x[::-1].cumsum(axis=0)[::-1], np.maximum.accumulate(x, 1),
              np.minimum.accumulate(x[:, ::-1], 1)[:, ::-1], x.cumprod(axis=0)]
    kind = {"dtype": np.int32}
    b[...] = [n.cumsum(1, **kind), n[:, ::-1].cumsum(1, **kind)[:, ::-1], n.cumprod(0, **kind),
              np.maximum.accumulate(n, 0), np.minimum.accumulate(n, 1), (n > 0).cumsum(1)]


def ref_scan_narrow(x, u, h, a, b, c, m):
    a[...] = x.cumsum(dtype=np.int32)
    b[...] = u[::-1].cumsum(dtype=np.uint32)[::-1]
    c[...] = h.astype(np.float32).cumsum().astype(np.float16)
    m[...] = np.maximum.accumulate(u)


def ref_bf16_sums(x, s, m, w):
    v = x.astype(np.float32)
    s[...], w[...] = v.sum(axis=1).astype(s.dtype), v.sum(axis=1)
    m[...] = (v.max(axis=1) - v.min(axis=1)).astype(m.dtype)


def ref_shapes(x, y, a, b, c, d, e, f, g):
    a[...], b[...] = x.reshape(4, 6), x.reshape(4, 6).T
    c[...] = x.reshape(2, 3, 4).transpose(1, 0, 2)
    d[...], e[...] = np.concatenate([x, y]), y
    f[...] = y[:, None] * 10 + y
    g[...] = x.reshape(2, 3, 4).T


def ref_cat_columns(x, y, a, b):
    a[...] = np.concatenate([x, y, y], axis=1)
    b[...] = np.concatenate([y, y, np.ones((1, 3))])


def ref_creation(s, n, a, b, c, d):
    a[...] = np.array([0, 1, s, s])[:, None]
    b[...], c[...], d[...] = n + 1, np.float16(0.1), False


def ref_rank_four(x, y, s):
    y[...] = x.T
    s[...] = x.sum(axis=1, keepdims=True)


def ref_uniform_scalars(x, y, z, w):
    y[...], z[...], w[...] = x + x, x[0], 5


# --- dots ----------------------------------------------------------------------------------------


def ref_matmul(a, b, c):
    c[...] = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32).astype(c.dtype)


def ref_matmul_wide(a, b, bias, c):
    c[...] = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0).astype(c.dtype)


def ref_small_dot(a, b, c, t):
    c[...] = a @ b
    t[...] = 2 * (a @ b).T


def ref_int_dot(a, b, p, q, u, w, c, d, e):
    c[...] = a.astype(np.int32) @ b.astype(np.int32) + 7
    d[...] = (p.astype(np.int64) @ q.astype(np.int64)).astype(np.int32)
    e[...] = (u.astype(np.uint64) @ w.astype(np.uint64)).astype(np.uint32)


def ref_batched_dot(a, b, c):
    c[...] = a.astype(np.float32) @ b.astype(np.float32)


def ref_batched_matmul(a, b, c):
    c[...] = a.astype(np.float32) @ b.astype(np.float32).transpose(0, 2, 1)


def ref_tf32_dot(a, b, c):
    c[...] = a @ b


def ref_approximate(x, y):
    v = f32(x)
    size = np.abs(v)
    total = np.concatenate([size, np.ones((len(v), 128 - v.shape[1]), v.dtype)], axis=1).sum(axis=1, keepdims=True)
    functions = [np.exp(v), np.exp2(v), np.log(size), np.log2(size), np.sqrt(size), 1 / np.sqrt(size), np.sin(v),
                 np.cos(v), np.tanh(v), 1 / (1 + np.exp(-v)), v / size + v / 3, v / total]
    for k, values in enumerate(functions):
        y[k] = values.astype(y.dtype)


def ref_attention(q, k, v, o):
    s = q * 0.25 @ k.T
    e = np.exp(s - s.max(axis=1, keepdims=True))
    o[...] = e / e.sum(axis=1, keepdims=True) @ v


def ref_layernorm(x, w, b, eps, y):
    v = x.astype(np.float32)
    normal = (v - v.mean(axis=1, keepdims=True)) / np.sqrt(v.var(axis=1, keepdims=True) + eps)
    y[...] = (normal * w.astype(np.float32) + b.astype(np.float32)).astype(y.dtype)


# --- memory --------------------------------------------------------------------------------------


def ref_transpose_tiles(x, y):
    y[...] = x.T


def ref_own_writes(x, w, y):
    w[...] = (x * 2).T + 1
    y[...] = w - x


def ref_element_of_a_tile(x, y, z):
    z[0] = y[5]
    y *= x
    z[1] = y[5]


def ref_element_after_an_atomic(x, y, z):
    y += x
    z[0] = y[2]


def ref_tile_of_an_element(x, y, z):
    z[...] = 0
    z[3] = x[0] - y[3]
    y[3] = x[0]


def ref_around_a_loop(x, y, z):
    y += x
    z[0] = y[1]
    for k in range(3):
        y += np.float32(1)
        z[0] += y[k]


def ref_gather(x, i, y, z):
    y[...] = spread(x, i, -1)
    z[...] = np.where(i % 2 == 0, spread(x, i, 7), 7)


def ref_gather_2d(x, r, c, y, d, row, o):
    def at(i: int, j: int, other: float) -> float:
        return x[i, j] if 0 <= i < 12 and 0 <= j < 20 else other

    for i in range(8):
        y[i] = o[i] = [at(r[i], c[j], 9) for j in range(8)]
        d[i] = at(r[i], c[i], 0)
        row[i] = at(3, c[i], 0) if c[i] > 4 else -2


def ref_scatter(x, p, y):
    for value, place in zip(x, p, strict=True):
        if place < 30:
            y[place] = value


def ref_masked(x, m, y, z, w):
    y[...], z[...] = np.where(m, x, 0.5), np.where(m, x, 0)
    w[(np.arange(len(x)) > 3) & m] = -5
    stored = m | (x > 0)
    w[stored] = np.where(m, -np.inf, x)[stored]


def ref_edge_mask(x, y, z):
    y[...] = x + 1
    z[:, :-1] = x[:, :-1]


def ref_negative_index(x, y, s):
    i = np.arange(len(x))
    y[...] = spread(x, i - 3, 1)
    s[...] = spread(x, i - 1) + x + spread(x, i + 1)


def ref_left_half(x, y):
    y[...] = x[:, :y.shape[1]] * 2


def ref_dim_expressions(x, y, z, n, N):
    i = np.arange(len(z))
    z[:, 0], z[:, 1] = spread(x, i, 5), spread(y, 2 * i, 6)
    n[...] = [N, 100 * N + 2]


def ref_scalars(a, b, c, d, x, y, n):
    y[...] = [x[0] * np.float32(b), x[-1], 8, b if c else -b]
    n[...] = [a // 2, (d + 10) % 256, a if c else 5]


def ref_scalar_types(c, d, x, y, z):
    x[...] = [2.5, -4.5, c]
    y[...] = np.array([d, 0, 0], np.uint64)
    z[...] = [127, -32768]


def ref_slices_of_rank_three(x, y, z, s):
    y[...], s[...] = x[:, 2, :], x[:, 1, 3]
    z[...] = x[3, :, 5] if x.shape[2] > 5 and x.shape[0] > 3 else 0.25


def ref_wide_index(x, y, n, N):
    y[...] = x
    n[...] = [-1, (N - 1) * 3_000_000_000, (N + 5) * 10_000_000_000 % 1_000_007]


def ref_small_index_types(x, b, w, y):
    y[...] = [spread(x, b), spread(x, b.astype(np.int8)), spread(x, np.minimum(w, 1 << 40), -1),
              spread(x, 2 * np.arange(30))]


def ref_conv1d(x, w, y):
    i = np.arange(len(x))
    y[...] = sum(spread(x, i + k - len(w) // 2) * w[k] for k in range(len(w)))


def ref_accumulate_store(x, y, n):
    y += x
    y *= 2
    y[::2] -= 1
    y /= 4
    for i, value in enumerate(n.tolist()):
        n[i] = ((((value // 3 << 2 | 1) ^ 7) % 9 & 13) >> 1) + 14


def ref_select_loads(x, m, y, z, N):
    i = np.arange(N)
    z[...] = np.where(m, x, 0) + np.where(i < N - 5, spread(x, i + 3), 2)
    y[...] = np.where(m, x, y)


# --- atomics -------------------------------------------------------------------------------------


def ref_histogram(x, h, g):
    for value in x.tolist():
        if 0 <= value < 16:
            h[value] += 1
            g[value] += 0.5 * (value % 2 == 0)


def ref_atomics_mix(x, i, a, b, c, u, old):
    for t, (v, k) in enumerate(zip(x.tolist(), i.tolist(), strict=True)):
        old[t] = a[k]
        a[k] += v
        b[k] = max(b[k], v)
        if v > -40:
            c[k] = min(c[k], v)
        u[k] = min(int(u[k]), abs(v))


def ref_atomic_exchange(a, b, p, q):
    i = np.arange(6)
    p[...], a[...] = a, i * 10
    q[...] = b
    b[b == 3] = 100 + i[b == 3]


def ref_atomic_old_values(c, s):
    c[...] = 37
    s[...] = sum(i * i for i in range(37))


def ref_atomic_float(x, a, m, d):
    i = np.arange(len(x)) % 4
    for k in range(4):
        a[k] += x[i == k].sum()
        m[k] = max(m[k], x[i == k].max())
        d[k] += x[(i == k) & (x > 0)].astype(np.float64).sum()


# --- control flow --------------------------------------------------------------------------------


def ref_for_loops(n, step, y):
    a = 1
    for k in range(0, n, step):
        a = wrapped(a * 3 + k, np.dtype(np.int32))
    b = 0
    for k in range(10, -10, -3):
        b = b * 2 + k
    y[...] = [sum(range(n)), sum(k * k for k in range(3, n)), a, b, 5, 210, 41, n]


def ref_nested_loops(n, y):
    total = sum(i * j + k for i in range(n) for j in range(i, n) for k in range(j, i - 1, -1))
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    y[...] = [total, a, b, total - a]


def ref_while_collatz(x, steps):
    for p, value in enumerate(x.tolist()):
        v, n = value + 1, 0
        while v != 1:
            v, n = (3 * v + 1 if v % 2 else v // 2), n + 1
        steps[p] = n


def ref_while_tile(x, y, n):
    for r, row in enumerate(x):
        v, trips = row, 0
        while v.sum() > 0.5 and trips < 20:
            v, trips = v * np.float32(0.5), trips + 1
        y[r], n[r] = v, trips


def ref_branches(x, y, z):
    for p, v in enumerate(x.tolist()):
        r, s = 0, 7
        if v < 5:
            r = wrapped(v * 2, x.dtype)
        elif v < 10:
            r = -v
            if v % 2 == 1:
                s = v
            else:
                s, z[p] = 8, 77
        elif v == 12:
            s = 12
        else:
            r = 1000
        y[p] = wrapped(r + s, x.dtype)
        if v > 8:
            z[p] = r


def ref_branch_tiles(x, s, y):
    y[...] = np.where(s[:, None] != 0, x * 2, -1)


def ref_early_return(x, y, z):
    for p, v in enumerate(x.tolist()):
        y[p] = v
        if v == 3:
            continue
        if v < 0:
            z[p] = -1
            continue
        total = 0
        for k in range(v):
            total += k
            if total > 50:
                break
        z[p] = total if total > 50 else 1000 + total


def ref_return_in_while(x, y):
    def run(v: int) -> int:
        for k in range(3):
            while v > k:
                v -= 3
                if v == 1:
                    return k
            v += 7
        return 100 + v

    y[...] = [run(v) for v in x.tolist()]


def ref_bare_return(n, x, y):
    y[...] = -x if n else x


def ref_divergence(x, n, y, k_):
    for r in range(len(x)):
        v, count = x[r].copy(), 0
        for i in range(n[r]):
            if i % 2 == 0:
                v = v + np.float32(1)
                for j in range(i):
                    v, count = v * np.float32(1.25), count + j
            elif v.max() > 2:
                v = v - v.max()
            else:
                count -= 1
        y[r], k_[r] = v, count


def ref_else_if_chain(x, y):
    y[...] = [v * v + 1 if v < 20 else 1000 + v for v in x.tolist()]


def ref_loop_invariants(x, w, n, y, z):
    v = np.zeros(24, np.float32)
    for _ in range(n):
        v = v + x * (np.exp(w) + 1) + z
        z *= 0.5
    y[...] = v


def ref_zero_step(step, y):
    y[...] = sum(range(0, 10, step)) if step else 0


def ref_unsigned_loop(n, y):
    y[...] = [sum(range(250, 255, n)), sum(k % 1000 for k in (0, 2, 4)), sum(range(120, 127, 5))]


def ref_index_everything(x, y, n, N):
    y[...] = x[::-1]
    n[...] = [-(-N // 8), -(N // 4), 16, 0]


# --- programs, functions, names ------------------------------------------------------------------


def ref_functions(x, n, y, s, k):
    mean = x.mean(axis=1)
    s[...] = [mean, x.var(axis=1) ** 2 * 0.5]
    y[...] = (x - mean[:, None]) ** 2
    k[...] = [min(min(v, 4) + 1, 10) + v * v for v in n.tolist()]


def ref_odd_names(lambda_, cuda, yield_, class_):
    v = lambda_ * max(np.append(lambda_, 0))
    yield_[...] = 2 * v + np.float32(cuda) * max(max(np.append(lambda_, 0)), 0) + 3
    class_[...] = [0, 1, 3]


def ref_odd_names2(self_, None_, del_):
    del_[...] = self_ * None_ + 8


OTHER_NAMES.update({"__import__": ref_odd_names, "exec": ref_odd_names2})


def ref_grid_axes(y, n, M, N, K):
    i, j, k = np.meshgrid(np.arange(M), np.arange(N), np.arange(K), indexing="ij")
    y[...] = (i * 100 + j) * 100 + k
    n[...] = M * 100 + N * 10 + K


def ref_strided_grid(x, y):
    y[...] = x * x


def ref_asserts_hold(x, y):
    y[...] = np.sqrt(x)


def ref_prints(x, y):
    y[...] = x + 1


def ref_two_kernels(x, y):
    y[...] = x + x


ref_two_kernels_second = ref_two_kernels


def philox(seed: int, offset: int) -> list[int]:
    """Four words of Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    mask = 0xFFFFFFFF
    key = [seed & mask, seed >> 32 & mask]
    c = [offset & mask, offset >> 32 & mask, 0, 0]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key[0], b & mask, (a >> 32) ^ c[3] ^ key[1], a & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return c


def ref_random_numbers(seed, n, u, z, r, s):
    for i in range(256):
        words = philox(seed, i + n)
        u[i] = (words[0] >> 8) * 2.0**-24
        radius = math.sqrt(-2 * math.log(((words[0] >> 8) + 1) * 2.0**-24))
        z[i] = radius * math.cos(2 * math.pi * (words[1] >> 8) * 2.0**-24)
        r[i] = philox(seed, i * 1_000_000_007)[0]
    s[0] = (philox(7, 123)[0] >> 8) * 2.0**-24


def ref_dropout(x, seed, y):
    drawn = np.array([(philox(seed, i)[0] >> 8) * 2.0**-24 for i in range(len(x))])
    y[...] = np.where(drawn >= 0.25, x / np.float32(0.75), 0)


def ref_views(x, w, y, s):
    y[:] = (x + 1)[:, None] * w[None, :] - np.abs(x)[:, None]
    s[:] = x.sum(dtype=np.float64)
