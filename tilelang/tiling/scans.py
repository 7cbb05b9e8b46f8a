"""Scans: running sums, products, maxima and minima along an axis.

Where each line is in one thread, or rows are in whole warps, registers and shuffles do (`tilelang.tiling.warp_scans`).
Otherwise the tile goes to shared memory. In step d = 1, 2, 4, ... each element takes in the one d before it, which by
then covers the d elements up to itself (Hillis and Steele, "Data parallel algorithms", CACM 29(12), 1986):

    a     b     c       d
    a     ab    bc      cd           d = 1
    a     ab    abc     abcd         d = 2
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilelang.ir.core import Op, Value
from tilelang.tiling.combine import Combine
from tilelang.tiling.elements import Place
from tilelang.tiling.fusion import Fusion, size_of
from tilelang.tiling.homes import Homes
from tilelang.tiling.lines import OwnLines, SharedLines, lines
from tilelang.tiling.targets import Target
from tilelang.tiling.warp_scans import WarpScans
from tilelang.tiling.writer import ThreadWriter


class Scans:
    """Writes `scan`."""

    def __init__(self, write: ThreadWriter, homes: Homes, fusion: Fusion, target: Target):
        self.write = write
        self.homes = homes
        self.fusion = fusion
        self.shuffles = target.shuffles

    def scan(self, op: Op) -> None:
        (operand,) = op.operands
        combine = Combine(str(op.attrs["kind"]), operand.dtype, op.result.dtype, self.write)
        size = size_of(operand)
        running = self.write.local(op.result.name, combine.types[0], -(-size // self.write.threads))
        found = lines(operand.shape, int(op.attrs["axis"]), self.write.threads,  # type: ignore[arg-type]
                      self.write.width(size))
        if isinstance(found, OwnLines) or (found is not None and self.shuffles):
            self._in_registers(op, combine, running, found)
        else:
            self._through_shared(op, combine, running)
        self.homes.registers[op.result] = self._finished(op, combine, running)

    def _in_registers(self, op: Op, combine: Combine, running: Value, found: OwnLines | SharedLines) -> None:
        (operand,) = op.operands

        def begin(place: Place, element: Value) -> None:
            (value,) = combine.start(element, place.number)
            self.write.write(running, place.register, value)

        self.fusion.copy(operand, begin, user=op)
        scans = WarpScans(self.write, combine, running, size_of(operand), bool(op.attrs["reverse"]))
        if isinstance(found, OwnLines):
            scans.own(found)
        else:
            scans.shared(found)

    def _through_shared(self, op: Op, combine: Combine, running: Value) -> None:
        (operand,) = op.operands
        size = size_of(operand)
        shared = self.write.shared(op.result.name, combine.types[0], size)

        def begin(place: Place, element: Value) -> None:
            (value,) = combine.start(element, place.number)
            self.write.write(running, place.register, value)
            self.write.write(shared, place.number, value, owner=self.write.owner(size))

        self.fusion.copy(operand, begin, user=op)

        def step(_: Value, distance: Value) -> Sequence[Value]:
            self._take_in(op, combine, shared, running, distance)
            self.write.each_place(size, lambda register, number: self.write.write(
                shared, number, self.write.read(running, register), owner=self.write.owner(size)))
            return (self.write.emit.op("shl", distance, self.write.index.number(1), hint="distance"),)

        extent = operand.shape[int(op.attrs["axis"])]  # type: ignore[arg-type]
        one = self.write.index.number(1)
        self.write.count((extent - 1).bit_length(), (one,), step, hint="step", hints=("distance",))

    def _take_in(self, op: Op, combine: Combine, shared: Value, running: Value, distance: Value) -> None:
        """Each element takes in the one `distance` before it, if there is one."""
        axis, (operand,) = int(op.attrs["axis"]), op.operands  # type: ignore[arg-type]
        extent, inner = operand.shape[axis], prod(operand.shape[axis + 1:])
        index, emit = self.write.index, self.write.emit
        jump = index.times(distance, inner)

        def visit(register: Value, number: Value) -> None:
            along = index.remainder(index.quotient(number, inner), extent)
            if op.attrs["reverse"]:
                ahead = emit.op("add", along, distance, hint="ahead")
                reached = emit.op("lt", ahead, index.number(extent), hint="reached")
            else:
                reached = emit.op("ge", along, distance, hint="reached")
            self.write.when(reached, lambda: take(register, number))

        def take(register: Value, number: Value) -> None:
            other = emit.op("add" if op.attrs["reverse"] else "sub", number, jump, hint="other")
            (new,) = combine.both([self.write.read(running, register)], [self.write.read(shared, other)])
            self.write.write(running, register, new)

        self.write.each_place(size_of(operand), visit)

    def _finished(self, op: Op, combine: Combine, running: Value) -> Value:
        """Half floats were summed in f32: round them once."""
        if combine.types[0] == op.result.dtype:
            return running
        registers = self.fusion.new_registers(op.result)
        self.write.each_place(size_of(op.result), lambda register, _: self.write.write(
            registers, register, combine.finish([self.write.read(running, register)])))
        return registers
