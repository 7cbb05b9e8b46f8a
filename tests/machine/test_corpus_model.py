"""Every program of the corpus, optimised, lowered and run on the machine model: the oracle of the lowering.

The results are the interpreter's, and nothing is found: no race, no unwritten read, no access outside, no divergent
barrier. And each barrier is there for a reason: without it the model finds a race in some case of the program.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.corpus import Case, Specialised, assert_identical, load_corpus
from tests.machine.threads import barriers, without_barrier
from tilelang.diagnostics import Sink
from tilelang.ir.batch import TileAssertionError
from tilelang.ir.core import Kernel
from tilelang.ir.verifier import verify
from tilelang.machine import Report, execute
from tilelang.passes import optimize
from tilelang.tiling.lower import lower
from tilelang.tiling.targets import TARGETS

TARGET_NAMES = ("sm_80", "simulator")


@cache
def lowered(case: Case, target: str) -> tuple[Specialised, Kernel]:
    bound, sink = case.specialise(), Sink()
    kernel = lower(optimize(bound.tile), TARGETS[target], sink)
    assert not sink.diagnostics, sink.diagnostics
    verify(kernel)
    return bound, kernel


def run(case: Case, kernel: Kernel, bound: Specialised) -> tuple[dict[str, Any], Report, list[tuple]]:
    arguments, printed = case.arguments(), []
    report = execute(kernel, arguments, bound.dims, bound.grid, max_steps=1_000_000,
                     output=lambda *line: printed.append(line))
    return arguments, report, printed


def may_be_reordered(kernel: Kernel) -> bool:
    """Does a tile kernel add up floats in an order that the language leaves open?"""
    return any(op.name in ("reduce", "scan", "dot", "atomic") and op.results[0].dtype.is_float for op in kernel.walk())


@pytest.mark.parametrize("target", TARGET_NAMES)
@pytest.mark.parametrize("case", load_corpus(), ids=str)
def test_the_machine_model_agrees_with_the_interpreter(case: Case, target: str) -> None:
    bound, kernel = lowered(case, target)
    wanted = case.arguments()
    if case.fails is not None:
        with pytest.raises(TileAssertionError) as failed:
            run(case, kernel, bound)
        with pytest.raises(TileAssertionError) as expected:
            case.interpret(bound.tile, wanted, bound)
        assert (failed.value.program, failed.value.text) == (expected.value.program, expected.value.text)
        return
    got, report, printed = run(case, kernel, bound)
    assert report.findings == ()
    wanted_lines = case.interpret(bound.tile, wanted, bound)
    case.compare(got, wanted)
    if not may_be_reordered(bound.tile):
        assert_identical(got, wanted, str(case))
    assert [(text, program) for text, _, program in printed] == [(text, program) for text, _, program in wanted_lines]
    for (_, value, _), (_, expected_value, _) in zip(printed, wanted_lines, strict=True):
        np.testing.assert_array_equal(value, expected_value)


# ------------------------------------------------------------------------------------ barriers

TRIPS = "a loop whose trips store to different elements, which the placement does not prove"
ALONE = "extents and threads are such that one thread touches each element, which the placement does not look into"
COVERED = "on every path another barrier does the same"
TRIPLESS = "the loop before it has barriers, but need not make a trip"

NEEDLESS: dict[tuple[str, str], tuple[int, str]] = {
    ("attention", "sm_80"): (1, COVERED),
    ("attention", "simulator"): (1, COVERED),
    ("column_sums", "sm_80"): (4, ALONE),
    ("index_everything", "sm_80"): (1, TRIPS),
    ("index_everything", "simulator"): (1, TRIPS),
    ("matmul_wide", "sm_80"): (1, TRIPLESS),
    ("matmul_wide", "simulator"): (1, ALONE),
    ("reductions", "simulator"): (1, ALONE),
    ("scans", "simulator"): (8, ALONE),
    ("shapes", "simulator"): (1, ALONE),
    ("strided_grid", "sm_80"): (1, TRIPS),
    ("strided_grid", "simulator"): (1, TRIPS),
}
"""(program, target) -> how many of its barriers nothing needs, and why they are there. All others must be missed."""


def programs() -> list[tuple[str, str]]:
    return sorted({(case.path.stem, case.kernel) for case in load_corpus() if case.fails is None})


@pytest.mark.parametrize("target", TARGET_NAMES)
@pytest.mark.parametrize("program", programs(), ids=lambda p: p[1])
def test_every_barrier_is_needed(program: tuple[str, str], target: str) -> None:
    """Delete each in turn. Cases of a program may be lowered differently: those with as many barriers go together."""
    cases = [c for c in load_corpus() if (c.path.stem, c.kernel) == program]
    unnoticed = 0
    for count in {barriers(lowered(case, target)[1]) for case in cases}:
        alike = [case for case in cases if barriers(lowered(case, target)[1]) == count]
        unnoticed += sum(not race_without(number, alike, target) for number in range(count))
    assert unnoticed <= NEEDLESS.get((program[1], target), (0, ""))[0]


def race_without(number: int, cases: list[Case], target: str) -> bool:
    """Does the model find a race in one of these cases, if barrier `number` is deleted?"""
    for case in cases:
        bound, kernel = lowered(case, target)
        _, report, _ = run(case, without_barrier(kernel, number), bound)
        if report.races:
            return True
    return False
