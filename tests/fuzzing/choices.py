"""Where a generator's choices come from: a seed, or a tape of choices made before, which can be cut shorter.

Every choice is a whole number below a bound. A program is a function of these numbers, so to make a failing program
smaller is to make its numbers fewer and smaller (the idea of Hypothesis; D. MacIver, A. Donaldson, "Test-case
reduction via test-case generation", ECOOP 2020). The first of several options should therefore be the plainest.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Choices by a seed, or from `tape`; past its end, the first option every time. `made` records them."""

    def __init__(self, seed: int = 0, tape: Sequence[int] | None = None) -> None:
        self._random, self._tape = Random(seed), tape
        self.made: list[int] = []

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        if self._tape is None:
            value = self._random.randrange(count)
        else:
            at = len(self.made)
            value = min(self._tape[at], count - 1) if at < len(self._tape) else 0
        self.made.append(value)
        return value

    def randrange(self, start: int, stop: int | None = None) -> int:
        """As `random.randrange`."""
        low, high = (0, start) if stop is None else (start, stop)
        return low + self.below(high - low)

    def choice(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """True in so many cases of a hundred; what it guards is left out when the tape is at its end."""
        return self.below(100) >= 100 - percent
