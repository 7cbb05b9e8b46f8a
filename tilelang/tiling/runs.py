"""Runs of neighbours: the first number of the one that an index is in, where that can be seen from how it is made.

    at = (r // 4 * 128 + t) * 4 + r % 4          ->          the run of 4 begins at (r // 4 * 128 + t) * 4
          a multiple of 4       + less than 4

What holds for all of a run, or for none of it, is then worked out for its first element alone: when the loop over `r`
is unrolled, once for each run that a thread holds.
"""

from __future__ import annotations

from dataclasses import dataclass

NO_POWER = 1 << 62
"""0 is a multiple of any power of two."""


@dataclass(frozen=True)
class Known:
    """What is known of a number that is never negative: a power of two divides it, and it is at most `most`."""

    divisor: int = 1
    most: int | None = None

    def __add__(self, other: Known) -> Known:
        most = None if self.most is None or other.most is None else self.most + other.most
        return Known(min(self.divisor, other.divisor), most)

    def times(self, factor: int) -> Known:
        return Known(min(self.divisor * power_in(factor), NO_POWER), None if self.most is None else self.most * factor)

    def remainder(self, divisor: int) -> Known:
        most = divisor - 1 if self.most is None else min(self.most, divisor - 1)
        return Known(min(self.divisor, power_in(divisor)), most)


def exactly(number: int) -> Known:
    return Known(power_in(number), number)


def power_in(number: int) -> int:
    """The largest power of two that divides a number."""
    return number & -number or NO_POWER


def cut(terms: list[Known], run: int) -> int:
    """The longest run, up to `run`, such that the terms it does not divide are together less than it; 1 if none is."""
    while run > 1:
        rest = [term for term in terms if term.divisor < run]
        below = [term.most for term in rest if term.most is not None]
        if len(below) == len(rest) and sum(below) < run:
            return run
        run //= 2
    return 1
