"""The puzzles for `tilec course`: which is meant, how far a learner is, hints, verdicts as data."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from course import progress
from course.hints import next_of
from course.puzzles.capstone import CAPSTONE
from course.puzzles.grading import FAILED, PASSED, Verdict
from course.puzzles.nudges import NUDGES
from course.puzzles.stubs import BODY, stub
from course.puzzles.table import PUZZLES, Puzzle, find
from course.table import COURSE

ALL = "puzzles"
CAPSTONE_NAMES = ("ch13", "13", "capstone", "ch13_capstone", "attention.tile", "ch13_capstone/attention.tile")


def chosen(word: str) -> tuple[Puzzle, ...] | None:
    """The puzzles that `puzzles`, `puzzles/12`, `course/puzzles/12_matmul.tile` or `ch13` mean; None: a chapter.

    Raises:
        LookupError: it is said to be a puzzle, and there is none of that name.
    """
    wanted = word.strip("/").removeprefix("./").removeprefix("course/").lower()
    if wanted == ALL:
        return PUZZLES
    if wanted in CAPSTONE_NAMES:
        return (CAPSTONE,)
    folder, slash, name = wanted.rpartition("/")
    if folder == ALL or (not slash and name.endswith(".tile")):
        return (find(name),)
    return None


def label(puzzle: Puzzle) -> str:
    """What one calls it on the command line."""
    return "ch13" if puzzle is CAPSTONE else f"{ALL}/{puzzle.name}"


def status(puzzle: Puzzle) -> str:
    """Not started, written and not graded, not right yet, or done; as for exercises."""
    try:
        text = puzzle.file.read_bytes()
    except OSError:
        return progress.NOT_STARTED
    if text.decode("utf-8", "replace").endswith(BODY):
        return progress.NOT_STARTED
    return progress.status_of(label(puzzle), _sum(text))


def record(verdicts: Sequence[Verdict]) -> None:
    """Remember what became of the learner's own files."""
    entries = {}
    for verdict in verdicts:
        if verdict.status in (PASSED, FAILED) and verdict.puzzle.file.is_file():
            text = verdict.puzzle.file.read_bytes()
            entries[label(verdict.puzzle)] = progress.entry(_sum(text), verdict.status == PASSED)
    progress.remember(entries)


def next_hint(puzzle: Puzzle) -> tuple[int, int, str]:
    """(its number, how many there are, the hint), as for exercises; the last names the solution."""
    where = puzzle.solution.relative_to(COURSE.parent)
    return next_of(label(puzzle), (*NUDGES[puzzle.name], f"the solution is {where}"))


def reset(puzzle: Puzzle) -> Path | None:
    """Begin a puzzle anew; the path of the copy of what was there. Raises OSError."""
    text = stub(puzzle)
    begun = puzzle.file.is_file() and puzzle.file.read_text(encoding="utf-8", errors="replace") != text
    copy = progress.keep_copy(puzzle.file, puzzle.name) if begun else None
    puzzle.file.write_text(text, encoding="utf-8", newline="\n")
    return copy


def json_results(verdicts: Sequence[Verdict], file: Path | None = None) -> dict[str, object]:
    """Which files were graded (path and SHA-256), and what became of each."""
    return {
        "puzzles": [
            {
                "name": label(v.puzzle),
                "file": str(file or v.puzzle.file),
                "file_sha256": _sum((file or v.puzzle.file).read_bytes()),
                "status": v.status,
                "message": v.message,
            }
            for v in verdicts
        ],
        "points": sum(v.status == PASSED for v in verdicts),
        "max_points": len(verdicts),
    }


def gradescope_results(verdicts: Sequence[Verdict]) -> dict[str, object]:
    """`results.json` as described in Gradescope's autograder specification."""
    return {
        "visibility": "visible",
        "tests": [
            {
                "name": label(v.puzzle),
                "score": int(v.status == PASSED),
                "max_score": 1,
                "status": "passed" if v.status == PASSED else "failed",
                "output": v.message or v.status,
                "output_format": "text",
            }
            for v in verdicts
        ],
    }


def _sum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
