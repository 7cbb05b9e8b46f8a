"""Whatever a learner's file does, the grader says so in words, and goes on."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from course import wire
from course.checking import check, mismatch
from course.exercises import find_chapter
from course.grading import Result, grade_exercise
from course.learner import PROCESS, Learner, Stopped, Unfit, Wrong
from course.table import Chapter
from tilelang.dtypes import F16, F32, I8
from tilelang.ir.core import Op, Value
from tilelang.semantics.extents import symbol
from tilelang.semantics.types import TileType

HEAD = "from tilelang.dtypes import DType\n\n\n"
RIGHT = """
def wider(a, b):
    if a == b:
        return a
    if a.kind is not b.kind or a.bits == b.bits:
        return None
    return a if a.bits > b.bits else b
"""


def chapter() -> Chapter:
    found = find_chapter("ch06")
    assert found is not None
    return found


def graded(folder: Path, text: str, seconds: float = 20.0) -> Result:
    file = folder / "exercise.py"
    file.write_text(text, encoding="utf-8")
    return grade_exercise(chapter(), chapter().exercise("wider"), file, seconds=seconds)


def said(folder: Path, text: str, seconds: float = 20.0) -> str:
    """What the grader says; it must not have passed."""
    result = graded(folder, text, seconds)
    assert result.status == "failed", result
    return "\n".join(message for _, message in result.messages)


def test_a_right_answer_passes(tmp_path: Path) -> None:
    assert graded(tmp_path, HEAD + RIGHT).status == "passed"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("while True:\n        pass", "did not come back within 1.5 seconds: is there an endless loop?"),
        ("import os\n    os._exit(0)", "ended the whole process"),
        ("raise SystemExit", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("return wider(a, b)", "RecursionError"),
        ("return lambda: a", "returned a function, which is no plain value"),
        ("return (x for x in (a, b))", "a list, where a DType"),
        ("return [0] * 10**12", "MemoryError"),
        ("import sys\n    sys.stdout.close()\n    return 1 / 0", "ZeroDivisionError"),
        ("import os\n    os.write(1, b'x' * 100)\n    return 0", "an int, where"),
        ("print('x' * 10**8)", "OSError|found"),
        ("b = a\n    return None", "expected"),
    ],
)  # fmt: skip
def test_odd_functions(tmp_path: Path, body: str, says: str) -> None:
    import re

    seconds = 1.5 if "while" in body else 20.0
    assert re.search(says, said(tmp_path, f"def wider(a, b):\n    {body}\n", seconds))
    # And the next one is graded as if nothing had been.
    assert graded(tmp_path, HEAD + RIGHT).status == "passed"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def wider(a, b)\n    return a\n", "line 1 is no Python: expected ':'"),
        ("x = 1\x00", "no Python"),
        ("import nothing_of_the_kind\n" + RIGHT, "line 1 cannot be loaded: ModuleNotFoundError"),
        ("1 / 0\n" + RIGHT, "line 1 cannot be loaded: ZeroDivisionError"),
        ("raise SystemExit\n" + RIGHT, "cannot be loaded: SystemExit"),
        ("raise NotImplementedError\n" + RIGHT, "cannot be loaded: NotImplementedError outside of a function"),
        ("", "does not define a function `wider` any more"),
        ("wider = 3", "does not define a function `wider` any more"),
        (RIGHT + "\nwider = max\n", "not a function that this file defines"),
        ("from solutions.ch06_types_and_shapes import wider\n", "imports solutions"),
        ("import importlib\n" + RIGHT, "imports importlib"),
        ("import course.checking\n" + RIGHT, "imports course.checking"),
        ("from tilelang.dtypes import wider as good\n" + RIGHT, "imports wider from the compiler"),
        ("def wider(a, b):\n    return eval('a')\n", r"calls eval()"),
        ("def wider(a, b):\n    return open('solutions')\n", r"calls open()"),
    ],
)
def test_files_that_cannot_be_graded(tmp_path: Path, text: str, says: str) -> None:
    assert says in said(tmp_path, text)


def test_a_file_that_never_finishes_loading(tmp_path: Path) -> None:
    assert "endless loop" in said(tmp_path, "while True:\n    pass\n" + RIGHT, 1.5)


def test_the_reference_is_not_graded_in_the_learners_place() -> None:
    result = grade_exercise(chapter(), chapter().exercise("wider"), chapter().solution)
    assert result.status == "failed"
    assert "is the reference: there is nothing to grade in it" in result.messages[0][1]


def test_the_reference_is_found_out_whichever_way_it_is_called(tmp_path: Path) -> None:
    ways = (
        "import tilelang.dtypes\n\n\ndef wider(a, b):\n    return tilelang.dtypes.wider(a, b)\n",
        "import tilelang.dtypes as t\n\n\ndef wider(a, b):\n    return getattr(t, 'wid' + 'er')(a, b)\n",
        "from tilelang.semantics import operators\n\n\ndef wider(a, b):\n    return operators.wider(a, b)\n",
        "from functools import reduce\nimport tilelang.dtypes as t\n\n\n"
        "def wider(a, b):\n    return reduce(t.wider, (a, b))\n",
    )
    for text in ways:
        assert "calls the compiler's own wider: write it yourself" in said(tmp_path, text)


def test_mistakes_in_one_function_are_not_held_against_another(tmp_path: Path) -> None:
    text = (
        HEAD
        + "def wider(a, b):\n    return 1 / 0\n\n\n"
        + "def common_dtype(dtypes):\n    together = dtypes[0]\n    for d in dtypes[1:]:\n"
        + "        together = together and wider(together, d)\n    return together\n"
    )
    file = tmp_path / "exercise.py"
    file.write_text(text, encoding="utf-8")
    assert grade_exercise(chapter(), chapter().exercise("common_dtype"), file).status == "passed"


def test_a_function_that_changes_its_arguments(tmp_path: Path) -> None:
    file = tmp_path / "exercise.py"
    file.write_text("def common_dtype(dtypes):\n    first = dtypes.pop(0)\n    return first\n", encoding="utf-8")
    learner = Learner(chapter().exercise("common_dtype"), file)
    with pytest.raises(Wrong, match="changed one of its arguments"):
        learner([F16, F32])


def test_what_is_printed_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "exercise.py"
    file.write_text("def wider(a, b):\n    print('comparing', a, b)\n    return b\n", encoding="utf-8")
    learner = Learner(chapter().exercise("wider"), file)
    with pytest.raises(Wrong, match="printed   comparing f32 f16"):
        check(learner, F32, F16, gives=F32, why="the wider one")


def test_after_it_was_stopped_it_is_not_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "exercise.py"
    file.write_text("def wider(a, b):\n    while True:\n        pass\n", encoding="utf-8")
    learner = Learner(chapter().exercise("wider"), file, seconds=1.0)
    with pytest.raises(Stopped, match="within 1 seconds"):
        learner(F16, F32)
    with pytest.raises(Stopped, match="was stopped before"):
        learner(F16, F32)


def test_a_missing_file() -> None:
    with pytest.raises(Unfit, match="cannot be read"):
        Learner(chapter().exercise("wider"), Path("nosuch.py"))(F16, F32)


# --------------------------------------------------------------------------------------- comparing


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (1, True), (1, 1.0), (0.0, -0.0), ((1,), [1]), ((1, 2), (1,)), (None, 0), ("a", b"a"), ({"a": 1}, {"b": 1}),
        (frozenset({1}), {1}), (F16, F32), (np.zeros(2), np.zeros(3)), (np.zeros(2), np.zeros(2, np.float32)),
        (np.array([0.0]), np.array([-0.0])), (np.array([1, 2]), np.array([1, 3])), ((1, (2, 3)), (1, (2, 4))),
        (1, np.int64(1)), (float("nan"), 0.0),
    ],
)  # fmt: skip
def test_values_that_differ(expected: object, found: object) -> None:
    assert mismatch(expected, found)


@pytest.mark.parametrize(
    "value",
    [1, True, float("nan"), -0.0, (1, (2,)), None, F16, np.array([float("nan"), -0.0]), symbol("N") + 1, {"a": (1,)}],
)
def test_values_that_are_the_same(value: object) -> None:
    assert mismatch(value, pickle.loads(pickle.dumps(value))) == ""


def test_the_place_of_a_difference_is_told() -> None:
    assert "element (1,): expected 2, found 3" in mismatch(np.array([1, 2]), np.array([1, 3]))


# --------------------------------------------------------------------------------------- the wire


def test_data_of_the_compiler_travels() -> None:
    x = Value("x", TileType(F32, (4,)))
    op = Op("mul", (x, x), (x,), {"a": (True, 1), "b": I8})
    back = wire.decode(wire.encode(op))
    assert back == op and back.attrs == op.attrs  # type: ignore[attr-defined]


class Evil:
    def __reduce__(self) -> tuple:
        return print, ("run in the grader's process",)


@pytest.mark.parametrize("value", [Evil(), print, Path("x"), pytest.raises, wire.decode])
def test_what_is_no_plain_data_is_not_unpacked(value: object) -> None:
    with pytest.raises(pickle.UnpicklingError, match="is no plain data"):
        wire.decode(pickle.dumps(value))


def test_the_worker_is_started_again_after_it_was_stopped(tmp_path: Path) -> None:
    PROCESS.stop()
    PROCESS.stop()
    assert graded(tmp_path, RIGHT).status == "passed"
