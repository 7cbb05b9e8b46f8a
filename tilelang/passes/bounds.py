"""Bounds checks that cannot fail are removed; comparisons that cannot go either way are decided.

    kernel @k(%x: in f32[%M, 64], ...) dims(%M) tile {grid.0 = "M", ...} {
      %row: i64 = program_id {axis = 0}                      0 <= row < M: the grid has M programs
      %i: i32[64] = iota                                     0 <= i <= 63
      %v: f32[64] = load %x, %row, %i {checked = (true, true), ...}
                                         ==>         ... {checked = (false, false), ...}

Precondition: `grid.0`, ... in the kernel's attributes, where present, are the launch's grid extents. With `fact.small`
there, no dim needs more than 31 bits.

One walk from top to bottom gives each integer value a range (`tilelang.passes.ranges`); inside a branch the
condition is known to hold. It refuses to guess: values a loop carries, loaded values, and sums that may wrap can be
anything. It does not learn from `assert` (memory must stay safe also where one fails), nor from `x % N` (N may
be 0, and then the result is 0, which is outside).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tilelang.dtypes import I32, I64
from tilelang.ir.access import access, access_op
from tilelang.ir.core import Kernel, Op, TensorType, Value
from tilelang.passes.identities import MIRRORED, OPPOSITE, is_exact
from tilelang.passes.ranges import MAX_PROGRAMS, Range, decide, everything, loop_range, refine, result_range
from tilelang.passes.rewrite import Rewriter


def bounds(kernel: Kernel) -> Kernel:
    """Set `checked` to false where an index is inside for sure, and fold the comparisons that are decided."""
    return _Bounds(kernel).run()


def value_ranges(kernel: Kernel) -> Mapping[str, Range]:
    """What is known of the kernel's integer values, by name; a name that is missing can be anything."""
    walk = _Bounds(kernel)
    walk.run()
    return walk.ranges


class _Bounds(Rewriter):
    def __init__(self, kernel: Kernel):
        super().__init__(kernel)
        self.dims = frozenset(dim.name for dim in kernel.dims)
        most = I32.max_int if kernel.attrs.get("fact.small") is True else I64.max_int
        self.ranges: dict[str, Range] = {dim.name: Range(0, most, {dim.name: 0}) for dim in kernel.dims}
        self.assumed: list[dict[str, Range]] = []

    def visit(self, op: Op) -> None:
        if op.name in ("load", "store", "atomic"):
            op = self.unchecked(op)
        elif op.name == "if":
            self.branch(op)
            return
        elif op.name == "for":
            self.ranges[op.blocks[0].args[0].name] = self.index_range(op)
        elif op.name in MIRRORED:
            known = self.decided(op)
            if known is not None:
                self.replace(op, self.out.const(known, op.result.type))  # type: ignore[arg-type]
                return
        elif len(op.results) == 1 and not op.blocks:
            self.note(op)
        self.keep(op)

    # --- ranges ----------------------------------------------------------------------------------

    def range(self, value: Value) -> Range | None:
        """What is known of a value at this point; None if it is no integer."""
        if isinstance(value.type, TensorType) or value.dtype.is_float:
            return None
        found = self.ranges.get(value.name, everything(value.dtype))
        for assumed in self.assumed:
            if value.name in assumed:
                found = found.meet(assumed[value.name])
        return found

    def note(self, op: Op) -> None:
        if op.name in ("program_id", "num_programs"):
            found: Range | None = self.program_range(op)
        else:
            found = result_range(op, [self.range(operand) for operand in op.operands])
        if found is not None:
            self.ranges[op.result.name] = found

    def program_range(self, op: Op) -> Range:
        """`program_id` is below the grid's extent, which the kernel's attributes may tell."""
        extent = self.kernel.attrs.get(f"grid.{op.attrs['axis']}")
        last = int(op.name == "program_id")
        if isinstance(extent, int):
            return Range(0 if last else extent, max(extent - last, 0))
        limits = {extent: -last} if isinstance(extent, str) else {}
        return Range(0, MAX_PROGRAMS, limits)

    def index_range(self, op: Op) -> Range:
        dtype = op.operands[0].dtype
        lo, hi, step = (self.range(value) or everything(dtype) for value in op.operands[:3])
        return loop_range(dtype, lo, hi, step)

    # --- what comes of it ------------------------------------------------------------------------

    def unchecked(self, op: Op) -> Op:
        """The access with the checks left that may fail."""
        parts = access(op)
        extents: tuple[int | str, ...] = parts.tensor.type.dims  # type: ignore[union-attr]
        checked = []
        for index, extent, check in zip(parts.indices, extents, parts.checked, strict=True):
            known = self.range(index)
            checked.append(check and not (known is not None and known.within(extent)))
        kind = op.attrs.get("kind")
        parts = replace(parts, checked=tuple(checked))
        return access_op(op.name, parts, op.results, kind=kind, span=op.span)  # type: ignore[arg-type]

    def decided(self, op: Op) -> bool | None:
        name, (left, right) = op.name, op.operands
        if self.dim(left) is not None:
            name, left, right = MIRRORED[name], right, left
        a, b = self.range(left), self.range(right)
        return None if a is None or b is None else decide(name, a, b, self.dim(right))

    def dim(self, value: Value) -> str | None:
        """The dim that a value equals, perhaps repeated in a tile."""
        op = self.definition(value)
        while op is not None and op.name in ("broadcast", "reshape"):
            value = op.operands[0]
            op = self.definition(value)
        return value.name if value.name in self.dims else None

    # --- branches --------------------------------------------------------------------------------

    def branch(self, op: Op) -> None:
        """Each side knows the condition; a result may be what either side yields."""
        blocks = []
        for holds, block in zip((True, False), op.blocks, strict=True):
            with self.assuming(op.operands[0], holds):
                blocks.append(self.block(block))
                for result, value in zip(op.results, blocks[-1].ops[-1].operands, strict=True):
                    self.widen(result, self.range(value), first=holds)
        self.out.append(replace(op, blocks=tuple(blocks)))

    def widen(self, result: Value, found: Range | None, first: bool) -> None:
        if found is not None:
            self.ranges[result.name] = found if first else self.ranges[result.name].join(found)

    @contextmanager
    def assuming(self, condition: Value, holds: bool) -> Iterator[None]:
        self.assumed.append({})
        self.learn(condition, holds)
        yield
        self.assumed.pop()

    def learn(self, condition: Value, holds: bool) -> None:
        """Add what follows from a condition (or its opposite) to the assumptions."""
        op = self.definition(condition)
        if op is None:
            return
        if op.name == "not":
            self.learn(op.operands[0], not holds)
        elif op.name == ("and" if holds else "or"):
            for operand in op.operands:
                self.learn(operand, holds)
        elif op.name in OPPOSITE:
            a, b = op.operands
            ranges = self.range(a), self.range(b)
            if ranges[0] is not None and ranges[1] is not None:
                found = refine(op.name if holds else OPPOSITE[op.name], ranges[0], ranges[1])
                if found is not None:
                    self.assume(a, found[0])
                    self.assume(b, found[1])

    def assume(self, value: Value, found: Range) -> None:
        """The value is in that range, and so is what it was cast from, if nothing was lost."""
        known = self.range(value)
        self.assumed[-1][value.name] = found if known is None else known.meet(found)
        op = self.definition(value)
        if op is not None and op.name == "cast" and is_exact(op.operands[0].dtype, value.dtype):
            self.assume(op.operands[0], found)


