"""A `.tile` file -> a function that launches it on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import tilelang


def compile_kernel(path: Path, arguments: Mapping[str, object], metas: Mapping[str, int]) -> Callable[[], object]:
    """What runs the file's only kernel on these arguments, again and again. Tuning results are not used: a benchmark
    is of the metas that stand in it."""
    program = tilelang.load(path)
    (name,) = program.kernels
    return program[name].prepare(device="cpu", tuned=False, **arguments, **metas).run
