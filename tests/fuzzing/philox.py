"""Philox 4x32-10 in plain Python, one number at a time, written from the paper (Salmon et al., SC 2011)."""

from __future__ import annotations

WORD = (1 << 32) - 1


def words(seed: int, offset: int) -> list[int]:
    """The four words for the counter `offset` under the key `seed`, both taken as 64 bits."""
    key = [seed & WORD, seed >> 32 & WORD]
    counter = [offset & WORD, offset >> 32 & WORD, 0, 0]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [second >> 32 ^ counter[1] ^ key[0], second & WORD, first >> 32 ^ counter[3] ^ key[1], first & WORD]
        key = [key[0] + 0x9E3779B9 & WORD, key[1] + 0xBB67AE85 & WORD]
    return counter


def word(seed: int, offset: int) -> int:
    """The first word: what `randint` gives."""
    return words(seed, offset)[0]


def uniform(seed: int, offset: int) -> float:
    """In [0, 1), with 24 bits."""
    return (word(seed, offset) >> 8) / (1 << 24)
