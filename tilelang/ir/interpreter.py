"""The interpreter: runs a tile-IR kernel in NumPy. The oracle that every backend is compared with.

All programs of a batch run together, op by op: a value that differs between programs is an array with one
leading axis more than its type has, one that does not has none (`Frame` explains). So a grid of a thousand
programs costs a thousand times the arithmetic, not a thousand times the Python. Where programs take different
branches, each side runs for those that take it (`tilelang.ir.divergence`).

What the order of programs decides (atomics on one address, prints, the first failing assert) is decided as if
one program ran after another; axis 0 of the grid counts fastest. Ordinary loads and stores of different
programs are interleaved, which the language allows. A program that spins until another lets it go on may
wait for ever, for the other waits for it at the end of the branch: the language promises no more. (`batch=1`
runs the programs one by one.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from tilelang.diagnostics import InternalError
from tilelang.dtypes import I64
from tilelang.ir import memory_access, reductions
from tilelang.ir.access import access
from tilelang.ir.attrs import int_attr, ints_attr, number_attr, str_attr
from tilelang.ir.batch import Frame, Machine, PrintSink, StepLimitReached, TileAssertionError, print_line
from tilelang.ir.core import Block, Kernel, Op, TensorType
from tilelang.ir.divergence import CONTROL
from tilelang.ir.host_types import numpy_dtype, scalar
from tilelang.ir.liveness import last_uses
from tilelang.ir.numerics import evaluate
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.semantics.types import TileType

__all__ = ["StepLimitReached", "TileAssertionError", "interpret", "print_line"]

BATCH_ELEMENTS = 1 << 20
"""Programs in a batch times elements of the largest tile: 8 MiB of f64 for each live value."""

Scalar = int | float | bool | np.generic


def interpret(kernel: Kernel, args: Mapping[str, np.ndarray | Scalar], dims: Mapping[str, int],
              grid: tuple[int, ...], *, output: PrintSink = print_line, max_steps: int | None = None,
              batch: int | None = None) -> None:
    """Run all programs of `grid`; `out` and `inout` arrays are written in place.

    Args:
        args: for each parameter an array of its element type and rank (any strides), or a number.
        dims: the value of every dim of the kernel, hidden ones too.
        grid: one to three extents; with an extent of 0 nothing runs.
        output: called for each `print`, in the order of programs.
        max_steps: the most loop iterations that one batch may take in all; None for no limit.
        batch: how many programs run together; None lets the size of the tiles decide.

    Raises:
        TileAssertionError: an `assert` failed; it is the first one in the order of programs. What the
            arrays hold then is unspecified.
        StepLimitReached: `max_steps` was not enough.
    """
    if kernel.level != "tile":
        raise InternalError("interpreter", f"runs kernels at tile level, not at {kernel.level} level")
    tensors, scalars = _bind(kernel, args, dims)
    deaths = last_uses(kernel.body)
    programs = math.prod(grid)
    size = batch or max(1, BATCH_ELEMENTS // _largest_tile(kernel))
    for first in range(0, programs, size):
        ids = np.arange(first, min(first + size, programs), dtype=np.int64)
        machine = Machine(tensors, grid, ids, deaths, run_block, output, max_steps)
        frame = Frame(machine, np.arange(len(ids)), values=dict(scalars))
        run_block(kernel.body, frame)
        machine.finish()


def _bind(kernel: Kernel, args: Mapping[str, np.ndarray | Scalar],
          dims: Mapping[str, int]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The kernel's tensors and its scalars (dims among them) by value name."""
    tensors: dict[str, np.ndarray] = {}
    scalars = {dim.name: scalar(dims[dim.name], I64) for dim in kernel.dims}
    for param in kernel.params:
        if not isinstance(param.type, TensorType):
            scalars[param.name] = scalar(args[param.name], param.dtype)  # type: ignore[arg-type]
            continue
        array = args[param.name]
        right = isinstance(array, np.ndarray) and array.dtype == numpy_dtype(param.dtype)
        if not right or array.ndim != param.type.rank:  # type: ignore[union-attr]
            raise InternalError("interpreter", f"argument {param} is not a {param.type}")
        tensors[param.name] = array  # type: ignore[assignment]
    return tensors, scalars


def _largest_tile(kernel: Kernel) -> int:
    values = (v for op in kernel.walk() for v in op.results)
    return max((v.type.size for v in values if isinstance(v.type, TileType)), default=1)


def run_block(block: Block, frame: Frame) -> tuple[np.ndarray, ...]:
    """Run a block's ops for the frame's programs; what its terminator hands over."""
    dead = frame.machine.deaths.get(id(block), {})
    for number, op in enumerate(block.ops):
        if TILE_OPS[op.name].terminator:
            return frame.all(op.operands)
        if TILE_OPS[op.name].elementwise:
            result = evaluate(op.name, frame.aligned(op.operands, op.result), op.result.dtype)
            frame.define(op.result, result)
        elif op.name in CONTROL:
            CONTROL[op.name](op, frame)
        else:
            OPS[op.name](op, frame)
        frame.forget(dead.get(number, ()))
    return ()


# ------------------------------------------------------------------------------------ shapes


def const(op: Op, frame: Frame) -> None:
    value = scalar(number_attr(op, "value"), op.result.dtype)
    frame.define(op.result, np.broadcast_to(value, op.result.shape))


def iota(op: Op, frame: Frame) -> None:
    frame.define(op.result, np.arange(op.result.shape[0]).astype(numpy_dtype(op.result.dtype)))


def program_id(op: Op, frame: Frame) -> None:
    frame.define(op.result, frame.program_ids(int_attr(op, "axis")))


def num_programs(op: Op, frame: Frame) -> None:
    grid, axis = frame.machine.grid, int_attr(op, "axis")
    frame.define(op.result, np.asarray(grid[axis] if axis < len(grid) else 1, np.int64))


def broadcast(op: Op, frame: Frame) -> None:
    lanes = frame.lanes(frame.get(op.operands[0]), op.operands[0])
    (array,) = frame.aligned(op.operands, op.result)
    frame.define(op.result, np.broadcast_to(array, lanes + op.result.shape))


def reshape(op: Op, frame: Frame) -> None:
    array = frame.get(op.operands[0])
    frame.define(op.result, array.reshape(frame.lanes(array, op.operands[0]) + op.result.shape))


def convert_layout(op: Op, frame: Frame) -> None:
    frame.define(op.result, frame.get(op.operands[0]))


def permute(op: Op, frame: Frame) -> None:
    array, axes = frame.get(op.operands[0]), ints_attr(op, "axes")
    lead = frame.extra(array, op.operands[0])
    frame.define(op.result, array.transpose(*range(lead), *(axis + lead for axis in axes)))


def cat(op: Op, frame: Frame) -> None:
    arrays = frame.all(op.operands)
    lead = max(frame.extra(a, v) for a, v in zip(arrays, op.operands, strict=True))
    if lead:
        arrays = tuple(frame.varying(v) for v in op.operands)
    frame.define(op.result, np.concatenate(arrays, axis=int_attr(op, "axis") + lead))


# ------------------------------------------------------------------------------------ reductions


def reduce(op: Op, frame: Frame) -> None:
    array = frame.get(op.operands[0])
    lead = frame.extra(array, op.operands[0])
    axes = tuple(axis + lead for axis in ints_attr(op, "axes"))
    frame.define(op.result, reductions.reduce(str_attr(op, "kind"), array, axes, op.result.dtype))


def scan(op: Op, frame: Frame) -> None:
    array, kind = frame.get(op.operands[0]), str_attr(op, "kind")
    axis = int_attr(op, "axis") + frame.extra(array, op.operands[0])
    frame.define(op.result, reductions.scan(kind, array, axis, bool(op.attrs["reverse"]), op.result.dtype))


def dot(op: Op, frame: Frame) -> None:
    a, b, acc = frame.all(op.operands)
    frame.define(op.result, reductions.dot(a, b, acc, op.result.dtype))


# ------------------------------------------------------------------------------------ memory


def _place(op: Op, frame: Frame) -> tuple[np.ndarray, memory_access.Place]:
    """The tensor an op accesses, and where."""
    parts = access(op)
    rank, axis = len(parts.shape), 0
    indexes = []
    for value in parts.indices:
        array = frame.get(value)
        if not parts.pointwise:
            before, axis = axis, axis + len(value.shape)
            spread = (1,) * before + value.shape + (1,) * (rank - axis)
            array = array.reshape(frame.lanes(array, value) + spread)
        indexes.append(array)
    mask = frame.get(parts.mask) if parts.mask is not None else None
    tensor = frame.machine.tensors[parts.tensor.name]
    # After a failed assert the programs it stopped still run along, with indexes it should have kept out.
    failed = frame.machine.failure is not None
    return tensor, memory_access.locate(tensor, tuple(indexes), mask, parts.checked, trusting=failed)


def load(op: Op, frame: Frame) -> None:
    tensor, place = _place(op, frame)
    other = access(op).other
    frame.define(op.result, memory_access.load(tensor, place, None if other is None else frame.get(other)))


def store(op: Op, frame: Frame) -> None:
    tensor, place = _place(op, frame)
    value = access(op).value
    if value is not None:
        memory_access.store(tensor, place, frame.get(value))


def atomic(op: Op, frame: Frame) -> None:
    """Every program does it for itself, so the result differs between programs even if no operand does."""
    tensor, place = _place(op, frame)
    parts = access(op)
    operands = [frame.get(v) for v in (parts.value, parts.expected) if v is not None]
    shape = (frame.count, *parts.shape)
    kind = str_attr(op, "kind")
    frame.define(op.result, memory_access.atomic(kind, tensor, place, operands, shape))


# ------------------------------------------------------------------------------------ effects


def assertion(op: Op, frame: Frame) -> None:
    holds = frame.varying(op.operands[0])
    failed = ~holds.reshape(frame.count, -1).all(axis=1)
    if failed.any():
        frame.machine.fail(frame.programs[failed], op)


def printing(op: Op, frame: Frame) -> None:
    values = frame.varying(op.operands[0]) if op.operands else None
    frame.machine.print(frame.programs, str_attr(op, "text"), values)


OPS: dict[str, Callable[[Op, Frame], None]] = {
    "const": const, "iota": iota, "program_id": program_id, "num_programs": num_programs,
    "broadcast": broadcast, "reshape": reshape, "convert_layout": convert_layout, "permute": permute, "cat": cat,
    "reduce": reduce, "scan": scan, "dot": dot,
    "load": load, "store": store, "atomic": atomic,
    "assert": assertion, "print": printing,
}
