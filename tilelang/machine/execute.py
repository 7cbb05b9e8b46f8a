"""The machine model: runs a thread-IR kernel in NumPy, all threads of many programs at once, and watches it.

It is to thread IR what `tilelang.ir.interpreter` is to tile IR: the oracle of the lowering. Elementwise ops are the
interpreter's own (`tilelang.ir.numerics`), so they give the same bits. And it sees what no GPU tells: races, reads of
memory that nobody wrote, barriers that some threads miss, accesses outside an array. Meanwhile it counts what the
memory hierarchy would do.

    report = execute(kernel, {"x": x, "y": y}, dims, grid)
    report.findings                        # () if the kernel is right
    report.total("global.load").sectors    # what its loads cost

All threads run in lockstep, so a kernel with a race still gives one result, perhaps even the right one. The
findings tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from tilelang.diagnostics import InternalError
from tilelang.dtypes import I64
from tilelang.ir.batch import PrintSink, print_line
from tilelang.ir.core import Kernel, LocalType, Op, SharedType, TensorType
from tilelang.ir.host_types import numpy_dtype, scalar
from tilelang.ir.numerics import compute
from tilelang.machine.batch import Batch, Launch, Watch
from tilelang.machine.chunks import CHUNK_OPERATIONS
from tilelang.machine.control import CONTROL, LANES
from tilelang.machine.copying import COPY_OPERATIONS
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import tensor_cells
from tilelang.machine.operations import OPERATIONS
from tilelang.machine.plan import Plan, plan
from tilelang.machine.report import Counts, Report
from tilelang.machine.separable import IN_PARTS, Known, in_parts, whole
from tilelang.machine.tensor_cores import WARP_OPERATIONS
from tilelang.machine.vectors import VECTOR_OPERATIONS
from tilelang.machine.warpgroups import GROUP_OPERATIONS
from tilelang.syntax.limits import deep_trees

HANDLERS = {**OPERATIONS, **WARP_OPERATIONS, **VECTOR_OPERATIONS, **CHUNK_OPERATIONS, **COPY_OPERATIONS,
            **GROUP_OPERATIONS}
"""What is neither elementwise nor control flow."""
WRITES_GLOBAL = ("global.store", "global.store_vector", "global.atomic")
MEMORY = 1 << 28
"""Bytes that the local and shared arrays of a batch may take."""
KEPT = 24 << 20
"""Bytes."""

Scalar = int | float | bool | np.generic


def execute(kernel: Kernel, args: Mapping[str, np.ndarray | Scalar], dims: Mapping[str, int], grid: tuple[int, ...],
            *, check_races: bool = True, output: PrintSink = print_line, max_steps: int | None = None,
            batch: int | None = None, programs: np.ndarray | None = None, watch: Watch | None = None) -> Report:
    """Run all programs of `grid`; `out` and `inout` arrays are written in place.

    Args:
        kernel: of level `thread`; its attribute `threads` is the number of threads of a block.
        args: for each parameter an array of its element type and rank (any strides of whole elements), or a number.
        dims: the value of every dim of the kernel, hidden ones too.
        grid: one to three extents; with an extent of 0 nothing runs.
        check_races: look for races too, which costs some time and memory.
        output: called for each `print`, in the order of programs.
        max_steps: the most loop iterations that one batch may take in all; None for no limit.
        batch: how many programs run together; None lets their threads and memory decide.
        programs: the linear numbers (i64, axis 0 of the grid fastest) of those to run; None for all.
        watch: called for each access to shared or global memory.

    Returns:
        Findings and counts. Where there are findings, what the arrays hold may be different on a GPU.

    Raises:
        TileAssertionError: an `assert` failed; it is the first one in the order of programs.
        StepLimitReached: `max_steps` was not enough.
    """
    if kernel.level != "thread":
        raise InternalError("machine", f"runs kernels at thread level, not at {kernel.level} level")
    with deep_trees(), np.errstate(all="ignore"):
        _keep_freed_memory()
        body, ops = plan(kernel)
        threads = int(kernel.attrs["threads"])  # type: ignore[arg-type]
        ids = np.arange(math.prod(grid), dtype=np.int64) if programs is None else programs
        report = Report(threads, [(op, Counts()) for op in ops], len(ids))
        launch = _launch(kernel, args, dims, grid, report, output=output, check_races=check_races,
                         max_steps=max_steps, watch=watch)
        size = batch or _batch_size(kernel, threads)
        for first in range(0, report.programs, size):
            running = Batch(launch, ids[first:first + size])
            run(body, running.lanes, running, ())
            running.close_logs(None)
            running.finish()
    return report


@cache
def _keep_freed_memory() -> None:
    """Have the C library keep the memory of a batch's arrays for the next ones.

    glibc gives what is freed back to the system, and every page of the next array is a fault: more than half the time
    of a launch of matmul. It keeps up to twice the largest block that was freed, and at most this much can be set so.
    """
    np.empty(KEPT, np.uint8)


def _launch(kernel: Kernel, args: Mapping[str, np.ndarray | Scalar], dims: Mapping[str, int], grid: tuple[int, ...],
            report: Report, *, output: PrintSink, check_races: bool, max_steps: int | None,
            watch: Watch | None) -> Launch:
    """The arguments by value name, tested."""
    values = {dim.name: scalar(dims[dim.name], I64).reshape(1, 1, 1) for dim in kernel.dims}
    arrays: dict[str, np.ndarray] = {}
    for param in kernel.params:
        given = args[param.name]
        if not isinstance(param.type, TensorType):
            values[param.name] = scalar(given, param.dtype).reshape(1, 1, 1)  # type: ignore[arg-type]
            continue
        right = isinstance(given, np.ndarray) and given.dtype == numpy_dtype(param.dtype)
        if not right or given.ndim != param.type.rank:  # type: ignore[union-attr]
            raise InternalError("machine", f"argument {param} is not a {param.type}")
        arrays[param.name] = given  # type: ignore[assignment]
    tensors = {param.name: tensor_cells(param, arrays[param.name]) for param in kernel.params if param.name in arrays}
    written = frozenset(op.operands[0].name for op in kernel.walk() if op.name in WRITES_GLOBAL)
    products = [op for op in kernel.walk() if op.name == "shared.wgmma"]
    multiplied = frozenset(array.name for op in products for array in op.operands[:4:2]
                           if isinstance(array.type, SharedType))
    return Launch(threads=report.threads_per_block, grid=grid, values=values, tensors=tensors, arrays=arrays,
                  written=written, report=report, output=output, check_races=check_races, max_steps=max_steps,
                  watch=watch, multiplied=multiplied)


def _batch_size(kernel: Kernel, threads: int) -> int:
    """How many programs run together."""
    memory = 1
    for op in kernel.walk():
        for array in op.results:
            if isinstance(array.type, LocalType):
                memory += array.type.size * array.dtype.bytes * threads
            elif isinstance(array.type, SharedType):
                memory += array.type.size * array.dtype.bytes
    return max(1, min(LANES // threads, MEMORY // memory))


def run(block: Plan, lanes: Lanes, batch: Batch, args: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Run a block for these lanes; what its terminator hands over."""
    values = batch.values
    for value, array in zip(block.args, args, strict=True):
        values[value.name] = array
    for step in block.steps:
        op, counts = step.op, batch.counts(step.number)
        counts.threads += lanes.count
        counts.warps += lanes.warps
        if op.name in HANDLERS:
            HANDLERS[op.name](step, lanes, batch)
        elif op.name in CONTROL:
            CONTROL[op.name](step, lanes, batch, run)
        else:
            _elementwise(op, values)
        for name in step.dead:
            values.pop(name, None)
    return batch.all(block.handed)


def _elementwise(op: Op, values: dict[str, Known]) -> None:
    result, operands = op.results[0], [values[value.name] for value in op.operands]
    found = in_parts(op.name, operands, result.type.dtype) if op.name in IN_PARTS else None
    if found is None:
        found = compute(op.name, [whole(operand) for operand in operands], result.type.dtype)
    values[result.name] = found
