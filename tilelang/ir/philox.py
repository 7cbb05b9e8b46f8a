"""Philox 4x32-10: random numbers without a state, the same on every device.

J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A block cipher
cut down to what statistics needs: ten rounds turn a key (the seed) and a counter (the element's offset)
into four words that look random. No thread waits for another's state, so the numbers do not depend on who
computes them.
"""

from __future__ import annotations

import numpy as np

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
"""The golden ratio and sqrt(3) - 1, in 32 bits: the key of each round differs by these."""
ROUNDS = 10

MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(seed: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Four u32 words for each offset.

    `seed` and `offsets` are i64 and broadcast together. The key is (low, high half of seed), the counter
    (low, high half of offset, 0, 0).
    """
    seed, offsets = np.broadcast_arrays(np.asarray(seed, np.int64), np.asarray(offsets, np.int64))
    key0, key1 = _halves(seed)
    word0, word1 = _halves(offsets)
    word2 = word3 = np.zeros_like(word0)
    for _ in range(ROUNDS):
        high0, low0 = _product(MULTIPLIERS[0], word0)
        high1, low1 = _product(MULTIPLIERS[1], word2)
        word0, word1, word2, word3 = high1 ^ word1 ^ key0, low1, high0 ^ word3 ^ key1, low0
        key0 = (key0 + np.uint64(KEY_STEPS[0])) & MASK
        key1 = (key1 + np.uint64(KEY_STEPS[1])) & MASK
    return tuple(word.astype(np.uint32) for word in (word0, word1, word2, word3))  # type: ignore[return-value]


def _halves(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Low and high 32 bits of 64-bit integers, each in a u64."""
    bits = array.astype(np.uint64)
    return bits & MASK, bits >> HALF


def _product(multiplier: int, word: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """High and low half of a 32 x 32 bit product."""
    product = word * np.uint64(multiplier)
    return product >> HALF, product & MASK


def uniform(seed: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """f32 in [0, 1): the upper 24 bits of the first word."""
    return _unit(philox(seed, offsets)[0])


def normal(seed: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """f32, standard normal: Box-Muller on the first two words, u1 in (0, 1], u2 in [0, 1)."""
    first, second, _, _ = philox(seed, offsets)
    u1 = _unit(first).astype(np.float64) + 2.0**-24
    u2 = _unit(second).astype(np.float64)
    return (np.sqrt(-2.0 * np.log(u1)) * np.cos(2.0 * np.pi * u2)).astype(np.float32)


def integers(seed: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """u32: the first word."""
    return philox(seed, offsets)[0]


def _unit(word: np.ndarray) -> np.ndarray:
    return (word >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
