"""Values in parts, and accesses at regular distances: nothing comes out differently for them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.corpus import Case, assert_identical, load_corpus
from tests.machine.test_corpus_model import lowered
from tests.machine.threads import constants, thread_kernel
from tilelang.dtypes import BOOL, I8, I32, I64, U64
from tilelang.ir.batch import TileAssertionError
from tilelang.ir.numerics import evaluate
from tilelang.machine import execute
from tilelang.machine.l2 import L2Cache
from tilelang.machine.separable import RULES, Separable, in_parts, whole
from tilelang.machine.strided import is_one_to_one, strided

PROGRAM = np.array([0, 1000, 2000]).reshape(1, 3, 1)
LANE = np.arange(8).reshape(2, 1, 4)


def number(value: int, dtype: str = "i8") -> np.ndarray:
    return np.full((1, 1, 1), value, dtype)


@pytest.mark.parametrize("name", RULES)
def test_parts_are_what_the_whole_is(name: str) -> None:
    value = Separable(PROGRAM, LANE, np.dtype(np.int64))
    for other in (number(-3), number(0), number(1003), number(2007), number(2008), LANE, PROGRAM, value):
        for operands in ((value, other), (other, value)):
            wanted = I64 if name in ("add", "sub", "mul") else BOOL
            found = in_parts(name, operands, wanted)
            if found is not None:
                expected = evaluate(name, [whole(operand) for operand in operands], wanted)
                assert np.broadcast_to(whole(found) == expected, (2, 3, 4)).all()
                assert whole(found).dtype == expected.dtype


def test_a_sum_of_programs_and_lanes_stays_in_parts() -> None:
    found = in_parts("add", (PROGRAM, LANE), I64)
    assert isinstance(found, Separable) and found.bounds == (0, 2007) and found.shape == (2, 3, 4)
    assert in_parts("add", (PROGRAM, PROGRAM), I64) is None
    assert in_parts("add", (PROGRAM.astype("f4"), LANE.astype("f4")), I64) is None


def test_what_leaves_the_types_range_is_computed_as_a_whole() -> None:
    program, lane = (PROGRAM // 40).astype("i1"), (LANE * 10).astype("i1")
    assert in_parts("add", (program, lane), I8) is not None  # 50 + 70 at most
    assert in_parts("add", (program * np.int8(2), lane), I8) is None  # 100 + 70 wraps
    value = Separable(PROGRAM, LANE, np.dtype(np.int64))
    assert in_parts("cast", (value,), I32) is not None
    assert in_parts("cast", (value,), I8) is None
    assert in_parts("cast", (value,), U64) is None
    assert in_parts("mul", (value, number(1 << 60, "i8")), I64) is None
    far = Separable(PROGRAM + (1 << 61), LANE, np.dtype(np.int64))
    assert in_parts("sub", (far, value), I64) is None


def test_a_comparison_that_some_pass_is_left_open() -> None:
    value = Separable(PROGRAM, LANE, np.dtype(np.int64))
    assert in_parts("lt", (value, number(2008)), BOOL).all()  # type: ignore[union-attr]
    assert not in_parts("lt", (value, number(0)), BOOL).any()  # type: ignore[union-attr]
    assert in_parts("lt", (value, number(2007)), BOOL) is None
    assert in_parts("ge", (value, number(1)), BOOL) is None


# ------------------------------------------------------------------------------------ regular distances

REGULAR = {
    "rows of a grid": ([0, 100, 200, 1000, 1100, 1200], [[0, 1, 2, 3], [10, 11, 12, 13]]),
    "backwards": ([500, 400, 300], [[3, 2, 1, 0]]),
    "one element for all": ([7, 7], [[0, 0]]),
    "one program": ([3], [[0, 5, 10]]),
    "two levels of threads": ([0, 64], [[0, 1, 16, 17, 32, 33, 48, 49]]),
}
IRREGULAR = {
    "programs": ([0, 1, 3], [[0, 1]]),
    "threads": ([0, 1], [[0, 1, 3]]),
    "trips that are no sum": ([0, 1], [[0, 1], [5, 7]]),
    "a run that is cut short": ([0, 1, 2, 10, 11], [[0, 1]]),
}


def parts(what: tuple[list[int], list[list[int]]]) -> tuple[np.ndarray, np.ndarray]:
    program, lane = (np.array(numbers) for numbers in what)
    return program[None, :, None], lane[:, None, :]


@pytest.mark.parametrize("what", REGULAR)
def test_a_view_of_regular_distances(what: str) -> None:
    data = np.random.default_rng(0).random(2000)
    program, lane = parts(REGULAR[what])
    view, position = strided(data, program, lane), program + lane
    assert view is not None
    np.testing.assert_array_equal(view.reshape(position.shape), data[position])
    assert not is_one_to_one(view) or len(np.unique(position)) == position.size
    assert is_one_to_one(view) == (what != "one element for all")


@pytest.mark.parametrize("what", IRREGULAR)
def test_other_distances_are_gathered(what: str) -> None:
    assert strided(np.zeros(2000), *parts(IRREGULAR[what])) is None


# ------------------------------------------------------------------------------------ whole launches


def test_stores_of_programs_that_meet_leave_the_last_ones() -> None:
    kernel = thread_kernel("%y: out i64[68]", constants(4, 100) + """
      %base: i64 = mul %p, %w4
      %at: i64 = add %base, %tw
      %tens: i64 = mul %p, %w100
      %value: i64 = add %tens, %tw
      global.store %y, %at, %value""", threads=8)
    y = np.zeros(68, np.int64)
    execute(kernel, {"y": y}, {}, (16,))
    wanted = np.zeros(68, np.int64)
    for program in range(16):
        wanted[4 * program:4 * program + 8] = 100 * program + np.arange(8)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("target", ("sm_80", "simulator"))
@pytest.mark.parametrize("case", load_corpus(), ids=str)
def test_all_that_is_counted_and_found_is_the_same_without_parts(
        case: Case, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bound, kernel = lowered(case, target)

    def outcome() -> tuple:
        arguments, cache, printed = case.arguments(), L2Cache(1 << 12), []
        try:
            report = execute(kernel, arguments, bound.dims, bound.grid, watch=cache.watch, max_steps=1_000_000,
                             output=lambda *line: printed.append(str(line)))
        except TileAssertionError as failed:
            return failed.program, failed.text, printed, {}
        cache.end_wave()
        arrays = {name: array.copy() for name, array in arguments.items() if isinstance(array, np.ndarray)}
        return [counts for _, counts in report.ops], report.findings, cache.traffic(), printed, arrays

    *found, arrays = outcome()
    monkeypatch.setattr(sys.modules["tilelang.machine.execute"], "IN_PARTS", frozenset())
    *wanted, same = outcome()
    assert found == wanted
    if case.fails is None:
        assert_identical(arrays, same, str(case))
