"""The capstone, chapter 13: a puzzle of its own folder, graded on the learner's compiler.

It is attention over kept keys and values, with heads that share them, as language models run it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from course.puzzles.inputs import Inputs, randn
from course.puzzles.slips import TILES, online
from course.puzzles.specs import Array, f64, softmax
from course.puzzles.table import Puzzle, Traffic, by_kind
from course.table import COURSE

Slip = Callable[..., Array]

BLOCK = 32
"""Queries of a program, for which the traffic is allowed."""


def attention(q: Array, k: Array, v: Array, scale: float) -> Array:
    """What the kernel computes, in f64."""
    return attend(q, k, v, scale, _seen(q.shape[1], k.shape[1]), _groups(q, k))


def attend(q: Array, k: Array, v: Array, scale: float, seen: Array, group: Array) -> Array:
    """Each head with its group's keys and values; `seen`: which key (column) a query (row) sees."""
    scores = f64(q) @ f64(k)[group].transpose(0, 2, 1) * scale
    shape = scores.shape
    weights = softmax(np.where(seen, scores, -np.inf).reshape(-1, shape[-1])).reshape(shape)
    return np.asarray(weights @ f64(v)[group])


def _seen(queries: int, keys: int) -> Array:
    """Query i sees the keys up to its own position."""
    return np.asarray(np.arange(keys) <= np.arange(queries)[:, None] + keys - queries)


def _groups(q: Array, k: Array) -> Array:
    """Which keys and values each head uses."""
    return np.asarray(np.arange(len(q)) // (len(q) // len(k)))


def make(rng: np.random.Generator, H: int, G: int, M: int, N: int, D: int) -> Inputs:
    return {"q": randn(rng, H, M, D) * np.float32(2), "k": randn(rng, G, N, D), "v": randn(rng, G, N, D),
            "scale": float(np.float32(D**-0.5))}  # fmt: skip


def traffic(H: int, G: int, M: int, N: int, D: int) -> Mapping[str, int]:
    read = sum(min(N, N - M + (block + 1) * BLOCK) for block in range(-(-M // BLOCK)))
    return {"q once": 4 * H * M * D, "o once": 4 * H * M * D,
            f"k and v for every {BLOCK} queries of a head, as far as these see": 8 * H * D * read}  # fmt: skip


def dims(H: int, G: int, M: int, N: int, D: int) -> dict[str, int]:
    return {"H": H, "G": G, "M": M, "N": N, "D": D}


CAPSTONE = Puzzle(
    "attention", "attention", "o", attention, make,
    by_kind(dims(4, 2, 64, 128, 32), dims(6, 2, 40, 70, 20), dims(3, 3, 50, 50, 24), prime=dims(3, 1, 37, 41, 13),
            one=(dims(1, 1, 1, 1, 1), dims(4, 2, 1, 77, 16), dims(2, 1, 33, 33, 8))),
    Traffic(dims(2, 1, 128, 160, 32), traffic), large=("q",), folder=COURSE / "ch13_capstone",
)  # fmt: skip


# ------------------------------------------------------------------------------------------- slips


def _seeing(rule: Callable[[Array, Array, int], Array]) -> Slip:
    """The spec, but a query sees what `rule(queries M x 1, keys N, N - M)` says."""

    def wrong(q: Array, k: Array, v: Array, scale: float) -> Array:
        m, n = q.shape[1], k.shape[1]
        return attend(q, k, v, scale, rule(np.arange(m)[:, None], np.arange(n), n - m), _groups(q, k))

    return wrong


def _block_wise(tile: int) -> Slip:
    """No mask: whatever the loop reads is seen, in whole blocks of keys."""
    return _seeing(lambda i, j, before: j < -(-(before + (i // tile + 1) * tile) // tile) * tile)


def _interleaved(q: Array, k: Array, v: Array, scale: float) -> Array:
    return attend(q, k, v, scale, _seen(q.shape[1], k.shape[1]), np.arange(len(q)) % len(k))


def _first_group(q: Array, k: Array, v: Array, scale: float) -> Array:
    return attend(q, k, v, scale, _seen(q.shape[1], k.shape[1]), np.zeros(len(q), int))


def _unscaled(q: Array, k: Array, v: Array, scale: float) -> Array:
    return attention(q, k, v, 1.0)


def _stale(tile: int, *, total: bool) -> Slip:
    """Online, with the sum of exponentials (`total`) or the weighted sum never rescaled."""

    def wrong(q: Array, k: Array, v: Array, scale: float) -> Array:
        scores = np.where(_seen(q.shape[1], k.shape[1]), f64(q) @ f64(k)[_groups(q, k)].transpose(0, 2, 1) * scale,
                          -np.inf)  # fmt: skip
        values = f64(v)[_groups(q, k)]
        heads = zip(scores, values, strict=True)
        return np.stack([online(s, x, tile, fade_total=not total, fade_sum=total) for s, x in heads])

    return wrong


SLIPS: list[tuple[str, Slip]] = [
    ("every query sees every key: those behind its own position must not count", _seeing(lambda i, j, n: j >= i * 0)),
    *[("every query sees what the last one of its block may see: each has an end of its own", _block_wise(t))
      for t in TILES],
    ("a query does not see its own position: `<=`, not `<`", _seeing(lambda i, j, before: j < i + before)),
    ("a query sees one position too many", _seeing(lambda i, j, before: j <= i + before + 1)),
    ("query i is taken to stand at position i; it stands at N - M + i", _seeing(lambda i, j, before: j <= i)),
    ("the wrong keys for a head: head h uses group h // (H // G), not h % G", _interleaved),
    ("every head uses the keys and values of group 0", _first_group),
    ("the scores are not multiplied by scale", _unscaled),
    *[("the weighted sum so far is not rescaled when a block raises the best score", _stale(t, total=False))
      for t in TILES],
    *[("the sum of exponentials so far is not rescaled when a block raises the best score", _stale(t, total=True))
      for t in TILES],
]  # fmt: skip
"""What well-known mistakes give, for `course.puzzles.hints`."""
