"""Tensor-core layouts: which element is where when a warp multiplies with `mma.m16n8k16`.

One instruction multiplies a 16 x 16 tile of halves by a 16 x 8 one and adds to a 16 x 8 tile of f32. The 32 lanes
hold all three in their registers, two halves or one f32 each, in an order that the hardware fixes:

    A (row g or g + 8)         B (column g)              C (row g or g + 8)            g = lane // 4
         k                       k                            n                        p = 2 * (lane % 4)
    g    a0 a0 | a2 a2      p    b0 | each pair of k     g    c0 c1   at n = p, p + 1
    g+8  a1 a1 | a3 a3      p+8  b1 | in one register    g+8  c2 c3
         ^p      ^p + 8

A tile of the program is larger. Its warps stand side by side in a grid over it, and each repeats the instruction over
its part: the accumulator of a 32 x 16 part is 2 x 2 pieces of 16 x 8, four registers each, in row-major order.

Source: NVIDIA, "Parallel Thread Execution ISA", section "Matrix Fragments for mma.m16n8k16".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tilelang.tiling.numbers import AnyNumber

WARP = 32
FRAGMENT = 4
"""Registers of a fragment of 16 x 16 halves of A; of two of B."""
PIECE = (16, 8)
"""Rows and columns of the accumulator of one instruction."""
DEPTH = 16
"""How far one instruction goes along k."""


# ------------------------------------------------------------------------------------ one instruction


def a_element(lane: int, register: int, half: int) -> tuple[int, int]:
    """The (row, k) in 16 x 16 that is in a half (0: the lower 16 bits) of register 0 to 3 of A's fragment."""
    return lane // 4 + 8 * (register % 2), 2 * (lane % 4) + half + 8 * (register // 2)


def b_element(lane: int, register: int, half: int) -> tuple[int, int]:
    """The (k, column) in 16 x 8 that is in a half of register 0 or 1 of B's fragment."""
    return 2 * (lane % 4) + half + 8 * register, lane // 4


def c_element(lane: AnyNumber, register: AnyNumber) -> tuple[AnyNumber, AnyNumber]:
    """The (row, column) in 16 x 8 that is in register 0 to 3 of the accumulator."""
    return lane // 4 + 8 * (register // 2), 2 * (lane % 4) + register % 2


def matrix_element(lane: int, trans: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    """The (row, column) of the lower and the upper half that a lane gets of an 8 x 8 matrix by `ldmatrix`."""
    row, column = lane // 4, 2 * (lane % 4)
    return ((column, row), (column + 1, row)) if trans else ((row, column), (row, column + 1))


# ------------------------------------------------------------------------------------ a tile


@dataclass(frozen=True)
class AccumulatorLayout:
    """A tile of f32 of this shape over a grid of `warps`, row-major: warp w is at row w // warps[1].

    The extents must be multiples of 16 and 8 times the number of warps along them. Threads beyond the grid of warps
    hold nothing. Each warp's rows are neighbours, or `striped`: 16 rows go to each row of warps in turn. `woven`, for
    rows and columns: of 16 neighbours the even ones come first, then the odd ones, as fragments of bytes that were
    transposed have them (`tilelang.tiling.mma_bytes`); of columns the extent is then a multiple of 16 for each warp.
    """

    shape: tuple[int, int]
    warps: tuple[int, int]
    striped: bool = False
    woven: tuple[bool, bool] = (False, False)

    @property
    def part(self) -> tuple[int, int]:
        """Rows and columns of one warp."""
        return self.shape[0] // self.warps[0], self.shape[1] // self.warps[1]

    @property
    def pieces(self) -> tuple[int, int]:
        """How many instructions' accumulators a warp has, down and across."""
        return self.part[0] // PIECE[0], self.part[1] // PIECE[1]

    @property
    def threads(self) -> int:
        """Threads that hold elements: those of numbers below this."""
        return self.warps[0] * self.warps[1] * WARP

    @property
    def registers(self) -> int:
        """Registers in each thread."""
        return self.pieces[0] * self.pieces[1] * 4

    def place(self, coordinates: tuple[int, int]) -> tuple[int, int]:
        """The (thread, register) that holds the element at `coordinates`."""
        (row, column), (rows, columns) = coordinates, self.part
        high, down = (row // 16 % self.warps[0], row // 16 // self.warps[0]) if self.striped else (
            row // rows, row % rows // 16)
        warp, column = high * self.warps[1] + column // columns, column % columns
        row, column = (_sorted(at) if woven else at for at, woven in zip((row, column), self.woven, strict=True))
        lane = row % 8 * 4 + column % 8 // 2
        piece = down * self.pieces[1] + column // 8
        return warp * WARP + lane, piece * 4 + row % 16 // 8 * 2 + column % 2

    def coordinates(self, thread: int, register: int) -> tuple[int, int] | None:
        """The element at a place; None for threads beyond the warps."""
        return self.element(thread, register) if thread < self.threads else None

    def element(self, thread: AnyNumber, register: AnyNumber) -> tuple[AnyNumber, AnyNumber]:
        """The (row, column) at the place of a thread that holds elements."""
        warp, lane, piece = thread // WARP, thread % WARP, register // 4
        row, column = c_element(lane, register % 4)
        down, across = piece // self.pieces[1], piece % self.pieces[1]
        column = across * PIECE[1] + column
        row, column = (_woven(at) if woven else at for at, woven in zip((row, column), self.woven, strict=True))
        apart = (PIECE[0], self.warps[0] * PIECE[0]) if self.striped else (self.part[0], PIECE[0])
        return (warp // self.warps[1] * apart[0] + down * apart[1] + row,
                warp % self.warps[1] * self.part[1] + column)

    # ---------------------------------------------------------------- slabs: 16 rows of each warp, or 8

    @property
    def slabs(self) -> int:
        return self.pieces[0] * self.halves

    @property
    def halves(self) -> int:
        """2 if a slab has 8 rows of each warp: 16 rows, striped, would be more than 32 registers, and as many places in
        shared memory, which the compilers behind this one keep at hand where there are several slabs."""
        return 2 if self.striped and self.pieces[0] > 1 and self.pieces[1] > 8 else 1

    @property
    def slab_size(self) -> int:
        """Elements of one slab."""
        return self.warps[0] * PIECE[0] * self.shape[1] // self.halves

    @property
    def slab_registers(self) -> int:
        """Registers of each thread in one slab."""
        return self.pieces[1] * 4 // self.halves

    def slab_register(self, slab: int, register: AnyNumber) -> AnyNumber:
        """The register that is the slab's of this number."""
        if self.halves == 1:
            return register + slab * self.slab_registers
        return register // 2 * 4 + register % 2 + (slab // 2 * self.pieces[1] * 4 + slab % 2 * 2)

    def slab_element(self, thread: AnyNumber, register: AnyNumber) -> tuple[AnyNumber, AnyNumber]:
        """Which (row, column) of its slab an element is; `register` counts those of the slab."""
        if self.halves == 2:
            lane = thread % WARP
            return thread // WARP * 8 + lane // 4, register // 2 * 8 + lane % 4 * 2 + register % 2
        slab = replace(self, shape=(self.warps[0] * PIECE[0], self.shape[1]), striped=False)
        return slab.element(thread, register)

    def slab_ranges(self, slab: int) -> Iterator[tuple[int, int, int]]:
        """(first, end, start): the elements of the tile from number `first` to `end` are, row by row, the slab's from
        number `start` on."""
        if self.striped and self.halves == 1:
            yield slab * self.slab_size, (slab + 1) * self.slab_size, 0
            return
        (piece, half), size = divmod(slab, self.halves), self.slab_size // self.warps[0]
        for warp in range(self.warps[0]):
            apart = (PIECE[0], self.warps[0] * PIECE[0]) if self.striped else (self.part[0], PIECE[0])
            first = (warp * apart[0] + piece * apart[1]) * self.shape[1] + half * size
            yield first, first + size, warp * size


def _woven(at: AnyNumber) -> AnyNumber:
    """Of 16 neighbours, sorted: 0, 2, ... 14, 1, 3, ... 15."""
    return at // 16 * 16 + at % 8 * 2 + at % 16 // 8


def _sorted(at: int) -> int:
    """The way back."""
    return at // 16 * 16 + at % 2 * 8 + at % 16 // 2


def arrange_warps(shape: tuple[int, int], warps: int, batches: int = 1) -> tuple[int, int] | None:
    """The grid of at most `warps` warps over a tile: as many as possible; of these, the parts closest to squares.

    A warp reads a strip of A and one of B for its part, so the nearer to a square, the less it reads per product. Parts
    are multiples of 16 x 16. The tile may be the results of several `batches`, one below the other; then a part is in
    one of them, or is some of them from top to bottom. None if the tile has no such parts.
    """
    height = shape[0] // batches

    def read(grid: tuple[int, int]) -> int:
        down, across = shape[0] // grid[0], shape[1] // grid[1]
        return down + across * max(down // height, 1)

    return min(_grids(shape, warps, height), key=lambda grid: (-grid[0] * grid[1], read(grid)), default=None)


def _grids(shape: tuple[int, int], warps: int, height: int) -> Iterator[tuple[int, int]]:
    for down in range(1, warps + 1):
        part = shape[0] // down
        if shape[0] % (down * 16) == 0 and height % 16 == 0 and (height % part == 0 or part % height == 0):
            for across in range(1, warps // down + 1):
                if shape[1] % (across * 16) == 0:
                    yield down, across


# ------------------------------------------------------------------------------------ shared memory


@dataclass(frozen=True)
class Swizzle:
    """A tile in shared memory, rows of `columns`, in chunks of 16 bytes that change places.

        row 0   | 0 1 2 3 |      a read of 8 rows at one column touches 8 x 16 bytes: without the exchange,
        row 1   | 0 1 2 3 |      of a row of 64 bytes, 4 times the same 64 bytes of banks
        row 2   | 1 0 3 2 |
        row 3   | 1 0 3 2 |      chunk c of row r is at c ^ (r // repeat % ways)
        row 4   | 2 3 0 1 |

    `ldmatrix` reads 8 rows of one chunk at a time. Exchanged this way the 8 lie in different banks, and a row still
    holds its own elements, so that what is written along rows is free of conflicts too. `columns` is a power of two.
    `chunk`: elements of a chunk.
    """

    columns: int
    chunk: int = field(default=8, kw_only=True)

    @property
    def ways(self) -> int:
        """Among how many chunks a chunk changes places."""
        return min(max(self.columns // self.chunk, 1), 8)

    @property
    def repeat(self) -> int:
        """How many rows in a row have the same order: so many fill the 128 bytes of all banks."""
        return 8 // self.ways

    @property
    def pitch(self) -> int:
        """Elements from a row to the next."""
        return self.columns

    def turn(self, row: AnyNumber) -> AnyNumber:
        """What the chunk's number is exclusive-ored with. Rows that differ by a multiple of 8 have the same."""
        return row // self.repeat % self.ways

    def position(self, row: AnyNumber, column: AnyNumber) -> AnyNumber:
        """Where the element is in the shared array."""
        return self.chunk_position(row, column // self.chunk) + column % self.chunk

    def chunk_position(self, row: AnyNumber, chunk: AnyNumber) -> AnyNumber:
        """Where a chunk starts."""
        return row * self.columns + (chunk ^ self.turn(row)) * self.chunk


@dataclass(frozen=True)
class MatrixRead:
    """Which row of which 8 x 8 matrix a lane gives to `ldmatrix`, so that the four make fragments of one operand.

    The operand is a piece of 16 times two chunks along k: of A one fragment (four registers), of B two fragments
    (columns 0 to 7, 8 to 15). Along `k` and along the other axis, `outer`; in shared memory the rows run along k if
    `k_last`. If not, elements have 16 bits; for bytes see `tilelang.tiling.mma_bytes`.
    """

    swizzle: Swizzle
    of_a: bool
    k_last: bool

    @property
    def trans(self) -> bool:
        """A's fragment has neighbours along k in a register, B's too: what lies the other way is transposed."""
        return not self.k_last

    def position(self, lane: AnyNumber, outer: AnyNumber, k: AnyNumber) -> AnyNumber:
        """Where the lane's row starts for the piece at (outer, k), multiples of its extents."""
        matrix, row = lane // 8, lane % 8
        first, second = matrix % 2, matrix // 2
        outer_half, k_half = (first, second) if self.of_a else (second, first)
        if self.k_last:
            start, chunk = outer + outer_half * 8 + row, k // self.swizzle.chunk + k_half
        else:
            start, chunk = k + k_half * 8 + row, outer // 8 + outer_half
        return start * self.swizzle.columns + (chunk ^ self.swizzle.turn(row)) * self.swizzle.chunk

