"""The word `dot`: a small matrix product on tiles in scratch memory, written in vectors.

    dot(c, 0, a, 0, b, 0, 64, 64, 32)       c[64, 64] += a[64, 32] @ b[32, 64], all row-major

It is cut into blocks of ROWS x (VECTORS vectors) of c that stay in registers while k runs:

    for each panel of b's columns:  panel = these columns, row after row without gaps
        for each block of c:  acc = c block
            for p in range(k):                   one column of a's block, one row of the panel
                b0, b1 = vectors of panel[p]
                acc[r][v] = fma(broadcast a[r, p], b[v], acc[r][v])
            c block = acc

which is the innermost kernel of K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM
TOMS 34(3), 2008. From scalar source LLVM makes code 20 times slower: it does not keep the block in registers. The
rows of b itself would lie a power of two apart, and push one another out of the cache. Extents are constants; what does
not divide evenly gets smaller blocks of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tilelang.runtime.cpu_formats import FORMATS, I32, I64
from tilelang.runtime.cpu_memory import Pointer, element, mark_scope


@dataclass(frozen=True)
class Registers:
    """Bytes of a vector register, and the block of c that fits: rows, and vectors in a row."""

    vector_bytes: int
    rows: int
    vectors: int


@lru_cache(maxsize=1)
def registers() -> Registers:
    """For this processor. AVX-512 has 32 registers, but only some processors run at full speed with 64 bytes."""
    features = llvmlite.binding.get_host_cpu_features()
    if features.get("avx512vl"):
        wide = llvmlite.binding.get_host_cpu_name().startswith("znver")
        return Registers(64 if wide else 32, 8, 2)
    if features.get("fma"):  # 6 rows of 2 vectors, 2 of b, 1 of a: 15 of 16 registers
        return Registers(32, 6, 2)
    return Registers(16, 4, 2)


@dataclass(frozen=True)
class Operand:
    """One matrix: where its first element is, and the distance between its rows in elements."""

    pointer: Pointer
    base: ir.Value
    start: ir.Value
    row: int


@dataclass(frozen=True)
class Panel:
    """Some columns of b: the typed pointer to its first element, and the distance between rows in elements.

    `is_b`: it is b itself, not a copy.
    """

    base: ir.Value
    row: int
    is_b: bool


@dataclass(frozen=True)
class _Block:
    """`rows` x `columns` of c from (i, j) on, and the `depth` rows of b from p on that it is multiplied with."""

    i: ir.Value
    j: ir.Value
    p: ir.Value
    rows: int
    columns: int
    depth: int
    panel: Panel


Sums = list[list[ir.Value]]
"""The vectors of a block of c, row by row."""

DEPTH = 256
"""Rows of b in a panel at most: 16 KiB of f32, so that it stays in the first-level cache beside a's rows."""
COPY_WORTH = 4
"""Blocks that read a panel, at least, for it to be copied."""
UNROLLED = 4
"""Steps along k in one round of the innermost loop."""


@intrinsic(prefer_literal=True)
def dot(typing, c, c_start, a, a_start, b, b_start, m, n, k):
    """c += a @ b; the starts are in elements, m, n and k are constants."""
    if not all(isinstance(extent, types.IntegerLiteral) for extent in (m, n, k)):
        return None

    def generate(context, builder, signature, values):
        c_base, c_at, a_base, a_at, b_base, b_at = values[:6]
        _Product(builder, Operand(c, c_base, c_at, n.literal_value), Operand(a, a_base, a_at, k.literal_value),
                 Operand(b, b_base, b_at, n.literal_value)).write(m.literal_value, n.literal_value, k.literal_value)
        return context.get_dummy_value()

    int64 = types.int64
    return types.void(c, int64, a, int64, b, int64, m, n, k), generate


class _Product:
    """Writes one product."""

    def __init__(self, builder: ir.IRBuilder, c: Operand, a: Operand, b: Operand):
        self.builder, self.c, self.a, self.b = builder, c, a, b
        layout = FORMATS[c.pointer.format]
        self.scalar, self.is_float = layout.memory, isinstance(layout.register, types.Float)
        self.bytes = layout.bytes
        self.lanes = registers().vector_bytes // layout.bytes

    def write(self, m: int, n: int, k: int) -> None:
        for first_column, columns, blocks in _cut(n, registers().vectors * self.lanes):
            for j in self._loop(blocks, columns, first_column):
                for first_depth, depth, depth_blocks in _cut(k, DEPTH):
                    for p in self._loop(depth_blocks, depth, first_depth):
                        panel = self._panel(p, j, columns, depth, m)
                        for first_row, rows, row_blocks in _cut_rows(m, registers().rows):
                            for i in self._loop(row_blocks, rows, first_row):
                                self._block(_Block(i, j, p, rows, columns, depth, panel))

    def _loop(self, count: int, step: int, first: int) -> Iterator[ir.Value]:
        """first, first + step, ...: `count` of them, in a loop of the written code; yields the variable, once."""
        if count == 1:
            yield ir.Constant(I64, first)
            return
        builder = self.builder
        before, body = builder.basic_block, builder.append_basic_block("blocks")
        builder.branch(body)
        builder.position_at_end(body)
        variable = builder.phi(I64)
        variable.add_incoming(ir.Constant(I64, first), before)
        yield variable
        following = builder.add(variable, ir.Constant(I64, step))
        variable.add_incoming(following, builder.basic_block)
        after = builder.append_basic_block("done")
        builder.cbranch(builder.icmp_signed("<", following, ir.Constant(I64, first + count * step)), body, after)
        builder.position_at_end(after)

    # ---------------------------------------------------------------- b's panel

    def _panel(self, p: ir.Value, j: ir.Value, columns: int, depth: int, m: int) -> Panel:
        """Columns j, j + 1, ... of b's rows p, p + 1, ..., copied if they are read often enough to pay for it."""
        builder, b = self.builder, self.b
        start = self._offset(b, builder.mul(p, ir.Constant(I64, b.row)), j, 0)
        here = Panel(builder.bitcast(element(builder, b.pointer, b.base, start), self.scalar.as_pointer()), b.row, True)
        if columns == b.row or m < COPY_WORTH * registers().rows:
            return here
        copy = Panel(self._room(columns * depth), columns, False)
        for row in self._loop(depth, 1, 0):
            for column, width in _vectors(columns, self.lanes):
                vector = self._load_panel(here, row, column, width)
                at = self._in_panel(copy, row, column)
                builder.store(vector, builder.bitcast(at, vector.type.as_pointer()), align=self.bytes)
        return copy

    def _room(self, elements: int) -> ir.Value:
        """Stack memory that lasts as long as the kernel."""
        room = cgutils.alloca_once(self.builder, self.scalar, elements)
        room.align = registers().vector_bytes
        return room

    def _in_panel(self, panel: Panel, row: ir.Value, column: int) -> ir.Value:
        builder = self.builder
        offset = builder.add(builder.mul(row, ir.Constant(I64, panel.row)), ir.Constant(I64, column))
        return builder.gep(panel.base, [offset], inbounds=True)

    def _load_panel(self, panel: Panel, row: ir.Value, column: int, width: int) -> ir.Value:
        at = self._in_panel(panel, row, column)
        loaded = self.builder.load(self.builder.bitcast(at, ir.VectorType(self.scalar, width).as_pointer()),
                                   align=self.bytes)
        if panel.is_b:
            mark_scope(self.builder, self.b.pointer, loaded)
        return loaded

    # ---------------------------------------------------------------- one block of c

    def _block(self, block: _Block) -> None:
        """Load it, add the products, store it."""
        widths = _vectors(block.columns, self.lanes)
        places = [[self._at(self.c, block.i, r, block.j, start) for start, _ in widths] for r in range(block.rows)]
        sums = [[self._load(self.c, at, width) for at, (_, width) in zip(row, widths, strict=True)] for row in places]
        whole = block.depth - block.depth % UNROLLED
        if whole:
            sums = self._rounds(block, sums, whole)
        for p in range(whole, block.depth):
            sums = self._step(block, ir.Constant(I64, p), sums)
        for row, at_row in zip(sums, places, strict=True):
            for total, at in zip(row, at_row, strict=True):
                self._store(self.c, at, total)

    def _rounds(self, block: _Block, first: Sums, depth: int) -> Sums:
        """The loop over k, UNROLLED steps a round; `depth` is a multiple of that."""
        builder = self.builder
        before, body = builder.basic_block, builder.append_basic_block("k")
        builder.branch(body)
        builder.position_at_end(body)
        p = builder.phi(I64)
        p.add_incoming(ir.Constant(I64, 0), before)
        phis = [[builder.phi(value.type) for value in row] for row in first]
        sums: Sums = phis
        for step in range(UNROLLED):
            sums = self._step(block, builder.add(p, ir.Constant(I64, step)), sums)
        following = builder.add(p, ir.Constant(I64, UNROLLED))
        p.add_incoming(following, builder.basic_block)
        for row, starts, ends in zip(phis, first, sums, strict=True):
            for phi, start, end in zip(row, starts, ends, strict=True):
                phi.add_incoming(start, before)
                phi.add_incoming(end, builder.basic_block)
        after = builder.append_basic_block("sum")
        builder.cbranch(builder.icmp_signed("<", following, ir.Constant(I64, depth)), body, after)
        builder.position_at_end(after)
        return sums

    def _step(self, block: _Block, p: ir.Value, sums: Sums) -> Sums:
        """sums + column p of a's block times row p of the panel; p counts from the panel's first row."""
        vectors = [self._load_panel(block.panel, p, start, width)
                   for start, width in _vectors(block.columns, self.lanes)]
        column = self.builder.add(block.p, p)
        result = []
        for r, row in enumerate(sums):
            factor = self._load(self.a, self._at(self.a, block.i, r, column, 0), 0)
            result.append([self._multiply_add(factor, vector, total)
                           for vector, total in zip(vectors, row, strict=True)])
        return result

    def _multiply_add(self, factor: ir.Value, vector: ir.Value, total: ir.Value) -> ir.Value:
        builder, type = self.builder, vector.type
        if isinstance(type, ir.VectorType):
            lane = builder.insert_element(ir.Constant(type, ir.Undefined), factor, ir.Constant(I32, 0))
            zeros = ir.Constant(ir.VectorType(I32, type.count), [0] * type.count)
            factor = builder.shuffle_vector(lane, ir.Constant(type, ir.Undefined), zeros)
        if not self.is_float:
            return builder.add(total, builder.mul(factor, vector))
        vector_of = f"v{type.count}" if isinstance(type, ir.VectorType) else ""
        name = f"llvm.fmuladd.{vector_of}f{8 * self.bytes}"
        signature = ir.FunctionType(type, [type] * 3)
        function = builder.module.globals.get(name) or ir.Function(builder.module, signature, name)
        return builder.call(function, [factor, vector, total])

    # ---------------------------------------------------------------- memory

    def _at(self, matrix: Operand, i: ir.Value, r: int, j: ir.Value, start: int) -> ir.Value:
        """Offset of element (i + r, j + start)."""
        row = self.builder.mul(self.builder.add(i, ir.Constant(I64, r)), ir.Constant(I64, matrix.row))
        return self._offset(matrix, row, j, start)

    def _offset(self, matrix: Operand, row: ir.Value, j: ir.Value, start: int) -> ir.Value:
        column = self.builder.add(j, ir.Constant(I64, start))
        return self.builder.add(self.builder.add(matrix.start, row), column)

    def _pointer(self, matrix: Operand, offset: ir.Value, width: int) -> ir.Value:
        at = element(self.builder, matrix.pointer, matrix.base, offset)
        return self.builder.bitcast(at, ir.VectorType(self.scalar, width).as_pointer()) if width else at

    def _load(self, matrix: Operand, offset: ir.Value, width: int) -> ir.Value:
        """`width` neighbours as a vector; 0: one element as a scalar."""
        loaded = self.builder.load(self._pointer(matrix, offset, width), align=self.bytes)
        mark_scope(self.builder, matrix.pointer, loaded)
        return loaded

    def _store(self, matrix: Operand, offset: ir.Value, vector: ir.Value) -> None:
        width = vector.type.count if isinstance(vector.type, ir.VectorType) else 0
        stored = self.builder.store(vector, self._pointer(matrix, offset, width), align=self.bytes)
        mark_scope(self.builder, matrix.pointer, stored)


def _cut(extent: int, block: int) -> list[tuple[int, int, int]]:
    """(first, size, how many): the whole blocks of an extent, then the rest."""
    whole, rest = divmod(extent, block)
    return [(0, block, whole)] * (whole > 0) + [(whole * block, rest, 1)] * (rest > 0)


def _cut_rows(extent: int, block: int) -> list[tuple[int, int, int]]:
    """As `_cut`, but a short rest takes rows from the last whole block: a block of 1 or 2 rows waits for its sums."""
    whole, rest = divmod(extent, block)
    if not whole or not 0 < rest < block - 2:
        return _cut(extent, block)
    last = block + rest
    taller = -(-last // 2)
    start = (whole - 1) * block
    cuts = [(start, taller, 1), (start + taller, last - taller, 1)] if taller != last - taller else [(start, taller, 2)]
    return [*([(0, block, whole - 1)] if whole > 1 else []), *cuts]


def _vectors(columns: int, lanes: int) -> list[tuple[int, int]]:
    """(start, width) of the vectors that make up so many columns; the last may be narrower."""
    return [(start, min(lanes, columns - start)) for start in range(0, columns, lanes)]
