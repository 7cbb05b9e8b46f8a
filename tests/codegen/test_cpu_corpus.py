"""Every program of the corpus on device `cpu`: the same results as the interpreter, before and after the passes."""

from __future__ import annotations

import pytest

from tests.corpus import Case, load_corpus
from tilelang.codegen.cpu import generate
from tilelang.ir.core import Kernel
from tilelang.passes import optimize
from tilelang.runtime.cpu import compile


@pytest.mark.parametrize("case", load_corpus(), ids=str)
def test_cpu_equals_the_interpreter(case: Case) -> None:
    bound = case.specialise()
    run_and_compare(case, optimize(bound.tile), bound)


@pytest.mark.parametrize("case", load_corpus()[::4], ids=str)
def test_unoptimised_ir_gives_the_same(case: Case) -> None:
    bound = case.specialise()
    run_and_compare(case, bound.tile, bound)


def run_and_compare(case: Case, kernel: Kernel, bound) -> None:
    arguments = case.arguments()
    compiled = compile(generate(kernel, case.source), kernel)
    report = compiled.launch(arguments, bound.dims, bound.grid) if all(bound.grid) else None
    if case.fails is not None:
        assert report is not None and report.failure is not None
        assert report.failure.site.text.replace(" ", "_") == case.fails.replace(" ", "_")
        return
    assert report is None or report.failure is None
    case.check(arguments)
    expected = case.arguments()
    case.interpret(bound.tile, expected, bound)
    case.compare(arguments, expected)
