"""Control flow: branches, loops and returns."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.nodes import State, Variable
from tests.fuzzing.writer import Action, Returned, Writer

RANGES = [
    ("0", "3", 1),
    ("-2", "5", 2),
    ("4", "-1", -1),
    ("3", "3", 1),
    ("5", "0", 1),
    ("7", "-3", -3),
    ("0", "N", 4),
]


class Control(Writer):
    """Draws them, with blocks inside. Every loop ends."""

    def branch(self, nesting: int) -> tuple[list[str], Action]:
        condition = self.of.expression("bool", (), 2)
        with self.inner():
            then_lines, then_action = self.block(nesting - 1)
        lines = [f"if {condition.text} {{", *then_lines]
        else_action: Action | None = None
        if self.of.chance(60):
            with self.inner():
                else_lines, else_action = self.block(nesting - 1)
            lines += ["} else {", *else_lines]

        def action(state: State) -> None:
            if condition.value(state).item():
                then_action(state)
            elif else_action is not None:
                else_action(state)

        return [*lines, "}"], action

    def for_loop(self, nesting: int) -> tuple[list[str], Action]:
        low, high, step = self.random.choice(RANGES)
        dtype = "i64" if high == "N" else "i32"
        dynamic = high != "N" and self.of.chance(40)
        end = self.of.expression("i32", (), 1) if dynamic else None
        high_text = f"({end.text} % 4)" if end else high
        variable = Variable(self.fresh(), dtype, ())
        with self.inner():
            self.of.scope.append(variable)
            lines, body = self.block(nesting - 1)

        def action(state: State) -> None:
            stop = end.value(state).item() % 4 if end else 10 if high == "N" else int(high)
            for k in range(int(low), stop, step):
                state.values[variable.name] = np.asarray(k, dtype=object)
                body(state)

        return [f"for {variable.name} in range({low}, {high_text}, {step}) {{", *lines, "}"], action

    def while_loop(self, nesting: int) -> tuple[list[str], Action]:
        """A loop that ends: it counts, and goes on while it has not counted to 4 and a condition holds."""
        counter = Variable(self.fresh(), "i32", ())  # not assignable for the statements inside
        self.of.scope.append(counter)
        condition = self.of.expression("bool", (), 1)
        with self.inner():
            lines, body = self.block(nesting - 1)
        name = counter.name

        def action(state: State) -> None:
            state.values[name] = np.asarray(0, dtype=object)
            while state.values[name].item() < 4 and condition.value(state).item():
                state.values[name] = np.asarray(state.values[name].item() + 1, dtype=object)
                body(state)

        head = [f"var {name} = 0;", f"while {name} < 4 and {condition.text} {{", f"{name} += 1;"]
        return [*head, *lines, "}"], action

    def early_return(self, nesting: int) -> tuple[list[str], Action] | None:
        if self.of.chance(60):
            return None
        condition = self.of.expression("bool", (), 2)

        def action(state: State) -> None:
            if condition.value(state).item():
                raise Returned

        return [f"if {condition.text} {{", "return;", "}"], action
