"""Masks and memory: a `select` around a load becomes its mask, a mask that says nothing new goes.

    %v: f32[8] = load %x, %i {mask = false, ...}                %v: f32[8] = load %x, %i, %m, %z
    %w: f32[8] = select %m, %v, %z                       ==>         {mask = true, other = true, ...}

    %m: bool[8] = lt %i, %N                    (x has N elements, and the access is checked against N anyway)
    %v: f32[8] = load %x, %i, %m {mask = true, ...}      ==>    %v: f32[8] = load %x, %i {mask = false, ...}

    %o: f32[8] = load %y, %i {...}
    %s: f32[8] = select %m, %v, %o                       ==>    store %y, %i, %v, %m {mask = true, ...}
    store %y, %i, %s {mask = false, ...}

Precondition: none; `cse` before it makes equal conditions one value.

A load has one `other` value for what is masked off and what is outside. So a `select` is folded in only where its
else-value equals that of the load, or where nothing can be outside. It refuses too where the tensor may be
written between the load and the `select`, and where a store might write one element twice. A part of a mask
goes only if the bounds check implies it for every index.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang.ir.access import Access, access, access_op
from tilelang.ir.core import Kernel, Op, Value
from tilelang.passes.effects import clobbers, written
from tilelang.passes.implied import is_implied
from tilelang.passes.rewrite import Rewriter


def masks(kernel: Kernel) -> Kernel:
    """Fold selects into loads and stores; drop masks and else-values that change nothing."""
    return _Masks(kernel).run()


class _Masks(Rewriter):
    def visit(self, op: Op) -> None:
        if op.name in ("load", "store", "atomic"):
            self.access(op)
        elif op.name == "select" and self.select(op):
            return
        else:
            self.keep(op)

    # --- accesses --------------------------------------------------------------------------------

    def access(self, op: Op) -> None:
        parts = self.simpler(access(op))
        if parts.mask is not None and self.constant(parts.mask) is False:
            self.nothing(op, parts)
            return
        if op.name == "store":
            parts = self.store_of_select(parts)
        kind = op.attrs.get("kind")
        self.keep(access_op(op.name, parts, op.results, kind=kind, span=op.span))  # type: ignore[arg-type]

    def nothing(self, op: Op, parts: Access) -> None:
        """An access that is masked off as a whole: a load gives its else-value, an atomic zeros."""
        for result in op.results:
            other = parts.other
            self.replace(op, self.out.const(0, result.type) if other is None else other)  # type: ignore[arg-type]

    def simpler(self, parts: Access) -> Access:
        """Without the conditions that always hold, and without an else-value that is never or always 0."""
        needed = [c for c in self.conditions(parts.mask) if not is_implied(self, parts, c)]
        parts = replace(parts, mask=self.conjunction(parts, needed))
        if parts.other is not None and (self.is_zero(parts.other) or not has_holes(parts)):
            parts = replace(parts, other=None)
        return parts

    def conditions(self, mask: Value | None) -> list[Value]:
        """The conditions whose `and` is the mask; each broadcasts to it. None at all for no mask."""
        found: list[Value] = []
        pending = [] if mask is None else [mask]
        while pending:
            value = pending.pop()
            op = self.definition(value)
            inner = self.definition(op.operands[0]) if op is not None and op.name == "broadcast" else op
            if inner is not None and inner.name == "and":
                pending.extend(reversed(inner.operands))
            elif self.constant(value) is not True:
                found.append(value)
        return found

    def conjunction(self, parts: Access, conditions: list[Value]) -> Value | None:
        """One mask from its conditions; the old one if none was dropped."""
        if len(conditions) == len(self.conditions(parts.mask)):
            return parts.mask if conditions else None
        mask = None
        for condition in conditions:
            wide = self.out.broadcast(condition, parts.shape)
            mask = wide if mask is None else self.out.op("and", mask, wide)
        return mask

    def is_zero(self, value: Value) -> bool:
        """+0: what a load gives without an else-value."""
        return repr(self.constant(value)) in ("0", "0.0", "False")

    # --- select and load -------------------------------------------------------------------------

    def select(self, op: Op) -> bool:
        """Fold `select(m, load, other)` or `select(m, other, load)` into a load; true if that was possible."""
        condition, then, other = op.operands
        for loaded, fallback, negate in ((then, other, False), (other, then, True)):
            load = self.definition(loaded)
            if load is None or load.name != "load" or not self.is_unchanged(load):
                continue
            parts = access(load)
            if not self.agrees(parts, fallback):
                continue
            mask = self.out.op("not", condition) if negate else condition
            if parts.mask is not None:
                mask = self.out.op("and", parts.mask, mask)
            parts = self.simpler(replace(parts, mask=mask, other=fallback))
            self.keep(access_op("load", parts, op.results, span=load.span))
            return True
        return False

    def agrees(self, parts: Access, fallback: Value) -> bool:
        """Is `fallback` what the load gives already where it reads nothing, if there is such a place?"""
        if not has_holes(parts):
            return True
        if parts.other is None:
            return self.is_zero(fallback)
        number = self.constant(fallback)
        same_number = number is not None and repr(number) == repr(self.constant(parts.other))
        return parts.other == fallback or same_number

    def is_unchanged(self, load: Op) -> bool:
        """Does the load stand in this block, with no write to its tensor since?"""
        ops = self.out.ops
        place = next((p for p in range(len(ops) - 1, -1, -1) if ops[p] is load), None)
        return place is not None and not clobbers(written(ops[place:]), load.operands[0])

    # --- select and store ------------------------------------------------------------------------

    def store_of_select(self, parts: Access) -> Access:
        """`y[i] = select(m, v, y[i])` writes v where m holds, and nothing new elsewhere.

        Unless an element is stored twice: then the old value might be what stays.
        """
        select = self.definition(parts.value) if parts.value is not None else None
        if select is None or select.name != "select":
            return parts
        if parts.pointwise or not all(self.is_distinct(index) for index in parts.indices):
            return parts
        condition, then, other = select.operands
        old = self.definition(other)
        if old is None or old.name != "load" or not self.is_unchanged(old) or not same_place(parts, access(old)):
            return parts
        mask = condition if parts.mask is None else self.out.op("and", parts.mask, condition)
        return replace(parts, value=then, mask=mask)

    def is_distinct(self, index: Value) -> bool:
        """Do the elements differ for sure? True for a scalar, `iota`, and what a scalar shifts it to."""
        op = self.definition(index)
        if not index.shape or op is None:
            return not index.shape
        if op.name == "add":
            a, b = op.operands
            return (self.is_uniform(a) and self.is_distinct(b)) or (self.is_uniform(b) and self.is_distinct(a))
        return op.name == "iota"

    def is_uniform(self, value: Value) -> bool:
        """Are all elements one number?"""
        op = self.definition(value)
        return op is not None and (op.name == "const" or (op.name == "broadcast" and not op.operands[0].shape))


def has_holes(parts: Access) -> bool:
    """May the access leave elements out?"""
    return parts.mask is not None or any(parts.checked)


def same_place(store: Access, load: Access) -> bool:
    """Does the load read what the store would overwrite?"""
    return (store.tensor == load.tensor and store.indices == load.indices and store.pointwise == load.pointwise
            and load.mask in (None, store.mask))
