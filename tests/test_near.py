"""Near-miss names: what was probably meant, and silence where nothing is near."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilelang.near import nearest

NAMES = (
    "program_id", "num_programs", "sum", "max", "maximum", "min", "zeros", "exp", "row", "rows", "acc", "BLOCK", "x",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("programid", "program_id"),
        ("Sum", "sum"),
        ("rwo", "row"),
        ("cac", "acc"),
        ("maxx", "max"),
        ("maximun", "maximum"),
        ("zeroes", "zeros"),
        ("block", "BLOCK"),
        ("BLOK", "BLOCK"),
        ("X", "x"),
        ("q", None),
        ("foo", None),
        ("", None),
        ("entirely_different", None),
        ("row", "rows"),  # the name itself is no near miss of itself
    ],
)
def test_what_was_meant(name: str, meant: str | None) -> None:
    assert nearest(name, NAMES) == meant


def test_no_candidates() -> None:
    assert nearest("x", ()) is None
    assert nearest("x", ("x", "")) is None


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=8))
def test_the_answer_is_a_candidate_and_does_not_depend_on_their_order(name: str, candidates: list[str]) -> None:
    found = nearest(name, candidates)
    assert found is None or (found in candidates and found != name)
    assert nearest(name, reversed(candidates)) == found


def test_long_names_cost_nothing() -> None:
    start = time.perf_counter()
    assert nearest("a" * 100_000, ["a" * 99_999 + "b"] * 100) is None
    assert time.perf_counter() - start < 1.0
