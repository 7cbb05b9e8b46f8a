"""Random programs, and what they do: every statement carries its text and an action on a `State`.

Each of the grid's programs writes to its own row of the tensors only, so that their order cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

import numpy as np

from tests.fuzzing import arithmetic
from tests.fuzzing.arithmetic import BITS, FLOATS
from tests.fuzzing.expressions import Expressions
from tests.fuzzing.nodes import DTYPES, SHAPES, Node, Shape, State, Variable, each
from tests.generators import NUMPY_DTYPES

PROGRAMS = 3
RANGES = [
    ("0", "3", 1),
    ("-2", "5", 2),
    ("4", "-1", -1),
    ("3", "3", 1),
    ("5", "0", 1),
    ("7", "-3", -3),
    ("0", "N", 4),
]
KEPT = 400
"""How many values of variables each program can write out."""
EXTENTS = {1: (10,), 2: (5, 9), 3: (3, 4, 5)}

Action = Callable[[State], None]


class Returned(Exception):
    """A program has come to a `return`."""


@dataclass(frozen=True)
class Program:
    """A kernel's text, arguments for it, and the meaning of one program of its grid."""

    text: str
    arguments: dict[str, np.ndarray]
    action: Action

    def expected(self) -> dict[str, np.ndarray]:
        """The arguments after a run, by the independent evaluator."""
        tensors = {name: _objects(array) for name, array in self.arguments.items()}
        for program in range(PROGRAMS):
            try:
                self.action(State(program, tensors))
            except Returned:
                continue
        with np.errstate(all="ignore"):
            return {name: value.astype(self.arguments[name].dtype) for name, value in tensors.items()}


def _objects(array: np.ndarray) -> np.ndarray:
    """An array of Python numbers."""
    return (array if array.dtype.kind in "iub" else array.astype(np.float64)).astype(object)


class Statements:
    """Draws blocks of statements."""

    def __init__(
        self, random: Random, inputs: dict[str, tuple[str, Shape]], outputs: dict[str, tuple[str, Shape]]
    ) -> None:
        self.random, self.outputs = random, outputs
        self.of = Expressions(random, inputs)
        self.names = 0
        self.budget = random.choice([2, 4, 8, 14])

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
        makers = [
            self.declaration,
            self.declaration,
            self.assignment,
            self.assignment,
            self.store,
            self.store,
            self.atomic,
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
            else self.of.expression(dtype, shape, self.random.choice([1, 2, 3]))
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

    # ------------------------------------------------------------------------------------ memory

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
        """An atomic add whose old values are kept in a variable."""
        name, dtype, shape, indices = self._place()
        if dtype not in ("i32", "i64", "u32", "u64"):
            return self.store(0)
        node = self.of.second(dtype, self.of._stretched(shape), 1)
        op = self.random.choice(["add", "max", "min", "xchg"])
        variable = Variable(self.fresh(), dtype, shape)
        place = f"{name}[{', '.join(['p', *(i.text for i in indices)])}]"
        text = f"let {variable.name} = atomic_{op}({place}, {node.text});"
        meaning = {"add": "+", "max": "maximum", "min": "minimum"}
        self.of.scope.append(variable)

        def combine(old: arithmetic.Number, new: arithmetic.Number) -> arithmetic.Number:
            return new if op == "xchg" else arithmetic.binary(meaning[op], old, new, dtype)

        def action(state: State) -> None:
            state.values[variable.name] = self._write(state, name, shape, indices, node, None, combine)

        return [text], action

    def _write(self, state: State, name: str, shape: Shape, indices: list[Node], node: Node, mask: Node | None,
               combine: Callable[[arithmetic.Number, arithmetic.Number], arithmetic.Number]) -> np.ndarray:  # fmt: skip
        """Combine every element in range with its new value; gives the old ones, 0 where there are none."""
        tensor = state.tensors[name][state.program]
        places = [np.atleast_1d(index.value(state)) for index in indices]
        values = np.broadcast_to(node.value(state), shape)
        allowed = np.broadcast_to(mask.value(state), shape) if mask else np.full(shape, True)
        old = np.full(shape, 0, dtype=object)
        for at in np.ndindex(shape):
            along = iter(at)
            place = tuple(
                spots[next(along) if index.shape else 0] for spots, index in zip(places, indices, strict=True)
            )
            if allowed[at] and all(0 <= i < n for i, n in zip(place, tensor.shape, strict=True)):
                old[at] = tensor[place]
                tensor[place] = combine(tensor[place], values[at])
        return old

    # ------------------------------------------------------------------------------------ control flow

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


FUNCTIONS = """\
fn mixed(a, b) { let d = a - b; return d * a; }
fn chosen(a, b) { var r = a; for _k in range(2) { r = maximum(r, b); } return r + b; }
"""


def _mixed(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    difference = each(lambda x, y: arithmetic.binary("-", x, y, dtype), a, b)
    return each(lambda x, y: arithmetic.binary("*", x, y, dtype), difference, a)


def _chosen(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    return each(
        lambda x, y: arithmetic.binary("+", arithmetic.binary("maximum", x, y, dtype), y, dtype), a, b
    )


def _values(random: Random, dtype: str, shape: Shape) -> np.ndarray:
    """Small numbers, extremes and random bits; a float input may hold infinities and NaN."""
    rng = np.random.default_rng(random.randrange(1 << 30))
    if dtype == "bool":
        return rng.random(shape) < 0.5
    target = NUMPY_DTYPES[dtype]
    if dtype in FLOATS:
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, 100.0, -2.5])
        small = rng.integers(-8, 8, shape) / 2
        return np.where(rng.random(shape) < 0.2, rng.choice(special, shape), small).astype(target)
    low, high = arithmetic.limits(dtype)
    bits = np.frombuffer(rng.bytes(int(np.prod(shape)) * BITS[dtype] // 8), target).reshape(shape)
    ends = rng.choice(np.array([low, high, low + 1, high - 1], dtype=target), shape)
    small = rng.integers(-6 if low else 0, 7, shape).astype(target)
    chosen = rng.integers(0, 10, shape)
    return np.where(chosen == 0, ends, np.where(chosen == 1, bits, small)).astype(target)


def _parameters(mode: str, tensors: dict[str, tuple[str, Shape]]) -> list[str]:
    """The tensors as a kernel's header declares them."""
    return [
        f"{mode}{name}: {dtype}[{', '.join(map(str, extents))}]" for name, (dtype, extents) in tensors.items()
    ]


def random_program(random: Random) -> Program:
    """A kernel over one tensor of each element type and rank it happens to draw, and its meaning."""
    inputs = {f"x{k}": (random.choice(DTYPES), EXTENTS[rank]) for k, rank in enumerate((1, 1, 2, 2, 3))}
    ranks = [random.choice([1, 1, 2]) for _ in range(random.randrange(1, 4))]
    outputs = {f"y{k}": (random.choice(DTYPES), (PROGRAMS, *EXTENTS[rank])) for k, rank in enumerate(ranks)}
    statements = Statements(random, {**inputs, "n": ("i32", (10,))}, outputs)
    statements.of.functions = {"mixed": _mixed, "chosen": _chosen} if random.randrange(3) == 0 else {}
    lines, action = statements.block(nesting=3)
    kept = {"kept_i": ("i64", (PROGRAMS, KEPT)), "kept_f": ("f64", (PROGRAMS, KEPT))}
    shapes = {"n": ("i32", (10,)), **inputs, **outputs, **kept}
    parameters = ["n: i32[N]", *_parameters("", inputs), *_parameters("inout ", outputs | kept)]
    head = f"kernel k({', '.join(parameters)}) grid ({PROGRAMS}) {{"
    text = "\n".join(
        [FUNCTIONS if statements.of.functions else "", head, "let p = program_id(0);", *lines, "}", ""]
    )
    return Program(
        text, {name: _values(random, dtype, shape) for name, (dtype, shape) in shapes.items()}, action
    )
