"""The chunks of 16 bytes of a tile, on their way to where `ldmatrix` reads them: all at once, or by way of registers.

    copy:     shared.copy_async %tile, place, %x, offset, count      while the thread goes on; sm_80 and newer
    fetch:    global.load_chunk %x, offset, inside, %registers       the thread goes on until it needs the registers
    put:      shared.store_chunk %tile, place, %registers            some time later

Neighbouring chunks are neighbouring threads'. A chunk outside the tensor, or masked off, is zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tilelang.dtypes import BOOL, DTYPES, I32, I64
from tilelang.ir.access import access
from tilelang.ir.core import Attr, Op, Value
from tilelang.semantics.types import TileType
from tilelang.tiling.accesses import Accesses
from tilelang.tiling.copy_plans import chunk_of
from tilelang.tiling.elements import Elements
from tilelang.tiling.homes import Homes
from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.numbers import Number
from tilelang.tiling.writer import ThreadWriter

U32 = DTYPES["u32"]
WORDS = 4
"""Registers of a chunk."""


def chunks_of_thread(load: Op, threads: int) -> LinearLayout:
    """The chunks of a loaded tile, dealt to threads: one to a register of the layout."""
    return LinearLayout((prod(load.result.shape) // chunk_of(load),), threads)


class Chunks:
    """Writes what moves the chunks of tiles."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, accesses: Accesses):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.accesses = accesses

    def copy(self, load: Op, array: Value, start: Number | int = 0, *, cut: bool = False, **attrs: Attr) -> None:
        """Ask for a tile, to `array` from `start` on. `cut`: the tensor's edge may go through a chunk."""
        def chunk(register: Value, row: Number, chunk: Number) -> None:
            inside, offset, column = self._source(load, row, chunk)
            count = self._left(load, column) if cut else self.write.index.number(chunk_of(load))
            if inside is not None:
                count = self.write.emit.op("select", inside, count, self.write.index.number(0), hint="count")
            at = self._place(load, row, chunk, start)
            self.write.emit.effect("shared.copy_async", array, at, load.operands[0], offset, count, **attrs)

        self._each(load, chunk)

    def registers(self, load: Op) -> Value:
        """For what a thread fetches of a tile."""
        count = chunks_of_thread(load, self.write.threads).registers
        return self.write.local(f"{load.result.name}_chunks", U32, count * WORDS)

    def fetch(self, load: Op, registers: Value, more: Value | None = None) -> None:
        """Load a tile into registers, zeros if not `more`."""
        def chunk(register: Value, row: Number, chunk: Number) -> None:
            inside, offset, _ = self._source(load, row, chunk)
            tests = [test for test in (inside, more) if test is not None]
            wanted = self.write.all_of(tests, "inside") if tests else self.write.constant(True, BOOL)
            self.write.emit.effect("global.load_chunk", load.operands[0], offset, wanted, registers,
                                   self.write.index.times(register, WORDS))

        self._each(load, chunk, everywhere=True)

    def put(self, load: Op, registers: Value, array: Value, start: Number | int = 0, **attrs: Attr) -> None:
        """Store a tile that was fetched."""
        self._each(load, lambda register, row, chunk: self.write.emit.effect(
            "shared.store_chunk", array, self._place(load, row, chunk, start), registers,
            self.write.index.times(register, WORDS), **attrs))

    # ---------------------------------------------------------------- one chunk

    def _each(self, load: Op, visit: Callable[[Value, Number, Number], None], *, everywhere: bool = False) -> None:
        """visit(register, row, chunk of the row); rows are counted through. `everywhere`: also where a thread has
        fewer chunks than others, once more the first ones."""
        across = load.result.shape[-1] // chunk_of(load)
        layout = chunks_of_thread(load, self.write.threads)

        def at(register: Value) -> None:
            number, tests = Number(self.write.index, self.write.number_at(register)), []
            if layout.padded and everywhere:
                number = number % layout.size
            elif layout.padded:
                size = self.write.index.number(layout.size)
                tests.append(self.write.emit.op("lt", number.value, size, hint="inside"))
            self.write.when_all(tests, lambda: visit(register, number // across, number % across))

        self.write.fold_registers(layout.registers, (), at)

    def coordinates(self, load: Op, row: Number, chunk: Number) -> tuple[Value, ...]:
        """Of the first element of a chunk in the loaded tile."""
        return *self.write.index.delinearize(row.value, load.result.shape[:-1]), (chunk * chunk_of(load)).value

    def _place(self, load: Op, row: Number, chunk: Number, start: Number | int) -> Value:
        return (self.homes.swizzles[load.result].chunk_position(row, chunk) + start).value

    def _source(self, load: Op, row: Number, chunk: Number) -> tuple[Value | None, Value, Value]:
        """Is a chunk there (None: it is), and where? Also the column of its first element in the tensor."""
        parts, coordinates = access(load), self.coordinates(load, row, chunk)
        indices = self.accesses.indices_at(load, coordinates)
        mask = self.elements.at_coordinates(parts.mask, coordinates, {}) if parts.mask is not None else None
        return *self.accesses.inside_and_offset(parts, indices, mask=mask), indices[-1]

    def _left(self, load: Op, column: Value) -> Value:
        """How many elements of a chunk lie inside the tensor, if its first one does."""
        emit, parts = self.write.emit, access(load)
        wide = column if column.dtype == I64 else emit.op("cast", column, type=TileType(I64), hint="wide")
        left = emit.op("sub", self.write.extent(parts.tensor, len(parts.indices) - 1), wide, hint="left")
        least = emit.op("minimum", left, self.write.constant(chunk_of(load), I64), hint="least")
        return emit.op("cast", least, type=TileType(I32), hint="count")
