"""Layouts are one-to-one, both ways, for any shape."""

from __future__ import annotations

import itertools

import pytest

from tilelang.tiling.layout import LinearLayout, delinearize, linearize
from tilelang.tiling.patch_layout import PatchLayout

SHAPES = [(1,), (7,), (32,), (33,), (4, 8), (5, 7), (3, 1, 5), (2, 3, 4, 5)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [1, 4, 32])
def test_every_element_has_one_place_and_back(shape, threads):
    layout = LinearLayout(shape, threads)
    places = set()
    for coordinates in itertools.product(*map(range, shape)):
        thread, register = layout.place(coordinates)
        assert 0 <= thread < threads and 0 <= register < layout.registers
        assert layout.coordinates(thread, register) == coordinates
        places.add((thread, register))
    assert len(places) == layout.size


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [1, 4, 32])
def test_other_places_are_padding(shape, threads):
    layout = LinearLayout(shape, threads)
    held = [layout.coordinates(t, r) for t in range(threads) for r in range(layout.registers)]
    assert held.count(None) == threads * layout.registers - layout.size
    assert layout.padded == (None in held)


def test_neighbouring_threads_hold_neighbouring_elements():
    layout = LinearLayout((4, 8), 32)
    assert [layout.coordinates(t, 0) for t in (0, 1, 8)] == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("shape", SHAPES)
def test_row_major_numbers(shape):
    for number, coordinates in enumerate(itertools.product(*map(range, shape))):
        assert linearize(coordinates, shape) == number
        assert delinearize(number, shape) == coordinates


@pytest.mark.parametrize(("shape", "warps"), [((64, 64), 4), ((128, 128), 4), ((64, 128), 8), ((24, 96), 2)])
def test_patches_hold_each_element_once_and_slabs_cover_them(shape, warps):
    layout = PatchLayout(shape, warps)
    places = {layout.place(at): at for at in itertools.product(*map(range, shape))}
    assert len(places) == layout.threads * layout.registers == shape[0] * shape[1]
    assert all(layout.coordinates(*place) == at for place, at in places.items())
    for slab in range(layout.slabs):
        held = {layout.slab_element(t, r): layout.element(t, slab * layout.slab_registers + r)
                for t in range(layout.threads) for r in range(layout.slab_registers)}
        ((first, end, start),) = layout.slab_ranges(slab)
        wanted = {divmod(start + n, shape[1]): delinearize(first + n, shape) for n in range(end - first)}
        assert held == wanted and len(held) == layout.slab_size
