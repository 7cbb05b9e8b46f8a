"""The verdicts of the notebooks' own tasks: they never raise."""

from __future__ import annotations

import numpy as np
import pytest

from course import checking_cells
from course.checking_cells import check_array, check_function, grade_chapter
from course.installing import Installed
from course.puzzles import grading, learning
from course.puzzles.capstone import CAPSTONE
from course.puzzles.grading import Verdict


def test_arrays(capsys: pytest.CaptureFixture) -> None:
    check_array("f", [1, 2], np.array([1.0, 2.0]))
    check_array("f", [1, 3], np.array([1.0, 2.0]))
    check_array("f", [1], np.array([1.0, 2.0]))
    check_array("f", [np.nan, 2], np.array([1.0, 2.0]))
    right, wrong, shape, nan = capsys.readouterr().out.splitlines()
    assert right.startswith("right")
    assert wrong == "not yet: f differs in 1 of 2 places, the first is [1]: 3 where 2 should be"
    assert shape == "not yet: f gives the shape (1,), it should be (2,)"
    assert "nan where 1" in nan


def test_functions(capsys: pytest.CaptureFixture) -> None:
    check_function(len, [(([],), 0), ((["a"],), 1)])
    check_function(len, [(([],), 0), ((["a"],), 2)])
    check_function(len, [((3,), 0)])
    check_function(len, [((list(range(1000)),), 1)])
    right, wrong, raised, long = capsys.readouterr().out.splitlines()
    assert right == "right: len passes 2 cases"
    assert wrong == "not yet: len(['a']) gives 1, it should be 2"
    assert raised == "not yet: len(3) raises TypeError: object of type 'int' has no len()"
    assert len(long) < 120 and "…" in long


def test_a_chapter_is_graded_in_place(capsys: pytest.CaptureFixture) -> None:
    grade_chapter("ch03")
    grade_chapter("ch99")
    shown = capsys.readouterr().out
    assert "course/ch03_lexing/exercise.py" in shown and "integer_value" in shown and " of 7 right" in shown
    assert "there is no chapter 'ch99'" in shown


def test_the_capstone_is_graded_in_place(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    mine = Installed({}, {})
    for status, says in (("passed", ""), ("failed", "wrong values"), ("not started", "the body is empty")):
        monkeypatch.setattr(grading, "grade_capstone", lambda s=status, m=says: (Verdict(CAPSTONE, s, m), mine))
        monkeypatch.setattr(learning, "record", lambda verdicts: None)
        checking_cells.grade_capstone()
        said = capsys.readouterr().out
        assert "with 0 functions of yours" in said and status in said
        assert ("wrong values" in said) == (status == "failed") and ("hint ch13" in said) == (status != "passed")
