"""Matrix descriptors and panels: each address against the tables and examples of the PTX manual."""

from __future__ import annotations

import itertools

import pytest

from tilelang.tiling.mma import AccumulatorLayout, Swizzle
from tilelang.tiling.warpgroup_layout import MODES, PATTERN, Descriptor, Panels, swizzled


@pytest.mark.parametrize(("row", "bits"), [(128, 3), (64, 2), (32, 1)])
def test_the_swizzle_bit_by_bit(row, bits):
    """`Swizzle<bits, 4, 3>`: so many bits from bit 4 on are exclusive-ored with as many from bit 7 on."""
    for address in range(4 * PATTERN):
        wanted = address
        for bit in range(bits):
            wanted ^= (address >> (7 + bit) & 1) << (4 + bit)
        assert swizzled(address, row) == wanted
    assert sorted(swizzled(a, row) for a in range(PATTERN)) == list(range(PATTERN))


def test_a_pattern_of_rows_of_128_bytes():
    """Row by row, which of the eight chunks is where: the picture that everybody draws."""
    order = [[swizzled(row * 128 + chunk * 16, 128) // 16 - row * 8 for chunk in range(8)] for row in range(9)]
    assert order[0] == order[8] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert order[1] == [1, 0, 3, 2, 5, 4, 7, 6] and order[2] == [2, 3, 0, 1, 6, 7, 4, 5]
    assert order[7] == [7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(("descriptor", "leading", "stride", "mode"), [
    (Descriptor(32, 16, 64 * 4, True), 1, 16, 3),  # K major, 32B swizzling and tf32
    (Descriptor(32, 128 * 2, 256 * 2, False), 16, 32, 3),  # MN major, 32B swizzling and bf16
    (Descriptor(64, 256 * 2, 512 * 2, False), 32, 64, 2)])  # MN major, 64B swizzling and bf16
def test_the_fields_of_the_manuals_examples(descriptor, leading, stride, mode):
    bits = descriptor.bits
    assert (bits >> 16 & 0x3FFF, bits >> 32 & 0x3FFF, bits >> 62) == (leading, stride, mode)
    assert bits == leading << 16 | stride << 32 | mode << 62  # nothing else is set, the base offset is 0


@pytest.mark.parametrize(("row", "outer", "k"), [
    (32, ((8, 2, 2), (1, 8, 128)), ((8, 2), (16, 256))), (64, ((8, 4, 2), (1, 8, 256)), ((8, 2), (32, 512)))])
def test_the_manuals_examples_address_by_address(row, outer, k):
    """`Swizzle<..> o ((8,4,2),(8,2)):((1,8,256),(32,512))`: shape and strides, in elements, of both axes."""
    descriptor = Descriptor(row, outer[1][2] * 2, k[1][1] * 2, False)
    for i, j in itertools.product(range(8 * outer[0][1] * 2), range(16)):
        along, across = strided(i, *outer), strided(j, *k)
        assert descriptor.address(0, i, j) == swizzled((along + across) * 2, row)


def strided(number: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The offset that a CuTe layout of one axis gives, its first mode fastest."""
    offset = 0
    for extent, stride in zip(shape, strides, strict=True):
        number, digit = divmod(number, extent)
        offset += digit * stride
    return offset


@pytest.mark.parametrize(("row", "chunks"), [(128, 8), (64, 4), (32, 2)])
def test_rows_along_k_address_by_address(row, chunks):
    """`((8,m),(T,2k)):((chunks * T, SBO),(1,T))`, T = 8 halves; the leading offset is not used."""
    for leading in (16, 4096):
        descriptor = Descriptor(row, leading, 8 * row, True)
        for i, j in itertools.product(range(64), range(16)):
            offset = strided(i, (8, 8), (chunks * 8, 4 * row)) + strided(j, (8, 2), (1, 8))
            assert descriptor.address(0, i, j) == swizzled(offset * 2, row)


@pytest.mark.parametrize(("panels", "along_k", "bits"), [
    (Panels(32, 128), True, 0x8000002000000000), (Panels(128, 32), False, 0x4000004001000000),  # 128 x 128 x 32
    (Panels(64, 64), True, 0x4000004000000000), (Panels(256, 64), False, 0x4000004002000000)])  # 64 x 256 x 64
def test_the_descriptors_that_triton_makes(panels, along_k, bits):
    """Triton 3.9 for sm_90, from the PTX of products of such tiles; it leaves out the offset that is not used."""
    unused = 0x3FFF << 16 if along_k else 0
    assert panels.descriptor(along_k).bits & ~unused == bits


def test_the_steps_that_triton_takes():
    """What it adds to the start, in units of 16 bytes: for 16 along k, and for 64 rows."""
    assert Panels(32, 128).start(0, 16) * 2 // 16 == 2 and Panels(32, 128).start(64, 0) * 2 // 16 == 256
    assert [Panels(64, 64).start(0, k) * 2 // 16 for k in (16, 32, 48)] == [2, 4, 6]
    assert Panels(128, 32).start(16, 0) * 2 // 16 == Panels(256, 64).start(16, 0) * 2 // 16 == 128


@pytest.mark.parametrize("rows", [16, 64, 128])
@pytest.mark.parametrize("columns", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("along_k", [True, False])
def test_descriptors_read_what_was_put_into_panels(rows, columns, along_k):
    """Every operand of 64 (or fewer) by 16 in a tile, wherever it starts: each element is read where it was put."""
    panels = Panels(columns, rows)
    descriptor, (outers, depth) = panels.descriptor(along_k), (rows, columns) if along_k else (columns, rows)
    for outer, k in itertools.product(range(0, outers, 64), range(0, depth, 16)):
        start = panels.start(*(outer, k) if along_k else (k, outer))
        for i, j in itertools.product(range(min(64, outers)), range(16)):
            row, column = (outer + i, k + j) if along_k else (k + j, outer + i)
            assert descriptor.address(start * 2, i, j) == panels.position(row, column) * 2


@pytest.mark.parametrize("rows", [16, 32, 128])
@pytest.mark.parametrize("columns", [16, 32, 64, 128, 256])
def test_panels(rows, columns):
    panels = Panels(columns, rows)
    places = [panels.position(r, c) for r, c in itertools.product(range(rows), range(columns))]
    assert sorted(places) == list(range(rows * columns))
    assert rows * columns * 2 % (8 * panels.pitch * 2) == 0  # a ring's next slot begins a pattern, too
    for row, chunk in itertools.product(range(rows - 8), range(columns // 8)):  # as copies are made ready (`steady`)
        assert panels.chunk_position(row + 8, chunk) == panels.chunk_position(row, chunk) + 8 * panels.pitch
    if columns <= 64:
        swizzle = Swizzle(columns)
        assert places == [swizzle.position(r, c) for r, c in itertools.product(range(rows), range(columns))]


def test_fields_have_their_limits():
    assert set(MODES) == {32, 64, 128}
    for offset in (8, 1 << 18, -16):
        with pytest.raises(ValueError, match="do not fit into a field"):
            _ = Descriptor(128, offset, 1024, False).bits


@pytest.mark.parametrize(("shape", "warps"), [((64, 16), 4), ((128, 128), 4), ((128, 64), 8), ((256, 32), 8)])
def test_a_striped_accumulator_is_made_of_those_of_instructions(shape, warps):
    """The manual's accumulator of m64nNk16: of register i, row 16 * warp + lane / 4 + 8 * (i / 2 % 2), column
    8 * (i / 4) + 2 * (lane % 4) + i % 2. Groups take 64 rows in turn."""
    layout, seen = AccumulatorLayout(shape, (warps, 1), striped=True), set()
    for thread, register in itertools.product(range(warps * 32), range(layout.registers)):
        group, warp, lane = thread // 128, thread // 32 % 4, thread % 32
        piece, i = divmod(register, shape[1] // 2)
        row = (piece * (warps // 4) + group) * 64 + 16 * warp + lane // 4 + 8 * (i // 2 % 2)
        column = 8 * (i // 4) + 2 * (lane % 4) + i % 2
        assert layout.element(thread, register) == (row, column)
        assert layout.place((row, column)) == (thread, register)
        seen.add((row, column))
    assert len(seen) == shape[0] * shape[1]
    held = set()
    for slab in range(layout.slabs):
        rest = {element: start + element - first for first, end, start in layout.slab_ranges(slab)
                for element in range(first, end)}
        assert sorted(rest.values()) == list(range(layout.slab_size))
        for thread, register in itertools.product(range(warps * 32), range(layout.slab_registers)):
            row, column = layout.element(thread, layout.slab_register(slab, register))
            assert layout.slab_element(thread, register) == divmod(rest.pop(row * shape[1] + column), shape[1])
        assert not rest
        held.update(layout.slab_register(slab, register) for register in range(layout.slab_registers))
    assert held == set(range(layout.registers)) and (layout.slabs == 1 or layout.slab_registers <= 32)
