"""What `approx=true` is on a GPU, as far as can be told without one.

The errors of the instructions themselves are NVIDIA's word ("PTX ISA"). What is checked here is what is made of them:
an instruction is played by a function that is off by as much as is allowed, either way, and takes subnormal numbers
as 0; the result must keep the bound of the language reference, and be right at infinities, zeros and NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tilelang.dtypes import F32
from tilelang.ir.numerics import evaluate
from tilelang.ir.tile_ops import APPROXIMATE
from tilelang.runtime import device_approximate

U = 2.0**-23
TINY = np.float32(2.0**-126)

# The instructions, in f64; how far each may be off: relative, and absolute where the result is near 0.
INSTRUCTIONS: dict[str, tuple[Callable, float, float]] = {
    "exp2": (np.exp2, 2.0**-22, 0), "log2": (np.log2, 2.0**-22, 2.0**-22), "sqrt": (np.sqrt, 2.0**-23, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2.0**-22.4, 0), "sin": (np.sin, 0, 2.0**-21.41),
    "cos": (np.cos, 0, 2.0**-21.19), "tanh": (np.tanh, 2.0**-11, 0), "reciprocal": (lambda x: 1 / x, 2.0**-23, 0)}


def within(relative: float, per_size: float = 0.0) -> Callable:
    """A bound: the error that is allowed, in u, for operands x whose exact results are y."""
    return lambda x, y: np.abs(y) * (relative + per_size * np.abs(x)) * U


def near_one(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where((x >= 0.5) & (x <= 2), 4 * U, np.abs(y) * 4 * U)


BOUNDS: dict[str, Callable] = {
    "div": within(2), "exp": within(2, 1.2), "exp2": within(2), "sqrt": within(2), "rsqrt": within(2), "log": near_one,
    "log2": near_one, "sin": lambda x, y: 4 * U, "cos": lambda x, y: 4 * U, "tanh": within(2.0**12),
    "sigmoid": within(4, 1.2)}
"""Of the language reference."""

RANGES = {"exp": (-87, 88), "exp2": (-125, 127), "sin": (-math.pi, math.pi), "cos": (-math.pi, math.pi),
          "tanh": (-12, 12), "sigmoid": (-86, 100)}
"""Operands tried, where the results are no subnormal numbers; for the others, positive numbers of any size."""

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 200.0, -200.0, 1e-45, 3e38, -3e38], np.float32)


def flushed(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < TINY, np.copysign(np.float32(0), x), x)


@pytest.fixture
def playing(monkeypatch):
    """Makes the functions on which a GPU's are built plain NumPy, off by `side` times what is allowed."""
    def play(side: int) -> None:
        def instruction(name: str) -> Callable:
            exact, relative, absolute = INSTRUCTIONS[name]

            def function(x: np.ndarray) -> np.ndarray:
                found = exact(flushed(np.float32(x)).astype(np.float64))
                absolute_here = np.where((x >= 0.5) & (x <= 2), absolute, 0) if name == "log2" else absolute
                off = found * (1 + side * relative) + side * absolute_here
                return flushed(np.where(np.isfinite(found) & (found != 0), off, found).astype(np.float32))

            return function

        for name in INSTRUCTIONS:
            monkeypatch.setattr(device_approximate, name, instruction(name))
        monkeypatch.setattr(device_approximate, "mul_f32", lambda a, b: np.float32(a) * np.float32(b))
        for name in ("exp", "log", "div", "sigmoid"):
            plain = getattr(device_approximate, name)
            monkeypatch.setattr(device_approximate, name, plain.py_func)
    return play


def operands(name: str) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(7)
    if name in RANGES:
        return (rng.uniform(*RANGES[name], 100_000).astype(np.float32),)
    sizes = np.exp2(rng.uniform(-60, 60, (2, 100_000))).astype(np.float32)
    near_one = rng.uniform(0.4, 2.1, (2, 100_000)).astype(np.float32)
    both = np.concatenate([sizes, near_one], axis=1)
    return tuple(both) if name == "div" else (both[0],)


@pytest.mark.parametrize("side", [-1, 0, 1])
@pytest.mark.parametrize("name", APPROXIMATE)
def test_what_is_made_of_the_instructions_keeps_the_bounds(name, side, playing):
    playing(side)
    given = operands(name)
    got = getattr(device_approximate, name)(*given).astype(np.float64)
    wide = [x.astype(np.float64) for x in given]
    exact = {"log": np.log, "exp": np.exp, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "div": np.divide}.get(
        name, INSTRUCTIONS.get(name, (None,))[0])(*wide)
    # Where it is one instruction alone, the result's rounding to f32 comes on top of the instruction's bound.
    assert np.all(np.abs(got - exact) <= BOUNDS[name](wide[0], exact) + np.abs(exact) * U)


@pytest.mark.parametrize("name", APPROXIMATE)
def test_infinities_zeros_and_nan_are_as_ever(name, playing):
    """But for subnormal numbers, which count as 0, and divisors above 2^126."""
    playing(0)
    given = tuple(map(np.ravel, np.meshgrid(SPECIAL, SPECIAL))) if name == "div" else (SPECIAL,)
    flat = tuple(map(flushed, given))
    with np.errstate(all="ignore"):
        got = getattr(device_approximate, name)(*map(np.float32, flat))
        wanted = flushed(evaluate(name, flat, F32))
    kept = np.ones(len(wanted), bool)
    if name == "div":
        kept = ~((np.abs(given[1]) > 2.0**126) & np.isfinite(given[1]))
    if name in ("sin", "cos"):
        kept = ~(np.isfinite(given[0]) & (np.abs(given[0]) > 1e9))
    np.testing.assert_allclose(got[kept], wanted[kept], rtol=1e-4)
    zeros = kept & (wanted == 0)
    assert np.array_equal(np.signbit(got[zeros]), np.signbit(wanted[zeros]))


def test_every_function_with_an_approximation_has_one():
    assert set(device_approximate.approximations()) == {f"{name}_approx" for name in APPROXIMATE}
    assert set(BOUNDS) == set(APPROXIMATE)
