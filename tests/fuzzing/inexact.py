"""Statements whose results are right within a bound: functions of real numbers, and sums of any floats.

Such a value is written to a tensor of its own, with its bound beside it, and never used again, for what is made of it
(a rounding, a comparison) could differ by anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.fuzzing import philox
from tests.fuzzing.arithmetic import FLOATS, nearest
from tests.fuzzing.nodes import SHAPES, Node, State
from tests.fuzzing.writer import KEPT, Made, Writer

FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": lambda x: np.vectorize(math.erf, otypes=[float])(x),
    "sigmoid": lambda x: np.where(x >= 0, 1.0, np.exp(-np.abs(x))) / (1.0 + np.exp(-np.abs(x))),
}  # fmt: skip
APPROXIMATE = ("exp", "exp2", "log", "log2", "sin", "cos", "tanh", "rsqrt", "sigmoid")
"""Those with the keyword `approx`: what is tested here computes them as well as without."""
RELATIVE = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 2e-6, "f64": 1e-13}
"""How far a function may be off: some units in the last place."""
ABSOLUTE = {"f16": 1e-7, "bf16": 1e-37, "f32": 1e-37, "f64": 1e-300}
LARGEST = {"f16": 60_000.0, "bf16": 1e38, "f32": 1e38, "f64": 1e300}
"""Beyond it a result may be infinite on one device and not on another."""

CLOSE = "close"
"""The tensor."""


class Inexact(Writer):
    """Draws them."""

    def inexact(self, _: int) -> Made:
        makers = [self._function, self._quotient, self._sum, self._power, self._normal, self._sum_of_products]
        made = self.random.choice(makers)()
        size = int(np.prod(made.shape))
        start = self.random.randrange(KEPT - size)
        value = f"reshape({made.text}, [{size}])" if made.shape else made.text

        def action(state: State) -> None:
            both = np.broadcast_to(made.value(state), (*made.shape, 2)).reshape(size, 2)
            state.tensors[CLOSE][state.program, start : start + size] = both[:, 0]
            state.errors[CLOSE][state.program, start : start + size] = both[:, 1].astype(np.float64)

        return [f"{CLOSE}[p, {start} +: {size}] = {value} as f64;"], action

    # Each of these gives a node whose value has a last axis more: the value, and how far it may be off.

    def _operand(self, dtype: str, shape: tuple[int, ...], limit: int) -> Node:
        """Any value between two limits, or NaN."""
        a = self.of.expression(dtype, shape, 2)
        return Node(f"clamp({a.text}, -{limit}.0, {limit}.0)", dtype, shape,
                    lambda state: np.clip(a.value(state).astype(np.float64), -limit, limit))  # fmt: skip

    def _function(self) -> Node:
        dtype, shape = self.random.choice(FLOATS), self.random.choice(SHAPES)
        name = self.random.choice(list(FUNCTIONS))
        a = self._operand(dtype, shape, 80) if self.of.chance(60) else self.of.expression(dtype, shape, 2)
        approx = ", approx=true" if name in APPROXIMATE and dtype != "f64" and self.of.chance(40) else ""
        return Node(f"{name}({a.text}{approx})", dtype, shape,
                    lambda state: _near(FUNCTIONS[name](a.value(state).astype(np.float64)), dtype))  # fmt: skip

    def _quotient(self) -> Node:
        """Approximate division, by numbers that keep away from where it may overflow."""
        dtype, shape = self.random.choice(FLOATS[:-1]), self.random.choice(SHAPES)
        a, b = self._operand(dtype, shape, 40), self._operand(dtype, self.random.choice([(), shape]), 40)
        return Node(f"divide({a.text}, maximum({b.text}, 0.5), approx=true)", dtype, shape, lambda state: _near(
            a.value(state) / np.maximum(b.value(state).astype(np.float64), 0.5), dtype))  # fmt: skip

    def _power(self) -> Node:
        dtype, shape = self.random.choice(FLOATS), self.random.choice(SHAPES)
        a, b = self._operand(dtype, shape, 40), self._operand(dtype, shape, 6)
        return Node(f"pow({a.text}, {b.text})", dtype, shape,
                    lambda state: _near(np.power(a.value(state), b.value(state)), dtype))  # fmt: skip

    def _normal(self) -> Node:
        seed, offset = self.of.expression("i64", (), 1), self.of.expression("i32", (4,), 1)

        def value(state: State) -> np.ndarray:
            key = seed.value(state).item()
            return _near(np.array([normal(key, o) for o in offset.value(state).tolist()]), "f32", 1e-5)

        return Node(f"randn({seed.text}, {offset.text})", "f32", (4,), value)

    def _sum(self) -> Node:
        """The sum of an axis, or its running sums."""
        dtype, shape = self.random.choice(FLOATS), self.random.choice([s for s in SHAPES if s])
        a, axis = self._operand(dtype, shape, 8), self.random.randrange(len(shape))
        error = shape[axis] ** 2 * 8 * RELATIVE["f64" if dtype == "f64" else "f32"] / 8
        if self.of.chance(50):
            return Node(f"cumsum({a.text}, axis={axis})", dtype, shape,
                        lambda state: _near(np.cumsum(a.value(state), axis), dtype, error))  # fmt: skip
        rest = shape[:axis] + shape[axis + 1 :]
        return Node(f"sum({a.text}, axis={axis})", dtype, rest,
                    lambda state: _near(np.sum(a.value(state), axis), dtype, error))  # fmt: skip

    def _sum_of_products(self) -> Node:
        source = self.random.choice(FLOATS)
        dtype = "f64" if source == "f64" else "f32"
        m, k, n = self.random.choice([(2, 3, 4), (1, 7, 5), (16, 16, 8)])
        a, b = self._operand(source, (m, k), 8), self._operand(source, (k, n), 8)
        error = k**2 * 64 * RELATIVE[dtype] / 8
        return Node(f"dot({a.text}, {b.text})", dtype, (m, n),
                    lambda state: _near(np.matmul(a.value(state), b.value(state)), dtype, error))  # fmt: skip


def _near(exact: np.ndarray, dtype: str, error: float = 0.0) -> np.ndarray:
    """The values as the type holds them, each with how far it may be off; beyond the largest, anything may come."""
    values = np.asarray(exact, np.float64)
    size = np.abs(values)
    allowed = size * RELATIVE[dtype] + error + ABSOLUTE[dtype]
    allowed = np.where(np.isfinite(values) & (size > LARGEST[dtype]), np.inf, allowed)
    rounded = np.frompyfunc(lambda x: nearest(float(x), dtype), 1, 1)(values)
    return np.stack([np.asarray(rounded, dtype=object), allowed.astype(object)], axis=-1)


def normal(seed: int, offset: int) -> float:
    """Box and Muller's method on the first two words, as the language reference says."""
    first, second = philox.words(seed, offset)[:2]
    radius = math.sqrt(-2 * math.log(((first >> 8) + 1) / (1 << 24)))
    return radius * math.cos(2 * math.pi * (second >> 8) / (1 << 24))
