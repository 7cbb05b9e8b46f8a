"""Near-miss names: "did you mean `program_id`?".

Every stage that looks a name up uses `nearest` when the look-up fails, so that a message can offer
the name that was probably meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import SequenceMatcher, get_close_matches

LONGEST_NAME = 80
"""Longer names are never typing slips, and comparing two long names takes quadratic time."""


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` was most likely meant to be, or None if nothing is close.

    The order of preference: the same letters in another case (`Sum` for `sum`), the same letters without
    underscores (`programid` for `program_id`), two neighbouring letters swapped (`acc` for `cac`), and then
    the closest by Ratcliff and Obershelp's measure (`difflib`). Ties go to the name that sorts first.
    """
    if not name or len(name) > LONGEST_NAME:
        return None
    known = sorted({c for c in candidates if c and len(c) <= LONGEST_NAME} - {name})
    return (
        _first(known, lambda c: c.lower() == name.lower())
        or _first(known, lambda c: _squeezed(c) == _squeezed(name))
        or _first(known, lambda c: _is_swap(c, name))
        or _closest(name, known)
    )


def _first(names: list[str], matches: Callable[[str], bool]) -> str | None:
    return next((n for n in names if matches(n)), None)


def _squeezed(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _is_swap(a: str, b: str) -> bool:
    """True if `a` and `b` differ by two neighbouring characters changing places."""
    if len(a) != len(b):
        return False
    places = [i for i in range(len(a)) if a[i] != b[i]]
    if len(places) != 2:
        return False
    i, j = places
    return j == i + 1 and a[i] == b[j] and a[j] == b[i]


def _closest(name: str, known: list[str]) -> str | None:
    by_lower = {k.lower(): k for k in reversed(known)}
    # One letter has no near misses: every other one-letter name is as far away.
    cutoff = 0.7 if len(name) > 3 else 0.6
    if len(name) == 1:
        return None
    found = get_close_matches(name.lower(), list(by_lower), n=3, cutoff=cutoff)
    if not found:
        return None
    best = max(found, key=lambda f: (SequenceMatcher(None, name.lower(), f).ratio(), f[0] == name[0].lower()))
    return by_lower[best]
