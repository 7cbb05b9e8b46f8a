"""Loops and branches: scalars stay SSA values, tiles become registers that are updated in place.

    %acc: f32[64] = for ... %zero (%k, %a: f32[64]) {        local.store %acc_regs, ... zero      (each register)
      ...                                                    for ... (%k) {
      yield %b                                          ->     ...
    }                                                          local.store %acc_regs, ... %b      (each register)
                                                             }

What a trip hands on is read completely before anything is overwritten, register by register: carried tiles may
change places. Conditions and bounds are scalars of the tile kernel, the same in all threads, so a barrier may stand
inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilelang.ir.core import Block, Op, Value
from tilelang.tiling.accumulators import Accumulators
from tilelang.tiling.copies import Copies
from tilelang.tiling.elements import Elements, Place
from tilelang.tiling.fragments import Fragments
from tilelang.tiling.fusion import Fusion, Places, size_of
from tilelang.tiling.homes import Homes
from tilelang.tiling.pipelines import Pipelines
from tilelang.tiling.ring_loops import Loop
from tilelang.tiling.writer import ThreadWriter

Lower = Callable[[Sequence[Op]], None]
"""Lowers the ops of a block, its terminator excepted."""


class Control:
    """Writes `for`, `while` and `if`."""

    def __init__(self, write: ThreadWriter, homes: Homes, elements: Elements, fusion: Fusion,
                 accumulators: Accumulators, fragments: Fragments, copies: Copies, pipelines: Pipelines, lower: Lower):
        self.write = write
        self.homes = homes
        self.elements = elements
        self.fusion = fusion
        self.accumulators = accumulators
        self.fragments = fragments
        self.copies = copies
        self.pipelines = pipelines
        self.lower = lower

    def for_loop(self, op: Op) -> None:
        lo, hi, step = (self.homes.scalars[v] for v in op.operands[:3])
        hi, step = self._terminating(op.operands[2], lo, hi, step)
        inits, (body,) = op.operands[3:], op.blocks
        arrays = self._carry(op, inits, body.args[1:])
        scalars = [self.homes.scalars[v] for v in inits if not v.shape]

        def trip(index: Value, *carried: Value) -> Sequence[Value]:
            self.homes.scalars[body.args[0]] = index
            return self._block(body, body.args[1:], carried, arrays)

        def loop() -> Sequence[Value]:
            return self.write.loop(lo, hi, step, scalars, trip, hint=body.args[0].name,
                                   hints=[a.name for a in body.args[1:] if not a.shape])

        if self.pipelines.takes(op):
            self._results(op, self.pipelines.loop(Loop(op, (lo, hi, step), scalars, trip), loop), arrays)
        else:
            self.copies.arrive_all()
            self._results(op, loop(), arrays)

    def _terminating(self, source: Value, lo: Value, hi: Value, step: Value) -> tuple[Value, Value]:
        """A step that is 0 at run time fails an assert, but the program goes on: then the loop must make no trip."""
        defined = next((o for o in self.write.prologue if step in o.results), None)
        if defined is not None and defined.name == "const" and defined.attrs["value"] != 0:
            return hi, step
        emit = self.write.emit
        stuck = emit.op("eq", step, self.write.constant(0, source.dtype), hint="stuck")
        safe = emit.op("select", stuck, self.write.constant(1, source.dtype), step, hint="step")
        return emit.op("select", stuck, lo, hi, hint="hi"), safe

    def while_loop(self, op: Op) -> None:
        self.copies.arrive_all()
        test, body = op.blocks
        arrays = self._carry(op, op.operands, test.args)
        inits = [self.homes.scalars[v] for v in op.operands if not v.shape]
        hints = [a.name for a in test.args if not a.shape]
        with self.write.emit.block(*((hint, v.type) for hint, v in zip(hints, inits, strict=True))) as written_test:
            handed = self._block(test, test.args, written_test.args, arrays)
            self.write.emit.terminate("condition", *handed)
        hints = [a.name for a in body.args if not a.shape]
        with self.write.emit.block(*((hint, v.type) for hint, v in zip(hints, inits, strict=True))) as written_body:
            self.write.emit.terminate("yield", *self._block(body, body.args, written_body.args, arrays))
        blocks = written_test.close(), written_body.close()
        last = self.write.emit.structured("while", inits, blocks, hints=[v.name for v in op.results if not v.shape])
        self._results(op, last, arrays)

    def if_op(self, op: Op) -> None:
        self.fusion.flush()
        self.copies.arrive_all()
        arrays = [self.fusion.new_registers(v) if v.shape else None for v in op.results]
        then, otherwise = op.blocks
        last = self.write.when(
            self.homes.scalars[op.operands[0]], lambda: self._block(then, (), (), arrays),
            lambda: self._block(otherwise, (), (), arrays), hints=[v.name for v in op.results if not v.shape])
        self._results(op, last, arrays)

    # ---------------------------------------------------------------- carried values

    def _carry(self, user: Op, inits: Sequence[Value], names: Sequence[Value]) -> list[Value | None]:
        """Registers for the carried tiles, filled with their first values; None in a scalar's place."""
        arrays: list[Value | None] = []
        for init, name in zip(inits, names, strict=True):
            if name in self.homes.plans.layouts:
                layout = self.homes.plans.layouts[name]
                fragments = self.fusion.new_registers(name, layout)
                self.accumulators.of_loops[fragments] = layout
                arrays.append(fragments)
            else:
                arrays.append(self.fusion.new_registers(name) if init.shape else None)
        self._assign(user, inits, arrays)
        self.fusion.flush()
        return arrays

    def _block(self, block: Block, args: Sequence[Value], scalars: Sequence[Value],
               arrays: Sequence[Value | None]) -> Sequence[Value]:
        """Lower a block whose arguments are `args`; puts what it hands on into `arrays`, returns the scalars."""
        given = list(scalars)
        with self.homes.scope():
            for arg, array in zip(args, arrays, strict=False):
                if array is None:
                    self.homes.scalars[arg] = given.pop(0)
                elif arg in self.homes.plans.layouts:
                    self.homes.fragments[arg] = array
                else:
                    self.homes.registers[arg] = array
            self.lower(block.ops[:-1])
            handed = block.ops[-1].operands
            condition = handed[:len(handed) - len(arrays)]
            self._assign(block.ops[-1], handed[len(condition):], arrays)
            self.fusion.flush()
            return [self.homes.scalars[v] for v in handed if not v.shape]

    def _assign(self, user: Op, values: Sequence[Value], arrays: Sequence[Value | None]) -> None:
        """Copy tiles into registers, all of one size in one loop: read everything, then write.

        The group that waits comes first: `user` needs no other copy of what it computes.
        """
        for value, array in zip(values, arrays, strict=True):
            if array in self.accumulators.of_loops:
                self.fragments.readable(value)
        moves: dict[Places, list[tuple[Value, Value]]] = {self.fusion.group.size: []}
        for value, array in zip(values, arrays, strict=True):
            if array is not None and array not in (self.homes.registers.get(value), self.homes.fragments.get(value)):
                places = self.accumulators.of_loops.get(array, size_of(value))
                moves.setdefault(places, []).append((value, array))
        for places, pairs in moves.items():
            if pairs:
                self._move(user, places, pairs)

    def _move(self, user: Op, size: Places, pairs: Sequence[tuple[Value, Value]]) -> None:
        def visit(place: Place) -> None:
            elements = [self.elements.at_place(value, place) for value, _ in pairs]
            for (_, array), element in zip(pairs, elements, strict=True):
                self.write.write(array, place.register, element)

        self.fusion.loop(size, visit, user=user)

    def _results(self, op: Op, scalars: Sequence[Value], arrays: Sequence[Value | None]) -> None:
        given = list(scalars)
        for result, array in zip(op.results, arrays, strict=True):
            if array is None:
                self.homes.scalars[result] = given.pop(0)
            elif array in self.accumulators.of_loops:
                self.homes.fragments[result] = array
            else:
                self.homes.registers[result] = array
