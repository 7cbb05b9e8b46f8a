"""Random float expressions beyond the four operations, exact all the same.

A float sum may be added up in any order, so a test of it needs a bound for the error, unless there is none: whole
numbers this small add and multiply exactly in every order. NaN and one infinity may be among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tests.fuzzing import arithmetic, philox
from tests.fuzzing.arithmetic import FLOATS, INTS, Number, nearest
from tests.fuzzing.expressions import Expressions, along, scanned
from tests.fuzzing.nodes import Node, Shape, State, each


class Floats(Expressions):
    """Draws sums, products, scans and dots of floats, random numbers, and functions with an exact meaning."""

    def more(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        """One of the kinds that give this type; None if none does."""
        if dtype == "bool":
            return self.tested(shape, depth)
        makers: list[Callable[[str, Shape, int], Node | None]] = []
        if dtype in FLOATS:
            makers += [self.float_reduction, self.float_scan, self.fused, self.float_clamped]
            if len(shape) in (2, 3):
                makers += [self.float_dot]
        if dtype in ("f32", "u32"):
            makers += [self.drawn]
        return self.random.choice(makers)(dtype, shape, depth) if makers else None

    def whole(self, dtype: str, shape: Shape, depth: int, size: int) -> Node:
        """Whole numbers from 0 to `size` - 1, and sometimes a NaN or an infinity among them."""
        source = self.random.choice(INTS)
        a = self.expression(source, shape, depth)
        text = f"(({a.text} % {size}) as {dtype})"
        if not self.chance(15):
            return Node(text, dtype, shape, lambda state: each(lambda x: float(int(x) % size), a.value(state)))
        odd = self.random.choice([math.nan, math.inf, -math.inf])
        c = self.expression("bool", shape, depth)
        word = "nan" if odd != odd else "inf" if odd > 0 else "-inf"
        return Node(f"select({c.text}, {text}, {word})", dtype, shape, lambda state: each(
            lambda c, x: float(int(x) % size) if c else odd, c.value(state), a.value(state)))  # fmt: skip

    def float_reduction(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        """`sum` over small numbers, `prod` over numbers from 0 to 2."""
        if len(shape) > 2:
            return None
        op = self.random.choice(["sum", "prod"])
        axis, extent = self.random.randrange(len(shape) + 1), self.random.choice([2, 3, 1, 7, 16])
        a = self.whole(dtype, (*shape[:axis], extent, *shape[axis:]), depth, 9 if op == "sum" else 3)
        fold: Callable[[list[Number]], Number] = sum if op == "sum" else math.prod
        return Node(f"{op}({a.text}, axis={axis})", dtype, shape, lambda state: along(
            lambda row: nearest(float(fold(row)), dtype), a.value(state), axis))  # fmt: skip

    def float_scan(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        if not shape:
            return None
        op = self.random.choice(["cumsum", "cumprod"])
        a = self.whole(dtype, shape, depth, 9 if op == "cumsum" else 3)
        axis, reverse = self.random.randrange(len(shape)), self.chance(50)
        fold: Callable[[Number, Number], Number] = (lambda x, y: x + y) if op == "cumsum" else (lambda x, y: x * y)
        text = f"{op}({a.text}, axis={axis}{', reverse=true' if reverse else ''})"
        return Node(text, dtype, shape, lambda state: each(
            lambda x: nearest(x, dtype), scanned(fold, a.value(state), axis, reverse, False)))  # fmt: skip

    def float_dot(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        """Plain or in a batch, with an accumulator or without."""
        if dtype not in ("f32", "f64"):
            return None
        source = self.random.choice(["f16", "bf16", "f32"]) if dtype == "f32" else "f64"
        *batch, m, n = shape
        k = self.random.choice([2, 3, 1, 8, 16])
        a, b = self.whole(source, (*batch, m, k), depth, 9), self.whole(source, (*batch, k, n), depth, 9)
        acc = self.whole(dtype, shape, depth, 9) if self.chance(40) else None
        text = f"dot({a.text}, {b.text}{f', {acc.text}' if acc else ''})"

        def value(state: State) -> np.ndarray:
            product = np.matmul(a.value(state).astype(np.float64), b.value(state).astype(np.float64))
            return (product + (acc.value(state).astype(np.float64) if acc else 0.0)).astype(object)

        return Node(text, dtype, shape, value)

    def fused(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        a, b = self.operands(dtype, shape, depth)
        c = self.expression(dtype, shape, depth)
        return Node(f"fma({a.text}, {b.text}, {c.text})", dtype, shape, lambda state: each(
            lambda x, y, z: fma(x, y, z, dtype), a.value(state), b.value(state), c.value(state)))  # fmt: skip

    def float_clamped(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        a = self.expression(dtype, shape, depth)
        low, high = sorted(self.random.randrange(-20, 20) / 2 for _ in range(2))
        limit, floor = arithmetic.extreme(False), arithmetic.extreme(True)
        return Node(f"clamp({a.text}, {low}, {high})", dtype, shape,
                    lambda state: each(lambda x: limit(floor(x, low), high), a.value(state)))  # fmt: skip

    def tested(self, shape: Shape, depth: int) -> Node:
        """`isnan` or `isinf`."""
        op = self.random.choice(["isnan", "isinf"])
        a = self.expression(self.random.choice(FLOATS), shape, depth)
        meaning = math.isnan if op == "isnan" else math.isinf
        return Node(f"{op}({a.text})", "bool", shape, lambda state: each(meaning, a.value(state)))

    def drawn(self, dtype: str, shape: Shape, depth: int) -> Node:
        """`rand` or `randint` of any seed and offsets."""
        seed = self.expression(self.random.choice(["i32", "i64", "u32"]), (), depth)
        offsets = self.expression(self.random.choice(["i32", "i64"]), shape, depth)
        name, draw = ("rand", philox.uniform) if dtype == "f32" else ("randint", philox.word)
        return Node(f"{name}({seed.text}, {offsets.text})", dtype, shape, lambda state: each(
            lambda s, o: draw(int(s), int(o)), seed.value(state), offsets.value(state)))  # fmt: skip


def fma(a: float, b: float, c: float, dtype: str) -> float:
    """a * b + c rounded once; half floats are computed in f32, so they are rounded once more."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        negative = math.copysign(1.0, a) * math.copysign(1.0, b) < 0 and (a == 0 or b == 0)
        return -0.0 if negative and math.copysign(1.0, c) < 0 else 0.0
    once = arithmetic.nearest_of(exact, "f32" if dtype in ("f16", "bf16") else dtype)
    return nearest(once, dtype)
