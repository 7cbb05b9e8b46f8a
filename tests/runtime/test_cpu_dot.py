"""How a product is cut into blocks; that its results are right is tested through kernels, in tests/codegen."""

from __future__ import annotations

import pytest

from tilelang.runtime.cpu_dot import _cut, _cut_rows


@pytest.mark.parametrize("cut", [_cut, _cut_rows])
@pytest.mark.parametrize("block", [1, 4, 6, 8])
def test_blocks_cover_an_extent_once(cut, block: int) -> None:
    for extent in range(1, 60):
        rows = [first + size * number for first, size, count in cut(extent, block) for number in range(count)]
        sizes = [size for _, size, count in cut(extent, block) for _ in range(count)]
        assert max(sizes) <= block
        assert [row for first, size in zip(rows, sizes, strict=True) for row in range(first, first + size)] == list(
            range(extent))


def test_no_thin_block_beside_a_whole_one() -> None:
    assert _cut_rows(128, 6) == [(0, 6, 20), (120, 4, 2)]
    assert _cut_rows(13, 6) == [(0, 6, 1), (6, 4, 1), (10, 3, 1)]
    assert _cut_rows(12, 6) == [(0, 6, 2)]
    assert _cut_rows(2, 6) == [(0, 2, 1)]
