"""Tensor-core layouts of bytes: `mma.m16n8k32` on i8, four neighbours along k in each register.

    A (row g or g + 8)          B (column g)                 g = lane // 4, p = lane % 4
         k = 4p ..  k = 4p + 16 ..
    g      a0         a2        k = 4p ..       b0           the accumulator is that of all `mma`s
    g+8    a1         a3        k = 4p + 16 ..  b1

Where rows in shared memory run along k, two bytes are to `ldmatrix` what a half is: `MatrixRead` with chunks of 16.

Where they run the other way, `ldmatrix` transposes halves, so pairs of bytes that are neighbours across k stay
together. A matrix of 8 rows along k gives a lane four bytes:

    matrix 0, of rows 4p, 4p + 1            k = 4p: of outer 2g, of 2g + 1      k = 4p + 1: of 2g, of 2g + 1
    matrix 1, of rows 4p + 2, 4p + 3        k = 4p + 2: ...                     k = 4p + 3: ...

    permute_bytes(matrix 0, matrix 1)   ->  k = 4p .. 4p + 3 of outer 2g;       and once more, of outer 2g + 1

So one fragment has the even ones of 16 rows of A, or columns of B, and another the odd ones: the accumulator's layout
is `woven`. Which rows of k make a matrix, the lanes say that give their addresses. Rows 4p and 4p + 1 of all p would
lie in the same banks two by two, so for p = 2 and 3 the matrices change roles, and `selector` knows it.

Source: NVIDIA, "Parallel Thread Execution ISA", sections "Matrix Fragments for mma.m16n8k32", "ldmatrix" and "prmt".
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.tiling.mma import MatrixRead
from tilelang.tiling.numbers import AnyNumber

WOVEN_FRAGMENTS = {True: (0, 1, 2, 3), False: (0, 2, 1, 3)}
"""Of what makes A's fragment (True), and B's two: which is of the even ones of the first 16 along k, of the odd ones,
and the same of the second 16."""


def a_element(lane: int, register: int, byte: int) -> tuple[int, int]:
    """The (row, k) in 16 x 32 that is in a byte (0: the lowest) of register 0 to 3 of A's fragment."""
    return lane // 4 + 8 * (register % 2), 4 * (lane % 4) + byte + 16 * (register // 2)


def b_element(lane: int, register: int, byte: int) -> tuple[int, int]:
    """The (k, column) in 32 x 8 that is in a byte of register 0 or 1 of B's fragment."""
    return 4 * (lane % 4) + byte + 16 * register, lane // 4


@dataclass(frozen=True)
class TransposedRead(MatrixRead):
    """`MatrixRead` of a piece of 16 bytes times 32 along k, whose rows do not run along k."""

    def position(self, lane: AnyNumber, outer: AnyNumber, k: AnyNumber) -> AnyNumber:
        matrix, row = lane // 8, lane % 8
        pair = row // 2
        second = (matrix % 2 ^ pair // 2) * 2
        within = pair * 4 + second + row % 2
        chunk = outer // self.swizzle.chunk ^ self.swizzle.turn(pair % 2 * 4 + second + row % 2)
        return (k + matrix // 2 * 16 + within) * self.swizzle.columns + chunk * self.swizzle.chunk


def selector(lane: AnyNumber) -> AnyNumber:
    """What `permute_bytes` takes from two matrices: bytes 0 and 2 of the first, then of the second, or the other way
    about. 0x1111 more: bytes 1 and 3."""
    return lane % 4 // 2 * (0x2064 ^ 0x6420) ^ 0x6420


def permuted(low: int, high: int, selector: int) -> int:
    """Four of the eight bytes of two words: byte n is the one whose number, 4 to 7 for those of `high`, is in the
    selector's bits from 4 n on."""
    bytes_ = (high << 32 | low).to_bytes(8, "little")
    return int.from_bytes(bytes(bytes_[selector >> 4 * n & 7] for n in range(4)), "little")
