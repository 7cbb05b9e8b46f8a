"""The word `transpose`: a tile in scratch, turned over in blocks that fit the vector registers.

    transpose(t, s, 1, 64, 32)        t[32, 64] = transposed s[64, 32]; 1: the number of such tiles in a row

A block of 8 x 8 is eight vectors. Three rounds of shuffles turn it: exchange neighbours, pairs, then halves (the
butterfly of J. O. Eklundh, "A fast computer method for matrix transposing", IEEE TC 21(7), 1972). Element by
element it would take eight times the loads and stores.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, register_jitable

from tilelang.runtime.cpu_formats import FORMATS, I32
from tilelang.runtime.cpu_memory import Pointer, element, load, mark_scope, store

BLOCK = 8


@intrinsic
def transpose_block(typing, target, target_start, target_row, source, source_start, source_row):
    """One 8 x 8 block; starts and distances between rows in elements."""

    def generate(context, builder, signature, values):
        to, to_start, to_row, at, at_start, at_row = values
        rows = [_load(builder, source, at, builder.add(at_start, builder.mul(at_row, _number(at_row, r))))
                for r in range(BLOCK)]
        for step in (1, 2, 4):
            rows = _exchange(builder, rows, step)
        for r, row in enumerate(rows):
            _store(builder, target, to, builder.add(to_start, builder.mul(to_row, _number(to_row, r))), row)
        return context.get_dummy_value()

    int64 = types.int64
    return types.void(target, int64, int64, source, int64, int64), generate


def _number(like: ir.Value, number: int) -> ir.Constant:
    return ir.Constant(like.type, number)


def _exchange(builder: ir.IRBuilder, rows: list[ir.Value], step: int) -> list[ir.Value]:
    """Rows r and r + step trade every other group of `step` elements: a transposition of blocks of that size."""
    result = list(rows)
    low = [lane if not lane & step else BLOCK + lane - step for lane in range(BLOCK)]
    high = [lane + step if not lane & step else BLOCK + lane for lane in range(BLOCK)]
    for r in range(BLOCK):
        if not r & step:
            pair = rows[r], rows[r + step]
            result[r], result[r + step] = (builder.shuffle_vector(*pair, _mask(lanes)) for lanes in (low, high))
    return result


def _mask(lanes: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(I32, BLOCK), lanes)


def _address(builder: ir.IRBuilder, pointer: Pointer, base: ir.Value, offset: ir.Value) -> ir.Value:
    vector = ir.VectorType(FORMATS[pointer.format].memory, BLOCK)
    return builder.bitcast(element(builder, pointer, base, offset), vector.as_pointer())


def _load(builder: ir.IRBuilder, pointer: Pointer, base: ir.Value, offset: ir.Value) -> ir.Value:
    loaded = builder.load(_address(builder, pointer, base, offset), align=FORMATS[pointer.format].bytes)
    mark_scope(builder, pointer, loaded)
    return loaded


def _store(builder: ir.IRBuilder, pointer: Pointer, base: ir.Value, offset: ir.Value, vector: ir.Value) -> None:
    stored = builder.store(vector, _address(builder, pointer, base, offset), align=FORMATS[pointer.format].bytes)
    mark_scope(builder, pointer, stored)


@register_jitable
def transpose(target, source, count, rows, columns):
    """target[count, columns, rows] = source[count, rows, columns], each row-major from the pointer on."""
    for tile in range(count):
        start = tile * rows * columns
        whole_rows, whole_columns = rows - rows % BLOCK, columns - columns % BLOCK
        for i in range(0, whole_rows, BLOCK):
            for j in range(0, whole_columns, BLOCK):
                transpose_block(target, start + j * rows + i, rows, source, start + i * columns + j, columns)
        for i in range(rows):
            for j in range(whole_columns if i < whole_rows else 0, columns):
                store(target, start + j * rows + i, load(source, start + i * columns + j))
