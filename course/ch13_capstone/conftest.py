"""Shows what is wrong with the kernel, and not the inside of the grader."""

from course.puzzles.conftest import pytest_runtest_makereport

__all__ = ["pytest_runtest_makereport"]
