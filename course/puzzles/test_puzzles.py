"""Grades what you wrote in the `.tile` files of this folder.

    pytest course/puzzles                      all of them
    pytest course/puzzles -k 12_matmul         one
"""

from __future__ import annotations

import pytest

from course.puzzles.grading import check
from course.puzzles.table import PUZZLES, Puzzle


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_puzzle(puzzle: Puzzle) -> None:
    """Right values on every shape, nothing else touched, no more memory traffic than needed."""
    check(puzzle)
