"""What a warp group does as one: products whose operands it reads from shared memory, as matrix descriptors say.

    shared.wgmma %a, %i, %b, %j, %acc, %r      64 x 16 of %a from element %i on, n x 16 of %b from element %j on, each
                                               element at the byte that `Descriptor.address` gives; NumPy multiplies in
                                               f32; accumulators from register %r on. Without {a}, %a is in
                                               registers, which must be left alone as long: that is not tested

Chunks of 16 bytes are read as the hardware is said to, 8 rows of a pattern at a time: that is what wavefronts and bank
conflicts are counted of. So each thread of the group is charged with a part of the reading, and races are found with
what others write. An array is taken to begin at a multiple of 1024 bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from tilelang.ir.attrs import int_attr
from tilelang.ir.core import Value
from tilelang.machine import traffic
from tilelang.machine.batch import Batch
from tilelang.machine.groups import active
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import PUBLISHED, Cells
from tilelang.machine.operations import acting_lanes, check_arrived, check_written, log_access
from tilelang.machine.plan import Step
from tilelang.machine.races import Access
from tilelang.machine.report import Problem
from tilelang.machine.tensor_cores import aligned, fragments_of_a, whole_warps
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.warpgroup_layout import CHUNK, GROUP, HALF, ROWS, Descriptor

EACH = CHUNK // HALF
"""Elements of a chunk."""

Reads = list[tuple[str, Access]]


def multiply(step: Step, lanes: Lanes, batch: Batch) -> None:
    """`shared.wgmma`: start to add a product of 64 x 16 by 16 x columns."""
    if not whole_warps(step, lanes, batch, GROUP):
        return
    a, a_at, b, b_at, acc, acc_at = step.op.operands
    columns, reads = int_attr(step.op, "columns"), Reads()
    left = _operand(step, (a, a_at), _descriptor(step, "a"), ROWS, reads, lanes, batch) if "a" in step.op.attrs else (
        _in_registers(step, a, a_at, lanes, batch))
    right = _operand(step, (b, b_at), _descriptor(step, "b"), columns, reads, lanes, batch)
    if left is None or right is None:
        return
    with np.errstate(all="ignore"):
        product = np.matmul(left, right.transpose(0, 1, 3, 2))
    row, column = _places(columns)
    added = product[:, :, row, column].transpose(2, 0, 1, 3).reshape(len(row), lanes.shape[1], lanes.shape[2])
    _accumulate(step, added, acc, batch.get(acc_at), lanes, batch)
    batch.products.start(batch.registers[acc.name], batch.get(acc_at), len(added), reads, lanes)


def _in_registers(step: Step, a: Value, a_at: Value, lanes: Lanes, batch: Batch) -> np.ndarray:
    """(programs, groups, 64, 16) of f32: each warp of a group has 16 of the rows, as a fragment of `mma`."""
    _check_fenced(step, a, lanes, batch)
    warps = fragments_of_a(step, a, a_at, lanes, batch)
    batch.registers[a.name].touched = False  # a product that reads them needs no fence before the next
    return warps.reshape(lanes.shape[1], lanes.shape[2] // GROUP, ROWS, 16)


def _check_fenced(step: Step, array: Value, lanes: Lanes, batch: Batch) -> None:
    """Nothing was done with these registers since the last `wgmma.fence`, but by products."""
    if batch.registers[array.name].touched:
        everybody = np.ones((1, 1, 1), np.bool_)
        batch.found(Problem.UNFENCED, step.op, step.number, lanes.among(everybody), lanes)


def _accumulate(step: Step, added: np.ndarray, acc: Value, first: np.ndarray, lanes: Lanes, batch: Batch) -> None:
    """Add to the accumulators, which must have been fenced, but may still be in flight from products before."""
    registers = batch.registers[acc.name]
    _check_fenced(step, acc, lanes, batch)
    for number, value in enumerate(added):
        index = first + np.int32(number)
        acting = acting_lanes(step, index, registers.inside(index), lanes, batch)
        before, written = registers.load(index)
        check_written(step, written, index, acting, batch)
        if acting is not None:
            with np.errstate(all="ignore"):
                registers.store(index, before + value[None], acting)
    registers.touched = False


@cache
def _places(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each accumulator of a group, (registers, threads) each."""
    layout = AccumulatorLayout((ROWS, columns), (4, 1))
    found = np.array([[layout.element(thread, register) for thread in range(GROUP)]
                      for register in range(layout.registers)])
    return found[..., 0], found[..., 1]


# ------------------------------------------------------------------------------------ operands


def _descriptor(step: Step, name: str) -> Descriptor:
    return Descriptor(*step.op.attrs[name])  # type: ignore[misc, arg-type]


def _operand(step: Step, operand: tuple[Value, Value], descriptor: Descriptor, extent: int, reads: Reads, lanes: Lanes,
             batch: Batch) -> np.ndarray | None:
    """(programs, groups, extent, 16) of f32; None if it cannot be read. Adds what was read to `reads`."""
    array, index = operand
    cells, first = batch.cells[array.name], batch.get(index)
    if not aligned(step, first, lanes, batch) or not _agree(step, first, lanes, batch):
        return None
    outer, k, wanted = _chunks(extent, descriptor.along_k, lanes.shape[2])
    start = first.astype(np.int64) * HALF
    chunk = descriptor.address(start, outer, k) // CHUNK  # type: ignore[type-var]  # arrays compute like ints
    mask = np.broadcast_to(lanes.among(wanted), (len(wanted), *lanes.shape[1:]))
    _count(step, chunk, Lanes(mask.shape, mask), extent, lanes, batch)
    position = (chunk * EACH + np.arange(EACH)[:, None, None, None]).reshape(-1, *chunk.shape[1:])
    every = np.tile(mask, (EACH, 1, 1))
    acting = acting_lanes(step, position, cells.inside(position), Lanes(every.shape, every), batch)
    if acting is None:
        return None
    _check(step, cells, position, acting, batch)
    log_access(step, cells, position, acting, batch)
    reads.append((array.name, Access(step.number, False, False, position, acting)))
    values, _ = cells.load(position, cells.inside(position), lanes.shape[1])
    return _matrix(np.broadcast_to(values, acting.shape), extent, descriptor.along_k)


def _chunks(extent: int, along_k: bool, threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chunk that each thread reads in each of a few rounds: where it begins, as (outer, k), and if there is one.

    Eight neighbouring threads read eight rows of a pattern. All three are (rounds, 1, threads).
    """
    rounds = -(-2 * extent // GROUP)
    number = np.arange(rounds)[:, None, None] * GROUP + np.arange(threads) % GROUP
    row, half, block = number % 8, number // 8 % 2, number // 16
    outer, k = (block * 8 + row, half * 8) if along_k else (block * 8, half * 8 + row)
    return outer, k, number < 2 * extent


def _matrix(values: np.ndarray, extent: int, along_k: bool) -> np.ndarray:
    """(8 elements * rounds, programs, threads), chunk by chunk -> (programs, groups, extent, 16) of f32."""
    _, programs, threads = values.shape
    chunks = values.reshape(EACH, -1, programs, threads // GROUP, GROUP).transpose(2, 3, 1, 4, 0)
    chunks = chunks.reshape(programs, threads // GROUP, -1, EACH)[:, :, :2 * extent].astype(np.float32)
    blocks = chunks.reshape(programs, threads // GROUP, extent // 8, 2, 8, EACH)  # block, half of k, row, element
    order = (0, 1, 2, 4, 3, 5) if along_k else (0, 1, 2, 5, 3, 4)
    return blocks.transpose(order).reshape(programs, threads // GROUP, extent, 16)


def _count(step: Step, chunk: np.ndarray, some: Lanes, extent: int, lanes: Lanes, batch: Batch) -> None:
    counts = batch.counts(step.number)
    counts.bytes += lanes.count // GROUP * extent * 16 * HALF
    wavefronts, conflicts = traffic.wavefronts(chunk, CHUNK, some)
    counts.wavefronts += wavefronts
    counts.conflicts += conflicts


# ------------------------------------------------------------------------------------ what may go wrong


def _check(step: Step, cells: Cells, position: np.ndarray, acting: Lanes, batch: Batch) -> None:
    """Has every element been written, has it arrived, and may tensor cores see it?"""
    check_arrived(step, cells, position, acting, batch)
    inside = cells.inside(position)
    _, written = cells.load(position, inside, acting.shape[1])
    if written is not None:
        check_written(step, written, position, acting, batch)
    if cells.writer is not None:
        hidden = acting.among(cells.writer[np.where(inside, cells.cell(position, acting.shape[1]), 0)] != PUBLISHED)
        if hidden.any():
            batch.found(Problem.UNPUBLISHED, step.op, step.number, hidden, acting, position)


def _agree(step: Step, index: np.ndarray, lanes: Lanes, batch: Batch) -> bool:
    """One descriptor serves the whole group."""
    by_group = np.broadcast_to(index, lanes.shape).reshape(-1, GROUP)
    different = lanes.among((by_group != by_group[:, :1]).reshape(lanes.shape))
    if different.any():
        batch.found(Problem.DISAGREEMENT, step.op, step.number, different, lanes, index)
    return not different.any()


# ------------------------------------------------------------------------------------ fences and waits


def fence_memory(step: Step, lanes: Lanes, batch: Batch) -> None:
    """`async.fence`: what these threads wrote, warp groups may read after a barrier."""
    for name in batch.launch.multiplied & batch.cells.keys():
        batch.cells[name].fence(active(lanes))


def fence_registers(step: Step, lanes: Lanes, batch: Batch) -> None:
    """`wgmma.fence`. Threads run in lockstep, so that what was touched before was touched by all."""
    batch.registers[step.op.operands[0].name].touched = False


def commit(step: Step, lanes: Lanes, batch: Batch) -> None:
    batch.products.commit(lanes)


def wait(step: Step, lanes: Lanes, batch: Batch) -> None:
    batch.products.wait(int_attr(step.op, "pending"), lanes)


GROUP_OPERATIONS: dict[str, Callable[[Step, Lanes, Batch], None]] = {
    "shared.wgmma": multiply, "async.fence": fence_memory, "wgmma.fence": fence_registers, "wgmma.commit": commit,
    "wgmma.wait": wait,
}
