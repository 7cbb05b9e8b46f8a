"""What comes out of well-known slips: where a wrong result is one of these, the message can name the mistake.

A slip is a function of the kernel's inputs, like a spec. If it gives what the kernel gave, that is what happened. Slips
that depend on the tile's extent, such as keeping the last tile only, are tried for each of `TILES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from course.puzzles import specs
from course.puzzles.specs import Array, f64

Slip = tuple[str, Callable[..., Array]]

TILES = (16, 32, 64, 128, 256, 1024)


def last_tile(spec: Callable[..., Array], **axes: int) -> list[Slip]:
    """Only the last tile along an axis counts. `axes`: for each input that is walked along, the axis of it."""

    def cut(tile: int) -> Callable[..., Array]:
        def wrong(**inputs: Array) -> Array:
            kept = dict(inputs)
            for name, axis in axes.items():
                extent = inputs[name].shape[axis]
                start = (extent - 1) // tile * tile
                kept[name] = np.take(inputs[name], range(start, extent), axis)
            return spec(**kept)

        return wrong

    said = "only the last tile counts: each step of the loop forgets what the steps before it found"
    return [(said, cut(tile)) for tile in TILES]


def every_second_tile(spec: Callable[..., Array], **axes: int) -> list[Slip]:
    """A loop over an axis that leaves out every second tile."""

    def skip(tile: int) -> Callable[..., Array]:
        def wrong(**inputs: Array) -> Array:
            kept = dict(inputs)
            for name, axis in axes.items():
                index = np.arange(inputs[name].shape[axis])
                kept[name] = np.take(inputs[name], index[index // tile % 2 == 0], axis)
            return spec(**kept)

        return wrong

    said = "every second tile is left out: the step of the loop is twice the extent of its tile"
    return [(said, skip(tile)) for tile in TILES]


def online(scores: Array, values: Array | None, tile: int, *, fade_total: bool, fade_sum: bool = True) -> Array:
    """Softmax in blocks of `tile`, times `values` (N x D) if any. Without `fade_...` a sum is not rescaled."""
    best = np.full(len(scores), -np.inf)
    total, acc = np.zeros(len(scores)), 0.0
    for start in range(0, scores.shape[1], tile):
        block = scores[:, start : start + tile]
        top = np.maximum(best, block.max(axis=1))
        weight, faded = np.exp(block - top[:, None]), np.exp(best - top)
        total = total * (faded if fade_total else 1) + weight.sum(axis=1)
        if values is not None:
            acc = acc * (faded[:, None] if fade_sum else 1) + weight @ values[start : start + tile]
        best = top
    return (np.exp(scores - best[:, None]) if values is None else acc) / total[:, None]


def _attention_stale(tile: int, total: bool) -> Callable[..., Array]:
    def wrong(q: Array, k: Array, v: Array) -> Array:
        scores = f64(q) @ f64(k).T / np.sqrt(q.shape[1])
        return online(scores, f64(v), tile, fade_total=not total, fade_sum=total)

    return wrong


def other_axis(reduce: Callable[..., Array]) -> list[Slip]:
    """A column's result is that of a row of its tile: the tiles reduced along the axis that is kept."""

    def wrong(tile: int) -> Callable[..., Array]:
        def rows(x: Array) -> Array:
            columns = -(-x.shape[1] // tile) * tile
            padded = np.full((-(-x.shape[0] // tile) * tile, columns), -np.inf)
            padded[: x.shape[0], : x.shape[1]] = x
            best = reduce(padded.reshape(-1, tile, columns // tile, tile), axis=3)  # (steps, row of tile, tile column)
            return reduce(best, axis=0).T.reshape(-1)[: x.shape[1]]

        return rows

    said = "the wrong axis is reduced: axis 0 of a tile counts its rows, axis 1 its columns"
    return [(said, wrong(tile)) for tile in TILES]


def untwisted(x: Array, tile: int) -> Array:
    """Each tile of x at its transposed place, but not itself transposed."""
    m, n = x.shape
    rows, cols = np.indices((n, m))
    source = np.zeros((-(-m // tile) * tile, -(-n // tile) * tile), x.dtype)
    source[:m, :n] = x
    within_r, within_c = rows % tile, cols % tile
    return source[cols // tile * tile + within_r, rows // tile * tile + within_c]


def _row_maximum_missing(x: Array, label: Array) -> Array:
    return specs.cross_entropy(x, label) - f64(x).max(axis=1)


def _softmax_sum_missing(x: Array) -> Array:
    return np.exp(f64(x) - f64(x).max(axis=-1, keepdims=True))


def _attention_scaled(power: float) -> Callable[..., Array]:
    return lambda q, k, v: specs.softmax(f64(q) @ f64(k).T * q.shape[1] ** power) @ f64(v)


def _rms(mean: Callable[[Array], Array]) -> Callable[..., Array]:
    return lambda x, w, eps: f64(x) / np.sqrt(mean(f64(x) ** 2)[:, None] + eps) * f64(w)


def _high_first(w: Array) -> Array:
    return (w << 4) | (w >> 4)


def _unpacked(w: Array, a: Array, scale: Array) -> Array:
    return specs.packed_matmul(w, a, scale) + 8 * f64(a).sum(axis=1, keepdims=True) * f64(scale)


def _square(w: Array) -> Array:
    """w with zeros at its right or its lower end."""
    side = max(w.shape)
    return np.pad(w, ((0, side - w.shape[0]), (0, side - w.shape[1])))


def _rows(table: Array, rows: Array) -> Array:
    """Rows of the table; those outside are 0."""
    inside = (rows >= 0) & (rows < len(table))
    return np.where(inside[:, None], table[np.where(inside, rows, 0)], np.float32(0))


SLIPS: Mapping[str, list[Slip]] = {
    "02_scale": [("b is added before a multiplies: a * (x + b)", lambda x, a, b: a * (f64(x) + b)),
                 ("a and b are exchanged", lambda x, a, b: b * f64(x) + a),
                 ("b is not added", lambda x, a, b: a * f64(x))],
    "03_broadcast_add": [("y is not added", lambda x, y: f64(x)[:, None] + 0 * f64(y))],
    "05_mul_relu": [("the product is not clipped at 0", lambda x, y: f64(x) * f64(y)),
                    ("x is clipped, not the product", lambda x, y: np.maximum(f64(x), 0) * f64(y))],
    "06_mul_relu_backward": [
        ("what was clipped depends on the sign of the product x * y, not of x alone",
         lambda x, y, dz: np.where(x > 0, f64(dz) * y, 0)),
        ("the clipping is missing: dx is 0 where x * y is not above 0", lambda x, y, dz: f64(dz) * f64(y)),
        ("the factor y is missing", lambda x, y, dz: np.where(f64(x) * y > 0, f64(dz), 0)),
        ("the mask looks at dz", lambda x, y, dz: np.where(f64(dz) * y > 0, f64(dz) * y, 0))],
    "07_row_sum": [*last_tile(specs.row_sum, x=1), *every_second_tile(specs.row_sum, x=1)],
    "08_column_max": [("the best so far starts at 0, and no element is larger: start with -inf",
                       lambda x: np.maximum(specs.column_max(x), 0)),
                      *other_axis(np.max), *last_tile(specs.column_max, x=0)],
    "09_transpose": [("tiles go to the right place, but the elements in them are not transposed",
                      lambda x, tile=tile: untwisted(x, tile)) for tile in TILES],
    "10_softmax": [("the division by the sum is missing", _softmax_sum_missing)],
    "11_softmax_long": [("the division by the sum is missing", _softmax_sum_missing),
                        *[("the sum so far is not rescaled when a block raises the maximum",
                           lambda x, t=t: online(f64(x), None, t, fade_total=False)) for t in TILES]],
    "12_matmul": [*last_tile(specs.matmul, a=1, b=0), *every_second_tile(specs.matmul, a=1, b=0)],
    "13_batched_matmul": [*last_tile(specs.matmul, a=2, b=1), *every_second_tile(specs.matmul, a=2, b=1)],
    "14_conv1d": [("the filter is turned over: w[t] meets x[i + t]", lambda x, w: specs.conv1d(x, w[::-1]))],
    "15_conv2d": [("rows and columns of the filter are exchanged: w[s, t] meets x[i + s, j + t]",
                   lambda x, w: specs.conv2d(x, _square(w).T[: w.shape[0], : w.shape[1]]))],
    "16_prefix_sum": [("the element itself is not in its sum: y[i, j] goes up to x[i, j], and includes it",
                       lambda x: specs.prefix_sum(x) - f64(x))],
    "18_embedding": [("row n of the table is taken, not row ids[n]: the index must be what ids holds",
                      lambda table, ids: _rows(table, np.arange(len(ids)))),
                     ("every id is one too large", lambda table, ids: _rows(table, ids + 1))],
    "19_rms_norm": [("the sum is not divided by N", _rms(lambda s: s.sum(axis=1))),
                    ("the mean is over the tile, rounded up to a power of two, and not over the N elements of the row",
                     _rms(lambda s: s.sum(axis=1) / (1 << (s.shape[1] - 1).bit_length()))),
                    ("eps is missing", lambda x, w, eps: _rms(lambda s: s.mean(axis=1))(x, w, 0.0)),
                    ("the weight w is missing", lambda x, w, eps: specs.rms_norm(x, np.ones_like(w), eps)),
                    ("the square root is missing",
                     lambda x, w, eps: f64(x) / ((f64(x) ** 2).mean(axis=1, keepdims=True) + eps) * f64(w))],
    "20_rotary": [("the points turn the other way round: look at the signs", lambda c, s, x: specs.rotary(c, -s, x)),
                  ("cosine and sine are exchanged", lambda c, s, x: specs.rotary(s, c, x))],
    "21_cross_entropy": [("the maximum that was subtracted in the exponent is not added again", _row_maximum_missing),
                         ("the sign is turned round", lambda x, label: -specs.cross_entropy(x, label)),
                         ("the score of the label is not subtracted",
                          lambda x, label: specs.cross_entropy(x, label) + f64(x)[np.arange(len(x)), label])],
    "22_attention": [("the scores are not divided by sqrt(D)", _attention_scaled(0)),
                     ("the scores are divided by D, not by its square root", _attention_scaled(-1)),
                     *[("the weighted sum so far is not rescaled when a block raises the best score",
                        _attention_stale(t, total=False)) for t in TILES],
                     *[("the sum of exponentials so far is not rescaled when a block raises the best score",
                        _attention_stale(t, total=True)) for t in TILES],
                     *last_tile(specs.attention, k=0, v=0)],
    "23_quantized_matmul": [("scale is missing", lambda a, w, scale: f64(a) @ f64(w)),
                            *last_tile(specs.quantized_matmul, a=1, w=0)],
    "24_packed_matmul": [("the two halves of a byte are exchanged: the low one meets the even columns of a",
                          lambda w, a, scale: specs.packed_matmul(_high_first(w), a, scale)),
                         ("the low halves meet the odd columns of a too", lambda w, a, scale: specs.packed_matmul(
                             w, np.repeat(a[:, 1::2], 2, axis=1), scale)),
                         ("the high halves meet the even columns of a too", lambda w, a, scale: specs.packed_matmul(
                             w, np.repeat(a[:, ::2], 2, axis=1), scale)),
                         ("8 is not subtracted from the weights", _unpacked),
                         ("scale is missing", lambda w, a, scale: specs.packed_matmul(w, a, np.ones_like(scale)))],
}  # fmt: skip
