"""Graders of chapter 10."""

from __future__ import annotations

import random

from course.checking import check, fresh
from course.learner import Learner
from tilelang.dtypes import F16, F32, F64, I8, DType
from tilelang.ir.core import Block, Kernel, Op, SharedType, Value
from tilelang.machine.gpus import GPUS, Gpu
from tilelang.machine.occupancy import Occupancy, Resources
from tilelang.machine.roofline import Work
from tilelang.memory.barriers import Access

# --- shared_bytes -----------------------------------------------------------------------------------


def _array(name: str, dtype: DType, size: int) -> Op:
    return Op("shared", (), (Value(name, SharedType(dtype, size)),))


def _kernel(*ops: Op) -> Kernel:
    return Kernel("k", (), (), Block((), ops), "thread")


def test_arrays_of_any_type(shared_bytes: Learner) -> None:
    for dtype, size in ((F32, 256), (F16, 100), (F64, 7), (I8, 33)):
        check(
            shared_bytes,
            _kernel(_array("a", dtype, size)),
            gives=size * dtype.bits // 8,
            why="elements times bytes of each",
        )


def test_several_arrays(shared_bytes: Learner) -> None:
    check(shared_bytes, _kernel(_array("a", F32, 8), _array("b", F64, 8)), gives=96, why="32 and 64 bytes")
    check(shared_bytes, _kernel(), gives=0, why="no array, no bytes")


def test_other_results_do_not_count(shared_bytes: Learner) -> None:
    from tilelang.ir.core import LocalType
    from tilelang.semantics.types import TileType

    local = Op("local", (), (Value("r", LocalType(F32, 100)),))
    scalar = Op("thread_id", (), (Value("t", TileType(F32)),))
    use = Op("shared.load", (Value("a", SharedType(F32, 8)),), (Value("v", TileType(F32)),))
    check(
        shared_bytes,
        _kernel(_array("a", F32, 8), local, scalar, use),
        gives=32,
        why="registers are not shared memory, and using an array declares none",
    )


def test_arrays_in_blocks(shared_bytes: Learner) -> None:
    loop = Op("for", blocks=(Block((), (_array("a", F32, 4), Op("if", blocks=(Block((), (_array("b", F32, 2),)),)))),))
    check(shared_bytes, _kernel(loop, _array("c", F32, 1)), gives=28, why="blocks in blocks count: 16 + 8 + 4")


# --- conflict ---------------------------------------------------------------------------------------

S, T = (Value(name, SharedType(F32, 32)) for name in "st")


def test_readers_and_writers(conflict: Learner) -> None:
    read, write = Access(S, False), Access(S, True)
    for a, b, expected in ((write, read, True), (read, write, True), (write, write, True), (read, read, False)):
        check(conflict, a, b, gives=expected, why="two reads do no harm; a write beside a read or write does")


def test_different_arrays(conflict: Learner) -> None:
    check(conflict, Access(S, True), Access(T, True), gives=False, why="they are two arrays")


def test_owners(conflict: Learner) -> None:
    a, b, unknown = Access(S, True, "%t"), Access(S, False, "%t"), Access(S, False)
    check(conflict, a, b, gives=False, why="one and the same thread writes and reads an element")
    check(conflict, a, Access(S, False, "%u"), gives=True, why="the owners are different")
    check(conflict, a, unknown, gives=True, why="nothing is known of who reads")
    check(conflict, Access(S, True), Access(S, True), gives=True, why="two unknown owners need not be the same thread")


def test_barriers_that_stand_already(conflict: Learner) -> None:
    a, b = Access(S, True, placed=True), Access(S, False, placed=True)
    check(conflict, a, b, gives=False, why="the barriers between the two stand already")
    check(conflict, a, Access(S, False), gives=True, why="only one of the two is placed")


def test_atomics_that_commute(conflict: Learner) -> None:
    for kind in ("add", "max", "min"):
        one = Access(S, True, None, kind)
        check(conflict, one, one, gives=False, why=f"{kind} in any order gives the same")
        check(conflict, one, Access(S, False), gives=True, why="a read sees how far the atomics are")
    check(
        conflict,
        Access(S, True, None, "add"),
        Access(S, True, None, "max"),
        gives=True,
        why="add and max do not commute",
    )
    check(
        conflict,
        Access(S, True, None, "xchg"),
        Access(S, True, None, "xchg"),
        gives=True,
        why="of two exchanges the last stays",
    )


# --- speed_of_light ---------------------------------------------------------------------------------


def _light(gpu: Gpu, work: Work) -> float:
    products = work.tensor if work.tensor else gpu.f64 if work.f64 > work.f32 else gpu.f32
    bytes_time, product_time = work.compulsory / gpu.memory_rate, work.dot_flops / products
    return bytes_time if bytes_time > product_time else product_time


def test_bytes_alone(speed_of_light: Learner) -> None:
    for gpu in GPUS.values():
        work = Work(100, hbm=5e9, compulsory=2e9)
        check(
            speed_of_light, gpu, work, gives=2e9 / gpu.memory_rate, why="the compulsory bytes, not all that were moved"
        )


def test_products(speed_of_light: Learner) -> None:
    gpu = GPUS["a100"]
    check(speed_of_light, gpu, Work(1, dot_flops=1e12, f32=5), gives=1e12 / gpu.f32, why="products at the f32 peak")
    check(speed_of_light, gpu, Work(1, dot_flops=1e12, f64=5), gives=1e12 / gpu.f64, why="mostly f64: the f64 peak")
    for same in (0, 5):
        work = Work(1, dot_flops=1e12, f32=same, f64=same)
        check(speed_of_light, gpu, work, gives=1e12 / gpu.f32, why="no more f64 than f32: the f32 peak")
    check(
        speed_of_light,
        gpu,
        Work(1, dot_flops=1e12, f32=5, tensor=3e14),
        gives=1e12 / 3e14,
        why="tensor cores can do them",
    )


def test_the_slower_of_both(speed_of_light: Learner) -> None:
    rng = fresh()
    for _ in range(20):
        gpu = rng.choice(list(GPUS.values()))
        work = Work(
            1,
            compulsory=rng.uniform(0, 1e9),
            dot_flops=rng.uniform(0, 1e11),
            flops=1e15,
            f32=rng.random(),
            f64=rng.random(),
            tensor=rng.choice((0.0, 1e14)),
        )
        check(speed_of_light, gpu, work, gives=_light(gpu, work), why="both at once: the slower decides")


def test_nothing_to_do(speed_of_light: Learner) -> None:
    check(speed_of_light, GPUS["t4"], Work(0), gives=0.0, why="nothing takes no time")


# --- swizzled ---------------------------------------------------------------------------------------


def test_rows_stay_in_their_place(swizzled: Learner) -> None:
    for row in (0, 1, 5, 31, 32, 40):
        check(
            swizzled.via("row_of_places"),
            row,
            32,
            gives=list(range(row * 32, row * 32 + 32)),
            why="a row keeps its 32 places, each used once",
        )


def test_columns_are_spread_over_the_banks(swizzled: Learner) -> None:
    for column in (0, 1, 17, 31):
        check(
            swizzled.via("banks_of_column"), column, 32, gives=32, why="32 rows of one column are in 32 different banks"
        )


def test_exclusive_or(swizzled: Learner) -> None:
    rng = fresh()
    for _ in range(30):
        columns = rng.choice((8, 16, 32, 64))
        row, column = rng.randrange(80), rng.randrange(columns)
        expected = row * columns + (column ^ (row % columns))
        check(swizzled, row, column, columns, gives=expected, why="column ^ (row % columns), within its row")


# --- occupancy --------------------------------------------------------------------------------------


def _up(value: int, unit: int) -> int:
    return (value + unit - 1) // unit * unit


def _resident(gpu: Gpu, block: Resources) -> Occupancy:
    warps = _up(block.threads, 32) // 32
    per_warp = _up(block.registers * 32, 256)
    fitting = gpu.registers_per_sm // per_warp // 4 * 4 if per_warp else gpu.registers_per_sm // 4 * 4
    ampere = gpu.target >= "sm_80"
    taken = _up(block.shared + (1024 if ampere else 0), 128 if ampere else 256)
    limits = {
        "warps": gpu.warps_per_sm // warps,
        "blocks": gpu.blocks_per_sm,
        "registers": fitting // warps,
        "shared memory": gpu.shared_per_sm // taken if taken else gpu.blocks_per_sm,
    }
    blocks = min(limits.values())
    return Occupancy(blocks, blocks * warps, gpu.warps_per_sm, limits)


def test_each_resource_can_be_the_limit(occupancy: Learner) -> None:
    gpu = GPUS["a100"]
    for block, what in (
        (Resources(1024, 16, 0), "places for warps"),
        (Resources(32, 16, 0), "places for blocks"),
        (Resources(128, 200, 0), "registers"),
        (Resources(128, 32, 48 * 1024), "shared memory"),
    ):
        check(occupancy, gpu, block, gives=_resident(gpu, block), why=f"{what} run out first")


def test_units_of_registers(occupancy: Learner) -> None:
    for gpu in GPUS.values():
        for registers in (33, 40, 65, 129, 255):
            block = Resources(96, registers, 0)
            check(
                occupancy,
                gpu,
                block,
                gives=_resident(gpu, block),
                why="a warp's registers are rounded up to 256; the number of warps down to a multiple of 4",
            )


def test_blocks_that_do_not_fit(occupancy: Learner) -> None:
    gpu = GPUS["t4"]
    block = Resources(256, 32, 100 * 1024)
    check(occupancy, gpu, block, gives=_resident(gpu, block), why="100 KiB do not fit: no block at all")


def test_without_shared_memory_or_registers(occupancy: Learner) -> None:
    for name in ("t4", "a100"):
        block = Resources(64, 0, 0)
        check(occupancy, GPUS[name], block, gives=_resident(GPUS[name], block), why="what takes nothing is no limit")


def test_random_blocks(occupancy: Learner) -> None:
    rng = fresh()
    for _ in range(40):
        gpu = rng.choice(list(GPUS.values()))
        block = Resources(rng.choice((1, 32, 48, 128, 256, 1024)), rng.randint(1, 255), rng.randint(0, 120_000))
        check(occupancy, gpu, block, gives=_resident(gpu, block), why="the four limits, and the smallest of them")


# --- sectors ----------------------------------------------------------------------------------------

Rows = list[list[int | None]]


def _sectors(rows: Rows, item: int) -> int:
    total = 0
    for row in rows:
        for start in range(0, len(row), 32):
            total += len({i * item // 32 for i in row[start : start + 32] if i is not None})
    return total


def _moved(sectors: Learner, rows: Rows, item: int, why: str) -> None:
    check(sectors.via("on_lanes"), rows, item, gives=_sectors(rows, item), why=why)


def test_neighbours_share_sectors(sectors: Learner) -> None:
    _moved(sectors, [list(range(32))], 4, "32 neighbouring f32 are 128 bytes: 4 sectors")
    _moved(sectors, [list(range(32))], 2, "32 neighbouring f16 are 64 bytes: 2 sectors")
    _moved(sectors, [list(range(32))], 8, "32 neighbouring f64 are 256 bytes: 8 sectors")
    _moved(sectors, [[i + 3 for i in range(32)]], 4, "shifted by 3 they reach into a fifth sector")


def test_strides_waste_sectors(sectors: Learner) -> None:
    _moved(sectors, [[i * 8 for i in range(32)]], 4, "each lane has a sector of its own")
    _moved(sectors, [[i * 100 for i in range(32)]], 4, "each lane has a sector of its own")
    _moved(sectors, [[31 - i for i in range(32)]], 4, "backwards is as good as forwards")
    _moved(sectors, [[i // 4 for i in range(32)]], 4, "lanes that want one element share it")


def test_each_warp_counts_for_itself(sectors: Learner) -> None:
    _moved(sectors, [[i % 32 for i in range(128)]], 4, "four warps that read the same 4 sectors move 16")
    _moved(sectors, [list(range(48))], 4, "a warp of 16 lanes is a warp too")
    _moved(sectors, [[0, 100]], 4, "a block of two threads, far apart: two sectors")


def test_masked_lanes_move_nothing(sectors: Learner) -> None:
    _moved(sectors, [[i * 8 if i % 2 else None for i in range(32)]], 4, "every other lane is off")
    _moved(sectors, [[None] * 32 + list(range(32))], 4, "a warp that is off moves nothing")
    _moved(sectors, [list(range(32)), [None] * 32], 4, "a trip in which all are off moves nothing")


def test_all_lanes_want_the_same(sectors: Learner) -> None:
    check(
        sectors.via("same_for_all"), 64, 4, gives=2, why="two warps, one sector each: the position has one thread only"
    )
    check(sectors.via("same_for_all"), 40, 8, gives=2, why="two warps, the second not full")


def test_random_accesses(sectors: Learner) -> None:
    rng = fresh()
    for _ in range(15):
        _moved(
            sectors, _random_rows(rng), rng.choice((1, 2, 4, 8)), "different sectors of the active lanes, warp by warp"
        )


def _random_rows(rng: random.Random) -> Rows:
    threads, spread = rng.choice((8, 32, 64, 96)), rng.choice((16, 200, 5000))
    off = rng.choice((0.0, 0.3))
    return [
        [None if rng.random() < off else rng.randrange(spread) for _ in range(threads)]
        for _ in range(rng.randint(1, 3))
    ]
