"""Grades what you wrote in `attention.tile`: `pytest course/ch13_capstone`, or `tilec course grade ch13`.

Plain pytest grades on the compiler as it came; `tilec course grade ch13` on one with your functions in it.
"""

from __future__ import annotations

import pytest

from course.puzzles.capstone import CAPSTONE
from course.puzzles.grading import check
from course.puzzles.table import Puzzle


@pytest.mark.parametrize("puzzle", [CAPSTONE], ids=str)
def test_capstone(puzzle: Puzzle) -> None:
    """Right values on every shape, nothing else touched, no more memory traffic than needed."""
    check(puzzle)
