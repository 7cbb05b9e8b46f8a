"""The pictures of `splits.py`, checked element by element against the layout."""

from __future__ import annotations

import pytest

from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.splits import Split, split

REGULAR = [(1, 3, 8, 4), (2, 8, 1, 4), (4, 2, 1, 4), (1, 1, 16, 4), (3, 16, 2, 8), (5, 1, 8, 8),
           (16, 4, 2, 32), (1, 64, 1, 32)]


@pytest.mark.parametrize(("outer", "length", "inner", "threads"), REGULAR)
def test_parts_and_lanes_are_where_they_are_said_to_be(outer, length, inner, threads):
    pattern = Split(outer, length, inner, threads)
    assert pattern.regular
    layout = LinearLayout((outer, length, inner), threads)
    for a in range(outer):
        for k in range(length):
            for i in range(inner):
                thread, register = layout.place((a, k, i))
                result = a * inner + i
                if pattern.owns_columns:
                    assert thread == result % threads
                    continue
                part = register // pattern.registers_per_part
                assert 0 <= part < pattern.parts
                group, within = divmod(thread, pattern.group)
                results_of_row = threads // pattern.group * inner
                assert result == part * results_of_row + group * inner + within % inner
                assert within // inner < pattern.lanes


IRREGULAR = [(3, 5, 1, 4), (2, 3, 2, 4), (1, 6, 3, 4), (24, 40, 1, 32)]


@pytest.mark.parametrize(("outer", "length", "inner", "threads"), IRREGULAR)
def test_irregular_tiles_are_recognised(outer, length, inner, threads):
    assert not Split(outer, length, inner, threads).regular


def test_axes_that_are_no_neighbours_have_no_split():
    assert split((4, 4, 4), (0, 2), 4) is None
    assert split((4, 4, 4), (1, 2), 4) == Split(4, 16, 1, 4)
