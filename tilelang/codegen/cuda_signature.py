"""The parameters of a generated CUDA kernel, in order: what the generator declares and the launcher passes.

For each parameter of the kernel: a tensor is its memory as a flat array from its lowest address on (half floats as u16
bits), the position of its first element in that, and a stride in elements for each axis (negative ones too); a
scalar is itself (a half float as f32). Then the dims, the grid's extents, and the log.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.dtypes import I64, DType
from tilelang.ir.core import Kernel, TensorType, Value

GRID_AXES = 3


@dataclass(frozen=True)
class Parameter:
    """One parameter. `kind` is one of tensor, first, stride, scalar, dim, grid, log; `axis` of a stride or grid."""

    kind: str
    wished: str
    dtype: DType
    value: Value | None = None
    axis: int = 0

    @property
    def key(self) -> tuple[str, Value | None, int]:
        return self.kind, self.value, self.axis


def parameters(kernel: Kernel) -> tuple[Parameter, ...]:
    """All parameters of the generated function, in order."""
    found: list[Parameter] = []
    for value in kernel.params:
        if isinstance(value.type, TensorType):
            found.append(Parameter("tensor", value.name, value.dtype, value))
            found.append(Parameter("first", f"{value.name}_first", I64, value))
            found += [Parameter("stride", f"{value.name}_s{axis}", I64, value, axis)
                      for axis in range(value.type.rank)]
        else:
            found.append(Parameter("scalar", value.name, value.dtype, value))
    found += [Parameter("dim", dim.name, I64, dim) for dim in kernel.dims]
    found += [Parameter("grid", f"grid_{axis}", I64, None, axis) for axis in range(GRID_AXES)]
    return (*found, Parameter("log", "log", I64))
