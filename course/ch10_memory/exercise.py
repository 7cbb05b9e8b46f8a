"""Chapter 10, Memory: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch10
    tilec course hint ch10 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilelang.ir.core import Kernel, Op, SharedType
from tilelang.machine.gpus import Gpu
from tilelang.machine.lanes import WARP, Lanes
from tilelang.machine.occupancy import REGISTER_UNIT, WARP_UNIT, Occupancy, Resources, _shared_taken
from tilelang.machine.roofline import Work
from tilelang.machine.traffic import BANK_BYTES, BANKS, SECTOR, _first_of_each, _near, _rows
from tilelang.memory.barriers import COMMUTING, NOTHING, Access, State, _Placing


# --- warm-up: shared_bytes ----------------------------------------------------------------------------------
def shared_bytes(kernel: Kernel) -> int:
    """Bytes of shared memory that a block of a thread kernel declares.

    An array is declared by an op whose result has the type `SharedType`: `size` elements of `dtype`.
    `kernel.walk()` gives all ops, those in loops and branches too.

    >>> array = Op("shared", (), (Value("s", SharedType(F32, 256)),))
    >>> shared_bytes(Kernel("k", (), (), Block((), (array,)), "thread"))
    1024
    """
    raise NotImplementedError


# --- warm-up: conflict --------------------------------------------------------------------------------------
def conflict(a: Access, b: Access) -> bool:
    """Must a barrier stand between `a` and `b`?

    Two accesses by different threads of a block, without a barrier between them, may happen in any order.
    That is harmless if they are to different arrays; if both only read; if it is certain that one and the
    same thread makes both (`owner`, where it is not None); if the barriers between both stand already (both
    are `placed`); or if both are atomics of one kind among `COMMUTING`.

    >>> s = Value("s", SharedType(F32, 32))
    >>> conflict(Access(s, True), Access(s, False)), conflict(Access(s, False), Access(s, False))
    (True, False)
    """
    raise NotImplementedError


# --- core: speed_of_light -----------------------------------------------------------------------------------
def speed_of_light(gpu: Gpu, work: Work) -> float:
    """Seconds that no kernel for the same result can beat: compulsory bytes from HBM, or products at full rate.

    Products run on tensor cores where the element type allows it, else as fused multiply-adds at the f32 or f64 peak.

    Both happen at the same time, so the slower of the two decides. `gpu.memory_rate` is in bytes a second,
    `gpu.f32`, `gpu.f64` and `work.tensor` in operations a second; `work.tensor` is 0 where tensor cores
    cannot do the products. The f64 peak is meant if the kernel does more f64 than f32 arithmetic.

    >>> from tilelang.machine.gpus import GPUS
    >>> seconds = speed_of_light(GPUS["a100"], Work(1, compulsory=1e9, dot_flops=1e9))
    >>> f"{seconds * 1e6:.0f} us"
    '643 us'
    """
    raise NotImplementedError


# --- core: swizzled -----------------------------------------------------------------------------------------
def swizzled(row: int, column: int, columns: int) -> int:
    """Where element (row, column) of a shared tile with `columns` columns, a power of two, is kept.

    Every row stays in its place; within it the columns change places with one another, differently in each row,
    so that neither a row nor a column of 32 f32 elements meets a bank twice.

    Shared memory has 32 banks; the f32 element at index `i` is in bank `i % 32`. In a tile of 32 columns a
    column lies in one bank, and 32 threads that read it wait for each other. If the element of column `c`
    in row `r` is kept at column `c ^ (r % columns)` of its row, rows and columns are both free of
    conflicts. `^` is exclusive or.

    >>> swizzled(0, 5, 32), swizzled(1, 5, 32), swizzled(3, 0, 32)
    (5, 36, 99)
    """
    raise NotImplementedError


# --- core: occupancy ----------------------------------------------------------------------------------------
def occupancy(gpu: Gpu, block: Resources) -> Occupancy:
    """How many such blocks one SM holds; 0 if not even one fits.

    Four resources limit the number of blocks. Places for warps and for blocks: `gpu.warps_per_sm`,
    `gpu.blocks_per_sm`. Registers: a warp takes `block.registers * gpu.warp_size` of them, rounded up to a
    multiple of `REGISTER_UNIT`; an SM has `gpu.registers_per_sm`, shared out to warps in groups of
    `WARP_UNIT`, so round the number of warps down to a multiple of that. Shared memory: `_shared_taken(gpu,
    block)` bytes a block of `gpu.shared_per_sm`; a block that takes none is limited by the places for
    blocks. The keys of `limits` are `warps`, `blocks`, `registers`, `shared memory`, in this order. A
    kernel without registers takes none.

    >>> from tilelang.machine.gpus import GPUS
    >>> found = occupancy(GPUS["a100"], Resources(threads=256, registers=64, shared=0))
    >>> found.blocks, found.limiter
    (4, 'registers')
    """
    raise NotImplementedError


# --- core: sectors ------------------------------------------------------------------------------------------
def sectors(position: np.ndarray, item: int, lanes: Lanes) -> int:
    """Sectors that an access moves in all, each warp counted for itself.

    `position` counts elements of `item` bytes from the tensor's lowest address, taken to begin a sector.

    `position` has the axes (trips, programs, threads), with extent 1 along an axis on which it does not
    depend. `_rows(keys, lanes, WARP)` gives (rows, copies): a row for each warp with the keys of its active
    lanes, sorted, and how many such rows each stands for. `_first_of_each(rows)` marks the first of each
    run of equal keys. Where the position is the same for all threads, every warp with an active lane
    (`lanes.warps`) moves one sector.

    >>> thread = np.arange(32).reshape(1, 1, 32)
    >>> sectors(thread, 4, Lanes((1, 1, 32))), sectors(thread * 8, 4, Lanes((1, 1, 32)))
    (4, 32)
    """
    raise NotImplementedError


# --- hard: ops ----------------------------------------------------------------------------------------------
def ops(self: _Placing, ops: Sequence[Op], state: State) -> tuple[tuple[Op, ...], State]:
    """The ops with barriers, and the accesses open after them.

    `state` is the set of accesses since the last barrier; `NOTHING` is the empty one. An op that is a
    `barrier` empties it. For an op in which barriers may stand (`self.is_open(op)`): if it is a loop and
    `self.pays_in_front(op, state)`, put a barrier in front; then `self.structured(op, state)` gives the op
    with its own barriers, and the state after it. Any other op touches `self.touched(op)`: if one of these
    conflicts with one in the state, put a barrier in front, which empties the state; afterwards they belong
    to the state. A new barrier is `Op("barrier", span=op.span)`.

    >>> from tilelang.ir.parser import parse_kernel
    >>> kernel = parse_kernel('''kernel @k() dims() thread {threads = 32} {
    ...     %t: i32 = thread_id
    ...     %s: shared i32[32] = shared
    ...     shared.store %s, %t, %t
    ...     %last: i32 = const {value = 31}
    ...     %o: i32 = sub %last, %t
    ...     %a: i32 = shared.load %s, %o
    ... }''')
    >>> placed, state = ops(_Placing(kernel), kernel.body.ops[2:], NOTHING)
    >>> [op.name for op in placed]
    ['shared.store', 'const', 'sub', 'barrier', 'shared.load']
    """
    raise NotImplementedError


# --- hard: wavefronts ---------------------------------------------------------------------------------------
def wavefronts(index: np.ndarray, item: int, lanes: Lanes) -> tuple[int, int]:
    """(wavefronts, conflicts) of an access to a shared array of `item`-byte elements.

    The axes are as in `sectors`. A warp is served in passes: in each, every bank gives one word to any
    number of lanes; so a warp takes as many passes as its busiest bank has different words. Elements
    narrower than `BANK_BYTES` share a word; wider ones take several banks, so that only `WARP * BANK_BYTES
    // item` lanes go together, over as many (wider) banks. A conflict is a pass beyond a warp's first.
    `_rows(keys, lanes, together)` gives sorted rows of that many lanes, in which `NOBODY` stands for an
    inactive one, and the copies of each; `_first_of_each` marks different keys. `_near` is a shortcut that
    you need not take.

    >>> thread = np.arange(32).reshape(1, 1, 32)
    >>> wavefronts(thread, 4, Lanes((1, 1, 32))), wavefronts(thread * 32, 4, Lanes((1, 1, 32)))
    ((1, 0), (32, 31))
    """
    raise NotImplementedError
