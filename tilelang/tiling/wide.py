"""Loads and stores of several neighbouring elements at once.

    for %c in 0..2 (unrolled) { global.load_vector %x, offset, %v_regs, %c * 4 {width = 4} }
    for %r in 0..8 (unrolled) { ... %v_regs[%r] ...; %z_regs[%r] = ... }
    for %c in 0..2 (unrolled) { global.store_vector %z, offset, %z_regs, %c * 4 {width = 4} }

Which accesses can be like that says `tilelang.tiling.vectors`. Each is a loop of its own, beside the fused loops over
single elements.
"""

from __future__ import annotations

from math import prod

from tilelang.ir.access import access
from tilelang.ir.core import Op, Value
from tilelang.tiling.accesses import Accesses
from tilelang.tiling.elements import Place
from tilelang.tiling.fusion import Fusion
from tilelang.tiling.homes import Homes
from tilelang.tiling.writer import ThreadWriter


class WideAccesses:
    """Writes the loads and stores that move vectors."""

    def __init__(self, write: ThreadWriter, homes: Homes, fusion: Fusion, accesses: Accesses, wide: set[int]):
        self.write = write
        self.homes = homes
        self.fusion = fusion
        self.accesses = accesses
        self.wide = wide

    def takes(self, op: Op) -> bool:
        """Is it one, and can what decides where and whether be computed by any thread?"""
        parts = access(op)
        needed = [v for v in (*parts.indices, parts.mask, parts.other) if v is not None]
        return id(op) in self.wide and all(v in self.homes.scalars or v in self.homes.recipes for v in needed)

    def access(self, op: Op) -> None:
        registers = self._in_registers(op) if op.name == "store" else self.fusion.new_registers(op.result)
        if self.fusion.group.meets(op):
            self.fusion.flush()
        size = prod(access(op).shape)
        width = self.write.width(size)
        self.write.each_run(size, lambda register, number: self.accesses.run_at_place(
            op, Place(register, number), registers, width))
        if op.results:
            self.homes.registers[op.result] = registers

    def _in_registers(self, store: Op) -> Value:
        """The registers with the tile to store."""
        value = access(store).value
        if value is None:
            raise TypeError(f"{store} stores nothing")
        self.fusion.settle(value)
        if value not in self.homes.registers:
            registers = self.fusion.new_registers(value)
            self.fusion.copy(value, lambda place, element: self.write.write(registers, place.register, element))
            return registers
        return self.homes.registers[value]
