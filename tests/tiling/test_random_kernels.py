"""Random tile kernels: lowered, they give what the interpreter gives, and no two threads race.

A kernel is a handful of random ops on i32 tiles (integers: results must agree to the bit), nested in random loops and
branches; in the end every tile alive is stored.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.tiling.threads import GPU, SIMULATOR, lowered
from tilelang.dtypes import BOOL, I32
from tilelang.ir.access import Access, access_op
from tilelang.ir.core import Block, Kernel, TensorType, Value
from tilelang.ir.emit import Emitter
from tilelang.ir.interpreter import interpret
from tilelang.ir.verifier import verify
from tilelang.machine import execute
from tilelang.semantics.types import TileType

SHAPES = [(8,), (32,), (4, 8), (8, 4), (3, 5), (2, 3, 4), (1, 6), (16, 2), (40,), (64,)]
EXTENT = 64
SCALAR = TileType(I32)


class Writer:
    """Writes one random kernel."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.x = Value("x", TensorType(I32, (EXTENT, EXTENT)))
        self.y = Value("y", TensorType(I32, (EXTENT, EXTENT), "inout"))
        self.emit = Emitter(("x", "y"))

    def kernel(self) -> Kernel:
        values = [self.emit.const(self.random.randint(1, 3), SCALAR), self.load(self.random.choice(SHAPES))]
        values = self.ops(values, 10, 2)
        for value in values[-8:]:
            self.store(value)
        return Kernel("k", (self.x, self.y), (), Block((), tuple(self.emit.ops)), attrs={"warps": 1})

    # ---------------------------------------------------------------- pieces

    def pick(self, values: Sequence[Value], rank: int | None = None) -> Value:
        fitting = [v for v in values if v.dtype == I32 and (v.shape if rank is None else len(v.shape) == rank)]
        if not fitting:
            return self.load((4, 8) if rank == 2 else (32,))
        return self.random.choice(fitting)

    def index(self, extent: int) -> Value:
        start = self.emit.const(self.random.randint(-2, EXTENT - 2), SCALAR)
        return self.emit.op("add", self.emit.iota(extent, I32), self.emit.broadcast(start, (extent,)))

    def load(self, shape: tuple[int, ...], tensor: Value | None = None) -> Value:
        """A tile of two axes, reshaped."""
        size = int(np.prod(shape))
        fitting = [n for n in range(1, EXTENT + 1) if size % n == 0 and size // n <= EXTENT]
        rows = self.random.choice(fitting)
        parts = Access(tensor or self.x, (self.index(rows), self.index(size // rows)), checked=(True, True))
        value = self.emit.value("v", TileType(I32, (rows, size // rows)))
        self.emit.append(access_op("load", parts, (value,)))
        return self.emit.reshape(value, shape)

    def store(self, value: Value) -> None:
        size = int(np.prod(value.shape))
        rows = 1 if size <= EXTENT else 2
        if size // rows > EXTENT or size % rows:
            return
        flat = self.emit.reshape(value, (rows, size // rows))
        parts = Access(self.y, (self.index(rows), self.index(size // rows)), flat, checked=(True, True))
        self.emit.append(access_op("store", parts))

    # ---------------------------------------------------------------- ops

    def ops(self, values: list[Value], count: int, depth: int) -> list[Value]:
        values = list(values)
        for _ in range(count):
            choices = [self.elementwise, self.elementwise, self.reduce, self.scan, self.permute, self.reshape, self.cat,
                       self.broadcast, self.dot, self.memory, self.gather]
            if depth:
                choices += [self.loop, self.branch, self.while_loop]
            values += self.random.choice(choices)(values, depth)
        return values

    def elementwise(self, values: list[Value], depth: int) -> list[Value]:
        a = self.pick(values)
        same = [v for v in values if v.type == a.type]
        b = self.random.choice(same)
        name = self.random.choice(["add", "sub", "mul", "maximum", "minimum", "and", "xor"])
        return [self.emit.op(name, a, b)]

    def reduce(self, values: list[Value], depth: int) -> list[Value]:
        a = self.pick(values)
        count = self.random.randint(1, len(a.shape))
        axes = tuple(sorted(self.random.sample(range(len(a.shape)), count)))
        kind = self.random.choice(["sum", "max", "min"] + ["argmax"] * (count == 1))
        return [self.emit.op("reduce", a, axes=axes, kind=kind)]

    def scan(self, values: list[Value], depth: int) -> list[Value]:
        a = self.pick(values)
        return [self.emit.op("scan", a, axis=self.random.randrange(len(a.shape)), kind="sum",
                             reverse=self.random.random() < 0.5)]

    def permute(self, values: list[Value], depth: int) -> list[Value]:
        a = self.pick(values)
        axes = list(range(len(a.shape)))
        self.random.shuffle(axes)
        return [self.emit.op("permute", a, axes=tuple(axes))]

    def reshape(self, values: list[Value], depth: int) -> list[Value]:
        a = self.pick(values)
        size = int(np.prod(a.shape))
        rows = self.random.choice([n for n in range(1, size + 1) if size % n == 0])
        return [self.emit.reshape(a, (rows, size // rows))]

    def cat(self, values: list[Value], depth: int) -> list[Value]:
        a = self.pick(values)
        if int(np.prod(a.shape)) > 256:
            return []
        return [self.emit.op("cat", a, self.random.choice([v for v in values if v.type == a.type]),
                             axis=self.random.randrange(len(a.shape)))]

    def broadcast(self, values: list[Value], depth: int) -> list[Value]:
        a = self.random.choice([self.pick(values), self.random.choice(values)])
        if len(a.shape) > 2 or int(np.prod(a.shape)) > 128:
            return []
        return [self.emit.broadcast(a, (self.random.randint(1, 3), *a.shape))]

    def dot(self, values: list[Value], depth: int) -> list[Value]:
        a = self.pick(values, 2)
        if int(np.prod(a.shape)) > 128:
            return []
        b = self.emit.op("permute", a, axes=(1, 0))
        type = TileType(I32, (a.shape[0], a.shape[0]))
        known = [v for v in values if v.type == type]
        acc = self.random.choice(known) if known else self.load(type.shape)  # type: ignore[arg-type]
        return [self.emit.op("dot", a, b, acc, tf32=False)]

    def memory(self, values: list[Value], depth: int) -> list[Value]:
        """Write a tile, and read what may overlap it."""
        self.store(self.pick(values))
        return [self.load(self.random.choice(SHAPES), self.y)]

    def gather(self, values: list[Value], depth: int) -> list[Value]:
        index = self.pick(values)
        parts = Access(self.x, (index, index), pointwise=True, checked=(True, True))
        value = self.emit.value("g", index.type)
        self.emit.append(access_op("load", parts, (value,)))
        return [value]

    # ---------------------------------------------------------------- control

    def carried(self, values: list[Value]) -> list[Value]:
        return [self.random.choice(values) for _ in range(self.random.randint(0, 3))]

    def handed(self, values: list[Value], inits: Sequence[Value]) -> list[Value]:
        """For each carried value one of its type: often another carried one, so that they change places."""
        return [self.random.choice([v for v in values if v.type == init.type]) for init in inits]

    def loop(self, values: list[Value], depth: int) -> list[Value]:
        inits = self.carried(values)
        lo, hi, one = (self.emit.const(n, SCALAR) for n in (0, self.random.randint(0, 3), 1))
        with self.emit.block(("k", SCALAR), *(("c", v.type) for v in inits)) as body:
            inner = self.ops([*values, *body.args, *body.args[1:]], 3, depth - 1)
            self.emit.terminate("yield", *self.handed(inner, inits))
        return list(self.emit.structured("for", (lo, hi, one, *inits), (body.close(),)))

    def while_loop(self, values: list[Value], depth: int) -> list[Value]:
        inits = [self.emit.const(0, SCALAR), *self.carried(values)]
        limit = self.emit.const(self.random.randint(0, 2), SCALAR)
        types = [(f"w{n}", v.type) for n, v in enumerate(inits)]
        with self.emit.block(*types) as test:
            inner = self.ops([*values, *test.args], 1, 0)
            go = self.emit.op("lt", test.args[0], limit)
            self.emit.terminate("condition", go, test.args[0], *self.handed([*inner, *test.args], inits[1:]))
        with self.emit.block(*types) as body:
            inner = self.ops([*values, *body.args], 2, depth - 1)
            step = self.emit.op("add", body.args[0], self.emit.const(1, SCALAR))
            self.emit.terminate("yield", step, *self.handed(inner, inits[1:]))
        return list(self.emit.structured("while", inits, (test.close(), body.close())))[1:]

    def branch(self, values: list[Value], depth: int) -> list[Value]:
        scalars = [v for v in values if not v.shape and v.dtype == I32]
        condition = self.emit.op("lt", self.random.choice(scalars), self.emit.const(2, SCALAR))
        assert condition.dtype == BOOL
        results = self.carried(values)
        blocks = []
        for _ in range(2):
            with self.emit.block() as block:
                inner = self.ops(values, 2, depth - 1)
                self.emit.terminate("yield", *self.handed(inner, results))
            blocks.append(block.close())
        return list(self.emit.structured("if", (condition,), blocks))


@pytest.mark.parametrize("seed", range(100))
def test_random_kernel(seed):
    kernel = Writer(seed).kernel()
    verify(kernel)
    x = np.random.default_rng(seed).integers(-5, 70, (EXTENT, EXTENT)).astype(np.int32)
    wanted = np.arange(EXTENT * EXTENT, dtype=np.int32).reshape(EXTENT, EXTENT)
    given = wanted.copy()
    interpret(kernel, {"x": x, "y": wanted}, {}, (1,))
    for target in (GPU, SIMULATOR):
        got = given.copy()
        report = execute(lowered(kernel, target), {"x": x, "y": got}, {}, (1,))
        assert not report.findings, str(report.findings[0])
        np.testing.assert_array_equal(got, wanted, target.name)
