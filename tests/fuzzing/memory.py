"""Statements that write memory: stores, reading back, atomics on a program's own row and on shared numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzzing import arithmetic
from tests.fuzzing.arithmetic import FLOATS, INTS
from tests.fuzzing.nodes import Node, Shape, State, Variable
from tests.fuzzing.writer import Action, Made, Writer

ATOMIC_DTYPES = ("i32", "i64", "u32", "u64", "f32", "f64")
MEANING = {"add": "+", "max": "maximum", "min": "minimum"}


class Memory(Writer):
    """Draws them. Each program writes to its own row, so that the order of programs cannot matter."""

    def _place(self) -> tuple[str, str, Shape, list[Node]]:
        """An output, its type, the accessed shape and the indices after the program's own row."""
        name = self.random.choice(list(self.outputs))
        dtype, extents = self.outputs[name]
        lengths = [self.random.choice([None, 2, 4, 8]) for _ in extents[1:]]
        indices = [self._index(length, extent) for length, extent in zip(lengths, extents[1:], strict=True)]
        return name, dtype, tuple(n for n in lengths if n is not None), indices

    def _index(self, length: int | None, extent: int) -> Node:
        start = self.random.randrange(-2, extent)
        if self.of.chance(30):
            return self.of.affine(length)
        if length is None:
            return Node(str(start), "i32", (), lambda state: np.asarray(start, dtype=object))
        if self.of.chance(25):
            base = self.of.expression(self.random.choice(["i32", "i64"]), (), 1)
            return Node(f"({base.text} % 4 +: {length})", base.dtype, (length,),
                        lambda state: base.value(state) % 4 + np.arange(length).astype(object))  # fmt: skip
        tile = np.arange(start, start + length).astype(object)
        return Node(f"{start} +: {length}", "i32", (length,), lambda state: tile)

    def store(self, _: int) -> tuple[list[str], Action]:
        name, dtype, shape, indices = self._place()
        node = self.of.second(dtype, self.of._stretched(shape), 2)
        mask = self.of.expression("bool", self.of._stretched(shape), 1) if self.of.chance(40) else None
        # A bare read before `where` would leave open whose mask it is; the generator's reads are in parentheses.
        op = self.random.choice(["", "", "+", "*"]) if dtype != "bool" else ""
        text = f"{name}[{', '.join(['p', *(i.text for i in indices)])}] {op}= {node.text}"
        text += f" where {mask.text};" if mask else ";"

        def combine(old: arithmetic.Number, new: arithmetic.Number) -> arithmetic.Number:
            return arithmetic.binary(op, old, new, dtype) if op else new

        return [text], lambda state: self._write(state, name, shape, indices, node, mask, combine)

    def atomic(self, _: int) -> tuple[list[str], Action]:
        """An atomic on the program's own row, whose old values are kept in a variable."""
        name, dtype, shape, indices = self._place()
        if dtype not in ATOMIC_DTYPES:
            return self.store(0)
        node = self.of.second(dtype, self.of._stretched(shape), 1)
        op = self.random.choice(["add", "max", "min", "xchg"] + ["cas"] * (dtype in INTS))
        expected = self.of.second(dtype, self.of._stretched(shape), 1) if op == "cas" else None
        mask = self.of.expression("bool", self.of._stretched(shape), 1) if self.of.chance(30) else None
        variable = Variable(self.fresh(), dtype, shape)
        place = f"{name}[{', '.join(['p', *(i.text for i in indices)])}]"
        place += f" where {mask.text}" if mask else ""
        operands = f"{expected.text}, {node.text}" if expected else node.text
        text = f"let {variable.name} = atomic_{op}({place}, {operands});"
        self.of.scope.append(variable)

        def combine(old: arithmetic.Number, new: arithmetic.Number) -> arithmetic.Number:
            return new if op in ("xchg", "cas") else arithmetic.binary(MEANING[op], old, new, dtype)

        def action(state: State) -> None:
            old = self._write(state, name, shape, indices, node, mask, combine, expected)
            state.values[variable.name] = old

        return [text], action

    def shared_atomic(self, _: int) -> Made:
        """An atomic on numbers that all programs share: their order cannot be seen in the end."""
        name = self.random.choice(list(self.shared))
        dtype, (extent,) = self.shared[name]
        op, shape = name.partition("_")[2], (self.random.choice([1, 4, 9]),)
        spot = self.of._spot(shape, extent)
        node = self.of.whole(dtype, shape, 1, 50) if dtype in FLOATS else self.of.expression(dtype, shape, 2)
        mask = self.of.expression("bool", self.of._stretched(shape), 1) if self.of.chance(40) else None
        place = f"{name}[[{spot.text}]]" + (f" where {mask.text}" if mask else "")

        def action(state: State) -> None:
            allowed = np.broadcast_to(mask.value(state), shape) if mask else np.full(shape, True)
            tensor = state.tensors[name]
            for at, value, go in zip(spot.value(state), node.value(state), allowed, strict=True):
                if go and 0 <= at < extent:
                    tensor[at] = arithmetic.binary(MEANING[op], tensor[at], value, dtype)

        return [f"atomic_{op}({place}, {node.text});"], action

    def read_back(self, _: int) -> Made:
        """A variable that holds what the program itself may have written before."""
        name, dtype, shape, indices = self._place()
        variable = Variable(self.fresh(), dtype, shape, mutable=self.of.chance(30))
        place = f"{name}[{', '.join(['p', *(i.text for i in indices)])}]"
        self.of.scope.append(variable)
        nothing = Node("", dtype, (), lambda state: np.asarray(0, dtype=object))

        def action(state: State) -> None:
            old = self._write(state, name, shape, indices, nothing, None, lambda old, _: old)
            state.values[variable.name] = old

        return [f"{'var' if variable.mutable else 'let'} {variable.name} = {place};"], action

    def _write(self, state: State, name: str, shape: Shape, indices: list[Node], node: Node, mask: Node | None,
               combine: Callable[[arithmetic.Number, arithmetic.Number], arithmetic.Number],
               expected: Node | None = None) -> np.ndarray:  # fmt: skip
        """Combine every element in range with its new value; gives the old ones, 0 where there are none."""
        tensor, dtype = state.tensors[name][state.program], self.outputs[name][0]
        places = [np.atleast_1d(index.value(state)) for index in indices]
        values = np.broadcast_to(node.value(state), shape)
        allowed = np.broadcast_to(mask.value(state), shape) if mask else np.full(shape, True)
        zero: arithmetic.Number = {"bool": False}.get(dtype, 0.0 if dtype in FLOATS else 0)
        old = np.full(shape, zero, dtype=object)
        wanted = np.broadcast_to(expected.value(state), shape) if expected else None
        for at in np.ndindex(shape):
            along = iter(at)
            place = tuple(
                spots[next(along) if index.shape else 0] for spots, index in zip(places, indices, strict=True)
            )
            if allowed[at] and all(0 <= i < n for i, n in zip(place, tensor.shape, strict=True)):
                old[at] = tensor[place]
                if wanted is None or wanted[at] == old[at]:
                    tensor[place] = combine(tensor[place], values[at])
        return old

