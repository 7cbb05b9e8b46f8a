"""Random leaves of expressions: variables, literals, constants, and reads of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.fuzzing import arithmetic
from tests.fuzzing.arithmetic import EXACT, INTS, Number
from tests.fuzzing.choices import Choices
from tests.fuzzing.nodes import DTYPES, Node, Shape, State, Variable, each, number


class Leaves:
    """Draws the leaves; a subclass draws what is above them."""

    def __init__(self, random: Choices, inputs: dict[str, tuple[str, Shape]]) -> None:
        self.random = random
        self.inputs = inputs
        self.scope: list[Variable] = []
        self.reads = 0  # how many reads stand inside each other just now
        self.functions: dict[str, Callable[[np.ndarray, np.ndarray, str], np.ndarray]] = {}

    # ------------------------------------------------------------------------------------ leaves

    def chance(self, percent: int) -> bool:
        return self.random.chance(percent)

    def any_dtype(self) -> str:
        return self.random.choice(DTYPES)

    def literal(self, dtype: str) -> tuple[str, Number]:
        """The text and value of a literal that fits the type; small ones and the extremes are likely."""
        if dtype == "bool":
            value: Number = self.chance(50)
        elif dtype in INTS:
            low, high = arithmetic.limits(dtype)
            value = self.random.choice(
                [0, 1, 2, 3, 5, 7, high, low, high - 1, low + 1, max(low, -1), max(low, -2)]
            )
            if self.chance(30) and dtype != "i64":
                return self.constant(dtype)
        else:
            value = self.random.choice(
                [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -7.25, 1000.0, math.inf, -math.inf, math.nan]
            )
        text = number(value, dtype)
        return (f"({text})" if text.startswith("-") else text), value

    def constant(self, dtype: str) -> tuple[str, Number]:
        """An expression over literals, computed exactly; it fits the type or is replaced by 1."""
        text, value = self._exact(3)
        low, high = arithmetic.limits(dtype)
        return (text, value) if low <= value <= high else ("1", 1)

    def _exact(self, depth: int) -> tuple[str, int]:
        if depth == 0 or self.chance(30):
            value = self.random.randrange(12)
            return str(value), value
        op = self.random.choice(["+", "-", "*", "//", "%"])
        (left, a), (right, b) = self._exact(depth - 1), self._exact(depth - 1)
        return f"({left} {op} {right})", EXACT[op](a, b)

    def leaf(self, dtype: str, shape: Shape) -> Node:
        """A variable of the type if there is one, else a filled tile or a converted literal."""
        fitting = [v for v in self.scope if (v.dtype, v.shape) == (dtype, shape)]
        if fitting and self.chance(75):
            name = self.random.choice(fitting).name
            return Node(name, dtype, shape, lambda state: state.values[name])
        if self.reads < 3 and self.chance(75):
            return self.load(dtype, shape)
        text, value = self.literal(dtype)
        filled = np.full(shape, value, dtype=object)
        return Node(self._typed_literal(text, value, dtype, shape), dtype, shape, lambda state: filled)

    def _typed_literal(self, text: str, value: Number, dtype: str, shape: Shape) -> str:
        if shape:
            return f"full({list(shape)}, {text}, {dtype})"
        if dtype == "bool":
            return text
        # A literal alone is i32 or f32, and goes through it; large ones are i64 or u64.
        return f"({text} as {dtype})"

    def load(self, dtype: str, shape: Shape) -> Node:
        """A read of an input, in range or out of it, perhaps masked and with another value outside."""
        if self.chance(20):
            return self.gather(dtype, shape)
        fitting = [
            name for name, (_, extents) in self.inputs.items() if len(extents) == len(shape) or not shape
        ]
        names = [name for name in fitting if self.inputs[name][0] == dtype]
        if not names and fitting and self.chance(80):
            source = self.inputs[self.random.choice(fitting)][0]
            a = self.load(source, shape)
            return Node(f"({a.text} as {dtype})", dtype, shape,
                        lambda state: each(lambda x: arithmetic.convert(x, source, dtype), a.value(state)))  # fmt: skip
        if not names:
            return (
                self.index_tile(dtype, shape)
                if dtype in INTS and len(shape) == 1
                else self.filled(dtype, shape)
            )
        name = self.random.choice(names)
        extents = self.inputs[name][1]
        self.reads += 1
        indices = [self._index(shape[axis] if shape else None, extents[axis]) for axis in range(len(extents))]
        text = f"{name}[{', '.join(index.text for index in indices)}]"

        def at(state: State) -> Callable[[Shape], Shape]:
            places = [np.atleast_1d(index.value(state)) for index in indices]
            return lambda element: tuple(
                places[axis][element[axis] if shape else 0] for axis in range(len(extents))
            )

        return self._read(name, text, dtype, shape, at)

    def gather(self, dtype: str, shape: Shape) -> Node:
        """A pointwise read: index tiles that broadcast together, now and then outside."""
        names = [name for name, (stored, _) in self.inputs.items() if stored == dtype]
        if not names:
            return self.filled(dtype, shape)
        name = self.random.choice(names)
        extents = self.inputs[name][1]
        self.reads += 1
        indices = [self._spot(shape if axis == 0 else self._stretched(shape), extent)
                   for axis, extent in enumerate(extents)]  # fmt: skip
        text = f"{name}[[{', '.join(index.text for index in indices)}]]"

        def at(state: State) -> Callable[[Shape], Shape]:
            places = [np.broadcast_to(index.value(state), shape) for index in indices]
            return lambda element: tuple(place[element] for place in places)

        return self._read(name, text, dtype, shape, at)

    def _spot(self, shape: Shape, extent: int) -> Node:
        """Numbers from -1 to the extent."""
        dtype = self.random.choice(["i32", "i64"])
        base = self.expression(dtype, shape, 1)
        return Node(f"({base.text} % {extent + 2} - 1)", dtype, shape,
                    lambda state: each(lambda a: a % (extent + 2) - 1, base.value(state)))  # fmt: skip

    def _read(
        self, name: str, text: str, dtype: str, shape: Shape, at: Callable[[State], Callable[[Shape], Shape]]
    ) -> Node:
        """The read whose elements stand where `at` says, with a mask and a value outside, or without."""
        extents = self.inputs[name][1]
        inner = self.reads < 3
        mask = self.expression("bool", self._stretched(shape), 1) if inner and self.chance(40) else None
        other = self._other(dtype, shape) if inner and self.chance(40) else None
        self.reads -= 1
        text += f" where {mask.text}" if mask else ""
        text += f" else {other.text}" if other else ""
        zero: Number = False if dtype == "bool" else 0 if dtype in INTS else 0.0

        def value(state: State) -> np.ndarray:
            tensor, place_of = state.tensors[name], at(state)
            allowed = np.broadcast_to(mask.value(state), shape) if mask else np.full(shape, True)
            outside = (
                np.broadcast_to(other.value(state), shape) if other else np.full(shape, zero, dtype=object)
            )
            result = np.empty(shape, dtype=object)
            for element in np.ndindex(shape):
                place = place_of(element)
                inside = all(0 <= i < n for i, n in zip(place, extents, strict=True))
                result[element] = tensor[place] if inside and allowed[element] else outside[element]
            return result

        return Node(f"({text})", dtype, shape, value)

    def _other(self, dtype: str, shape: Shape) -> Node:
        if self.chance(50):
            text, value = self.literal(dtype)
            return Node(text, dtype, (), lambda state: np.asarray(value, dtype=object))
        return self.expression(dtype, self._stretched(shape), 1)

    def _index(self, length: int | None, extent: int) -> Node:
        """An index, mostly in range; a tile of them if there is a length."""
        start = self.random.randrange(-2, extent)
        if self.chance(30):
            return self.affine(length)
        if self.reads < 3 and self.chance(20):
            base = self.expression(
                self.random.choice(["i32", "i64", "u8"]), () if length is None else (length,), 1
            )
            return Node(f"({base.text} % {extent + 1})", base.dtype, base.shape,
                        lambda state: each(lambda a: a % (extent + 1), base.value(state)))  # fmt: skip
        if length is None:
            return Node(str(start), "i32", (), lambda state: np.asarray(start, dtype=object))
        tile = np.arange(start, start + length).astype(object)
        return Node(f"{start} +: {length}", "i32", (length,), lambda state: tile)

    def affine(self, length: int | None) -> Node:
        """`p * 2 + 3`, with a tile of them if there is a length: what the passes reason about. It wraps if it must."""
        scalars = [v for v in self.scope if not v.shape and v.dtype in ("i32", "i64")] or [
            Variable("p", "i64", ())
        ]
        base = self.random.choice(scalars)
        factor, offset = self.random.choice([1, 1, 2, 3, -1, 4]), self.random.randrange(-3, 6)
        text = f"{base.name} * {factor} + {offset}" + ("" if length is None else f" +: {length}")
        steps = np.asarray(0 if length is None else np.arange(length), dtype=object)

        def value(state: State) -> np.ndarray:
            start = np.asarray(state.program, object) if base.name == "p" else state.values[base.name]
            return each(lambda x, k: arithmetic.wrap(x * factor + offset + k, base.dtype), start, steps)

        return Node(text, base.dtype, steps.shape, value)

    def filled(self, dtype: str, shape: Shape) -> Node:
        text, value = self.literal(dtype)
        tile = np.full(shape, value, dtype=object)
        return Node(self._typed_literal(text, value, dtype, shape), dtype, shape, lambda state: tile)

    def index_tile(self, dtype: str, shape: Shape) -> Node:
        start, length = self.expression(dtype, (), 1), shape[0]
        return Node(f"({start.text} +: {length})", dtype, shape,
                    lambda state: each(lambda a, k: arithmetic.wrap(a + k, dtype), start.value(state),
                                       np.arange(length).astype(object)))  # fmt: skip

    def expression(self, dtype: str, shape: Shape, depth: int) -> Node:
        """A random expression of exactly this type and shape."""
        raise NotImplementedError

    def _stretched(self, shape: Shape) -> Shape:
        """A shape that broadcasts to this one."""
        how = self.random.randrange(4)
        if how == 0:
            return ()
        if how == 1 and len(shape) > 1:
            return shape[1:]
        if how == 2 and len(shape) > 1:
            return tuple(1 if self.chance(50) else extent for extent in shape)
        return shape
