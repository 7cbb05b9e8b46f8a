"""reciprocals: which divisions become multiplications, and what the other passes make of that."""

from __future__ import annotations

import numpy as np
import pytest

import tilelang
from tests.passes.helpers import body_of, check, kernel, unchanged
from tilelang.passes import optimize
from tilelang.passes.reciprocals import reciprocals

LOAD = "{checked = (true,), mask = false, other = false, pointwise = false}"


def test_an_approximate_division_is_a_multiplication() -> None:
    check(reciprocals, """
        %q: f32 = div %s, %s {approx = true}
        %r: f32 = exp %q
        print %r {text = ""}""", """
        %c1: f32 = const {value = 1.0}
        %reciprocal: f32 = div %c1, %s {approx = true}
        %q_1: f32 = mul %s, %reciprocal
        %r: f32 = exp %q_1
        print %r {text = ""}""")


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_floats_are_divided(dtype: str) -> None:
    unchanged(reciprocals, f"""
        %a: {dtype} = cast %s
        %q: {dtype} = div %a, %a {{approx = true}}
        print %q {{text = ""}}""")


def test_what_is_exact_or_a_reciprocal_stays() -> None:
    unchanged(reciprocals, """
        %one: f32 = const {value = 1.0}
        %q: f32 = div %s, %s
        %r: f32 = div %one, %s {approx = true}
        print %q {text = ""}
        print %r {text = ""}""")


def test_a_tile_by_its_sum_takes_one_reciprocal() -> None:
    text = body_of(optimize(kernel(f"""
        %at: i32[8] = iota
        %w: f32[8] = load %v, %at {LOAD}
        %t: f32 = reduce %w {{axes = (0,), kind = "sum"}}
        %wide: f32[8] = broadcast %t
        %q: f32[8] = div %w, %wide {{approx = true}}
        store %y, %at, %q {{checked = (true,), mask = false, pointwise = false}}""")))
    (division,) = [line for line in text.splitlines() if "= div" in line]
    assert ": f32 = div" in division and "{approx = true}" in division and "= mul %w, " in text


def test_a_reciprocal_of_a_constant_is_computed_now_and_one_that_a_loop_repeats_once() -> None:
    text = body_of(optimize(kernel("""
        %three: f32 = const {value = 3.0}
        %zero: i32 = const {value = 0}
        %step: i32 = const {value = 1}
        %r: f32 = for %zero, %n, %step, %s (%k: i32, %a: f32) {
          %p: f32 = div %a, %three {approx = true}
          %q: f32 = div %p, %s {approx = true}
          yield %q
        }
        print %r {text = ""}""")))
    before, _, inside = text.partition("= for")
    assert before.count("= div") == 1 and "= div" not in inside and "const {value = 0.333333" in text


@pytest.mark.parametrize("device", ["reference", "cpu"])
@pytest.mark.parametrize(("lowest", "highest", "most"), [(-126, 126, 2), (126, 128, 3)])
def test_the_error_is_what_the_language_reference_allows(lowest: int, highest: int, most: int, device: str) -> None:
    """Where the reciprocal is subnormal it has fewer bits."""
    generator, count = np.random.default_rng(0), 1 << 14
    divisor = np.ldexp(generator.uniform(1, 2, count), generator.integers(lowest, highest, count)).astype(np.float32)
    wanted = np.ldexp(generator.uniform(1, 2, count), generator.integers(-40, -2, count))
    dividend = (wanted * divisor).astype(np.float32)
    kept = dividend > 2.0**-126
    y = np.zeros(count, np.float32)
    text = """kernel k(x: f32[N], z: f32[N], out y: f32[N]) grid (1) {
        let i = 0 +: 16384;
        y[i] = divide(x[i], z[i], approx=true);
    }"""
    tilelang.compile(text)["k"](dividend, divisor, y, device=device)
    exact = dividend.astype(np.float64) / divisor
    error = np.abs(y[kept] / exact[kept] - 1).max() * 2**23
    assert most - 1.5 < error <= most
