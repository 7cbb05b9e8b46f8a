"""The arguments of a generated CUDA kernel: arrays as flat memory, a first element, and strides.

A view may run backwards, skip, or repeat elements. Its flat form begins at the lowest address it touches and ends after
the highest one; the strides stay as they are, in elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilelang.codegen.cuda_signature import GRID_AXES, Parameter, parameters
from tilelang.diagnostics import CompileError, Diagnostic, InternalError
from tilelang.dtypes import BF16, F16, compute_type
from tilelang.ir.core import Kernel
from tilelang.ir.host_types import numpy_dtype, scalar

TOO_MANY_PROGRAMS = "E0622"
MOST_PROGRAMS = 2**31 - 1
"""Blocks along a grid's first axis: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"."""


@dataclass(frozen=True)
class Flat:
    """An array as flat memory.

    `memory`, a NumPy array or one on a GPU, is 1-D and contiguous. Element (i, j) is at
    `first + i * strides[0] + j * strides[1]`.
    """

    memory: Any
    first: int
    strides: tuple[int, ...]

    def view(self, shape: tuple[int, ...]) -> np.ndarray:
        """The array again, out of the flat memory."""
        if 0 in shape:
            return np.empty(shape, self.memory.dtype)
        item = self.memory.itemsize
        return np.lib.stride_tricks.as_strided(self.memory[self.first:], shape, tuple(s * item for s in self.strides))


def reach(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """How far below and above its first element an array goes: (-elements, elements). Zeros for an empty one."""
    if 0 in shape:
        return 0, 0
    ends = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def flatten(array: np.ndarray) -> Flat:
    """A view's flat form; a copy where the strides are no whole number of elements. Half floats become u16 bits."""
    item = array.itemsize
    if any(stride % item for stride in array.strides):
        array = np.ascontiguousarray(array)
    strides = tuple(stride // item for stride in array.strides)
    if array.size == 0:
        return Flat(_bits(np.zeros(1, array.dtype)), 0, strides)
    below, above = reach(array.shape, strides)
    corner = array[tuple(slice(extent - 1, extent) if stride < 0 else slice(0, 1)
                         for extent, stride in zip(array.shape, strides, strict=True))]
    memory = np.lib.stride_tricks.as_strided(corner, (above - below + 1,), (item,))
    return Flat(_bits(memory), -below, strides)


def _bits(memory: np.ndarray) -> np.ndarray:
    halves = (numpy_dtype(F16), numpy_dtype(BF16))
    return memory.view(np.uint16) if memory.dtype in halves else memory


def count_programs(grid: Sequence[int]) -> int:
    """Programs of a launch. Raises CompileError (E0622) if there are more than a GPU takes."""
    programs = prod(grid)
    if programs > MOST_PROGRAMS:
        shown = " x ".join(f"{extent:,}" for extent in grid)
        raise CompileError([Diagnostic(
            TOO_MANY_PROGRAMS,
            f"the grid has {programs:,} programs, and a GPU runs at most {MOST_PROGRAMS:,} in one launch",
            notes=(f"the grid is {shown}",), help="let each program do more: larger tiles, or a loop over several")])
    return programs


def flat_arguments(kernel: Kernel, args: Mapping[str, object]) -> dict[str, Flat]:
    """The flat form of each tensor argument, by parameter name."""
    return {p.value.name: flatten(np.asarray(args[p.value.name]))
            for p in parameters(kernel) if p.kind == "tensor" and p.value is not None}


def copy_back(array: np.ndarray, memory: np.ndarray, flat: Flat) -> None:
    """Put an output's elements from `memory`, a changed copy of its flat memory, into the array.

    Only the view's own elements: what lies between them may belong to another argument.
    """
    result = Flat(memory, flat.first, flat.strides).view(array.shape)
    _bits(array)[...] = result


def in_order(kernel: Kernel, flats: Mapping[str, Flat], args: Mapping[str, object], dims: Mapping[str, int],
             grid: Sequence[int], log: np.ndarray) -> list[object]:
    """All arguments in the order of the generated function's parameters."""
    full_grid = [*grid, *[1] * (GRID_AXES - len(grid))]
    return [_argument(parameter, flats, args, dims, full_grid, log) for parameter in parameters(kernel)]


def _argument(parameter: Parameter, flats: Mapping[str, Flat], args: Mapping[str, object], dims: Mapping[str, int],
              grid: Sequence[int], log: np.ndarray) -> object:
    name = parameter.value.name if parameter.value is not None else ""
    match parameter.kind:
        case "tensor":
            return flats[name].memory
        case "first":
            return np.int64(flats[name].first)
        case "stride":
            return np.int64(flats[name].strides[parameter.axis])
        case "scalar":
            rounded = scalar(args[name], parameter.dtype)  # type: ignore[arg-type]
            return rounded.astype(numpy_dtype(compute_type(parameter.dtype)))[()]
        case "dim":
            return np.int64(dims[name])
        case "grid":
            return np.int64(grid[parameter.axis])
        case "log":
            return log
    raise InternalError("launch", f"unknown parameter kind {parameter.kind}")
