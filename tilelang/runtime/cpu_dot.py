"""The word `dot`: a small matrix product on tiles in scratch memory, written in vectors.

    dot(c, 0, a, 0, b, 0, 64, 64, 32)       c[64, 64] += a[64, 32] @ b[32, 64], all row-major

It is cut into blocks of ROWS x (VECTORS vectors) of c that stay in registers while k runs:

    for each block of c:  acc = c block
        for p in range(k):                   one column of a's block, one row of b's
            b0, b1 = vectors of b[p, ...]
            acc[r][v] = fma(broadcast a[r, p], b[v], acc[r][v])
        c block = acc

which is the innermost kernel of K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM
TOMS 34(3), 2008. From scalar source LLVM makes code 20 times slower: it does not keep the block in registers. Extents
are constants; what does not divide evenly gets narrower blocks of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import llvmlite.binding
from llvmlite import ir
from numba.core import types
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
    if features.get("avx"):
        return Registers(32, 4, 2)
    return Registers(16, 4, 2)


@dataclass(frozen=True)
class Operand:
    """One matrix: where its first element is, and the distance between its rows in elements."""

    pointer: Pointer
    base: ir.Value
    start: ir.Value
    row: int


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
                for first_row, rows, row_blocks in _cut(m, registers().rows):
                    for i in self._loop(row_blocks, rows, first_row):
                        self._block(i, j, rows, columns, k)

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

    # ---------------------------------------------------------------- one block of c

    def _block(self, i: ir.Value, j: ir.Value, rows: int, columns: int, k: int) -> None:
        builder = self.builder
        widths = _vectors(columns, self.lanes)
        places = [[self._at(self.c, i, r, j, start) for start, _ in widths] for r in range(rows)]
        first = [[self._load(self.c, at, width) for at, (_, width) in zip(row, widths, strict=True)]
                 for row in places]
        before, body = builder.basic_block, builder.append_basic_block("k")
        builder.branch(body)
        builder.position_at_end(body)
        p = builder.phi(I64)
        p.add_incoming(ir.Constant(I64, 0), before)
        sums = [[builder.phi(value.type) for value in row] for row in first]
        b_row = builder.mul(p, ir.Constant(I64, self.b.row))
        b_vectors = [self._load(self.b, self._offset(self.b, b_row, j, start), width) for start, width in widths]
        a_column = [self._scalar_of_a(i, r, p) for r in range(rows)]
        following = builder.add(p, ir.Constant(I64, 1))
        for row, starts, factor in zip(sums, first, a_column, strict=True):
            for total, start, vector in zip(row, starts, b_vectors, strict=True):
                total.add_incoming(start, before)
                total.add_incoming(self._multiply_add(factor, vector, total), builder.basic_block)
        p.add_incoming(following, builder.basic_block)
        after = builder.append_basic_block("sum")
        builder.cbranch(builder.icmp_signed("<", following, ir.Constant(I64, k)), body, after)
        builder.position_at_end(after)
        for row, at_row in zip(sums, places, strict=True):
            for total, at in zip(row, at_row, strict=True):
                self._store(self.c, at, total.incomings[1][0])

    def _scalar_of_a(self, i: ir.Value, r: int, p: ir.Value) -> ir.Value:
        return self._load(self.a, self._at(self.a, i, r, p, 0), 0)

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


def _vectors(columns: int, lanes: int) -> list[tuple[int, int]]:
    """(start, width) of the vectors that make up so many columns; the last may be narrower."""
    return [(start, min(lanes, columns - start)) for start in range(0, columns, lanes)]
