"""The scalars of a kernel that follow from its launch alone, for all programs at once: how often do its loops run?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilelang.dtypes import I64
from tilelang.ir.attrs import int_attr, number_attr
from tilelang.ir.core import Kernel, Op, TensorType, Value
from tilelang.ir.host_types import scalar
from tilelang.ir.numerics import evaluate
from tilelang.ir.tile_ops import TILE_OPS

PROGRAMS = 1 << 14
"""Programs looked at; of a larger grid, evenly spread ones."""


class LaunchScalars:
    """Known values by name: arrays over the programs looked at, or of rank 0.

    `guessed`: the bounds of some loop were not known.
    """

    def __init__(self, kernel: Kernel, args: Mapping[str, object], dims: Mapping[str, int], grid: tuple[int, ...]):
        total = int(np.prod(grid, dtype=object))
        self.ids = np.arange(total) if total <= PROGRAMS else np.arange(PROGRAMS) * total // PROGRAMS
        self.grid = grid
        self.guessed = False
        self.known: dict[str, np.ndarray] = {dim.name: scalar(dims[dim.name], I64) for dim in kernel.dims}
        for param in kernel.params:
            if not isinstance(param.type, TensorType):
                self.known[param.name] = scalar(args[param.name], param.dtype)  # type: ignore[arg-type]

    def op(self, op: Op) -> None:
        """Note the result of an op, if it is a scalar of the launch."""
        if len(op.results) != 1 or op.result.shape or op.blocks:
            return
        if op.name == "const":
            self.known[op.result.name] = scalar(number_attr(op, "value"), op.result.dtype)
        elif op.name in ("program_id", "num_programs"):
            axis = int_attr(op, "axis")
            extent = self.grid[axis] if axis < len(self.grid) else 1
            below = int(np.prod(self.grid[:axis], dtype=np.int64))
            here = self.ids // below % extent if op.name == "program_id" else extent
            self.known[op.result.name] = np.asarray(here, np.int64)
        elif TILE_OPS[op.name].elementwise and all(v.name in self.known for v in op.operands):
            operands = [self.known[v.name] for v in op.operands]
            self.known[op.result.name] = evaluate(op.name, operands, op.result.dtype)

    def trips(self, loop: Op) -> float:
        """How often a `for` runs, on average over programs; 1 if that depends on data."""
        bounds = [self._number(value) for value in loop.operands[:3]]
        if any(bound is None for bound in bounds):
            self.guessed = True
            return 1.0
        lo, hi, step = np.broadcast_arrays(*(np.asarray(bound, np.float64) for bound in bounds))
        return float(np.maximum(np.ceil((hi - lo) / np.where(step == 0, np.inf, step)), 0).mean())

    def _number(self, value: Value) -> np.ndarray | None:
        return self.known.get(value.name)
