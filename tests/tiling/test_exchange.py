"""The orders in which tiles lie in shared memory between two layouts: one-to-one, and free of conflicts both ways."""

from __future__ import annotations

import itertools

import pytest

from tilelang.dtypes import BOOL, DTYPES, F16, F32, F64
from tilelang.tiling.exchange import Chunked, Plain, Scattered, order_of
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.patch_layout import PatchLayout

COLUMNS = [16, 32, 64, 128, 256]
BANKS, BYTES = 32, 128


def most_in_a_bank(places: list[int], width: int, item: int) -> int:
    """Words that lanes which each move `width` elements from these places want of one bank, in one of the passes that
    their bytes need anyway."""
    together = BYTES // (width * item) if width * item > 4 else 32
    worst = 0
    for first in range(0, len(places), together):
        words = {(place + n) * item // 4 for place in places[first:first + together] for n in range(width)}
        banks = [word % BANKS for word in words]
        worst = max(worst, *(banks.count(bank) for bank in banks))
    return worst


@pytest.mark.parametrize("dtype", [F16, F32], ids=str)
@pytest.mark.parametrize("columns", COLUMNS)
def test_pairs_of_fragments_and_runs_of_rows_meet_no_bank_twice(columns, dtype):
    layout = AccumulatorLayout((16, columns), (1, 1))
    order = order_of(layout, dtype)
    assert isinstance(order, Chunked) and order.pairs
    everywhere = {order.position(*at) for at in itertools.product(range(16), range(columns))}
    assert everywhere == set(range(16 * columns))
    for register in range(0, layout.registers, 2):
        places = [order.position(*layout.element(lane, register)) for lane in range(32)]
        seconds = [order.position(*layout.element(lane, register + 1)) for lane in range(32)]
        assert seconds == [place + 1 for place in places] and all(place % 2 == 0 for place in places)
        assert most_in_a_bank(places, 2, dtype.bytes) == 1
    for width in (2, 4, 8):
        run = order.run(width, dtype)
        starts = range(0, 16 * columns - 32 * width + 1, 32 * width)
        for start, skipped in itertools.product(starts, range(0, width, run)):
            numbers = [start + lane * width + skipped for lane in range(32)]
            places = [order.position(*divmod(number, columns)) for number in numbers]
            assert all(place % run == 0 for place in places)
            assert all(order.position(*divmod(number + n, columns)) == place + n
                       for number, place in zip(numbers, places, strict=True) for n in range(run))
            assert most_in_a_bank(places, run, dtype.bytes) == width // run


@pytest.mark.parametrize("woven", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("columns", COLUMNS)
def test_scattered_registers_meet_no_bank_twice(columns, woven):
    layout, order = AccumulatorLayout((16, columns), (1, 1), woven=woven), Scattered(columns)
    positions = {(t, r): order.position(*layout.element(t, r)) for t in range(32) for r in range(layout.registers)}
    assert sorted(positions.values()) == list(range(16 * columns))
    for register in range(layout.registers):
        assert len({positions[t, register] % 32 for t in range(32)}) == 32 // (2 if woven[0] else 1)


@pytest.mark.parametrize(("columns", "width", "most"), [
    (64, 1, 1), (64, 2, 1), (64, 4, 1), (64, 8, 1), (128, 1, 1), (128, 2, 1), (128, 4, 1), (128, 8, 1),
    (32, 1, 1), (32, 2, 1), (32, 4, 1), (32, 8, 1), (256, 4, 1), (256, 8, 2), (16, 4, 2)])
def test_scattered_elements_read_in_runs(columns, width, most):
    """Each lane reads its run element by element: `most` lanes at most meet in one bank."""
    order = Scattered(columns)
    for start, element in itertools.product(range(0, 16 * columns, 32 * width), range(width)):
        places = [divmod(start + lane * width + element, columns) for lane in range(32)]
        banks = [order.position(*place) % 32 for place in places]
        assert max(banks.count(bank) for bank in banks) <= most


def test_which_order():
    plain, woven = AccumulatorLayout((64, 64), (2, 2)), AccumulatorLayout((64, 64), (2, 2), woven=(False, True))
    assert order_of(plain, DTYPES["i32"]) == Chunked(64, 4) and order_of(plain, F16) == Chunked(64, 8)
    assert order_of(woven, DTYPES["i32"]) == Scattered(64) and order_of(plain, DTYPES["i8"]) == Scattered(64)
    assert order_of(plain, BOOL) == Scattered(64) and order_of(plain, F64) == Scattered(64)
    assert order_of(PatchLayout((64, 64), 4), F16) == Plain(64)


@pytest.mark.parametrize(("width", "dtype", "run"), [
    (8, F16, 8), (4, F16, 4), (8, F32, 4), (2, F32, 2), (1, F32, 1), (4, F64, 2), (16, DTYPES["i8"], 16),
    (2, DTYPES["i8"], 1), (4, BOOL, 1)], ids=str)
def test_what_is_moved_at_once(width, dtype, run):
    assert Plain(64).run(width, dtype) == run and Scattered(64).run(width, dtype) == 1
