"""The word `transpose`: a tile in scratch, turned over in blocks that fit the vector registers.

    transpose(t, s, 1, 64, 32)        t[32, 64] = transposed s[64, 32]; 1: the number of such tiles in a row

A block of 8 x 8 is eight vectors. Three rounds of shuffles turn it: exchange neighbours, pairs, then halves (the
butterfly of J. O. Eklundh, "A fast computer method for matrix transposing", IEEE TC 21(7), 1972). Element by
element it would take eight times the loads and stores.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tilelang.runtime.cpu_formats import FORMATS, I32, I64
from tilelang.runtime.cpu_memory import Pointer, element, emit_load, emit_store, mark_scope

BLOCK = 8


@dataclass(frozen=True)
class Tile:
    """A row-major tile: its pointer, its first element, and the distance between its rows in elements."""

    pointer: Pointer
    base: ir.Value
    start: ir.Value
    row: int


@intrinsic(prefer_literal=True)
def transpose(typing, target, source, count, rows, columns):
    """target[count, columns, rows] = source[count, rows, columns], each row-major from the pointer on.

    Loops are written in LLVM right away: as a Python function, this word took numba as long as the rest of a kernel.
    """
    if not all(isinstance(number, types.IntegerLiteral) for number in (count, rows, columns)):
        return None

    def generate(context, builder, signature, values):
        extents = rows.literal_value, columns.literal_value
        with _loop(builder, 0, count.literal_value, 1) as number:
            start = builder.mul(number, _number(extents[0] * extents[1]))
            _transpose(builder, Tile(target, values[0], start, extents[0]), Tile(source, values[1], start, extents[1]),
                       *extents)
        return context.get_dummy_value()

    return types.void(target, source, count, rows, columns), generate


def _transpose(builder: ir.IRBuilder, target: Tile, source: Tile, rows: int, columns: int) -> None:
    """Whole blocks, then what is to the right of them, then what is below."""
    whole_rows, whole_columns = rows - rows % BLOCK, columns - columns % BLOCK
    with _loop(builder, 0, whole_rows, BLOCK) as i, _loop(builder, 0, whole_columns, BLOCK) as j:
        _block(builder, target, source, i, j)
    right, below = (0, whole_rows, whole_columns, columns), (whole_rows, rows, 0, columns)
    for first_row, last_row, first_column, last_column in (right, below):
        with _loop(builder, first_row, last_row, 1) as i, _loop(builder, first_column, last_column, 1) as j:
            value = emit_load(builder, source.pointer, source.base, _place(builder, source, i, 0, j))
            emit_store(builder, target.pointer, target.base, _place(builder, target, j, 0, i), value)


def _loop(builder: ir.IRBuilder, start: int, stop: int, step: int):
    """A loop of the written code, around what the `with` statement writes; gives its variable."""
    return _variable(cgutils.for_range_slice(builder, _number(start), _number(stop), _number(step), intp=I64))


@contextmanager
def _variable(loop):
    with loop as (variable, _):
        yield variable


def _block(builder: ir.IRBuilder, target: Tile, source: Tile, i: ir.Value, j: ir.Value) -> None:
    """The block at row i, column j of the source."""
    rows = [_load(builder, source, _place(builder, source, i, r, j)) for r in range(BLOCK)]
    for step in (1, 2, 4):
        rows = _exchange(builder, rows, step)
    for r, row in enumerate(rows):
        _store(builder, target, _place(builder, target, j, r, i), row)


def _place(builder: ir.IRBuilder, tile: Tile, i: ir.Value, r: int, j: ir.Value) -> ir.Value:
    """Offset of element (i + r, j)."""
    row = builder.mul(builder.add(i, _number(r)), _number(tile.row))
    return builder.add(builder.add(tile.start, row), j)


def _number(number: int) -> ir.Constant:
    return ir.Constant(I64, number)


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


def _address(builder: ir.IRBuilder, tile: Tile, offset: ir.Value) -> ir.Value:
    vector = ir.VectorType(FORMATS[tile.pointer.format].memory, BLOCK)
    return builder.bitcast(element(builder, tile.pointer, tile.base, offset), vector.as_pointer())


def _load(builder: ir.IRBuilder, tile: Tile, offset: ir.Value) -> ir.Value:
    loaded = builder.load(_address(builder, tile, offset), align=FORMATS[tile.pointer.format].bytes)
    mark_scope(builder, tile.pointer, loaded)
    return loaded


def _store(builder: ir.IRBuilder, tile: Tile, offset: ir.Value, vector: ir.Value) -> None:
    stored = builder.store(vector, _address(builder, tile, offset), align=FORMATS[tile.pointer.format].bytes)
    mark_scope(builder, tile.pointer, stored)
