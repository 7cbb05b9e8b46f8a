"""Extents: an int once everything is bound, a symbolic integer while a file is checked without arguments.

`Sym` is a polynomial with integer coefficients in normal form. Its unknowns are names (`BLOCK`), and whole
sub-expressions that polynomials cannot express, kept as opaque text (`next_pow2(N)`). Two polynomials that
differ by a constant are surely equal or surely different; about all others `equal` says "unknown", which
the checker accepts: when the kernel is specialised the same check runs again on ints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Union
from zlib import crc32

Extent = Union[int, "Sym"]

Monomial = tuple[str, ...]
"""The factors of one term, sorted; empty for the constant term."""

MAX_TERMS = 64
MAX_DEGREE = 16
"""Larger products stay opaque: (a + b) * (c + d) * ... has twice the terms with every factor."""

MAX_TEXT = 120
"""Longer opaque expressions are cut, and told apart by a checksum."""


@dataclass(frozen=True)
class Sym:
    """`sum(coefficient * product(factors))`: terms sorted, no zero coefficients, some unknown in it."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def unknowns(self) -> frozenset[str]:
        """Every name and opaque expression in it."""
        return frozenset(factor for factors, _ in self.terms for factor in factors)

    def __add__(self, other: Extent) -> Extent:
        total = dict(self.terms)
        for factors, coefficient in _terms(other):
            total[factors] = total.get(factors, 0) + coefficient
        return _normal(total)

    def __mul__(self, other: Extent) -> Extent:
        theirs_all = _terms(other)
        if len(self.terms) * len(theirs_all) > MAX_TERMS or _degree(self.terms) + _degree(theirs_all) > MAX_DEGREE:
            return opaque("*", self, other)
        total: dict[Monomial, int] = {}
        for mine, a in self.terms:
            for theirs, b in theirs_all:
                factors = tuple(sorted(mine + theirs))
                total[factors] = total.get(factors, 0) + a * b
        return _normal(total)

    def __neg__(self) -> Extent:
        return self * -1

    def __sub__(self, other: Extent) -> Extent:
        return self + (-other)

    def __rsub__(self, other: int) -> Extent:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __str__(self) -> str:
        # The constant term comes last, as one would write it.
        ordered = sorted(self.terms, key=lambda term: (-len(term[0]), term[0]))
        text = " + ".join(_show_term(factors, coefficient) for factors, coefficient in ordered)
        return text.replace("+ -", "- ")


@dataclass(frozen=True)
class SymBool:
    """A bool that depends on unknowns, such as `N > 64`; nothing is known about it."""

    text: str

    def __str__(self) -> str:
        return self.text


def symbol(name: str) -> Sym:
    """The unknown `name`."""
    return Sym((((name,), 1),))


def opaque(function: str, *operands: Extent) -> Sym:
    """An unknown for `function(operands)`: equal to itself, and nothing else is known about it."""
    if function.isidentifier():
        return symbol(_cut(f"{function}({', '.join(map(str, operands))})"))
    shown = (str(o) if isinstance(o, int) or _is_atom(o) else f"({o})" for o in operands)
    return symbol(_cut(f"({f' {function} '.join(shown)})"))


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[: MAX_TEXT - 20]}...#{crc32(text.encode()):08x})"


def divided_exactly(value: Extent, divisor: Extent) -> Extent | None:
    """`value / divisor` if the division has no remainder whatever the unknowns are, else None."""
    if not isinstance(divisor, int) or divisor == 0 or isinstance(value, int):
        return None
    if any(coefficient % divisor for _, coefficient in value.terms):
        return None
    return Sym(tuple((factors, coefficient // divisor) for factors, coefficient in value.terms))


def equal(a: Extent, b: Extent) -> bool | None:
    """True or False if that is sure, None if it depends on the unknowns."""
    difference = a - b
    return difference == 0 if isinstance(difference, int) else None


def product(extents: Iterable[Extent]) -> Extent:
    """The number of elements of a shape."""
    total: Extent = 1
    for extent in extents:
        total = total * extent
    return total


def _terms(value: Extent) -> tuple[tuple[Monomial, int], ...]:
    return value.terms if isinstance(value, Sym) else (((), int(value)),)


def _normal(total: Mapping[Monomial, int]) -> Extent:
    terms = tuple(sorted((factors, c) for factors, c in total.items() if c != 0))
    if not terms:
        return 0
    if len(terms) == 1 and terms[0][0] == ():
        return terms[0][1]
    return Sym(terms)


def _degree(terms: tuple[tuple[Monomial, int], ...]) -> int:
    return max((len(factors) for factors, _ in terms), default=0)


def _is_atom(value: Extent) -> bool:
    return isinstance(value, Sym) and len(value.terms) == 1 and len(value.terms[0][0]) == 1 and value.terms[0][1] == 1


def _show_term(factors: Monomial, coefficient: int) -> str:
    if not factors:
        return str(coefficient)
    text = "*".join(factors)
    return text if coefficient == 1 else f"-{text}" if coefficient == -1 else f"{coefficient}*{text}"
