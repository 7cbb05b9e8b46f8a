"""Random kernels full of branches and loops: all programs together must do what each does alone.

The kernels are written with the `Emitter`, so they also show that what it emits passes the verifier and the
text form.
"""

from __future__ import annotations

import numpy as np
import pytest

from tilelang.dtypes import I32, I64
from tilelang.ir.batch import Frame
from tilelang.ir.core import Block, Kernel, TensorType, Value
from tilelang.ir.emit import Emitter
from tilelang.ir.interpreter import StepLimitReached, interpret
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel
from tilelang.ir.verifier import verify
from tilelang.semantics.types import TileType

PROGRAMS, WIDTH = 7, 3
SCALAR, TILE, INDEX = TileType(I32), TileType(I32, (WIDTH,)), TileType(I64)
CHECKED = (True, True)


class Writer:
    """Writes random statements; `scalars` and `tiles` are the i32 values in sight."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.y = Value("y", TensorType(I32, (PROGRAMS, WIDTH), "inout"))
        self.log = Value("log", TensorType(I32, (PROGRAMS, 64), "inout"))
        self.emit = Emitter(["y", "log"])
        self.program = self.emit.op("program_id", hint="p", axis=0)
        self.scalars = [
            self.emit.cast(self.program, I32),
            self.emit.const(2, SCALAR),
            self.emit.const(-3, SCALAR),
        ]
        self.tiles = [self.emit.iota(WIDTH, I32), self.emit.broadcast(self.scalars[0], (WIDTH,))]

    def pick(self, values: list[Value]) -> Value:
        return values[self.rng.integers(len(values))]

    def condition(self) -> Value:
        a, b = self.pick(self.scalars), self.pick(self.scalars)
        mixed = self.emit.op("mod", self.emit.op("xor", a, b), self.emit.const(3, SCALAR))
        return self.emit.op(str(self.rng.choice(["eq", "ne", "lt"])), mixed, self.emit.const(1, SCALAR))

    def statements(self, depth: int) -> None:
        for _ in range(self.rng.integers(2, 6)):
            kinds = [self.compute, self.compute, self.store, self.load, self.count]
            kinds += [self.branch, self.loop, self.repeat] * (depth < 3)
            kinds[self.rng.integers(len(kinds))](depth)

    def compute(self, depth: int) -> None:
        emit, name = (
            self.emit,
            str(self.rng.choice(["add", "sub", "mul", "xor", "maximum", "floordiv", "shr"])),
        )
        if self.rng.random() < 0.5:
            self.scalars.append(emit.op(name, self.pick(self.scalars), self.pick(self.scalars)))
            return
        a, b = self.pick(self.tiles), self.pick(self.tiles)
        if self.rng.random() < 0.4:
            b = emit.broadcast(self.pick(self.scalars), (WIDTH,))
        self.tiles.append(emit.op(name, a, b))
        if self.rng.random() < 0.4:
            self.scalars.append(emit.op("reduce", self.pick(self.tiles), kind="sum", axes=(0,)))
        if self.rng.random() < 0.3:
            self.tiles.append(emit.op("scan", self.pick(self.tiles), kind="sum", axis=0, reverse=True))

    def access(self) -> tuple[Value, ...]:
        """A row of this program: no two programs meet, so their order cannot matter."""
        return self.y, self.program, self.emit.iota(WIDTH, I64)

    def store(self, depth: int) -> None:
        self.emit.effect(
            "store", *self.access(), self.pick(self.tiles), pointwise=False, mask=False, checked=CHECKED
        )

    def load(self, depth: int) -> None:
        value = self.emit.op(
            "load", *self.access(), pointwise=False, mask=False, other=False, checked=CHECKED
        )
        self.tiles.append(value)

    def count(self, depth: int) -> None:
        """An atomic on the program's own cell."""
        zero = self.emit.const(0, INDEX)
        old = self.emit.op(
            "atomic",
            self.log,
            self.program,
            zero,
            self.pick(self.scalars),
            kind="add",
            pointwise=False,
            mask=False,
            checked=CHECKED,
        )
        self.scalars.append(old)

    def inside(self, depth: int, extra: tuple[Value, ...] = ()) -> tuple[Value, Value]:
        """Statements of a block; a scalar and a tile to hand over. What it defines is forgotten outside."""
        scalars, tiles = list(self.scalars), list(self.tiles)
        for value in extra:
            (self.tiles if value.shape else self.scalars).append(value)
        self.statements(depth + 1)
        handed = self.pick(self.scalars[-3:]), self.pick(self.tiles[-3:])
        self.scalars, self.tiles = scalars, tiles
        return handed

    def keep(self, results: tuple[Value, ...]) -> None:
        self.scalars.append(results[0])
        self.tiles.append(results[1])

    def branch(self, depth: int) -> None:
        condition, blocks = self.condition(), []
        for _ in range(2):
            with self.emit.block() as block:
                self.emit.terminate("yield", *self.inside(depth))
            blocks.append(block.close())
        self.keep(self.emit.structured("if", (condition,), blocks))

    def loop(self, depth: int) -> None:
        emit = self.emit
        lo, hi = (emit.op("mod", self.pick(self.scalars), emit.const(4, SCALAR)) for _ in range(2))
        step = emit.const(int(self.rng.choice([-2, -1, 1, 2])), SCALAR)
        with emit.block(("k", SCALAR), ("s", SCALAR), ("t", TILE)) as block:
            emit.terminate("yield", *self.inside(depth, block.args))
        inits = self.pick(self.scalars), self.pick(self.tiles)
        self.keep(emit.structured("for", (lo, hi, step, *inits), (block.close(),)))

    def repeat(self, depth: int) -> None:
        """`while` with a counter of its own, so that it ends."""
        emit = self.emit
        trips = emit.op("mod", self.pick(self.scalars), emit.const(5, SCALAR))
        carried = ("n", SCALAR), ("s", SCALAR), ("t", TILE)
        with emit.block(*carried) as test:
            n, *rest = test.args
            more = emit.op("gt", n, emit.const(0, SCALAR))
            emit.terminate("condition", more, n, *rest)
        with emit.block(*carried) as body:
            n, *rest = body.args
            scalar, tile = self.inside(depth, tuple(rest))
            emit.terminate("yield", emit.op("sub", n, emit.const(1, SCALAR)), scalar, tile)
        inits = trips, self.pick(self.scalars), self.pick(self.tiles)
        results = emit.structured("while", inits, (test.close(), body.close()))
        self.keep(results[1:])

    def kernel(self) -> Kernel:
        self.statements(0)
        self.store(0)
        for number, scalar in enumerate(self.scalars[:60]):
            column = self.emit.const(number + 1, INDEX)
            self.emit.effect(
                "store", self.log, self.program, column, scalar, pointwise=False, mask=False, checked=CHECKED
            )
        return Kernel("random", (self.y, self.log), (), Block((), tuple(self.emit.ops)))


@pytest.mark.parametrize("seed", range(100))
def test_programs_together_do_what_each_does_alone(seed: int) -> None:
    kernel = Writer(seed).kernel()
    verify(kernel)
    assert parse_kernel(print_kernel(kernel)) == kernel
    outcomes = []
    for batch in (1, 3, PROGRAMS):
        y = np.arange(PROGRAMS * WIDTH, dtype=np.int32).reshape(PROGRAMS, WIDTH)
        log = np.zeros((PROGRAMS, 64), np.int32)
        try:
            interpret(kernel, {"y": y, "log": log}, {}, (PROGRAMS,), batch=batch, max_steps=20_000)
        except StepLimitReached:
            pytest.fail("a random kernel should be small")
        outcomes.append((y, log))
    for y, log in outcomes[1:]:
        assert np.array_equal(y, outcomes[0][0]) and np.array_equal(log, outcomes[0][1])


def test_random_kernels_do_diverge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above is worth something: in most kernels programs part, in many they part again inside."""
    depths: list[int] = []
    part = Frame.part

    def watched(frame: Frame, positions: np.ndarray) -> Frame:
        depths.append(1 if frame.parent is None else 2)
        return part(frame, positions)

    monkeypatch.setattr(Frame, "part", watched)
    deepest = []
    for seed in range(100):
        depths.clear()
        arrays = {"y": np.zeros((PROGRAMS, WIDTH), np.int32), "log": np.zeros((PROGRAMS, 64), np.int32)}
        interpret(Writer(seed).kernel(), arrays, {}, (PROGRAMS,))
        deepest.append(max(depths, default=0))
    assert sum(d >= 1 for d in deepest) > 50
    assert sum(d == 2 for d in deepest) > 25
