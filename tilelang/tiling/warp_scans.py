"""Scans in registers: by each thread in its own, and across the threads of a warp by shuffles.

A thread scans the neighbours that it has in a row. Then the threads of a warp scan their totals, each taking in the
one d = 1, 2, 4, ... before it, and each thread adds what comes before its own. Four threads with two elements each:

    elements        a  b     c  d       e  f         g  h
    own scan        a  ab    c  cd      e  ef        g  gh
    totals          ab       cd         ef           gh
    d = 1           ab       abcd       cdef         efgh
    d = 2           ab       abcd       abcdef       abcdefgh
    taken in        a  ab    abc abcd   abcde ...    abcdefg abcdefgh

Rows longer than a warp leave the totals of their pieces in shared memory; the first warp scans those, once, and every
piece takes in the one before it: two barriers, whatever the length. See `tilelang.tiling.lines` for the rows that this
is for, and Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016, section 2, for
scans built of scans.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tilelang.ir.core import Value
from tilelang.ir.thread_rules import WARP
from tilelang.tiling.combine import Combine
from tilelang.tiling.lines import OwnLines, SharedLines
from tilelang.tiling.writer import ThreadWriter


class WarpScans:
    """Scans a local array in place, `running`, which holds a tile of `size` elements; from the end if `reverse`."""

    def __init__(self, write: ThreadWriter, combine: Combine, running: Value, size: int, reverse: bool):
        self.write = write
        self.combine = combine
        self.running = running
        self.reverse = reverse
        self.registers = size // write.threads
        self.lane = write.emit.op("and", write.thread(), write.index.number(WARP - 1), hint="lane")

    # ---------------------------------------------------------------- lines of one thread

    def own(self, lines: OwnLines) -> None:
        """Each register takes in the one `apart` before it, but for the first of each line."""
        index, later = self.write.index, (lines.extent - 1) * lines.apart

        def visit(step: Value) -> None:
            slices_before = index.quotient(step, later)
            register = index.add(step, index.times(index.add(slices_before, index.number(1)), lines.apart))
            before = index.add(register, index.number(-lines.apart))
            self._take_in(self._mirrored(register), self._read(self._mirrored(before)))

        if later:
            self.write.fold_registers(self.registers // lines.extent // lines.apart * later, (), visit)

    def _mirrored(self, register: Value) -> Value:
        """From the end, a scan is one from the start of the registers in opposite order."""
        if not self.reverse:
            return register
        last = self.write.index.number(self.registers - 1)
        return self.write.emit.op("sub", last, register, hint="r")

    # ---------------------------------------------------------------- lines that threads share

    def shared(self, lines: SharedLines) -> None:
        """Scan each piece within its warp, then let it take in the pieces before it."""
        write = self.write
        totals = write.shared(self.running.name, self.combine.types[0], lines.all_pieces) if lines.pieces > 1 else None
        self._each_run(lines, lambda run: self._scan_run(lines, run, totals))
        if totals is not None:
            first_warp = write.emit.op("lt", write.thread(), write.index.number(WARP), hint="first")
            write.when(first_warp, lambda: self._scan_totals(lines, totals))
            self._each_run(lines, lambda run: self._take_in_pieces(lines, run, totals))

    def _each_run(self, lines: SharedLines, visit: object) -> None:
        self.write.fold_registers(self.registers // lines.width, (), visit)  # type: ignore[arg-type]

    def _scan_run(self, lines: SharedLines, run: Value, totals: Value | None) -> None:
        registers = self._of_run(lines, run)
        for before, register in pairwise(registers):
            self._take_in(register, self._read(before))
        place = self._place(self.lane, lines.lanes)
        total = self._across(self._read(registers[-1]), place, lines.lanes)
        if lines.lanes > 1:
            before = self._shuffled(total, 1)
            for register in registers:
                self._take_in_if(place, register, before)
        if totals is not None:
            last = self.write.index.number(0 if self.reverse else WARP - 1)
            is_last = self.write.emit.op("eq", self.lane, last, hint="last")
            self.write.when(is_last, lambda: self.write.write(totals, self._piece(run), total))

    def _scan_totals(self, lines: SharedLines, totals: Value) -> None:
        """One warp, one total in each of its first lanes. The others shuffle too, but have nothing to give."""
        write, place = self.write, self._place(self.lane, lines.pieces)
        some = write.emit.op("lt", self.lane, write.index.number(lines.all_pieces), hint="some")
        (total,) = write.when(some, lambda: (write.read(totals, self.lane),), self.combine.identity,
                              hints=self.combine.names)
        total = self._across(total, place, lines.pieces)
        write.when(some, lambda: write.write(totals, self.lane, total))

    def _take_in_pieces(self, lines: SharedLines, run: Value, totals: Value) -> None:
        write, index = self.write, self.write.index
        piece = self._piece(run)
        place = self._place(piece, lines.pieces)
        is_later = write.emit.op("gt", place, index.number(0), hint="later")

        def take() -> None:
            before = write.read(totals, index.add(piece, index.number(1 if self.reverse else -1)))
            for register in self._of_run(lines, run):
                self._take_in(register, before)

        write.when(is_later, take)

    # ---------------------------------------------------------------- pieces

    def _across(self, value: Value, place: Value, lanes: int) -> Value:
        """The scan over groups of `lanes` threads, in which this one is number `place`."""
        distance = 1
        while distance < lanes:
            (taken,) = self.combine.both([self._shuffled(value, distance)], [value])
            reached = self.write.emit.op("ge", place, self.write.index.number(distance), hint="reached")
            value = self.write.emit.op("select", reached, taken, value, hint="total")
            distance *= 2
        return value

    def _shuffled(self, value: Value, distance: int) -> Value:
        way = {"down" if self.reverse else "up": distance}
        return self.write.emit.op("shuffle", value, type=value.type, hint="other", **way)

    def _place(self, number: Value, count: int) -> Value:
        """Which of `count` in a row, in the order of the scan."""
        index = self.write.index
        place = number if number is self.lane and count == WARP else index.remainder(number, count)
        return self.write.emit.op("sub", index.number(count - 1), place, hint="place") if self.reverse else place

    def _piece(self, run: Value) -> Value:
        """The number of this warp's piece of the tile."""
        index = self.write.index
        return index.add(index.times(run, self.write.threads // WARP), index.quotient(self.write.thread(), WARP))

    def _of_run(self, lines: SharedLines, run: Value) -> Sequence[Value]:
        """The registers of a run, in the order of the scan."""
        index = self.write.index
        first = index.times(run, lines.width)
        registers = [index.add(first, index.number(number)) for number in range(lines.width)]
        return registers[::-1] if self.reverse else registers

    def _read(self, register: Value) -> Value:
        return self.write.read(self.running, register)

    def _take_in(self, register: Value, before: Value) -> None:
        (new,) = self.combine.both([before], [self._read(register)])
        self.write.write(self.running, register, new)

    def _take_in_if(self, place: Value, register: Value, before: Value) -> None:
        own = self._read(register)
        (new,) = self.combine.both([before], [own])
        is_later = self.write.emit.op("gt", place, self.write.index.number(0), hint="later")
        self.write.write(self.running, register, self.write.emit.op("select", is_later, new, own, hint=own.name))
