"""Random programs that read and write few small tensors in all ways, so that the order of memory accesses decides.

Elements and tiles, whole and shifted, plain, masked and atomic, in loops and branches. There are only additions and
selections of small numbers, which are exact in f32, whatever their order.

    program(random.Random(7)) -> a kernel `k` on three tensors of 8 to 10 elements, and one of 4 for results
"""

from __future__ import annotations

import random
from collections.abc import Callable

TENSORS = ("a", "b", "c")
MOST_NESTED = 2
HEAD = "kernel k(inout a: f32[N], inout b: f32[N], inout c: f32[N], inout z: f32[4]) grid (1) {"


def program(choose: random.Random) -> str:
    """The text of a program."""
    return _Writer(choose).kernel()


class _Writer:
    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.lines: list[str] = []
        self.scalars: list[str] = []
        self.tiles: list[str] = []
        self.count = 0

    def kernel(self) -> str:
        self.statements(self.choose.randrange(3, 12), 0)
        self.lines += [f"z[{self.choose.randrange(4)}] += {name};" for name in self.scalars[-3:]]
        self.lines += [f"c[0 +: 8] += {name};" for name in self.tiles[-2:]]
        return "\n".join((HEAD, *self.lines, "}\n"))

    # ---------------------------------------------------------------- places and values

    def element(self) -> str:
        return f"{self.choose.choice(TENSORS)}[{self.choose.randrange(9)}]"

    def slice(self) -> str:
        return f"{self.choose.choice(TENSORS)}[{self.choose.choice((0, 0, 0, 1, 2))} +: 8]"

    def scalar(self) -> str:
        return self.choose.choice(("0.5", "1.0", "2.0", *self.scalars))

    def tile(self) -> str:
        ways: list[Callable[[], str]] = [self.slice, self.slice, lambda: f"full([8], {self.scalar()}, f32)",
                                         lambda: f"({self.slice()} + {self.slice()})"]
        if self.tiles:
            ways += [lambda: self.choose.choice(self.tiles)] * 3
        return self.choose.choice(ways)()

    # ---------------------------------------------------------------- statements

    def statements(self, count: int, depth: int) -> None:
        """Some statements; what they define is known in their block alone."""
        scalars, tiles = len(self.scalars), len(self.tiles)
        for _ in range(count):
            nested = depth < MOST_NESTED and self.choose.random() < 0.1
            self.nested(depth) if nested else self.choose.choice(self.ways())()
        if depth:
            del self.scalars[scalars:], self.tiles[tiles:]

    def ways(self) -> list[Callable[[], None]]:
        """The kinds of simple statements."""
        sign = self.choose.choice(("=", "+="))
        return [
            lambda: self.let(self.scalars, self.element()), lambda: self.let(self.scalars, self.element()),
            lambda: self.let(self.scalars, f"sum({self.tile()}, axis=0)"),
            lambda: self.let(self.tiles, self.tile()), lambda: self.let(self.tiles, self.slice()),
            lambda: self.let(self.tiles, f"cumsum({self.tile()}, axis=0)"),
            lambda: self.let(self.tiles, f"atomic_add({self.slice()}, {self.tile()})"),
            lambda: self.lines.append(f"{self.element()} {sign} {self.scalar()};"),
            lambda: self.lines.append(f"{self.slice()} {sign} {self.tile()};"),
            lambda: self.lines.append(f"{self.slice()} {sign} {self.tile()};"),
            lambda: self.lines.append(f"{self.slice()} = {self.tile()} where ({self.tile()} > {self.scalar()});"),
            lambda: self.lines.append(f"atomic_add({self.slice()}, {self.tile()});"),
            lambda: self.lines.append(f"atomic_add({self.element()}, {self.scalar()});"),
        ]  # fmt: skip

    def let(self, kind: list[str], value: str) -> None:
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"let {name} = {value};")
        kind.append(name)

    def nested(self, depth: int) -> None:
        """A loop of few rounds, or a branch."""
        if self.choose.random() < 0.5:
            self.count += 1
            self.lines.append(f"for k{self.count} in range({self.choose.randrange(4)}) {{")
            self.lines.append(f"{self.choose.choice(TENSORS)}[k{self.count}] += {self.scalar()};")
        else:
            self.lines.append(f"if {self.scalar()} > {self.scalar()} {{")
        self.statements(self.choose.randrange(1, 4), depth + 1)
        self.lines.append("}")
