"""The passes on tile IR: `Kernel -> Kernel`, one textbook idea a file, in one tuple that can be read.

`optimize` runs them all, verifies the kernel after each, and repeats the tuple until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.diagnostics import InternalError
from tilelang.ir.core import Kernel
from tilelang.ir.printer import print_kernel
from tilelang.ir.verifier import verify as verify_kernel
from tilelang.passes.bounds import bounds
from tilelang.passes.cse import cse
from tilelang.passes.dce import dce
from tilelang.passes.fold import fold
from tilelang.passes.licm import licm
from tilelang.passes.masks import masks
from tilelang.passes.reciprocals import reciprocals

Pass = Callable[[Kernel], Kernel]
Observer = Callable[[str, Kernel], None]

PASSES: tuple[tuple[str, Pass], ...] = (
    ("reciprocals", reciprocals),  # before fold, cse and licm, which share reciprocals and move them
    ("fold", fold),      # early: fewer ops for everyone else, and the bounds of loops become numbers
    ("cse", cse),        # before masks: a condition that is written twice becomes one value that compares equal
    ("licm", licm),      # before bounds: what is left in a loop depends on its index
    ("bounds", bounds),  # before masks: a mask is compared with the checks that are left
    ("masks", masks),    # after it, loads need fewer operands
    ("dce", dce),        # last: the passes above leave behind what they no longer use
)

MAX_ROUNDS = 4
"""One pass gives work to another, but never much: two rounds do for nearly every kernel."""


def optimize(kernel: Kernel, *, verify: bool = True, observe: Observer | None = None) -> Kernel:
    """Run `PASSES` on tile IR until nothing changes, at most `MAX_ROUNDS` times.

    The IR is verified after each pass; then `observe(name, kernel)` is called.

    Raises:
        InternalError: a pass failed or broke a rule of the IR; `dump` holds the kernel before and after it.
    """
    text = print_kernel(kernel)
    for _ in range(MAX_ROUNDS):
        for name, run in PASSES:
            kernel = _run(name, run, kernel, verify)
            if observe is not None:
                observe(name, kernel)
        before, text = text, print_kernel(kernel)
        if text == before:
            break
    return kernel


def _run(name: str, run: Pass, before: Kernel, verify: bool) -> Kernel:
    """One pass; whatever goes wrong in it is an InternalError that names it."""
    try:
        after = run(before)
    except Exception as failure:
        raise InternalError(f"pass {name}", f"{type(failure).__name__}: {failure}", print_kernel(before)) from failure
    if verify:
        try:
            verify_kernel(after)
        except InternalError as broken:
            dump = f"before:\n{print_kernel(before)}\nafter:\n{print_kernel(after)}"
            raise InternalError(f"pass {name}", str(broken), dump) from broken
    return after
