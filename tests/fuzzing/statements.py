"""All statements of random programs."""

from __future__ import annotations

import numpy as np

from tests.fuzzing import arithmetic
from tests.fuzzing.control import Control
from tests.fuzzing.functions import both
from tests.fuzzing.inexact import Inexact
from tests.fuzzing.memory import Memory
from tests.fuzzing.nodes import DTYPES, SHAPES, State, Variable, each
from tests.fuzzing.writer import Action, Made


class Statements(Memory, Control, Inexact):
    """Draws any statement."""

    def statement(self, nesting: int) -> tuple[list[str], Action]:
        makers = [
            self.declaration,
            self.declaration,
            self.assignment,
            self.assignment,
            self.store,
            self.store,
            self.atomic,
            self.shared_atomic,
            self.read_back,
            self.inexact,
            self.two_results,
        ]
        if nesting:
            makers += [self.branch, self.branch, self.for_loop, self.while_loop, self.early_return]
        made = self.random.choice(makers)(nesting)
        return made if made is not None else self.declaration(nesting)

    def declaration(self, _: int) -> tuple[list[str], Action]:
        dtype, shape = self.of.any_dtype(), self.random.choice(SHAPES)
        node = (
            self.of.dot(1)
            if self.of.chance(6)
            else self.of.expression(dtype, shape, self.random.choice([1, 2, 1, 2, 3]))
        )
        variable = Variable(self.fresh(), node.dtype, node.shape, mutable=self.of.chance(60))
        self.of.scope.append(variable)

        def action(state: State) -> None:
            state.values[variable.name] = np.broadcast_to(node.value(state), node.shape)

        return [f"{'var' if variable.mutable else 'let'} {variable.name} = {node.text};"], action

    def assignment(self, _: int) -> tuple[list[str], Action] | None:
        mutable = [v for v in self.of.scope if v.mutable]
        if not mutable:
            return None
        variable = self.random.choice(mutable)
        name, dtype, shape = variable.name, variable.dtype, variable.shape
        if self.of.chance(30) and dtype != "bool":
            op = self.random.choice(["+", "-", "*"])
            node = self.of.second(dtype, self.of._stretched(shape), 2)

            def update(state: State) -> None:
                state.values[name] = each(
                    lambda a, b: arithmetic.binary(op, a, b, dtype), state.values[name], node.value(state)
                )

            return [f"{name} {op}= {node.text};"], update
        node = self.of.expression(dtype, shape, 2)

        def assign(state: State) -> None:
            state.values[name] = np.broadcast_to(node.value(state), shape)

        return [f"{name} = {node.text};"], assign

    def two_results(self, _: int) -> Made:
        """A call of a function that gives two values."""
        dtype, shape = self.random.choice([d for d in DTYPES if d != "bool"]), self.random.choice(SHAPES)
        a, b = self.of.expression(dtype, shape, 1), self.of.expression(dtype, shape, 1)
        first, second = (Variable(self.fresh(), dtype, shape) for _ in range(2))
        self.of.scope += [first, second]

        def action(state: State) -> None:
            state.values[first.name], state.values[second.name] = both(a.value(state), b.value(state), dtype)

        return [f"let {first.name}, {second.name} = both({a.text}, {b.text});"], action
