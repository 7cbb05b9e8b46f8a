"""Random programs, and what they do: every statement carries its text and an action on a `State`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tests.fuzzing import functions, values
from tests.fuzzing.choices import Choices
from tests.fuzzing.inexact import CLOSE
from tests.fuzzing.nodes import DTYPES, Shape, State
from tests.fuzzing.statements import Statements
from tests.fuzzing.writer import KEPT, Action, Returned

GRIDS: tuple[tuple[int, ...], ...] = ((3,), (1,), (2, 2), (5,), (1, 2, 1))
ROW = {
    1: "program_id(0)",
    2: "program_id(1) * num_programs(0) + program_id(0)",
    3: "(program_id(2) * num_programs(1) + program_id(1)) * num_programs(0) + program_id(0)",
}
EXTENTS: dict[int, tuple[Shape, ...]] = {
    1: ((10,), (1,), (7,), (16,), (33,)),
    2: ((5, 9), (1, 3), (4, 8), (13, 2), (16, 16)),
    3: ((3, 4, 5), (2, 1, 3), (1, 1, 1)),
}
SHARED: dict[str, tuple[str, Shape]] = {"all_add": ("f32", (8,)), "all_max": ("i64", (5,)), "all_min": ("u32", (1,))}
"""Tensors that all programs may change, each in one way, which its name ends in."""


@dataclass(frozen=True)
class Program:
    """A kernel's text, arguments for it (values and the layout they come in), and what one program does."""

    text: str
    values: dict[str, np.ndarray]
    layouts: dict[str, str]
    grid: tuple[int, ...]
    action: Action

    @property
    def arguments(self) -> dict[str, np.ndarray]:
        """Fresh arrays."""
        return {name: values.laid_out(array, self.layouts[name]) for name, array in self.values.items()}

    def expected(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The arguments after a run, by the independent evaluator; and how far those that are inexact may be off."""
        tensors = {name: _objects(array) for name, array in self.values.items()}
        errors = {CLOSE: np.zeros(self.values[CLOSE].shape)} if CLOSE in self.values else {}
        with np.errstate(all="ignore"):
            for program in range(math.prod(self.grid)):
                try:
                    self.action(State(program, tensors, errors=errors))
                except Returned:
                    continue
            return {name: value.astype(self.values[name].dtype) for name, value in tensors.items()}, errors


def _objects(array: np.ndarray) -> np.ndarray:
    """An array of Python numbers."""
    return (array if array.dtype.kind in "iub" else array.astype(np.float64)).astype(object)


def random_program(choices: Choices) -> Program:
    """A kernel over one tensor of each element type and rank it happens to draw, and its meaning."""
    grid = choices.choice(GRIDS)
    count = math.prod(grid)
    inputs = {f"x{k}": (choices.choice(DTYPES), choices.choice(EXTENTS[rank]))
              for k, rank in enumerate((1, 1, 2, 2, 3))}  # fmt: skip
    ranks = [choices.choice([1, 1, 2]) for _ in range(choices.randrange(1, 4))]
    outputs = {f"y{k}": (choices.choice(DTYPES), (count, *choices.choice(EXTENTS[rank])))
               for k, rank in enumerate(ranks)}  # fmt: skip
    statements = Statements(choices, {**inputs, "n": ("i32", (10,))}, outputs)
    statements.shared = SHARED
    if choices.chance(33):
        statements.of.functions = {"mixed": functions.mixed, "chosen": functions.chosen}
    lines, action = statements.block(nesting=3)
    kept = {"kept_i": ("i64", (count, KEPT)), "kept_f": ("f64", (count, KEPT)), CLOSE: ("f64", (count, KEPT))}
    body = "\n".join([f"let p = {ROW[len(grid)]};", *lines, "}", ""])
    written = {name: tensor for name, tensor in {**outputs, **SHARED, **kept}.items() if f"{name}[" in body}
    inputs = {name: tensor for name, tensor in inputs.items() if f"{name}[" in body}
    tensors = {"n": ("i32", (10,)), **inputs, **written}
    head = f"kernel k({_parameters(choices, inputs, written)}) grid ({', '.join(map(str, grid))}) {{\n"
    called = [line for line in functions.FUNCTIONS.splitlines() if line.split("(")[0][3:] + "(" in body]
    layouts = _layouts(choices, tensors, written)
    given = {name: values.laid_out(values.values(choices, *tensors[name]), layouts[name]).copy() for name in tensors}
    return Program("\n".join([*called, head + body]), given, layouts, grid, action)


def _parameters(choices: Choices, inputs: dict[str, tuple[str, Shape]], written: dict[str, tuple[str, Shape]]) -> str:
    """The tensors as a kernel's header declares them; some extents as names of dims."""
    declared = ["n: i32[N]"]
    for mode, tensors in (("", inputs), ("inout ", written)):
        for name, (dtype, extents) in tensors.items():
            words = [f"{name.upper()}_{k}" if choices.chance(30) else str(n) for k, n in enumerate(extents)]
            declared.append(f"{mode}{name}: {dtype}[{', '.join(words)}]")
    return ", ".join(declared)


def _layouts(
    choices: Choices, tensors: dict[str, tuple[str, Shape]], written: dict[str, tuple[str, Shape]]
) -> dict[str, str]:
    """A layout for each argument; what is written must not overlap itself."""
    found: dict[str, str] = {}
    for name in tensors:
        possible = values.LAYOUTS[:-1] if name in written else values.LAYOUTS
        found[name] = choices.choice(possible) if choices.chance(40) else possible[0]
    return found
