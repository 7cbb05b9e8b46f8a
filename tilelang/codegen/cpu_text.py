"""Python text: lines that nest, names that cannot clash, numbers and comments that cannot be misread.

Nothing of a `.tile` file becomes code here but identifiers that went through `Names`; its lines appear in
comments only, with every character escaped that could end one.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator

from tilelang.dtypes import DType
from tilelang.ir.host_types import python_number, scalar

INDENT = "    "


class Lines:
    """Lines of Python, some of which open an indented block."""

    def __init__(self) -> None:
        self._items: list[str | tuple[str, Lines]] = []

    def add(self, line: str) -> None:
        self._items.append(line)

    def nest(self, header: str) -> Lines:
        """Open `header:` and return its body."""
        body = Lines()
        self._items.append((header, body))
        return body

    def extend(self, other: Lines) -> None:
        self._items.extend(other._items)

    @property
    def empty(self) -> bool:
        """True if there is nothing to execute."""
        return all(isinstance(item, str) and item.startswith("#") for item in self._items)

    def depth(self) -> tuple[int, int]:
        """(levels of indentation, loops) at the deepest place of each."""
        levels = loops = 0
        for item in self._items:
            if not isinstance(item, str):
                header, body = item
                inner_levels, inner_loops = body.depth()
                levels = max(levels, inner_levels + 1)
                loops = max(loops, inner_loops + header.startswith(("for ", "while ")))
        return levels, loops

    def render(self, depth: int = 0) -> Iterator[str]:
        pad = INDENT * depth
        for item in self._items:
            if isinstance(item, str):
                yield pad + item
                continue
            header, body = item
            yield f"{pad}{header}:"
            yield from body.render(depth + 1)
            if body.empty:
                yield f"{pad}{INDENT}pass"


class Names:
    """Hands out Python names, each once: the wanted one if it is free, else with a number behind it."""

    def __init__(self, reserved: Iterable[str]):
        self._taken = {*reserved, *keyword.kwlist, *keyword.softkwlist, *dir(builtins)}

    def fresh(self, wanted: str) -> str:
        """A name like `wanted`, which may be any text."""
        stem = re.sub(r"[^A-Za-z0-9_]", "_", wanted)[:40]
        if not stem or stem[0].isdigit() or stem.startswith("__"):
            stem = f"v{stem}"
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name


def comment(text: str) -> str:
    """`text` behind a `#`, on one line whatever it holds."""
    return "# " + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def literal(value: int | float | bool, dtype: DType) -> str:
    """A constant of one element type; a half float is rounded now and held as f32, as in registers."""
    if dtype.is_bool:
        return "True" if value else "False"
    if dtype.is_integer:
        number = str(int(value))
        if dtype.name == "i64":
            return f"({number})" if int(value) < 0 else number
        return f"{dtype}({number})"
    if dtype.name in ("f16", "bf16"):
        value = python_number(scalar(value, dtype).astype("float64"))
    return f"{'f64' if dtype.bits == 64 else 'f32'}({float(value)!r})"
