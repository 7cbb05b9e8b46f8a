"""`dot`: both operands in shared memory, the accumulator in registers.

    for k:  for each register:  acc += a[i, k] * b[k, j]

The loop over `k` is the outer one, so that what neighbouring registers have in common (here the column j of `b`) is
read once. This is for any extents and types; `tilelang.tiling.tensor_cores` and `tilelang.tiling.patches` are faster
where they apply.
"""

from __future__ import annotations

from tilelang.dtypes import DType
from tilelang.ir.core import Op, Value
from tilelang.semantics.types import TileType
from tilelang.tiling.dot_plans import DotPlans
from tilelang.tiling.elements import Elements, Place
from tilelang.tiling.fusion import Fusion, size_of
from tilelang.tiling.homes import Homes
from tilelang.tiling.patches import Patches
from tilelang.tiling.tensor_cores import TensorCores
from tilelang.tiling.uses import Uses
from tilelang.tiling.word_cores import WordCores
from tilelang.tiling.writer import ThreadWriter


class Dots:
    """Writes `dot`."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, fusion: Fusion, uses: Uses,
                 plans: DotPlans, cores: TensorCores, words: WordCores, patches: Patches):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.fusion = fusion
        self.uses = uses
        self.plans = plans
        self.cores = cores
        self.words = words
        self.patches = patches

    def dot(self, op: Op) -> None:
        plan = self.plans.products.get(id(op))
        if plan is not None and plan.kind == "tf32":
            self.words.dot(op, plan)
        elif plan is not None:
            self.cores.dot(op, plan)
        elif id(op) in self.plans.patches:
            self.patches.dot(op, self.plans.patches[id(op)])
        else:
            self._simple(op)

    def _simple(self, op: Op) -> None:
        a, b, acc = op.operands
        for operand in (a, b):
            if not self.homes.reads_shared(operand):
                self.fusion.in_shared(operand)
        registers = self._accumulator(op, acc)
        size, depth = size_of(op.result), a.shape[-1]

        def along(k: Value) -> None:
            self.write.each_place(size, lambda register, number: self._accumulate(op, registers, register, number, k))

        self.write.count(depth, (), along, hint="k")
        self.homes.registers[op.result] = registers

    def _accumulator(self, op: Op, acc: Value) -> Value:
        """Registers that hold `acc` and will hold the result: its own, if nothing else needs them any more."""
        own = self.homes.registers.get(acc)
        if own is not None and own not in self.homes.known_twice and self.uses.ends_at(acc, op):
            self.fusion.flush()
            return own
        registers = self.fusion.new_registers(op.result)
        self.fusion.copy(acc, lambda place, element: self.write.write(registers, place.register, element), user=op)
        return registers

    def _accumulate(self, op: Op, registers: Value, register: Value, number: Value, k: Value) -> None:
        """One product onto the result element at this place."""
        a, b, _ = op.operands
        *batch, row, column = self.elements.coordinates(Place(register, number), op.result.shape)
        left = self._as(self.elements.at_coordinates(a, (*batch, row, k), {}), op.result.dtype)
        right = self._as(self.elements.at_coordinates(b, (*batch, k, column), {}), op.result.dtype)
        so_far = self.write.read(registers, register, hint=op.result.name)
        emit = self.write.emit
        if op.result.dtype.is_float:
            total = emit.op("fma", left, right, so_far, hint=op.result.name)
        else:
            total = emit.op("add", so_far, emit.op("mul", left, right, hint="product"), hint=op.result.name)
        self.write.write(registers, register, total)

    def _as(self, value: Value, dtype: DType) -> Value:
        if value.dtype == dtype:
            return value
        return self.write.emit.op("cast", value, type=TileType(dtype), hint=value.name)
