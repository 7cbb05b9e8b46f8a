"""Tile IR -> tile IR with layouts: which thread holds which elements of each tile, in three passes.

    %s = dot %a, %b, %zero             anchors:       %s = dot %a, %b, %zero {layout = "mma 4x1"}
    %h = cast %s                       conversions:   %c = convert_layout %s {layout = "linear"};  %h = cast %c
    store %y, %rows, %cols, %h         minimise:      %h = cast %s {layout = "mma 4x1"};  %c = convert_layout %h

What says no layout is linear (`tilelang.tiling.layout`), or needs none. A kernel without dots stays as it is: all its
tiles are linear, and what one thread needs of another's passes through shared memory by the op that needs it. The
lowering (`tilelang.tiling.lower`) does as it is told here.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.diagnostics import InternalError
from tilelang.ir.core import Kernel
from tilelang.ir.printer import op_head, print_kernel
from tilelang.ir.verifier import verify
from tilelang.syntax.limits import deep_trees
from tilelang.tiling.anchors import anchor
from tilelang.tiling.assignment import minimise
from tilelang.tiling.conversions import insert_conversions, misplaced
from tilelang.tiling.targets import Target

Pass = Callable[[Kernel, Target], Kernel]

LAYOUT_PASSES: tuple[tuple[str, Pass], ...] = (
    ("anchors", anchor),                                                  # first: what cannot be otherwise
    ("conversions", lambda kernel, target: insert_conversions(kernel)),   # right, if slow, behind this one
    ("minimise", lambda kernel, target: minimise(kernel)),                # all other layouts, for few conversions
)


def lay_out(kernel: Kernel, target: Target, *, observe: Callable[[str, Kernel], None] | None = None) -> Kernel:
    """Run `LAYOUT_PASSES` on an optimised tile kernel.

    After each the IR is verified, and `observe(name, kernel)` is called.

    Raises:
        InternalError: a pass broke a rule of the IR, or left a value where its user does not want it.
    """
    with deep_trees():
        for name, run in LAYOUT_PASSES:
            before, kernel = kernel, run(kernel, target)
            if kernel is not before:
                verify(kernel)
                if name != "anchors":
                    _check(name, kernel)
            if observe is not None:
                observe(name, kernel)
    return kernel


def _check(name: str, kernel: Kernel) -> None:
    for op, value in misplaced(kernel):
        raise InternalError(f"pass {name}", f"`{op_head(op)}` wants {value} in another layout", print_kernel(kernel))
