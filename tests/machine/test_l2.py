"""The L2 model: what a cache of a given size lets through to HBM, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tilelang.dtypes import F32
from tilelang.ir.core import TensorType, Value
from tilelang.machine.l2 import L2Cache
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import tensor_cells
from tilelang.machine.races import Access

PER_SECTOR = 8
"""f32 elements in a sector."""


class Memory:
    """A tensor of 64 sectors and a cache in front of it."""

    def __init__(self, sectors: int):
        self.cache = L2Cache(sectors * 32)
        elements = 64 * PER_SECTOR
        self.cells = tensor_cells(Value("x", TensorType(F32, (elements,), "inout")), np.zeros(elements, "f4"))

    def touch(self, *sectors: int, writes: bool = False, atomic: bool = False, mask: np.ndarray | None = None) -> None:
        position = np.array(sectors)[None, None, :] * PER_SECTOR
        self.cache.watch(self.cells, Access(0, writes or atomic, atomic, position, Lanes((1, 1, len(sectors)), mask)))

    def wave(self, *sectors: int, writes: bool = False) -> None:
        self.touch(*sectors, writes=writes)
        self.cache.end_wave()

    @property
    def moved(self) -> tuple[float, float]:
        traffic = self.cache.traffic()
        return traffic.read / 32, traffic.written / 32


def test_a_sector_is_fetched_once_while_it_stays() -> None:
    memory = Memory(4)
    for _ in range(5):
        memory.wave(0, 1, 2, 3)
    assert memory.moved == (4, 0)


def test_a_cache_that_is_one_sector_too_small_forgets_what_a_loop_needs_next() -> None:
    memory = Memory(4)
    for sector in (0, 1, 2, 3, 4) * 3:
        memory.wave(sector)
    assert memory.moved == (15, 0)
    assert memory.cache.traffic().compulsory_read == 5 * 32


def test_what_was_used_longest_ago_goes_first() -> None:
    memory = Memory(3)
    for sectors in ((0,), (1,), (2,), (0,), (3,)):  # 3 pushes 1 out, for 0 was used again
        memory.wave(*sectors)
    memory.wave(0)
    assert memory.moved == (4, 0)
    memory.wave(1)
    assert memory.moved == (5, 0)


def test_a_wave_is_never_evicted_within_itself_and_then_leaves_in_part() -> None:
    memory = Memory(2)
    memory.wave(0, 1, 2, 3)
    memory.wave(0, 1, 2, 3)
    assert memory.moved == (4 + 2, 0)


def test_a_written_sector_goes_back_when_it_leaves_or_at_the_end() -> None:
    memory = Memory(2)
    memory.wave(0, 1, writes=True)
    assert memory.moved == (0, 2)
    memory.wave(2, 3)       # pushes both out
    memory.wave(0, writes=True)
    assert memory.moved == (2, 3)


def test_a_program_s_own_writes_are_not_read_from_hbm() -> None:
    memory = Memory(8)
    memory.touch(0, writes=True)
    memory.touch(0, 1)
    memory.cache.end_wave()
    assert memory.moved == (1, 1)
    assert memory.cache.traffic().compulsory_read == 32


def test_atomics_read_and_write() -> None:
    memory = Memory(8)
    memory.touch(5, atomic=True)
    memory.cache.end_wave()
    assert memory.moved == (1, 1)


def test_lanes_that_are_masked_off_touch_nothing() -> None:
    memory = Memory(8)
    memory.touch(0, 1, 2, mask=np.array([[[True, False, False]]]))
    memory.cache.end_wave()
    assert memory.moved == (1, 0)


@pytest.mark.parametrize(("factor", "sectors"), [(1.0, 8), (4.0, 32), (100.0, 64)])
def test_a_sample_is_scaled_up_to_the_whole_tensor_at_most(factor: float, sectors: int) -> None:
    memory = Memory(64)
    memory.wave(*range(8))
    assert memory.cache.scaled(factor).read == sectors * 32
