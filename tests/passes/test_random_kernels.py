"""Random kernels: after `optimize` they leave the same bits in memory as before.

Programs work on rows of their own, so that their order does not matter. Constants are drawn from the values that
identities care about (0, 1, -1, -0.0, inf, nan), so that the rules apply often.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.corpus import assert_identical
from tilelang.dtypes import BOOL, F32, I8, I32, I64, DType
from tilelang.ir.access import Access, access_op
from tilelang.ir.core import Block, Kernel, TensorType, Value
from tilelang.ir.emit import Emitter
from tilelang.ir.interpreter import interpret
from tilelang.ir.printer import print_kernel
from tilelang.ir.verifier import verify
from tilelang.passes import PASSES, optimize
from tilelang.semantics.types import TileType

WIDTH = 8
ROWS = 5
SHAPES: tuple[tuple[int, ...], ...] = ((), (WIDTH,), (WIDTH, 1), (1, WIDTH), (2, 4))
DTYPES = (BOOL, I8, I32, I64, F32)
NUMBERS: dict[DType, tuple] = {
    BOOL: (True, False), I8: (0, 1, -1, 127, 5), I32: (0, 1, -1, 2, 7, 2**31 - 1), I64: (0, 1, -1, 3, 8),
    F32: (0.0, -0.0, 1.0, -1.0, 2.0, float("inf"), float("nan"))}
INTEGER = ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "shl", "shr", "maximum", "minimum")
FLOAT = ("add", "sub", "mul", "div", "maximum", "minimum")


@dataclass
class Writer:
    """Writes a random kernel; `pool` holds the values that are in scope."""

    rng: random.Random
    out: Emitter = field(default_factory=Emitter)
    pool: list[Value] = field(default_factory=list)
    depth: int = 0

    def kernel(self, size: int) -> Kernel:
        dims = tuple(self.out.value(name, TileType(I64)) for name in ("M", "N"))
        self.x = self.out.value("x", TensorType(F32, ("M", "N")))
        self.y = self.out.value("y", TensorType(F32, ("M", "N"), "inout"))
        self.w = self.out.value("w", TensorType(I32, ("M", WIDTH), "inout"))
        scalars = [self.out.value("n", TileType(I32)), self.out.value("s", TileType(F32))]
        with self.out.block() as body:
            self.row = self.out.op("program_id", axis=0)
            self.pool = [*dims, *scalars, self.row, self.out.iota(WIDTH, I32), self.out.iota(WIDTH, I64)]
            self.statements(size)
            for value in self.pool[-6:]:
                self.write(value)
        return Kernel("k", (self.x, self.y, self.w, *scalars), dims, Block((), tuple(body.ops)),
                      attrs={"grid.0": "M"})

    def statements(self, size: int) -> None:
        actions = [self.elementwise] * 8 + [self.constant, self.cast, self.shape, self.select, self.reduce]
        actions += [self.load] * 3 + [self.store] * 2 + ([self.branch, self.loop] if self.depth < 2 else [])
        for _ in range(size):
            self.rng.choice(actions)()

    def pick(self, dtype: DType, shape: tuple[int, ...]) -> Value:
        """A value of this type: one in scope, or made for it."""
        fitting = [v for v in self.pool if v.dtype == dtype and v.shape == shape]
        if fitting and self.rng.random() < 0.8:
            return self.rng.choice(fitting)
        narrow = [v for v in self.pool if v.dtype == dtype and not v.shape]
        if narrow and self.rng.random() < 0.5:
            return self.out.broadcast(self.rng.choice(narrow), shape)
        return self.out.const(self.rng.choice(NUMBERS[dtype]), TileType(dtype, shape))

    def any_type(self) -> tuple[DType, tuple[int, ...]]:
        value = self.rng.choice(self.pool)
        return value.dtype, value.shape

    # --- ops -------------------------------------------------------------------------------------

    def elementwise(self) -> None:
        dtype, shape = self.any_type()
        a, b = self.pick(dtype, shape), self.pick(dtype, shape)
        names = {BOOL: ("and", "or", "xor", "eq", "ne", "not")}.get(dtype, INTEGER if dtype.is_integer else FLOAT)
        if not dtype.is_bool:
            names = (*names, "neg", "abs", "sign", "lt", "le", "gt", "ge", "eq", "ne")
        name = self.rng.choice(names)
        operands = (a,) if name in ("not", "neg", "abs", "sign") else (a, b)
        self.pool.append(self.out.op(name, *operands))

    def constant(self) -> None:
        dtype = self.rng.choice(DTYPES)
        kind = TileType(dtype, self.rng.choice(SHAPES))
        self.pool.append(self.out.const(self.rng.choice(NUMBERS[dtype]), kind))

    def cast(self) -> None:
        self.pool.append(self.out.cast(self.rng.choice(self.pool), self.rng.choice(DTYPES)))

    def shape(self) -> None:
        value = self.rng.choice(self.pool)
        shapes = [s for s in SHAPES if np.prod(s, dtype=int) == np.prod(value.shape, dtype=int)]
        self.pool.append(self.out.reshape(value, self.rng.choice(shapes or [value.shape])))
        if len(value.shape) == 2:
            self.pool.append(self.out.op("permute", value, axes=(1, 0)))
        if not value.shape:
            self.pool.append(self.out.broadcast(value, self.rng.choice(SHAPES)))

    def select(self) -> None:
        dtype, shape = self.any_type()
        condition = self.pick(BOOL, shape)
        self.pool.append(self.out.op("select", condition, self.pick(dtype, shape), self.pick(dtype, shape)))

    def reduce(self) -> None:
        wide = [v for v in self.pool if v.shape and v.dtype.is_integer]
        if wide:
            kind = self.rng.choice(("sum", "max", "min", "argmax"))
            self.pool.append(self.out.op("reduce", self.rng.choice(wide), kind=kind, axes=(0,)))

    # --- memory ----------------------------------------------------------------------------------

    def place(self) -> tuple[Value, Value, Value]:
        """A tensor, this program's row of it, and distinct columns, partly outside."""
        tensor = self.rng.choice((self.x, self.y, self.w))
        start = self.out.const(self.rng.choice((0, 0, 0, 1, -2, 3)), TileType(I32, (WIDTH,)))
        return tensor, self.row, self.out.op("add", self.out.iota(WIDTH, I32), start)

    def mask(self, columns: Value) -> Value | None:
        choice = self.rng.random()
        if choice < 0.5:
            return None
        if choice < 0.75:
            return self.pick(BOOL, (WIDTH,))
        bound = self.out.broadcast(self.pool[1], (WIDTH,))
        return self.out.op(self.rng.choice(("lt", "le", "ge")), self.out.cast(columns, I64), bound)

    def load(self) -> None:
        tensor, row, columns = self.place()
        other = self.pick(tensor.dtype, (WIDTH,)) if self.rng.random() < 0.4 else None
        parts = Access(tensor, (row, columns), mask=self.mask(columns), other=other, checked=(True, True))
        result = self.out.value("load", TileType(tensor.dtype, (WIDTH,)))
        self.out.append(access_op("load", parts, (result,)))
        self.pool.append(result)
        if self.rng.random() < 0.5:
            fallback = self.pick(tensor.dtype, (WIDTH,))
            self.pool.append(self.out.op("select", self.pick(BOOL, (WIDTH,)), result, fallback))
        if self.rng.random() < 0.3 and tensor != self.x:
            value = self.out.op("select", self.pick(BOOL, (WIDTH,)), self.pick(tensor.dtype, (WIDTH,)), result)
            parts = Access(tensor, (row, columns), value=value, checked=(True, True))
            self.out.append(access_op("store", parts))

    def store(self) -> None:
        self.write(self.pick(self.rng.choice((F32, I32)), (WIDTH,)))

    def write(self, value: Value) -> None:
        """Store any value somewhere in this program's row."""
        tensor = self.y if value.dtype.is_float else self.w
        _, row, columns = self.place()
        wide = self.out.cast(value, tensor.dtype)
        if np.prod(value.shape, dtype=int) == WIDTH:
            wide = self.out.reshape(wide, (WIDTH,))
        elif not value.shape:
            wide = self.out.broadcast(wide, (WIDTH,))
        else:
            return
        parts = Access(tensor, (row, columns), value=wide, mask=self.mask(columns), checked=(True, True))
        self.out.append(access_op("store", parts))

    # --- control flow ----------------------------------------------------------------------------

    def nested(self, carried: list[Value], size: int) -> None:
        """Statements of a block, and a yield of new values of the carried types."""
        self.depth += 1
        scope = list(self.pool)
        self.statements(size)
        self.out.terminate("yield", *(self.pick(v.dtype, v.shape) for v in carried))
        self.pool = scope
        self.depth -= 1

    def branch(self) -> None:
        like = self.rng.sample(self.pool, 2)
        condition = self.pick(BOOL, ())
        blocks = []
        for _ in range(2):
            with self.out.block() as block:
                self.nested(like, self.rng.randrange(1, 6))
            blocks.append(block.close())
        self.pool.extend(self.out.structured("if", (condition,), blocks))

    def loop(self) -> None:
        dtype = self.rng.choice((I32, I64))
        bounds = [self.out.const(self.rng.choice(choices), TileType(dtype))
                  for choices in ((0, 1, 5, -2), (0, 1, 3, 8), (1, 2, -1, 4))]
        inits = self.rng.sample(self.pool, 2)
        with self.out.block(("k", TileType(dtype)), *((v.name, v.type) for v in inits)) as block:
            before = list(self.pool)
            self.pool.extend(block.args)
            self.nested(inits, self.rng.randrange(1, 7))
            self.pool = before
        self.pool.extend(self.out.structured("for", (*bounds, *inits), (block.close(),)))


def memory(kernel: Kernel, seed: int) -> dict[str, np.ndarray]:
    """What the kernel leaves in memory."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(5, 11))
    specials = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 3.25], np.float32)
    arguments = {"x": rng.choice(specials, (ROWS, columns)), "y": rng.choice(specials, (ROWS, columns)),
                 "w": rng.integers(-9, 9, (ROWS, WIDTH)).astype(np.int32)}
    scalars = {"n": int(rng.integers(-3, 9)), "s": float(rng.choice(specials))}
    interpret(kernel, {**arguments, **scalars}, {"M": ROWS, "N": columns}, (ROWS,))
    return arguments


@pytest.mark.parametrize("seed", range(50))
def test_optimised_kernels_leave_the_same_memory(seed: int) -> None:
    kernel = Writer(random.Random(seed)).kernel(size=30)
    verify(kernel)
    wanted = memory(kernel, seed)
    steps = {"all": optimize(kernel), **{name: run(kernel) for name, run in PASSES}}
    for name, result in steps.items():
        verify(result)
        try:
            assert_identical(memory(result, seed), wanted, name)
        except AssertionError as wrong:
            raise AssertionError(f"{wrong}\n{print_kernel(kernel)}\n{print_kernel(result)}") from None
