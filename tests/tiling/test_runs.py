"""Runs of neighbours: what is seen of an index, and that a bound is compared once for each run that a thread holds."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tilelang
from tilelang.tiling.runs import Known, cut, exactly

PROGRAM = """
kernel inside[B = 512](x: f32[N], out y: f32[N]) grid (cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    let v = x[i] * 2.0;
    y[i] = select(i < N - 100, v, -1.0) + select(i >= 64, v, 5.0);
}
"""


def test_a_run_begins_where_the_terms_that_it_divides_end() -> None:
    """4 a + b % 4 is in the run of 4 from 4 a on; of 16 nothing is known."""
    terms = [Known().times(4), Known().remainder(4)]
    assert cut(terms, 16) == cut(terms, 4) == 4 and cut(terms, 2) == 1
    assert cut([Known(), Known()], 16) == 1


@pytest.mark.parametrize("seed", range(50))
def test_what_is_known_holds(seed: int) -> None:
    """Sums, products and remainders of random numbers are divided by what is said, at most what is said, and cut."""
    rng = random.Random(seed)
    terms = []
    for _ in range(3):
        number, known = (k := rng.randrange(40)), rng.choice([Known(), exactly(k)])
        if rng.random() < 0.5:
            divisor = rng.choice([2, 3, 4, 8, 16])
            number, known = number % divisor, known.remainder(divisor)
        factor = rng.choice([1, 2, 4, 8, 12])
        terms.append((number * factor, known.times(factor)))
    whole = terms[0][1] + terms[1][1] + terms[2][1]
    total = sum(number for number, _ in terms)
    for number, known in (*terms, (total, whole)):
        assert number % known.divisor == 0 or number == 0
        assert known.most is None or number <= known.most
    run = cut([known for _, known in terms], 16)
    assert sum(number for number, known in terms if known.divisor >= run) // run == total // run


@pytest.mark.parametrize("size", [1024, 1040, 1000, 1001])
@pytest.mark.parametrize("device", ["model", "simulator"])
def test_bounds_of_any_divisor_are_compared_rightly(device: str, size: int) -> None:
    x = np.arange(size, dtype=np.float32)
    wanted = np.where(np.arange(size) < size - 100, 2 * x, -1) + np.where(np.arange(size) >= 64, 2 * x, 5)
    np.testing.assert_array_equal(tilelang.compile(PROGRAM)["inside"](x, device=device), wanted)
