"""What a warp does as one: shuffles, reading matrices from shared memory into fragments, and multiplying them.

The registers of all warps are put together as matrices by the layouts of `tilelang.tiling.mma`, multiplied by NumPy in
f32, and taken apart again. A product of halves is exact in f32; a tensor core adds several before it rounds, so sums
may differ from a GPU's in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from tilelang.dtypes import BF16, F16
from tilelang.ir.core import Value
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.thread_ops import MMA_DEPTHS, MMA_KINDS
from tilelang.machine import traffic
from tilelang.machine.batch import Batch
from tilelang.machine.lanes import WARP, Lanes
from tilelang.machine.memory import Registers
from tilelang.machine.operations import acting_lanes, check_arrived, check_settled, check_written, log_access
from tilelang.machine.plan import Step
from tilelang.machine.report import Problem
from tilelang.machine.traffic import CHUNK
from tilelang.tiling import mma as layouts
from tilelang.tiling import mma_bytes, mma_words

ROW = 8
"""Elements of 16 bits in a row of a matrix."""


def load_matrix(step: Step, lanes: Lanes, batch: Batch) -> None:
    """`shared.load_matrix`: each thread fetches a row of 16 bytes, the warp hands them around."""
    shared, index, fragment, at = step.op.operands
    cells, first = batch.cells[shared.name], batch.get(index)
    each = CHUNK // cells.data.itemsize
    if not whole_warps(step, lanes, batch) or not aligned(step, first, lanes, batch, each):
        return
    row = Lanes((each, *lanes.shape[1:]), lanes.mask)
    position = first + np.arange(each).astype(first.dtype)[:, None, None]
    inside = cells.inside(position)
    acting = acting_lanes(step, position, inside, row, batch)
    if acting is None:
        return
    log_access(step, cells, position, acting, batch)
    counts = batch.counts(step.number)
    counts.bytes += lanes.count * CHUNK
    wavefronts, conflicts = traffic.wavefronts(first // each, CHUNK, lanes)
    counts.wavefronts += wavefronts
    counts.conflicts += conflicts
    check_arrived(step, cells, position, acting, batch)
    values, written = cells.load(position, inside, lanes.shape[1])
    if written is not None:
        check_written(step, written, position, acting, batch)
    put_registers(step, _distribute(np.broadcast_to(values, row.shape), bool(step.op.attrs["trans"])),
         fragment, batch.get(at), lanes, batch)


def _distribute(rows: np.ndarray, trans: bool) -> np.ndarray:
    """(8 halves or 16 bytes, programs, threads), a row from each thread -> u32 (4 matrices, programs, threads)."""
    _, programs, threads = rows.shape
    if rows.itemsize == 1:
        single = rows.astype(np.uint8).astype(np.uint16)
        rows = single[::2] | single[1::2] << np.uint16(8)
    places = np.array([layouts.matrix_element(lane, trans) for lane in range(WARP)])
    row, column = places[..., 0], places[..., 1]
    matrices = np.ascontiguousarray(rows).view(np.uint16).reshape(ROW, programs, threads // WARP, 4, ROW)
    halves = matrices[column, :, :, :, row].astype(np.uint32)  # lane, half, program, warp, matrix
    both = halves[:, 0] | halves[:, 1] << np.uint32(16)
    return both.transpose(3, 1, 2, 0).reshape(4, programs, threads)


def multiply(step: Step, lanes: Lanes, batch: Batch) -> None:
    """`mma`: the accumulator's four registers += A times B."""
    if not whole_warps(step, lanes, batch):
        return
    kind = str(step.op.attrs["kind"])
    a_registers, b_registers = MMA_KINDS[kind]
    acc, acc_at, a, a_at, b, b_at = step.op.operands
    rows, columns, depth = 16, 8, MMA_DEPTHS[kind]
    elements, a_places, b_places = {"tf32": (_words, _a_words, _b_words), "i8": (_bytes, _a_bytes, _b_bytes)}.get(
        kind, (partial(_halves, half=numpy_dtype(BF16 if kind == "bf16" else F16)), _a_places, _b_places))
    a_words, b_words = (take_registers(step, array, at, count, lanes, batch)
                        for array, at, count in ((a, a_at, a_registers), (b, b_at, b_registers)))
    left = _assemble(elements(a_words), a_places(a_registers), (rows, depth))
    right = _assemble(elements(b_words), b_places(b_registers), (depth, columns))
    total = take_registers(step, acc, acc_at, 4, lanes, batch)
    with np.errstate(all="ignore"):
        product = np.matmul(left, right)
        row, column = _c_places()
        _, programs, threads = total.shape
        added = product[:, :, row, column].transpose(3, 0, 1, 2).reshape(4, programs, threads) + total
    put_registers(step, added, acc, batch.get(acc_at), lanes, batch)


def fragments_of_a(step: Step, array: Value, at: Value, lanes: Lanes, batch: Batch) -> np.ndarray:
    """(programs, warps, 16, 16) of f32: an operand A of halves, of which each warp has a fragment in its registers."""
    half = numpy_dtype(BF16 if step.op.attrs["kind"] == "bf16" else F16)
    words = take_registers(step, array, at, MMA_KINDS[str(step.op.attrs["kind"])][0], lanes, batch)
    return _assemble(_halves(words, half), _a_places(len(words)), (16, 16))


def pack(step: Step, lanes: Lanes, batch: Batch) -> None:
    """Two halves in one register."""
    half = numpy_dtype(BF16 if step.op.attrs["half"] == "bf16" else F16)
    with np.errstate(all="ignore"):
        low, high = (batch.get(v).astype(half).view(np.uint16).astype(np.uint32) for v in step.op.operands)
    batch.define(step.op.result, low | high << np.uint32(16))


def permute_bytes(step: Step, lanes: Lanes, batch: Batch) -> None:
    """Four of the eight bytes of two registers."""
    low, high, selector = batch.all(step.op.operands)
    both, word = low | high.astype(np.uint64) << np.uint64(32), np.zeros((1, 1, 1), np.uint32)
    for number in range(0, 32, 8):
        chosen = selector >> np.uint32(number // 2) & np.uint32(7)
        word = word | (both >> chosen * np.uint64(8) & np.uint64(255)).astype(np.uint32) << np.uint32(number)
    batch.define(step.op.result, word)


def round_tf32(step: Step, lanes: Lanes, batch: Batch) -> None:
    """To the nearest number with 10 bits of fraction, of two the one further from zero; NaN stays NaN."""
    bits = batch.get(step.op.operands[0]).view(np.uint32)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    batch.define(step.op.result, np.where(is_nan, np.uint32(0x7FFFE000), rounded))


def shuffle(step: Step, lanes: Lanes, batch: Batch) -> None:
    """Each thread gets what another of its warp holds."""
    value, attrs = batch.get(step.op.operands[0]), step.op.attrs
    if whole_warps(step, lanes, batch) and value.shape[2] > 1:
        thread = np.arange(value.shape[2])
        lane = thread % WARP
        ((way, number),) = attrs.items()
        source: np.ndarray = thread - lane + _source(lane, way, int(number))  # type: ignore[arg-type]
        value = value[:, :, source]
    batch.define(step.op.result, value)


def _source(lane: np.ndarray, way: str, number: int) -> np.ndarray:
    """The lane whose value each lane gets; its own where there is none."""
    source = {"xor": lane ^ number, "lane": np.full_like(lane, number), "up": lane - number, "down": lane + number}[way]
    return np.where((source >= 0) & (source < WARP), source, lane)


# ------------------------------------------------------------------------------------ registers and matrices


def take_registers(step: Step, array: Value, at: Value, count: int, lanes: Lanes, batch: Batch) -> np.ndarray:
    """`count` registers from `at` on: (count, programs, threads)."""
    registers, first = batch.registers[array.name], batch.get(at)
    taken = []
    for number in range(count):
        index = first + np.int32(number)
        value, written = registers.load(index)
        acting = acting_lanes(step, index, registers.inside(index), lanes, batch)
        check_written(step, written, index, acting, batch)
        check_settled(step, registers, index, acting, batch)
        taken.append(np.broadcast_to(value, lanes.shape)[0])
    return np.stack(taken)


def put_registers(step: Step, values: np.ndarray, array: Value, first: np.ndarray, lanes: Lanes, batch: Batch) -> None:
    registers: Registers = batch.registers[array.name]
    for number, value in enumerate(values):
        index = first + np.int32(number)
        acting = acting_lanes(step, index, registers.inside(index), lanes, batch)
        if acting is not None:
            registers.store(index, value[None], acting)


def _halves(registers: np.ndarray, half: np.dtype) -> np.ndarray:
    """(registers, programs, threads) of u32 -> (programs, warps, lanes, registers, 2) of f32."""
    count, programs, threads = registers.shape
    both = np.ascontiguousarray(registers.transpose(1, 2, 0)).view("<u2").view(half).astype(np.float32)
    return both.reshape(programs, threads // WARP, WARP, count, 2)


def _words(registers: np.ndarray) -> np.ndarray:
    """(registers, programs, threads) of u32 -> (programs, warps, lanes, registers) of f32."""
    count, programs, threads = registers.shape
    words = np.ascontiguousarray(registers.transpose(1, 2, 0)).view(np.float32)
    return words.reshape(programs, threads // WARP, WARP, count)


def _bytes(registers: np.ndarray) -> np.ndarray:
    """(registers, programs, threads) of u32 -> (programs, warps, lanes, registers, 4) of i32."""
    count, programs, threads = registers.shape
    numbers = np.ascontiguousarray(registers.transpose(1, 2, 0)).astype("<u4").view(np.int8).astype(np.int32)
    return numbers.reshape(programs, threads // WARP, WARP, count, 4)


def _assemble(elements: np.ndarray, places: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """(programs, warps, ...) elements, put at their places in a matrix for each warp."""
    matrices = np.empty((*elements.shape[:2], *shape), elements.dtype)
    matrices[:, :, places[0], places[1]] = elements
    return matrices


def _table(place: Callable[..., tuple[int, int]], *extents: int) -> tuple[np.ndarray, np.ndarray]:
    """The (row, column) that `place` gives for every combination of its arguments, as two arrays."""
    found = np.array([place(*map(int, at)) for at in np.ndindex(*extents)]).reshape(*extents, 2)
    return found[..., 0], found[..., 1]


@cache
def _a_places(registers: int) -> tuple[np.ndarray, np.ndarray]:
    return _table(layouts.a_element, WARP, registers, 2)


@cache
def _b_places(registers: int) -> tuple[np.ndarray, np.ndarray]:
    return _table(layouts.b_element, WARP, registers, 2)


@cache
def _a_words(registers: int) -> tuple[np.ndarray, np.ndarray]:
    return _table(mma_words.a_word, WARP, registers)


@cache
def _b_words(registers: int) -> tuple[np.ndarray, np.ndarray]:
    return _table(mma_words.b_word, WARP, registers)


@cache
def _a_bytes(registers: int) -> tuple[np.ndarray, np.ndarray]:
    return _table(mma_bytes.a_element, WARP, registers, 4)


@cache
def _b_bytes(registers: int) -> tuple[np.ndarray, np.ndarray]:
    return _table(mma_bytes.b_element, WARP, registers, 4)


@cache
def _c_places() -> tuple[np.ndarray, np.ndarray]:
    return _table(layouts.c_element, WARP, 4)


# ------------------------------------------------------------------------------------ what may go wrong


def whole_warps(step: Step, lanes: Lanes, batch: Batch, together: int = WARP) -> bool:
    """Do all threads of every warp, or of so many threads `together`, come, or none? Reports those that come without
    the others."""
    _, programs, threads = lanes.shape
    if lanes.mask is None and threads % together == 0:
        return True
    mask = np.broadcast_to(np.asarray(True) if lanes.mask is None else lanes.mask, lanes.shape)
    if threads % together:
        batch.found(Problem.PARTIAL_WARP, step.op, step.number, mask, lanes)
        return False
    by_warp = mask.reshape(1, programs, threads // together, together)
    partly = (by_warp & ~by_warp.all(axis=3, keepdims=True)).reshape(lanes.shape)
    if partly.any():
        batch.found(Problem.PARTIAL_WARP, step.op, step.number, partly, lanes)
    return True


def aligned(step: Step, index: np.ndarray, lanes: Lanes, batch: Batch, each: int = ROW) -> bool:
    crooked = lanes.among(index % each != 0)
    if crooked.any():
        batch.found(Problem.MISALIGNED, step.op, step.number, crooked, lanes, index)
    return not crooked.any()


WARP_OPERATIONS: dict[str, Callable[[Step, Lanes, Batch], None]] = {
    "shared.load_matrix": load_matrix, "mma": multiply, "pack": pack, "permute_bytes": permute_bytes,
    "round_tf32": round_tf32, "shuffle": shuffle,
}
