"""Which tiles are in fragments, the layout of a dot's accumulator, and which of them are never stored.

    %s = dot ... {layout = "mma 4x1"}                      %s: an array of fragments
    %m = reduce %s {..., layout = "rows 4"}                %m: an array of numbers for rows
    %c = broadcast %m {layout = "mma 4x1"}          ->     %c: a view: whoever asks for an element looks at %m
    %p = cast %e {layout = "mma 4x1"}                      %p: narrowed: rounded when operand A is made of %e
    %o = dot %p, %v, ... {layout = "mma 4x1"}

An analysis: it reads what the passes on layouts have decided (`tilelang.tiling.laying_out`) and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilelang.dtypes import F32
from tilelang.ir.core import Kernel, Op, Value
from tilelang.tiling.conversions import is_row_view
from tilelang.tiling.held import Layout, feeds, layouts_of
from tilelang.tiling.uses import Uses


@dataclass
class FragmentPlans:
    """`layouts`: of each tile that has an array of fragments. `views`: what shows others of these in another shape, by
    its result. `narrowed`: halves that only operands A are made of, and what they are rounded from when those are
    made."""

    layouts: dict[Value, Layout] = field(default_factory=dict)
    views: dict[Value, Op] = field(default_factory=dict)
    narrowed: dict[Value, Value] = field(default_factory=dict)

    def holds(self, value: Value) -> bool:
        return value in self.layouts or value in self.views or value in self.narrowed


def fragments_of(kernel: Kernel) -> FragmentPlans:
    """What the layouts in a tile kernel say."""
    found, uses, layouts = FragmentPlans(), Uses(kernel), layouts_of(kernel)
    definitions = {value: op for op in kernel.walk() for value in op.results}
    for value, layout in layouts.items():
        op = definitions.get(value)
        if op is not None and is_row_view(op):
            found.views[value] = op
        elif op is not None and _is_narrowed(op, uses, layouts):
            found.narrowed[value] = op.operands[0]
        else:
            found.layouts[value] = layout
    return found


def _is_narrowed(op: Op, uses: Uses, layouts: dict[Value, Layout]) -> bool:
    """A rounding to halves, of which only operands A are made."""
    if op.name != "cast" or op.operands[0].dtype != F32 or op.result.dtype.bits != 16 or not op.result.dtype.is_float:
        return False
    return all(user.name == "dot" and user.operands[0] == op.result and op.result not in user.operands[1:]
               and feeds(layouts[op.result], user, layouts.get(user.result)) for user in uses.of(op.result))
