"""Which ops become one loop: the scheduler of a block's ops.

Ops are taken in order. Lazy ones are only noted. A *root* (store, reduction, a tile that must be kept, ...) joins
the pending nest if it has the same iteration space, needs no result that the nest has not finished, and touches no
tensor in a way whose order would change; else the pending nest is written and the root starts a new one.

    %m = reduce %v {max}        nest 1: loop over v, m = maximum(m, load ...)
    %e = exp (sub %v, %m)       lazy
    %s = reduce %e {sum}        needs m: nest 1 is written. Nest 2: loop, s += exp(...); e is kept in scratch, since
    store %y, div %e, %s        needs s: nest 2 is written. Nest 3: loop, store(y, ..., load(e) / s)
"""

from __future__ import annotations

from collections.abc import Iterable

from tilelang.codegen.cpu_ahead import Ahead
from tilelang.codegen.cpu_frames import Frame
from tilelang.codegen.cpu_nest import Nest, loop_coords
from tilelang.codegen.cpu_roots import AccessRoot, CopyRoot, KeepRoot, Root
from tilelang.codegen.cpu_scratch import Scratch
from tilelang.codegen.cpu_trace import CHEAP, Costs, Trace, trace
from tilelang.codegen.cpu_translation import Translation
from tilelang.codegen.cpu_words import register_type
from tilelang.dtypes import DType
from tilelang.ir.access import access
from tilelang.ir.core import Op, Value


class Scheduler:
    """Collects roots into nests and writes them. `frames`: the blocks around, innermost last."""

    def __init__(self, translation: Translation):
        self.translation = translation
        self.frames: list[Frame] = []
        self.nest: Nest | None = None
        self.pending: set[str] = set()
        self._kept: set[str] = set()
        self.ahead = Ahead(translation)

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    # ---------------------------------------------------------------- scratch

    def new_scratch(self, hint: str, shape: tuple[int, ...], dtype: DType) -> Scratch:
        """Scratch that belongs to the block at hand."""
        scratch = self.translation.new_scratch(hint, shape, dtype)
        self.frame.owned.add(scratch.slot)
        return scratch

    def free(self, scratch: Scratch) -> None:
        """Give back scratch that no value has as its place."""
        self.frame.owned.discard(scratch.slot)
        self.translation.memory.give_back(scratch.slot)

    def free_dead(self) -> None:
        """Give back the slots of this block that nobody needs any more."""
        for slot in [*self.frame.owned]:
            held = self.translation.held[slot]
            if held and not self.frame.slot_demanded(self.translation, slot, self.frame.position):
                self.frame.owned.discard(slot)
                self.translation.memory.give_back(slot)
                held.clear()

    def may_overwrite(self, scratch: Scratch, since: int) -> bool:
        """Is what the slot holds of no use from `since` on, in this and every later round of the loop around?"""
        mine = scratch.slot in self.frame.owned or scratch.slot in self.frame.carried
        return mine and not self.frame.slot_demanded(self.translation, scratch.slot, since)

    # ---------------------------------------------------------------- roots

    def add(self, root: Root) -> None:
        """Put a root into the pending nest, or into a new one."""
        coords = loop_coords(self.translation, len(root.shape))
        while True:
            found = trace(self.translation, root.wanted(coords), root.shape, self.pending)
            if found.beforehand:
                for value in found.beforehand:
                    self.keep(value)
            elif self.nest is not None and not self._fits(root, found):
                self.flush()
            else:
                break
        if self.nest is None:
            self.nest = Nest(root.shape)
        self.nest.roots.append(root)
        self.nest.touched.add(found)
        self.pending.update(root.results)
        if isinstance(root, KeepRoot):
            self.pending.add(root.value.name)
            self._kept.add(root.value.name)

    def keep(self, value: Value) -> None:
        """See that a lazy tile is computed into scratch; it is there after the next `flush`."""
        op = self.translation.lazy(value)
        if op is not None and value.name not in self._kept:
            self.add(KeepRoot(op, value.shape, value))

    def settle(self, wanted: Iterable[tuple[Value, tuple]]) -> None:
        """Write the pending nest if these elements, computed outside of it, would need it written."""
        found = trace(self.translation, wanted, (), self.pending)
        if found.pending or self._read_after_write(found):
            self.flush()

    def _fits(self, root: Root, found: Trace) -> bool:
        nest = self.nest
        if nest is None or nest.shape != root.shape or root.ordered or any([r.ordered for r in nest.roots]):
            return False
        here = loop_coords(self.translation, nest.rank)
        if any([name not in self._kept or coords != here for name, coords in found.pending]):
            return False
        if self._read_after_write(found):
            return False
        return not isinstance(root, AccessRoot) or self._keeps_order(root, nest)

    def _read_after_write(self, found: Trace) -> bool:
        """A load would see what the pending nest has yet to store."""
        return any([self.has_yet_to_store(op.operands[0].name) for op, _ in found.loads])

    def has_yet_to_store(self, tensor: str) -> bool:
        """Is there a store to the tensor, or an atomic, in the pending nest?"""
        return any([root.op.operands[0].name == tensor for root in self._accesses()])

    def _keeps_order(self, root: AccessRoot, nest: Nest) -> bool:
        """Nothing in the nest touches the root's tensor but, element by element, where the root does."""
        tensor, here = root.op.operands[0].name, loop_coords(self.translation, nest.rank)
        loads = [(op, coords) for op, coords in nest.touched.loads if op.operands[0].name == tensor]
        stores = [other.op for other in self._accesses() if other.op.operands[0].name == tensor]
        return all([coords == here and self.same_element(op, root.op) for op, coords in loads]) and all(
            [self.same_element(op, root.op) for op in stores])

    def _accesses(self) -> list[AccessRoot]:
        return [root for root in (self.nest.roots if self.nest else ()) if isinstance(root, AccessRoot)]

    def same_element(self, first: Op, second: Op) -> bool:
        """Two loads or stores that touch, element by element, the same place, and no place twice."""
        if "atomic" in (first.name, second.name):
            return False
        a, b = access(first), access(second)
        if a.pointwise or b.pointwise or a.indices != b.indices:
            return False
        coords = loop_coords(self.translation, len(a.shape))
        counting = iter(coords)
        for index in a.indices:
            if index.shape:
                affine = self.translation.affine.read(index, (next(counting),))
                if affine is None or affine.coord is None:
                    return False
        return True

    # ---------------------------------------------------------------- writing

    def flush(self) -> None:
        """Write the pending nest."""
        nest = self.nest
        if nest is None:
            return
        self._keep_for_later(nest)
        taken: set[int] = set()
        kept = [root for root in nest.roots if isinstance(root, KeepRoot)]
        for root in kept:
            root.place = self._place_for(root.value, nest, taken)
            taken.add(root.place.slot)
        self.nest = None
        rows = len(self.frames) == 1 and nest.rank == 1
        if rows:
            self.ahead.write()
        written = nest.write(self.translation, streaming=rows and self.ahead.asked)
        if rows and written.start == "0":
            self.ahead.note(nest.touched.loads, written.stop)
        for root in kept:
            if root.place is not None:
                self.translation.put(root.value.name, root.place)
        self.pending.clear()
        self._kept.clear()
        self.free_dead()

    def _keep_for_later(self, nest: Nest) -> None:
        """Keep what the nest computes and a later one would have to compute again, unless that is cheap."""
        here, costs = loop_coords(self.translation, nest.rank), Costs(self.translation)
        for (name, coords), value in nest.touched.computed.items():
            if coords != here or name in self._kept or costs.of(value) <= CHEAP:
                continue
            if self.frame.demanded(self.translation, name, self.frame.position, self._kept):
                nest.roots.append(KeepRoot(self.translation.definitions[name], value.shape, value))
                self._kept.add(name)

    def _place_for(self, value: Value, nest: Nest, taken: set[int]) -> Scratch:
        """The scratch it is meant for if that is free, or becomes so element by element in this nest."""
        target, dtype = self.frame.targets.get(value.name), register_type(value.dtype)
        if target and target.shape == value.shape and target.dtype == dtype and target.slot not in taken:
            here = loop_coords(self.translation, nest.rank)
            in_step = all([coords == here for place, coords in nest.touched.reads if place.slot == target.slot])
            position = self.frame.position
            if in_step and not self.frame.slot_demanded(self.translation, target.slot, position, self._kept):
                return target
        return self.new_scratch(value.name, value.shape, value.dtype)

    def copy(self, op: Op, value: Value, place: Scratch) -> None:
        """Copy a tile into scratch, which does not become its place."""
        self.add(CopyRoot(op, value.shape, value, place, place.strides))
