"""Symbolic ints."""

from __future__ import annotations

from itertools import product as cartesian

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilelang.semantics.extents import MAX_TERMS, Extent, Sym, divided_exactly, equal, opaque, product, symbol

A, B = symbol("A"), symbol("B")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (3, 3, True),
        (3, 4, False),
        (A, A, True),
        (A, B, None),
        (A, 3, None),
        (A, A + 1, False),
        (2 * A, A + A, True),
        (2 * A, A, None),
        ((A + 1) * (A - 1), A * A - 1, True),
        (A - A, 0, True),
        (A * B, B * A, True),
        (opaque("next_pow2", A), opaque("next_pow2", A), True),
        (opaque("next_pow2", A), A, None),
        (opaque("//", A, 2), opaque("//", A, 2), True),
        (opaque("//", A, 2), opaque("//", 2, A), None),
    ],
)
def test_equal(a: Extent, b: Extent, expected: bool | None) -> None:
    assert equal(a, b) is expected
    assert equal(b, a) is expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (A, "A"),
        (2 * A + 1, "2*A + 1"),
        (A - 1, "A - 1"),
        (1 - A, "-A + 1"),
        (A * B * 3, "3*A*B"),
        (A * A - B, "A*A - B"),
        (opaque("cdiv", A, 64), "cdiv(A, 64)"),
        (opaque("//", A + 1, 2), "((A + 1) // 2)"),
        (opaque("%", A, B), "(A % B)"),
    ],
)
def test_text(value: Extent, text: str) -> None:
    assert str(value) == text


def test_exact_division() -> None:
    assert divided_exactly(4 * A + 8, 4) == A + 2
    assert divided_exactly(4 * A + 7, 4) is None
    assert divided_exactly(4 * A, A) is None
    assert divided_exactly(4 * A, 0) is None


def test_product_of_a_shape() -> None:
    assert product((2, A, 3)) == 6 * A
    assert product(()) == 1


def test_long_products_stay_small() -> None:
    total: Extent = 1
    for number in range(40):
        total = total * (symbol(f"a{number}") + symbol(f"b{number}"))
    assert isinstance(total, Sym)
    assert len(total.terms) <= MAX_TERMS


VALUES = {"A": 5, "B": 7}


@st.composite
def polynomials(draw: st.DrawFn) -> tuple[Extent, int]:
    """A symbolic extent, and its value where A = 5 and B = 7."""
    start = st.one_of(st.integers(-9, 9).map(lambda n: (n, n)), st.sampled_from([(A, 5), (B, 7)]))
    value, number = draw(start)
    for _ in range(draw(st.integers(0, 4))):
        other, other_number = draw(start)
        op = draw(st.sampled_from("+-*"))
        value = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}[op](value, other)
        number = eval(f"({number}) {op} ({other_number})")
    return value, number


def evaluate(value: Extent) -> int:
    if isinstance(value, int):
        return value
    total = 0
    for factors, coefficient in value.terms:
        term = coefficient
        for factor in factors:
            term *= VALUES[factor]
        total += term
    return total


@given(polynomials(), polynomials())
def test_arithmetic_agrees_with_ints(a: tuple[Extent, int], b: tuple[Extent, int]) -> None:
    for (left, left_number), (right, right_number) in cartesian([a, b], repeat=2):
        assert evaluate(left + right) == left_number + right_number
        assert evaluate(left - right) == left_number - right_number
        assert evaluate(left * right) == left_number * right_number
        if equal(left, right) is not None:
            assert equal(left, right) == (left_number == right_number)
