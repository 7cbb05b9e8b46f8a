"""Random numbers: Philox against known answers and Python integers, and what is made of its words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilelang.dtypes import F32, U32
from tilelang.ir.numerics import evaluate
from tilelang.ir.philox import philox


def philox_by_hand(key: list[int], counter: list[int]) -> list[int]:
    """The same algorithm in Python integers, on any counter."""
    mask = (1 << 32) - 1
    words = counter
    for _ in range(10):
        p0, p1 = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [(p1 >> 32) ^ words[1] ^ key[0], p1 & mask, (p0 >> 32) ^ words[3] ^ key[1], p0 & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return words


def words_of(seed: int, offset: int) -> list[int]:
    """The four words as the language defines them."""
    mask = (1 << 32) - 1
    return philox_by_hand([seed & mask, seed >> 32 & mask], [offset & mask, offset >> 32 & mask, 0, 0])


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # the test vectors of Random123 (kat_vectors, philox4x32 10)
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_known_answers(counter: str, key: str, words: str) -> None:
    read = [[int(word, 16) for word in text.split()] for text in (key, counter, words)]
    assert philox_by_hand(read[0], read[1]) == read[2]


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_philox_in_python_integers(seed: int, offset: int) -> None:
    assert [int(w) for w in philox(np.int64(seed), np.int64(offset))] == words_of(seed, offset)


def test_random_distributions() -> None:
    seed, offsets = np.asarray(7, np.int64), np.arange(100_000, dtype=np.int64)
    uniform = evaluate("rand", [seed, offsets], F32)
    normal = evaluate("randn", [seed, offsets], F32)
    assert uniform.dtype == normal.dtype == np.float32
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.005 and abs(uniform.var() - 1 / 12) < 0.002
    assert abs(normal.mean()) < 0.01 and abs(normal.var() - 1) < 0.02 and np.isfinite(normal).all()
    words = [words_of(7, int(o))[0] for o in offsets[:50]]
    assert uniform[:50].tolist() == [(w >> 8) * 2.0**-24 for w in words]
    assert evaluate("randint", [seed, offsets[:50]], U32).tolist() == words
