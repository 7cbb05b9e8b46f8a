"""Ops whose results are new tiles: reductions, scans, dot, cat, reshape; and what must be loaded before a store."""

from __future__ import annotations

from math import prod

from tilelang.codegen.cpu_coords import offset_text
from tilelang.codegen.cpu_elements import Coord
from tilelang.codegen.cpu_roots import CopyRoot, ReduceRoot, ScanRoot
from tilelang.codegen.cpu_schedule import Scheduler
from tilelang.codegen.cpu_scratch import Scratch
from tilelang.codegen.cpu_words import combined_type, register_type
from tilelang.dtypes import I32, DType
from tilelang.ir.access import access
from tilelang.ir.attrs import int_attr, ints_attr, str_attr
from tilelang.ir.core import Op, Value


class Tiles:
    """Rules for tile-valued ops."""

    def __init__(self, scheduler: Scheduler):
        self.scheduler = scheduler
        self.translation = scheduler.translation

    def save_loads(self, op: Op, written: set[str], *, whole: bool = False) -> None:
        """Before `op` writes these tensors: keep the lazy loads of them that someone still needs.

        A store may leave a load lazy that only it needs, if it writes each element where it was loaded.
        `whole`: `op` is control flow, with no such exception.
        """
        scheduler, saved = self.scheduler, False
        position = scheduler.frame.position
        for frame in scheduler.frames:
            for load in [load for tensor in written for load in frame.loads[tensor]]:
                if self.translation.lazy(load.result) is not load:
                    continue
                if self._needed(load, op, position, whole):
                    scheduler.keep(load.result)
                    saved = True
        if saved:
            scheduler.flush()

    def _needed(self, load: Op, op: Op, position: int, whole: bool) -> bool:
        demanded = self.scheduler.frame.demanded
        name = load.result.name
        if not demanded(self.translation, name, position):
            return False
        if whole or demanded(self.translation, name, position + 1):
            return True
        return not (access(load).shape == access(op).shape and self.scheduler.same_element(load, op)
                    and self._in_step(load.result, op))

    def _in_step(self, value: Value, op: Op) -> bool:
        """The store needs each loaded element exactly where it writes it: only elementwise ops are between."""
        from tilelang.codegen.cpu_nest import loop_coords
        from tilelang.codegen.cpu_roots import AccessRoot
        from tilelang.codegen.cpu_trace import trace

        shape = access(op).shape
        coords = loop_coords(self.translation, len(shape))
        found = trace(self.translation, AccessRoot(op, shape).wanted(coords), shape, ())
        places = {at for (name, at), _ in found.computed.items() if name == value.name}
        inside = any(value.name == v.name for v in found.beforehand)
        return not inside and places == {coords} and not found.beforehand

    # ---------------------------------------------------------------- reductions

    def reduce(self, op: Op) -> None:
        operand, scheduler = op.operands[0], self.scheduler
        root = ReduceRoot(op, operand.shape, None)
        if not root.axes or not operand.shape:
            return self._trivial_reduce(op)
        arg = root.kind.startswith("arg")
        root.ordered = arg
        if root.kept:
            dtype = combined_type(root.kind, operand.dtype)
            if arg and root.running:
                dtype = I32
            root.place = scheduler.new_scratch(op.result.name, op.result.shape, dtype)
            if arg and not root.running:
                root.positions = scheduler.new_scratch(op.result.name, op.result.shape, I32)
        scheduler.add(root)

    def _trivial_reduce(self, op: Op) -> None:
        """Over no axis, or of a scalar: the value itself, as the result's type; position 0."""
        if str_attr(op, "kind").startswith("arg"):
            same = Op("const", (), op.results, {"value": 0}, span=op.span)
        else:
            same = Op("cast", op.operands, op.results, span=op.span)
        self.translation.definitions[op.result.name] = same
        if not op.result.shape:
            self.scheduler.settle([(v, ()) for v in same.operands])
            text = "i32(0)" if same.name == "const" else f"to_{op.result.dtype}({self._text(op.operands[0])})"
            self.translation.put(op.result.name, text)

    def _text(self, scalar: Value) -> str:
        return str(self.translation.places[scalar.name])

    def scan(self, op: Op) -> None:
        operand, axis = op.operands[0], int_attr(op, "axis")
        others = (*operand.shape[:axis], *operand.shape[axis + 1:])
        place = self.scheduler.new_scratch(op.result.name, op.result.shape, op.result.dtype)
        held = combined_type(str_attr(op, "kind"), operand.dtype)
        totals = self.scheduler.new_scratch("totals", others, held)
        reverse = bool(op.attrs["reverse"])
        self.scheduler.add(ScanRoot(op, operand.shape, place, totals, axis, reverse, ordered=True))
        self.scheduler.frame.position += 1
        self.scheduler.flush()
        self.scheduler.free(totals)

    # ---------------------------------------------------------------- shapes

    def reshape(self, op: Op) -> None:
        """Elements in row-major order are what scratch holds: another shape for the same memory."""
        place = self._in_scratch(op, op.operands[0], register_type(op.result.dtype))
        self.translation.put(op.result.name, Scratch(place.pointer, place.slot, op.result.shape, place.dtype))

    def moves(self, op: Op) -> bool:
        """Is a permute a transposition that is better done block by block than element by element at its use?

        Reading down columns of a large tile touches a cache line for each element. So it is, unless the tile is
        small or need not be read from anywhere.
        """
        shape, axes = op.result.shape, ints_attr(op, "axes")
        last_two_swapped = len(axes) > 1 and axes == (*range(len(axes) - 2), len(axes) - 1, len(axes) - 2)
        if not last_two_swapped or min(shape[-2:]) < 8:
            return False
        operand = op.operands[0]
        return operand.name in self.translation.places or self.reads_memory(operand)

    def transpose(self, op: Op) -> None:
        """Both tiles in scratch: the word `transpose` turns 8 x 8 blocks in registers."""
        source = self._in_scratch(op, op.operands[0], register_type(op.result.dtype))
        place = self.scheduler.new_scratch(op.result.name, op.result.shape, op.result.dtype)
        *batch, rows, columns = op.operands[0].shape
        count = prod(batch)
        self.translation.quote(op.span)
        self.translation.lines.add(f"transpose({place.pointer}, {source.pointer}, {count}, {rows}, {columns})")
        self.translation.put(op.result.name, place)
        self.scheduler.frame.position += 1
        self.scheduler.free_dead()

    def reads_memory(self, value: Value) -> bool:
        """Is a load among what the lazy value is computed from?"""
        seen: set[str] = set()
        todo = [value]
        while todo:
            current = todo.pop()
            op = self.translation.lazy(current)
            if op is None or current.name in seen:
                continue
            seen.add(current.name)
            if op.name == "load":
                return True
            todo += op.operands
        return False

    def cat(self, op: Op) -> None:
        axis = int_attr(op, "axis")
        place = self.scheduler.new_scratch(op.result.name, op.result.shape, op.result.dtype)
        start = 0
        for operand in op.operands:
            root = CopyRoot(op, operand.shape, operand, place, place.strides, start)
            self.scheduler.add(root)
            start += operand.shape[axis] * place.strides[axis]
        self.scheduler.frame.position += 1
        self.scheduler.flush()
        self.translation.put(op.result.name, place)

    def _in_scratch(self, op: Op, value: Value, dtype: DType) -> Scratch:
        """A tile's elements in scratch as `dtype`; a copy if they are held as another type."""
        self.scheduler.keep(value)
        self.scheduler.flush()
        place = self.translation.places[value.name]
        if isinstance(place, Scratch) and place.dtype == dtype:
            return place
        copied = self.scheduler.new_scratch(value.name, value.shape, dtype)
        self.scheduler.copy(op, value, copied)
        self.scheduler.flush()
        return copied

    # ---------------------------------------------------------------- dot

    def dot(self, op: Op) -> None:
        """Both operands in scratch, in the accumulator's type; the result where the accumulator was, if it is free."""
        scheduler, translation = self.scheduler, self.translation
        a, b, acc = op.operands
        held = register_type(op.result.dtype)
        for value in (a, b, acc):
            if register_type(value.dtype) == held:
                scheduler.keep(value)
        scheduler.flush()
        left, right = self._in_scratch(op, a, held), self._in_scratch(op, b, held)
        into = translation.places[acc.name]
        if not isinstance(into, Scratch) or not scheduler.may_overwrite(into, scheduler.frame.position + 1):
            into = scheduler.new_scratch(op.result.name, op.result.shape, op.result.dtype)
            scheduler.copy(op, acc, into)
            scheduler.flush()
        translation.quote(op.span)
        self._call_dot(op, into, left, right)
        for copy, value in ((left, a), (right, b)):
            if translation.places.get(value.name) != copy:
                scheduler.free(copy)
        translation.put(op.result.name, into)
        scheduler.frame.position += 1
        scheduler.free_dead()

    def _call_dot(self, op: Op, into: Scratch, left: Scratch, right: Scratch) -> None:
        *batch, m, n = op.result.shape
        k = op.operands[0].shape[-1]
        lines, starts = self.translation.lines, ["0", "0", "0"]
        if batch:
            i = self.translation.loops[0]
            lines = lines.nest(f"for {i} in range({batch[0]})")
            starts = [offset_text([Coord(i, 1)], [size]) for size in (m * n, m * k, k * n)]
        pointers = (into.pointer, left.pointer, right.pointer)
        operands = ", ".join(f"{p}, {s}" for p, s in zip(pointers, starts, strict=True))
        lines.add(f"dot({operands}, {m}, {n}, {k})")


