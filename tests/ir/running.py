"""Helpers of the interpreter's tests: kernels as IR text, run in batches of several sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilelang.dtypes import DTYPES
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.interpreter import interpret
from tilelang.ir.parser import parse_kernel
from tilelang.ir.verifier import verify


def at(*checked: bool, mask: bool = False, other: bool | None = None, pointwise: bool = False) -> str:
    """The attributes of a memory op (without braces); `other` None for stores."""
    flags = ", ".join("true" if c else "false" for c in checked) + ("," if len(checked) == 1 else "")
    extra = "" if other is None else f", other = {str(other).lower()}"
    return f"checked = ({flags}), mask = {str(mask).lower()}, pointwise = {str(pointwise).lower()}{extra}"


def ld(*checked: bool, **options: bool) -> str:
    return "{" + at(*checked, **{"other": False, **options}) + "}"  # type: ignore[arg-type]


def st(*checked: bool, **options: bool) -> str:
    return "{" + at(*checked, **options) + "}"  # type: ignore[arg-type]


def run(
    header: str, body: str, grid: Sequence[int] = (1,), dims: dict[str, int] | None = None, **args
) -> None:
    """Run with all programs together, two at a time and one at a time: the results must be the same bits."""
    names = ", ".join(f"%{d}" for d in dims or {})
    kernel = parse_kernel(f"kernel @k({header}) dims({names}) tile {{\n{body}\n}}\n")
    verify(kernel)
    versions = []
    for batch in (1, 2, None):
        # Copies keep a view's strides, a zero stride included.
        mine = {k: _copy_like(v) if isinstance(v, np.ndarray) else v for k, v in args.items()}
        interpret(kernel, mine, dims or {}, tuple(grid), batch=batch)
        versions.append(mine)
    for name, array in args.items():
        if isinstance(array, np.ndarray):
            for version in versions[1:]:
                assert version[name].tobytes() == versions[0][name].tobytes(), f"{name} depends on the batch"
            if array.flags.writeable:
                array[...] = versions[-1][name]


def _copy_like(array: np.ndarray) -> np.ndarray:
    if 0 in array.strides and array.size:
        return array  # a broadcast view, only read
    copy = np.empty_like(array.copy("K"), order="K")
    view = copy[(..., *(slice(None, None, -1 if s < 0 else 1) for s in array.strides))]
    view[...] = array
    return view


def shaped(body: str, shape: tuple[int, ...], programs: int = 3, result: str = "%r") -> np.ndarray:
    """Run `body`, which has %p (the program's id, i32) and %u (7), and return %r of every program."""
    y = np.full((programs, int(np.prod(shape))), -99, np.int32)
    size = y.shape[1]
    run(
        f"%y: out i32[{programs}, {size}]",
        f"""
      %p64: i64 = program_id {{axis = 0}}
      %p: i32 = cast %p64
      %u: i32 = const {{value = 7}}
      {body}
      %flat: i32[{size}] = reshape {result}
      %all: i32[{size}] = iota
      store %y, %p, %all, %flat {st(True, True)}
    """,
        (programs,),
        y=y,
    )
    return y.reshape(programs, *shape)


def per_program(body: str, programs: int = 6, result: str = "i64") -> list[int]:
    """Run `body`, which has %p (i64) and constants %c0 to %c5, and return %r of every program."""
    y = np.full(programs, -99, numpy_dtype(DTYPES[result]))
    constants = "\n".join(f"%c{i}: i64 = const {{value = {i}}}" for i in range(6))
    run(
        f"%y: out {result}[{programs}]",
        f"""
      %p: i64 = program_id {{axis = 0}}
      {constants}
      {body}
      store %y, %p, %r {st(True)}
    """,
        (programs,),
        y=y,
    )
    return y.tolist()
