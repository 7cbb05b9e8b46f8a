"""A `.tile` file -> a function that launches it on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tilelang

STAGES = ("tilelang.syntax.parsing", "tilelang.semantics.check", "tilelang.ir.build", "tilelang.passes",
          "tilelang.codegen.cpu", "tilelang.runtime.program", "tilelang.runtime.cpu")
"""The rooms that compiling for the CPU imports, one after the other, when it first gets there."""


def compile_kernel(path: Path, arguments: Mapping[str, object], metas: Mapping[str, int]) -> Callable[[], object]:
    """What runs the file's only kernel on these arguments, again and again. Tuning results are not used: a benchmark
    is of the metas that stand in it."""
    program = tilelang.load(path)
    (name,) = program.kernels
    return program[name].prepare(device="cpu", tuned=False, **arguments, **metas).run


def compile_text(text: str, **arguments: Any) -> Callable[[], object]:
    """The same for the only kernel of a text."""
    program = tilelang.compile(text)
    (name,) = program.kernels
    return program[name].prepare(device="cpu", **arguments).run
