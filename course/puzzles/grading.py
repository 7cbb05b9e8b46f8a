"""Grading one file for one puzzle: its values, its surroundings, its memory traffic, in this order.

    from course.puzzles import grading, table
    verdict = grading.grade(table.find("softmax"))
    verdict.status, verdict.message
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course.installing import Installed, installed
from course.puzzles.capstone import CAPSTONE
from course.puzzles.cases import Case, cases
from course.puzzles.judging import check_surroundings, check_traffic, check_values
from course.puzzles.running import Attempt, NotStarted, Wrong
from course.puzzles.table import PUZZLES, Puzzle

PASSED, FAILED, NOT_STARTED = "passed", "failed", "not started"


@dataclass(frozen=True)
class Verdict:
    """What became of one puzzle; `status` is "passed", "failed" or "not started"."""

    puzzle: Puzzle
    status: str
    message: str = ""


def check(puzzle: Puzzle, path: Path | None = None) -> None:
    """Raises NotStarted or Wrong, with a message for the learner, unless the file (the learner's) is right."""
    attempt = Attempt(puzzle, path or puzzle.file)
    outcomes = [attempt.run(case) for case in _cases(puzzle.name)]
    check_values(outcomes)
    check_surroundings(outcomes)
    outcome, moved = attempt.measure()
    check_values([*outcomes, outcome])
    check_traffic(puzzle, moved)


def grade(puzzle: Puzzle, path: Path | None = None) -> Verdict:
    """The same as something to look at."""
    try:
        check(puzzle, path)
    except NotStarted as wrong:
        return Verdict(puzzle, NOT_STARTED, str(wrong))
    except Wrong as wrong:
        return Verdict(puzzle, FAILED, str(wrong))
    return Verdict(puzzle, PASSED)


def grade_capstone(path: Path | None = None, source: Path | None = None) -> tuple[Verdict, Installed]:
    """The capstone on the learner's compiler: with the functions in it that have passed their graders, or with those of
    the folder `source`. Also which these are. Raises CourseError: they cannot be loaded.
    """
    with installed(source=source, only_done=source is None) as found:
        verdict = grade(CAPSTONE, path)
    if verdict.status == FAILED and found.count and grade(CAPSTONE, path).status == PASSED:
        said = "right on the compiler as it came, but not with your functions in it: one of them is not right"
        verdict = Verdict(CAPSTONE, FAILED, f"{said}\n{verdict.message}")
    return verdict, found


@cache
def _cases(name: str) -> tuple[Case, ...]:
    return tuple(cases(next(p for p in (*PUZZLES, CAPSTONE) if p.name == name)))
