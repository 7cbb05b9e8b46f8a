"""How `wgmma` finds its operands in shared memory: matrix descriptors, and tiles laid out so that one describes them.

Four neighbouring warps, a *warp group*, multiply 64 x 16 halves by 16 x n at once and read both from shared memory, by
themselves: no thread loads an element. Where each element is they derive from a descriptor of 64 bits:

    bits  0-13   where the operand starts, in units of 16 bytes
    bits 16-29   leading offset, bits 32-45 stride offset, in the same units
    bits 49-51   0: each repeating pattern of the swizzle begins at a multiple of its 8 rows
    bits 62-63   swizzle: 1, 2 or 3 for rows of 128, 64 or 32 bytes

Shared memory is seen as rows of so many bytes, and every 8 of them are a *pattern*, in which chunks of 16 bytes change
places. A tile with longer rows is cut into panels of such rows, one below the other:

    tile of 32 x 128 halves         in shared memory, rows of 64 halves = 128 bytes

    row 0   | p0 | p1 |             panel 0: rows 0 to 31 of columns 0 to 63
    row 1   | p0 | p1 |      ->     panel 1: rows 0 to 31 of columns 64 to 127
    ...                             chunk c of row r is at c ^ r % 8

What the offsets are depends on which way the operand lies. Let `outer` be its axis that is not k, of A the rows and of
B the columns:

    rows run along k             pattern = 8 of outer; stride: from 8 of outer to the next 8; leading: not used
    rows run along outer         pattern = 8 of k; stride: from 8 of k to the next 8; leading: from panel to panel

Nothing here was tried on a GPU. The fields are those of the manual's tables, and for the tiles of the report
(`tilelang/bench`) the same as in the machine code that Triton 3.9 makes of its own kernels.

Source: NVIDIA, "Parallel Thread Execution ISA", section "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
Instructions": "Matrix Fragments for wgmma.mma_async.m64nNk16", "Strides", "Canonical Layouts", "Matrix Descriptor
Format".
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.tiling.mma import Swizzle
from tilelang.tiling.numbers import AnyNumber

GROUP = 128
"""Threads of a warp group."""
ROWS = 64
"""Rows of the accumulator of one instruction: 16 in each warp, those of warp w of the group from 16 * w on."""
MOST_COLUMNS = 256
"""Columns of it, at most; a multiple of 8."""
HALF = 2
"""Bytes of an element."""
CHUNK = 16
"""Bytes that keep together when a pattern is swizzled."""
LINE = 128
"""Bytes of all banks. From one of these to the next a pattern's order of chunks changes."""
LONGEST = 128
"""Bytes of a row, at most."""
PATTERN = 8 * LONGEST
"""Bytes of the largest pattern, which begins at a multiple of them; so do smaller ones at a multiple of theirs."""
MODES = {128: 1, 64: 2, 32: 3}
"""Bytes of a row -> bits 62 and 63."""
FIELD = 0x3FFFF
"""Addresses and offsets have so many bits, of which the descriptor leaves out the last four."""


def swizzled(address: AnyNumber, row: int) -> AnyNumber:
    """Where a byte is that would be at `address` without the swizzle, in rows of 128, 64 or 32 bytes.

    128: bits 4 to 6 of the address are exclusive-ored with bits 7 to 9. 64: bits 4 and 5 with 7 and 8. 32: bit 4 with
    bit 7.
    """
    return address ^ address // LINE % (row // CHUNK) * CHUNK


@dataclass(frozen=True)
class Descriptor:
    """A matrix descriptor, all but the start. `row`, `leading` and `stride` in bytes; `row` is 128, 64 or 32.

    `along_k`: do the rows run along k? If not, the instruction has to be told (`imm-trans-a`, `imm-trans-b`).
    """

    row: int
    leading: int
    stride: int
    along_k: bool

    @property
    def bits(self) -> int:
        """The 64 bits, with a start of 0."""
        return _field(self.leading) << 16 | _field(self.stride) << 32 | MODES[self.row] << 62

    def address(self, start: AnyNumber, outer: AnyNumber, k: AnyNumber) -> AnyNumber:
        """The byte in shared memory at which the element (outer, k) of an operand that starts at `start` is read."""
        if self.along_k:
            offset = outer % 8 * self.row + outer // 8 * self.stride + k * HALF
        else:
            across = self.row // HALF
            offset = outer % across * HALF + outer // across * self.leading + k % 8 * self.row + k // 8 * self.stride
        return swizzled(start + offset, self.row)


def _field(offset: int) -> int:
    if offset % CHUNK or not 0 <= offset <= FIELD:
        raise ValueError(f"{offset} bytes do not fit into a field of a matrix descriptor")
    return offset // CHUNK


@dataclass(frozen=True)
class Panels(Swizzle):
    """A tile of `rows` x `columns` halves in shared memory, in panels. Both are powers of two, from 16 on.

    Up to 64 columns there is one panel, and its order is `Swizzle`'s.
    """

    rows: int

    @property
    def pitch(self) -> int:
        return min(self.columns, LONGEST // HALF)

    def chunk_position(self, row: AnyNumber, chunk: AnyNumber) -> AnyNumber:
        across = self.pitch * HALF // CHUNK
        place = row * self.pitch + (chunk % across ^ self.turn(row)) * 8
        return place if self.columns == self.pitch else chunk // across * (self.rows * self.pitch) + place

    def start(self, row: AnyNumber, column: AnyNumber) -> AnyNumber:
        """Where an operand starts, in elements, whose first element this is: descriptors take the place before the
        swizzle. The row is a multiple of 8."""
        return column // self.pitch * (self.rows * self.pitch) + row * self.pitch + column % self.pitch

    def descriptor(self, along_k: bool) -> Descriptor:
        """Of an operand in this tile."""
        row = self.pitch * HALF
        return Descriptor(row, CHUNK if along_k else self.rows * row, 8 * row, along_k)
