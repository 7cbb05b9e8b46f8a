"""Every program of the corpus on numba's simulator: what the interpreter and NumPy say, in both orders of threads."""

from __future__ import annotations

import pytest

from tests.corpus import Case, load_corpus
from tilelang.codegen.cuda import generate
from tilelang.diagnostics import Sink
from tilelang.ir.core import Kernel
from tilelang.ir.verifier import verify
from tilelang.passes import optimize
from tilelang.runtime import simulator
from tilelang.runtime.log import Report, decode, new_log, sites
from tilelang.tiling.lower import lower
from tilelang.tiling.targets import TARGETS

SIMULATOR = TARGETS["simulator"]

TOO_LARGE = ("matmul_wide",)
"""Programs of millions of multiplications: minutes here, seconds on the machine model, whose tests run them."""

CASES = [case for case in load_corpus() if case.kernel not in TOO_LARGE]

IN_NO_ORDER = {"atomics_mix-0": ("old",)}
"""Old values of atomics on cells that several threads change: nothing says whose turn comes first."""


def run(case: Case, tile: Kernel, bound, arguments, *, backwards: bool) -> Report:
    sink = Sink()
    thread = lower(tile, SIMULATOR, sink)
    assert not sink.diagnostics
    verify(thread)
    found = sites(tile)
    log = new_log(found)
    source = generate(thread, SIMULATOR, case.source)
    simulator.run(source, thread, arguments, bound.dims, bound.grid, log=log, backwards=backwards, seconds=120)
    return decode(log, found, bound.grid)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("optimised", [False, True], ids=["built", "optimised"])
def test_simulator(case, optimised):
    """As built, threads in order; and after the passes, threads in the opposite order."""
    arguments = case.arguments()
    bound = case.specialise(arguments)
    tile = optimize(bound.tile) if optimised else bound.tile
    report = run(case, tile, bound, arguments, backwards=optimised)
    assert report.dropped == 0
    if case.fails:
        assert report.failure is not None
        assert report.failure.site.text.replace(" ", "_") == case.fails.replace(" ", "_")
        return
    assert report.failure is None
    reference = case.arguments()
    case.interpret(bound.tile, reference, bound)
    for wanted in (case.expected() or {}, reference):
        case.compare(arguments, {n: v for n, v in wanted.items() if n not in IN_NO_ORDER.get(case.name, ())})


@pytest.mark.parametrize("case", [c for c in CASES if "prints" in c.options], ids=str)
def test_prints_are_the_interpreters(case):
    from tilelang.ir.interpreter import interpret

    arguments = case.arguments()
    bound = case.specialise(arguments)
    report = run(case, bound.tile, bound, arguments, backwards=False)
    wanted: list[tuple] = []
    interpret(bound.tile, case.arguments(), bound.dims, bound.grid,
              output=lambda text, value, program: wanted.append((text, value, tuple(program))))
    got = [(p.site.text, p.value, p.program) for p in report.printed]
    assert [(t, p) for t, _, p in got] == [(t, p) for t, _, p in wanted]
    for (_, mine, _), (_, theirs, _) in zip(got, wanted, strict=True):
        assert (mine is None) == (theirs is None)
        assert mine is None or (mine.tobytes() == theirs.tobytes() and mine.shape == theirs.shape)
