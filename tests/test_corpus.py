"""Every program of the corpus, every case: NumPy reference == interpreter == interpreter after each pass.

The passes promise the same bits, so their results are compared to the bit; the reference within bounds.
"""

from __future__ import annotations

import re

import pytest

from tests.corpus import PROGRAMS, Arguments, Case, Specialised, assert_identical, load_corpus
from tests.programs import reference
from tests.programs.reference import OTHER_NAMES
from tilelang.ir.core import Kernel
from tilelang.ir.interpreter import TileAssertionError
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.ir.verifier import verify
from tilelang.passes import optimize
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.targets import TARGETS

CASES = pytest.mark.parametrize("case", load_corpus(), ids=str)


def run(case: Case, kernel: Kernel, bound: Specialised) -> tuple[Arguments | None, list[str]]:
    """The arguments after a run, and what was printed; None for the arguments if an assert failed as it should."""
    arguments = case.arguments()
    try:
        printed = case.interpret(kernel, arguments, bound)
    except TileAssertionError as failed:
        assert case.fails is not None, failed
        assert case.fails in str(failed).replace(" ", "_")
        return None, []
    assert case.fails is None, "an assert should have failed"
    return arguments, [str(line) for line in printed]


@CASES
def test_reference_and_interpreter_agree(case: Case) -> None:
    bound = case.specialise()
    verify(bound.tile)
    arguments, printed = run(case, bound.tile, bound)
    assert bool(printed) == ("prints" in case.options)
    if arguments is not None:
        case.check(arguments)


@CASES
def test_every_pass_keeps_every_bit(case: Case) -> None:
    """Where divisions may be approximate, one pass rounds them anew: that is compared within the case's bounds."""
    bound = case.specialise()
    expected = run(case, bound.tile, bound)
    before = print_kernel(bound.tile)

    def compare(name: str, kernel: Kernel) -> None:
        nonlocal before, expected
        text = print_kernel(kernel)
        if text != before:
            before = text
            found = run(case, kernel, bound)
            if name == "reciprocals" and found[0] is not None and expected[0] is not None:
                case.compare(found[0], expected[0])
                expected = found
            assert found[1] == expected[1], f"after {name}"
            if expected[0] is not None and found[0] is not None:
                assert_identical(found[0], expected[0], f"after {name}")

    optimize(bound.tile, observe=compare)


@CASES
def test_built_and_optimised_ir_print_and_parse_back(case: Case) -> None:
    built = case.specialise().tile
    for kernel in (built, optimize(built)):
        text = print_kernel(kernel)
        assert print_kernel(parse_kernel(text)) == text


def test_every_program_has_a_reference() -> None:
    """Without a result that can be foretold are only those that fail an assert."""
    missing = {case.kernel for case in load_corpus()
               if case.fails is None and case.kernel not in OTHER_NAMES
               and not hasattr(reference, f"ref_{case.kernel}")}
    assert missing == set()


def test_kernel_names_are_unique() -> None:
    places: dict[str, set[str]] = {}
    for case in load_corpus():
        places.setdefault(case.kernel, set()).add(case.path.name)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_the_corpus_uses_every_tile_op() -> None:
    tiles = [case.specialise().tile for case in load_corpus()]
    used = {op.name for tile in tiles for op in tile.walk()}
    assert set(TILE_OPS) - used == {"convert_layout"}  # no program writes it: the passes on layouts do
    assert any(op.name == "convert_layout" for tile in tiles for op in lay_out(tile, TARGETS["sm_80"]).walk())


def test_the_corpus_uses_every_builtin_and_dtype() -> None:
    from tilelang.dtypes import DTYPES
    from tilelang.semantics.builtins import BUILTINS

    text = "\n".join(path.read_text(encoding="utf-8") for path in PROGRAMS.glob("*.tile"))
    words = set(re.findall(r"\w+", re.sub(r"#(?! case).*", "", text)))
    assert set(BUILTINS) - words == set()
    assert set(DTYPES) - words == set()


def test_a_case_gives_the_same_arguments_each_time_and_fresh_ones() -> None:
    case = next(c for c in load_corpus() if c.path.stem == "vector_add")
    first, second = case.arguments(), case.arguments()
    assert_identical(first, second, "again")
    first["x"][0] += 1
    assert case.arguments()["x"][0] == second["x"][0]


def test_the_comparison_sees_a_wrong_element() -> None:
    case = next(c for c in load_corpus() if c.path.stem == "vector_add")
    arguments = case.arguments()
    with pytest.raises(AssertionError, match=r"vector_add-0: z\[0\]: got"):
        case.check(arguments)
