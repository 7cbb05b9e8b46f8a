"""Sectors and bank conflicts: known patterns, and all others against a count with Python sets."""

from __future__ import annotations

import numpy as np
import pytest

from tests.machine.threads import constants, run, thread_kernel
from tilelang.machine.lanes import Lanes
from tilelang.machine.traffic import sectors, wavefronts


def warps_of(lanes: Lanes, position: np.ndarray, width: int) -> list[list[int]]:
    """The positions that the active lanes of each group of `width` neighbouring threads access."""
    trips, programs, threads = lanes.shape
    full = np.broadcast_to(position, lanes.shape)
    mask = np.broadcast_to(True if lanes.mask is None else lanes.mask, lanes.shape)
    groups = []
    for trip in range(trips):
        for program in range(programs):
            for first in range(0, threads, width):
                some = slice(first, first + width)
                groups.append(full[trip, program, some][mask[trip, program, some]].tolist())
    return [group for group in groups if group]


def sectors_by_hand(position: np.ndarray, item: int, lanes: Lanes) -> int:
    return sum(len({p * item // 32 for p in warp}) for warp in warps_of(lanes, position, 32))


def wavefronts_by_hand(index: np.ndarray, item: int, lanes: Lanes) -> tuple[int, int]:
    width, total, ideal = (16 if item == 8 else 32), 0, 0
    for warp in warps_of(lanes, index, width):
        words: dict[int, set[int]] = {}
        for i in warp:
            word = i if item == 8 else i * item // 4
            words.setdefault(word % (16 if item == 8 else 32), set()).add(word)
        total += max(len(found) for found in words.values())
        ideal += 1
    return total, total - ideal


SHAPES = [(1, 1, 32), (1, 3, 32), (2, 2, 64), (1, 4, 7), (3, 1, 45), (1, 2, 1)]


@pytest.mark.parametrize("item", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_accesses_against_a_count_by_hand(shape: tuple[int, int, int], item: int) -> None:
    rng = np.random.default_rng([*shape, item])
    for _ in range(25):
        some = tuple(n if rng.random() < 0.6 else 1 for n in shape)
        position = rng.integers(0, rng.choice([8, 70, 3000]), some)
        axes = tuple(n if rng.random() < 0.6 else 1 for n in shape)
        mask = rng.random(axes) < rng.choice([0.1, 0.7])
        for lanes in (Lanes(shape), Lanes(shape, mask)):
            if lanes.mask is not None and not mask.any():
                continue
            assert lanes.warps == len(warps_of(lanes, position, 32))
            assert lanes.count == sum(map(len, warps_of(lanes, position, 32)))
            assert sectors(position, item, lanes) == sectors_by_hand(position, item, lanes)
            assert wavefronts(position, item, lanes) == wavefronts_by_hand(position, item, lanes)


CONFLICTS = {0: 0, 1: 0, 2: 1, 3: 0, 4: 3, 8: 7, 16: 15, 32: 31, 33: 0}
"""Distance in f32 elements between neighbouring threads -> bank conflicts of one warp."""


@pytest.mark.parametrize(("stride", "conflicts"), CONFLICTS.items())
def test_the_textbook_strides_of_f32_in_shared_memory(stride: int, conflicts: int) -> None:
    index = (np.arange(32) * stride)[None, None, :]
    assert wavefronts(index, 4, Lanes((1, 1, 32))) == (conflicts + 1, conflicts)


def test_counts_of_a_kernel() -> None:
    """A column is read (a sector for each element), a row written (4 sectors a warp), a shared array padded or not."""
    body = constants(32, 33) + """
      %s: shared f32[1056] = shared
      %n: i64 = mul %tw, %w32
      %v: f32 = global.load %x, %n
      %column: i32 = mul %t, %c32
      %padded: i32 = mul %t, %c33
      shared.store %s, %column, %v
      barrier
      shared.store %s, %padded, %v
      %half: bool = lt %t, %c32
      if %half {
        global.store %y, %tw, %v
        yield
      } else { yield }
    """
    kernel = thread_kernel("%x: in f32[32, 32], %y: out f32[32]", body)
    report = run(kernel, (3,), x=np.ones((32, 32), np.float32), y=np.zeros(32, np.float32))
    load, save = report.total("global.load"), report.total("global.store")
    assert (load.threads, load.warps, load.bytes, load.sectors) == (96, 3, 384, 96)
    assert (save.threads, save.warps, save.bytes, save.sectors) == (96, 3, 384, 12)
    first, second = (counts for op, counts in report.ops if op.name == "shared.store")
    assert (first.wavefronts, first.conflicts) == (96, 93)
    assert (second.wavefronts, second.conflicts) == (3, 0)
    assert report.barriers == 3
    assert report.instructions()["shared.store"] == 6
    assert "local.store" not in report.instructions() and "const" not in report.instructions()
    assert report.total().bytes == 4 * 384
    ((_, everything),) = report.by_span()  # hand-written IR has one place, nowhere
    assert everything == report.total()
