"""What every kind of statement needs: names, blocks, and writing variables out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager

import numpy as np

from tests.fuzzing import arithmetic
from tests.fuzzing.arithmetic import FLOATS
from tests.fuzzing.choices import Choices
from tests.fuzzing.floats import Floats
from tests.fuzzing.nodes import Shape, State, Variable, each

KEPT = 400
"""How many values of variables each program can write out."""

Action = Callable[[State], None]
Made = tuple[list[str], Action] | None
"""The lines of a statement and what it does; None if it cannot be made here."""


class Returned(Exception):
    """A program has come to a `return`."""


class Writer:
    """Draws blocks; a subclass draws the statements in them."""

    def __init__(
        self, random: Choices, inputs: dict[str, tuple[str, Shape]], outputs: dict[str, tuple[str, Shape]]
    ) -> None:
        self.random, self.outputs = random, outputs
        self.shared: dict[str, tuple[str, Shape]] = {}
        self.of = Floats(random, inputs)
        self.names = 0
        self.budget = random.choice([1, 2, 1, 2, 3, 3, 5, 10])

    def fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    @contextmanager
    def inner(self):
        """A block of its own: names declared in it end with it."""
        size = len(self.of.scope)
        yield
        del self.of.scope[size:]

    def block(self, nesting: int) -> tuple[list[str], Action]:
        lines: list[str] = []
        actions: list[Action] = []
        begin = len(self.of.scope)
        for _ in range(self.random.choice([1, 2, 3, 5])):
            if self.budget <= 0 and lines:
                break
            self.budget -= 1
            text, action = self.statement(nesting)
            lines += text
            actions.append(action)
        for variable in self.of.scope[begin:]:
            text, action = self.kept(variable)
            lines += text
            actions.append(action)
        return lines, lambda state: [action(state) for action in actions] and None

    def kept(self, variable: Variable) -> tuple[list[str], Action]:
        """Write a variable out before its block ends, so that nothing is computed in vain."""
        name, size = variable.name, int(np.prod(variable.shape))
        tensor, dtype = ("kept_f", "f64") if variable.dtype in FLOATS else ("kept_i", "i64")
        start = self.random.randrange(KEPT - size)
        value = f"reshape({name}, [{size}])" if variable.shape else name
        text = f"{tensor}[p, {start} +: {size}] = {value} as {dtype};"

        def action(state: State) -> None:
            elements = np.broadcast_to(state.values[name], variable.shape).reshape(size)
            kept = each(lambda x: arithmetic.convert(x, variable.dtype, dtype), elements)
            state.tensors[tensor][state.program, start : start + size] = kept

        return [text], action

    def statement(self, nesting: int) -> tuple[list[str], Action]:
        """A random statement, with others inside at most `nesting` deep."""
        raise NotImplementedError
