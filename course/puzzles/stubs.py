"""The files to start from: a solution's comment and header, with an empty body."""

from __future__ import annotations

import tilelang
from course.puzzles.capstone import CAPSTONE
from course.puzzles.running import Attempt, NotStarted, Wrong
from course.puzzles.table import PUZZLES, Puzzle

BODY = """{
    # Your code.
}
"""


def stub(puzzle: Puzzle) -> str:
    """The text of a puzzle's file before anything is written in it."""
    program = tilelang.load(puzzle.solution)
    body = program[puzzle.kernel].signature.kernel.body
    return program.source.text[: body.span.start] + BODY


def reset(puzzle: Puzzle) -> None:
    """Put the stub in place of whatever the puzzle's file holds."""
    puzzle.file.write_text(stub(puzzle), encoding="utf-8")


def stale() -> list[Puzzle]:
    """The puzzles and the capstone whose file is missing, or is a stub, but not that of the solution as it is now."""
    return [puzzle for puzzle in (*PUZZLES, CAPSTONE) if not puzzle.file.exists() or _is_old_stub(puzzle)]


def _is_old_stub(puzzle: Puzzle) -> bool:
    if puzzle.file.read_text(encoding="utf-8", errors="replace") == stub(puzzle):
        return False
    try:
        Attempt(puzzle, puzzle.file)
    except NotStarted:
        return True
    except Wrong:  # begun, and not right yet: the learner's own business
        return False
    return False
