"""The tensor-core layouts multiply matrices: checked against what the PTX manual says the hardware does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilelang.tiling import mma, mma_bytes


def test_fragments_hold_each_element_once():
    lanes = range(32)
    a = {mma.a_element(lane, r, h) for lane in lanes for r in range(4) for h in range(2)}
    b = {mma.b_element(lane, r, h) for lane in lanes for r in range(2) for h in range(2)}
    c = {mma.c_element(lane, r) for lane in lanes for r in range(4)}
    assert a == set(itertools.product(range(16), range(16)))
    assert b == set(itertools.product(range(16), range(8)))
    assert c == set(itertools.product(range(16), range(8)))


def test_the_examples_of_the_manual():
    """PTX ISA, mma.m16n8k16 with f16: groupID = lane >> 2, threadID_in_group = lane % 4."""
    for lane, i in itertools.product(range(32), range(8)):
        group, member = lane >> 2, lane % 4
        row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
        column = member * 2 + (i & 1) if i < 4 else member * 2 + (i & 1) + 8
        assert mma.a_element(lane, i // 2, i % 2) == (row, column)
    for lane, i in itertools.product(range(32), range(4)):
        group, member = lane >> 2, lane % 4
        assert mma.b_element(lane, i // 2, i % 2) == (member * 2 + (i & 1) + (8 if i >= 2 else 0), group)
        assert mma.c_element(lane, i) == (group if i < 2 else group + 8, member * 2 + (i & 1))


def test_four_matrices_make_a_fragment():
    """`ldmatrix` of the four quarters of A, in the order (0, 0), (8, 0), (0, 8), (8, 8), is A's fragment."""
    for lane, register in itertools.product(range(32), range(4)):
        for half in range(2):
            row, column = mma.matrix_element(lane, trans=False)[half]
            assert mma.a_element(lane, register, half) == (row + 8 * (register % 2), column + 8 * (register // 2))
    for lane, register, half in itertools.product(range(32), range(2), range(2)):
        k, column = mma.matrix_element(lane, trans=True)[half]  # B as it is stored, rows along n
        assert mma.b_element(lane, register, half) == (k + 8 * register, column)


@pytest.mark.parametrize("woven", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("shape", "warps"), [((16, 16), (1, 1)), ((32, 16), (2, 1)), ((64, 64), (2, 2)),
                                              ((48, 32), (3, 1)), ((128, 128), (2, 4)), ((16, 64), (1, 2))])
def test_every_element_has_one_place_and_back(shape, warps, woven):
    layout = mma.AccumulatorLayout(shape, warps, woven=woven)
    places = set()
    for coordinates in itertools.product(*map(range, shape)):
        place = layout.place(coordinates)
        assert 0 <= place[0] < layout.threads and 0 <= place[1] < layout.registers
        assert layout.coordinates(*place) == coordinates
        places.add(place)
    assert len(places) == layout.threads * layout.registers == shape[0] * shape[1]
    assert layout.coordinates(layout.threads, 0) is None


@pytest.mark.parametrize(("shape", "warps", "wanted"), [
    ((128, 128), 4, (2, 2)), ((128, 128), 8, (2, 4)), ((128, 64), 8, (4, 2)), ((16, 16), 4, (1, 1)),
    ((32, 16), 4, (2, 1)), ((16, 64), 4, (1, 4)), ((48, 32), 8, (3, 2)), ((24, 16), 4, None), ((16, 8), 1, None)])
def test_warps_cover_a_tile(shape, warps, wanted):
    got = mma.arrange_warps(shape, warps)
    if wanted is not None and got is not None:
        assert got[0] * got[1] == wanted[0] * wanted[1]
        assert shape[0] // got[0] + shape[1] // got[1] == shape[0] // wanted[0] + shape[1] // wanted[1]
    else:
        assert got == wanted


@pytest.mark.parametrize("columns", [8, 16, 32, 64, 128, 256])
def test_swizzled_chunks_lie_in_different_banks(columns):
    """Eight rows of one chunk, and a row from end to end, each touch every bank no more often than need be."""
    swizzle, rows = mma.Swizzle(columns), 16
    positions = np.array([[swizzle.position(r, c) for c in range(columns)] for r in range(rows)])
    assert sorted(positions.ravel()) == list(range(rows * columns))
    for first, chunk in itertools.product((0, 8), range(columns // 8)):
        starts = positions[first:first + 8, chunk * 8]
        assert len(set(starts * 2 // 16 % 8)) == 8
        assert all(starts % 8 == 0)
    for row in range(rows):
        assert swizzle.turn(row) == swizzle.turn(row % 8)


@pytest.mark.parametrize("columns", [16, 32, 64])
@pytest.mark.parametrize("k_last", [True, False])
@pytest.mark.parametrize("of_a", [True, False])
def test_matrix_reads_give_fragments(columns, k_last, of_a):
    """Put (outer, k) into a swizzled array, read four matrices as `ldmatrix` does: the fragments' elements."""
    read = mma.MatrixRead(mma.Swizzle(columns), of_a, k_last)
    stored: list = [None] * (32 * columns)
    for row, column in itertools.product(range(32), range(columns)):
        stored[read.swizzle.position(row, column)] = (row, column) if k_last else (column, row)
    outers, ks = (32, columns) if k_last else (columns, 32)
    for outer, k in itertools.product(range(0, outers, 16), range(0, ks, 16)):
        starts = [read.position(lane, outer, k) for lane in range(32)]
        assert all(len({s * 2 // 16 % 8 for s in starts[m:m + 8]}) == 8 for m in range(0, 32, 8))
        for lane, register, half in itertools.product(range(32), range(4), range(2)):
            row, column = mma.matrix_element(lane, read.trans)[half]
            got = stored[starts[8 * register + row] + column]
            if of_a:
                wanted = mma.a_element(lane, register, half)
            else:
                depth, across = mma.b_element(lane, register % 2, half)
                wanted = across + 8 * (register // 2), depth
            assert got == (outer + wanted[0], k + wanted[1])


def test_fragments_of_bytes():
    """PTX ISA, mma.m16n8k32 with .s8: groupID = lane >> 2, threadID_in_group = lane % 4, element i of a and b."""
    for lane, i in itertools.product(range(32), range(16)):
        group, member = lane >> 2, lane % 4
        row = group if 0 <= i < 4 or 8 <= i < 12 else group + 8
        column = member * 4 + (i & 3) if i < 8 else member * 4 + (i & 3) + 16
        assert mma_bytes.a_element(lane, i // 4, i % 4) == (row, column)
    for lane, i in itertools.product(range(32), range(8)):
        group, member = lane >> 2, lane % 4
        assert mma_bytes.b_element(lane, i // 4, i % 4) == (member * 4 + (i & 3) + (16 if i >= 4 else 0), group)


@pytest.mark.parametrize(("columns", "k_last"), [(columns, k_last) for columns in (16, 32, 64, 128, 256)
                                                 for k_last in (True, False) if columns > 16 or not k_last])
@pytest.mark.parametrize("of_a", [True, False])
def test_matrix_reads_give_fragments_of_bytes(columns, k_last, of_a):
    """Put (outer, k) into a swizzled array, read four matrices as `ldmatrix` does, sort what was transposed."""
    swizzle, rows = mma.Swizzle(columns, chunk=16), 64
    read = mma.MatrixRead(swizzle, of_a, True) if k_last else mma_bytes.TransposedRead(swizzle, of_a, False)
    stored: list = [None] * (rows * columns)
    for row, column in itertools.product(range(rows), range(columns)):
        stored[swizzle.position(row, column)] = (row, column) if k_last else (column, row)
    outers, ks = (rows, columns) if k_last else (columns, rows)
    for outer, k in itertools.product(range(0, outers, 16), range(0, ks, 32)):
        starts = [read.position(lane, outer, k) for lane in range(32)]
        assert all(len({s // 16 % 8 for s in starts[m:m + 8]}) == 8 for m in range(0, 32, 8))
        for lane in range(32):
            matrices = [[stored[starts[8 * matrix + row] + 2 * half + byte]
                         for row, half in mma.matrix_element(lane, read.trans) for byte in range(2)]
                        for matrix in range(4)]
            words = matrices if k_last else _sorted(matrices, lane, of_a)
            assert words == _wanted(lane, of_a, not k_last, outer, k)


def _sorted(matrices: list, lane: int, of_a: bool) -> list:
    """As `permute_bytes` does."""
    words: list = []
    for half, odd in itertools.product(range(2), range(2)):
        eight, chosen = matrices[2 * half] + matrices[2 * half + 1], mma_bytes.selector(lane) + 0x1111 * odd
        words.append([eight[chosen >> 4 * byte & 7] for byte in range(4)])
    return [words[n] for n in mma_bytes.WOVEN_FRAGMENTS[of_a]]


def _wanted(lane: int, of_a: bool, woven: bool, outer: int, k: int) -> list:
    """The (outer, k) of the bytes of a fragment of A, or of two of B."""
    found = []
    for register in range(4):
        word = []
        for byte in range(4):
            row, along = mma_bytes.a_element(lane, register, byte)
            if not of_a:
                along, column = mma_bytes.b_element(lane, register % 2, byte)
                row = column + 8 * (register // 2)
            word.append((outer + (row % 8 * 2 + row // 8 if woven else row), k + along))
        found.append(word)
    return found


@pytest.mark.parametrize("woven", [(False, False), (True, True)])
@pytest.mark.parametrize(("shape", "warps"), [((16, 16), (1, 1)), ((64, 64), (2, 2)), ((64, 128), (1, 4))])
def test_slabs_cover_the_tile(shape, warps, woven):
    layout = mma.AccumulatorLayout(shape, warps, woven=woven)
    for slab in range(layout.slabs):
        held = {layout.slab_element(t, r): layout.element(t, slab * layout.slab_registers + r)
                for t in range(layout.threads) for r in range(layout.slab_registers)}
        wanted = {divmod(start + n, shape[1]): divmod(first + n, shape[1])
                  for first, end, start in layout.slab_ranges(slab) for n in range(end - first)}
        assert held == wanted and len(held) == layout.slab_size
