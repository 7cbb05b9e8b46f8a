"""Random well-typed expressions. Each knows its text, its type and its meaning: three things made side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzzing import arithmetic
from tests.fuzzing.arithmetic import EXACT, FLOATS, INTS, SIGNED, UNSIGNED, Number
from tests.fuzzing.leaves import Leaves
from tests.fuzzing.nodes import DTYPES, Node, Shape, State, each


class Expressions(Leaves):
    """Draws expressions of an asked type and shape over the names in `scope`."""

    def expression(self, dtype: str, shape: Shape, depth: int) -> Node:
        """A random expression of exactly this type and shape."""
        if depth <= 0:
            return self.leaf(dtype, shape)
        makers: list[Callable[[str, Shape, int], Node | None]] = [
            self.arithmetic, self.arithmetic, self.unary, self.cast, self.select, self.reshaped, self.reduction,
            self.call,
            self.scan, self.clamped, self.more, self.more,
        ]  # fmt: skip
        if dtype == "bool":
            makers = [self.comparison, self.comparison, self.logic, self.unary, self.cast, self.select, self.reduction,
                      self.reshaped, self.more]  # fmt: skip
        if dtype == "i64" and not shape:
            makers.append(
                lambda *_: Node("p", "i64", (), lambda state: np.asarray(state.program, object))
            )
        return self.random.choice(makers)(dtype, shape, depth - 1) or self.leaf(dtype, shape)

    def more(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        """What a subclass adds."""
        return None

    def operands(self, dtype: str, shape: Shape, depth: int) -> tuple[Node, Node]:
        """Two operands of an operator: their types and shapes meet in the asked ones."""
        first, second = (
            self.expression(dtype, shape, depth),
            self.second(dtype, self._stretched(shape), depth),
        )
        return (first, second) if self.chance(50) else (second, first)

    def second(self, dtype: str, shape: Shape, depth: int) -> Node:
        """An operand that takes the other's type: a literal, or a value of a type that is not wider."""
        if self.chance(25):
            text, value = self.literal(dtype)
            return Node(text, dtype, (), lambda state: np.asarray(value, dtype=object))
        return self.widened(dtype, self.expression(self._narrower(dtype), shape, depth))

    def _narrower(self, dtype: str) -> str:
        if dtype == "bool" or self.chance(60):
            return dtype
        halves = (("f16", "f32", "f64"), ("bf16", "f32", "f64"))  # the two do not mix
        family = next(f for f in (SIGNED, UNSIGNED, self.random.choice(halves), *halves) if dtype in f)
        return self.random.choice(family[: family.index(dtype) + 1])

    def widened(self, dtype: str, node: Node) -> Node:
        """The same text; its value as the wider type, which holds every value of the narrower one."""
        return Node(node.text, dtype, node.shape, node.value)

    def arithmetic(self, dtype: str, shape: Shape, depth: int) -> Node:
        ops = ["+", "-", "*", "/", "maximum", "minimum"] if dtype in FLOATS else [
            "+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "maximum", "minimum", "cdiv", "pow"]  # fmt: skip
        op = self.random.choice(ops)
        a, b = self.operands(dtype, shape, depth)
        if op in ("<<", ">>"):  # the amount takes the type of what is shifted, never the other way round
            a, b = self.expression(dtype, shape, depth), self.second(dtype, self._stretched(shape), depth)
        text = f"{op}({a.text}, {b.text})" if op.isalpha() else f"({a.text} {op} {b.text})"
        return Node(text, dtype, shape, lambda state: each(
            lambda x, y: arithmetic.binary(op, x, y, dtype), a.value(state), b.value(state)))  # fmt: skip

    def comparison(self, dtype: str, shape: Shape, depth: int) -> Node:
        kind = self.any_dtype()
        op = self.random.choice(["==", "!="] if kind == "bool" else list(arithmetic.COMPARISONS))
        a, b = self.operands(kind, shape, depth)
        return Node(f"({a.text} {op} {b.text})", dtype, shape, lambda state: each(
            lambda x, y: arithmetic.binary(op, x, y, kind), a.value(state), b.value(state)))  # fmt: skip

    def logic(self, dtype: str, shape: Shape, depth: int) -> Node:
        op = self.random.choice(["and", "or"])
        a, b = self.operands("bool", shape, depth)
        return Node(f"({a.text} {op} {b.text})", dtype, shape, lambda state: each(
            lambda x, y: arithmetic.binary(op, x, y, "bool"), a.value(state), b.value(state)))  # fmt: skip

    def unary(self, dtype: str, shape: Shape, depth: int) -> Node:
        ops = ["not"] if dtype == "bool" else ["-", "abs", "sign", "~"]
        if dtype in FLOATS:
            ops = ["-", "abs", "sign", "sqrt", "floor", "ceil", "round"]
        op, a = self.random.choice(ops), self.expression(dtype, shape, depth)
        text = f"{op}({a.text})"
        return Node(f"({text})", dtype, shape,
                    lambda state: each(lambda x: arithmetic.unary(op, x, dtype), a.value(state)))  # fmt: skip

    def cast(self, dtype: str, shape: Shape, depth: int) -> Node:
        source = self.any_dtype()
        a = self.expression(source, shape, depth)
        return Node(f"({a.text} as {dtype})", dtype, shape,
                    lambda state: each(lambda x: arithmetic.convert(x, source, dtype), a.value(state)))  # fmt: skip

    def select(self, dtype: str, shape: Shape, depth: int) -> Node:
        condition = self.expression("bool", self._stretched(shape), depth)
        a, b = self.operands(dtype, shape, depth)
        return Node(f"select({condition.text}, {a.text}, {b.text})", dtype, shape, lambda state: each(
            lambda c, x, y: x if c else y, condition.value(state), a.value(state), b.value(state)))  # fmt: skip

    def clamped(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        if dtype not in INTS:
            return None
        a = self.expression(dtype, shape, depth)
        low, high = sorted(self.random.randrange(100) for _ in range(2))
        return Node(f"clamp({a.text}, {low}, {high})", dtype, shape,
                    lambda state: each(lambda x: min(max(x, low), high), a.value(state)))  # fmt: skip

    def call(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        """A call of one of the file's functions, which are generic."""
        if not self.functions or dtype == "bool":
            return None
        name = self.random.choice(list(self.functions))
        a, b = self.expression(dtype, shape, depth), self.expression(dtype, shape, depth)
        return Node(f"{name}({a.text}, {b.text})", dtype, shape,
                    lambda state: self.functions[name](a.value(state), b.value(state), dtype))  # fmt: skip

    # ------------------------------------------------------------------------------------ shapes

    def reshaped(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        """A tile of another shape, brought into the asked one without changing an element."""
        how = self.random.choice(["reshape", "transpose", "broadcast_to", "cat", "view"])
        if not shape:
            return None
        if how == "reshape":
            flat = (math.prod(shape),)
            return self._moved(
                f"reshape({{}}, {list(shape)})", dtype, flat, depth, lambda v: v.reshape(shape), shape
            )
        if how == "transpose" and len(shape) > 1:
            turned = (*shape[:-2], shape[-1], shape[-2])
            text = self.random.choice(["transpose({})", f"permute({{}}, {[*range(len(shape) - 2), -1, -2]})"])
            return self._moved(text, dtype, turned, depth, lambda v: v.swapaxes(-1, -2), shape)
        if how == "broadcast_to":
            text = f"broadcast_to({{}}, {list(shape)})"
            return self._moved(
                text, dtype, self._stretched(shape), depth, lambda v: np.broadcast_to(v, shape), shape
            )
        if how == "cat" and shape[0] % 2 == 0:
            half = (shape[0] // 2, *shape[1:])
            a, b = self.expression(dtype, half, depth), self.expression(dtype, half, depth)
            return Node(f"cat([{a.text}, {b.text}], axis=0)", dtype, shape,
                        lambda state: np.concatenate([a.value(state), b.value(state)]))  # fmt: skip
        if how == "view" and 1 in shape:
            axis = shape.index(1)
            words = ", ".join("None" if k == axis else ":" for k in range(len(shape)))
            rest = shape[:axis] + shape[axis + 1 :]
            if rest:
                return self._moved(
                    f"({{}})[{words}]", dtype, rest, depth, lambda v: np.expand_dims(v, axis), shape
                )
        return None

    def _moved(
        self, text: str, dtype: str, source: Shape, depth: int, move: Callable[[Any], Any], shape: Shape
    ) -> Node:
        a = self.expression(dtype, source, depth)
        return Node(text.replace("{}", a.text), dtype, shape,
                    lambda state: move(np.broadcast_to(a.value(state), source)))  # fmt: skip

    # ------------------------------------------------------------------------------------ reductions and scans

    def _sources(self, dtype: str) -> list[str]:
        """The types whose sum is of this type."""
        return {
            "i32": ["bool", "i8", "i16", "i32"],
            "u32": ["u8", "u16", "u32"],
            "i64": ["i64"],
            "u64": ["u64"],
        }.get(dtype, [])

    def _reduction_of(self, dtype: str) -> tuple[str, str, Callable[[list[Number]], Number]] | None:
        """An op, the type it takes to give `dtype`, and its meaning on a list of elements."""
        choices: list[tuple[str, str, Callable[[list[Number]], Number]]] = []
        for source in self._sources(dtype):
            choices.append(("sum", source, lambda row: arithmetic.wrap(int(sum(row)), dtype)))
            choices.append(("prod", source, lambda row: arithmetic.wrap(int(math.prod(row)), dtype)))
        if dtype == "bool":
            choices += [("any", "bool", any), ("all", "bool", all)]
        else:
            for op, larger in (("max", True), ("min", False)):
                pick = arithmetic.extreme(larger)
                choices.append((op, dtype, lambda row, pick=pick: _fold(pick, row)))
        if dtype == "i32":
            source = self.random.choice([d for d in DTYPES if d != "bool"])
            choices += [
                ("argmax", source, lambda row: _position(row, True)),
                ("argmin", source, lambda row: _position(row, False)),
            ]
        return self.random.choice(choices) if choices else None

    def reduction(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        chosen = self._reduction_of(dtype)
        if chosen is None or len(shape) > 3:
            return None
        op, source, fold = chosen
        axis, extent = self.random.randrange(len(shape) + 1), self.random.choice([2, 3, 4, 1, 7])
        a = self.expression(source, (*shape[:axis], extent, *shape[axis:]), depth)
        return Node(f"{op}({a.text}, axis={axis})", dtype, shape,
                    lambda state: along(fold, a.value(state), axis))  # fmt: skip

    def scan(self, dtype: str, shape: Shape, depth: int) -> Node | None:
        if not shape or dtype == "bool":
            return None
        pick = {"cummax": arithmetic.extreme(True), "cummin": arithmetic.extreme(False)}
        op = self.random.choice(list(pick))
        source, fold = dtype, pick[op]
        sources = self._sources(dtype)
        if sources and self.chance(60):
            op, source = self.random.choice(["cumsum", "cumprod"]), self.random.choice(sources)
            sign = "+" if op == "cumsum" else "*"
            fold = lambda a, b: arithmetic.wrap(EXACT[sign](int(a), int(b)), dtype)  # noqa: E731
        axis, reverse = self.random.randrange(len(shape)), self.chance(50)
        a = self.expression(source, shape, depth)
        text = f"{op}({a.text}, axis={axis}{', reverse=true' if reverse else ''})"
        return Node(
            text, dtype, shape, lambda state: scanned(fold, a.value(state), axis, reverse, source != dtype)
        )

    def dot(self, depth: int) -> Node:
        """A product of narrow integers, which accumulates in i32."""
        m, k, n = (self.random.choice([2, 3, 4]) for _ in range(3))
        source = self.random.choice(["i8", "i16", "i32"])
        a, b = self.expression(source, (m, k), depth), self.expression(source, (k, n), depth)

        def value(state: State) -> np.ndarray:
            exact = np.asarray(a.value(state).dot(b.value(state)), dtype=object)
            return each(lambda v: arithmetic.wrap(int(v), "i32"), exact)

        return Node(f"dot({a.text}, {b.text})", "i32", (m, n), value)


def _fold(pick: Callable[[Number, Number], Number], row: list[Number]) -> Number:
    result = row[0]
    for value in row[1:]:
        result = pick(result, value)
    return result


def _position(row: list[Number], largest: bool) -> int:
    for at, value in enumerate(row):
        if value != value:
            return at
    return row.index(max(row) if largest else min(row))


def along(fold: Callable[[list[Number]], Number], tile: np.ndarray, axis: int) -> np.ndarray:
    moved = np.moveaxis(tile, axis, -1)
    result = np.empty(moved.shape[:-1], dtype=object)
    for at in np.ndindex(result.shape):
        result[at] = fold(list(moved[at]))
    return result


def scanned(
    fold: Callable[[Number, Number], Number], tile: np.ndarray, axis: int, reverse: bool, to_int: bool
) -> np.ndarray:
    moved = np.moveaxis(tile, axis, -1).copy()
    moved = moved[..., ::-1] if reverse else moved
    for at in np.ndindex(moved.shape[:-1]):
        total = int(moved[at][0]) if to_int else moved[at][0]
        moved[at][0] = total
        for k in range(1, moved.shape[-1]):
            total = fold(total, moved[at][k])
            moved[at][k] = total
    return np.moveaxis(moved[..., ::-1] if reverse else moved, -1, axis)
