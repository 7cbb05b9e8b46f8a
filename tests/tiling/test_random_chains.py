"""Random programs around dots, so that tiles meet in many layouts: the machine model against the interpreter.

`TILEC_CHAINS=500 pytest -q tests/tiling/test_random_chains.py` tries more of them.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from tests.tiling.test_tensor_cores import agrees
from tests.tiling.test_tensor_cores import random as numbers

COUNT = int(os.environ.get("TILEC_CHAINS", "40"))
F16, F32 = np.float16, np.float32


class Program:
    """Writes statements on tiles [R, C] of f32, numbers for rows and for columns; values stay small."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.rows, self.columns = self.rng.choice(((64, 64), (64, 32), (128, 64), (32, 32), (16, 64)))
        self.warps = self.rng.choice((1, 2, 4, 8))
        self.lines: list[str] = []
        self.tiles, self.of_rows = ["zero"], ["none"]
        self.count = 0

    def text(self) -> str:
        self.dot()
        for _ in range(self.rng.randrange(2, 9)):
            self.statement()
        result = " + ".join(self.rng.sample(self.tiles[1:], min(len(self.tiles) - 1, 3)))
        out = self.rng.choice(("f16", "f32"))
        body = "\n".join(f"    {line}" for line in self.lines)
        return (f"kernel k[warps = {self.warps}](a: f16[M, 64], b: f16[64, 64], x: f32[M, 64], n: f32[64], v: f32[M],\n"
                f"         out c: {out}[M, {self.columns}]) grid (cdiv(M, {self.rows})) {{\n"
                f"    let rows = program_id(0) * {self.rows} +: {self.rows};\n    let cols = 0 +: {self.columns};\n"
                f"    let r = 0 +: 64;\n    let zero = zeros([{self.rows}, {self.columns}], f32);\n"
                f"    let none = v[rows];\n{body}\n    c[rows, cols] = ({result}) as {out};\n}}\n")

    def new(self, value: str, *, rows: bool = False) -> None:
        self.count += 1
        name = f"{'m' if rows else 's'}{self.count}"
        self.lines.append(f"let {name} = {value};")
        (self.of_rows if rows else self.tiles).append(name)

    def tile(self) -> str:
        return self.rng.choice(self.tiles)

    def statement(self) -> None:
        self.rng.choice((self.dot, self.elementwise, self.elementwise, self.elementwise, self.reduction, self.of_row,
                         self.scan, self.loop, self.branch, self.narrow))()

    def dot(self) -> None:
        if self.columns in (16, 32, 64) and self.rng.random() < 0.5 and len(self.tiles) > 1:
            depth = f"b[0 +: {self.columns}, cols]"
            self.new(f"dot(tanh({self.tile()}) as f16, {depth}, {self.tile()}) * 0.1")
        else:
            self.new(f"dot(a[rows, r], b[r, cols], {self.tile()}) * 0.1")

    def elementwise(self) -> None:
        one, two, row = self.tile(), self.tile(), self.rng.choice(self.of_rows)
        self.new(self.rng.choice((
            f"sigmoid({one})", f"{one} * 0.5 + {two}", f"{one} + x[rows, cols]", f"{one} * n[cols][None, :]",
            f"{one} - {row}[:, None] * 0.1", f"select({one} > {two}, {one}, {two} * 0.5)", f"maximum({one}, {two})",
            f"{one} + (rows[:, None] * 3 + cols[None, :] & 7) as f32", f"{one} + ({row} * 2.0 + 1.0)[:, None]")))

    def reduction(self) -> None:
        kind, axis = self.rng.choice(("max", "min", "sum")), self.rng.choice((1, 1, 0))
        scaled = f"{kind}({self.tile()} * 0.05, axis={axis})"
        if axis:
            self.new(scaled, rows=True)
        else:
            self.new(f"{self.tile()} + {scaled}[None, :]")

    def of_row(self) -> None:
        one, two = (self.rng.choice(self.of_rows) for _ in range(2))
        self.new(self.rng.choice((f"sigmoid({one})", f"{one} * 0.5 + {two}", f"maximum({one}, {two})",
                                  f"select({one} > 0.0, {one}, {two})")), rows=True)

    def scan(self) -> None:
        self.new(f"cumsum({self.tile()} * 0.01, axis={self.rng.choice((0, 1))}) + {self.tile()}")

    def narrow(self) -> None:
        self.new(f"({self.tile()} as f16) as f32")

    def loop(self) -> None:
        """A loop that carries a tile and numbers for rows."""
        self.count += 1
        tile, rows = f"s{self.count}", f"m{self.count}"
        product = f"dot(a[rows, k +: 16], b[k +: 16, cols], {tile})"
        step = self.rng.choice((
            f"{tile} = {product};", f"{tile} = {product} * 0.5;",
            f"{tile} = {tile} * sigmoid({rows})[:, None] + x[rows, cols];",
            f"let t = {product}; {rows} = maximum({rows}, max(t, axis=1)) * 0.5; {tile} = t - {rows}[:, None];",
            f"{rows} = {rows} * 0.5 + sum({tile} * 0.01, axis=1);"))
        self.lines += [f"var {tile} = {self.tile()};", f"var {rows} = {self.rng.choice(self.of_rows)};",
                       f"for k in range(0, 64, 16) {{ {step} }}"]
        self.tiles.append(tile)
        self.of_rows.append(rows)

    def branch(self) -> None:
        self.count += 1
        name = f"s{self.count}"
        self.lines += [f"var {name} = {self.tile()};",
                       f"if program_id(0) > 0 {{ {name} = {self.tile()} * 0.5; }} else {{ {name} = {name} + 1.0; }}"]
        self.tiles.append(name)


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_chains(seed: int) -> None:
    program = Program(seed)
    text, height = program.text(), 2 * program.rows - 5
    out = np.zeros((height, program.columns), F16 if f"out c: f16[M, {program.columns}]" in text else F32)
    arguments = (numbers(height, 64), numbers(64, 64, seed=1), numbers(height, 64, dtype=F32, seed=2),
                 numbers(64, dtype=F32, seed=3), numbers(height, dtype=F32, seed=4))
    target = random.Random(seed).choice(("sm_80", "sm_90a") if program.rows > 64 else ("sm_80", "sm_75", "sm_90a"))
    agrees(text, *arguments, out, rtol=1e-2, target=target)
