"""Results as data: plain JSON, and the form that Gradescope's autograder reads."""

from __future__ import annotations

import hashlib
from pathlib import Path

from course.grading import PASSED, Result
from course.table import Chapter

POINTS = {"warm-up": 1, "core": 2, "hard": 3}
"""What an exercise is worth."""


def json_results(chapter: Chapter, file: Path, results: list[Result]) -> dict[str, object]:
    """Which file was graded (its path and SHA-256, and that of the grader), and what became of each exercise."""
    return {
        "chapter": chapter.name,
        "file": str(file),
        "file_sha256": _sum(file),
        "grader_sha256": _sum(*chapter.graders),
        "points": sum(_points(r) for r in results),
        "max_points": sum(POINTS[r.exercise.level] for r in results),
        "exercises": [
            {
                "name": r.exercise.name,
                "level": r.exercise.level,
                "status": r.status,
                "tests_passed": r.passed,
                "tests": r.total,
                "points": _points(r),
                "max_points": POINTS[r.exercise.level],
                "seconds": round(r.seconds, 3),
                "messages": [{"test": title, "message": message} for title, message in r.messages],
            }
            for r in results
        ],
    }


def gradescope_results(chapter: Chapter, file: Path, results: list[Result]) -> dict[str, object]:
    """`results.json` as described in Gradescope's autograder specification."""
    return {
        "output": f"{chapter.name}: graded {file.name}, SHA-256 {_sum(file)}",
        "output_format": "text",
        "visibility": "visible",
        "tests": [
            {
                "name": f"{chapter.short} {r.exercise.name} ({r.exercise.level})",
                "score": _points(r),
                "max_score": POINTS[r.exercise.level],
                "status": "passed" if r.status == PASSED else "failed",
                "output": _output(r),
                "output_format": "text",
            }
            for r in results
        ],
    }


def _output(result: Result) -> str:
    if not result.started:
        return "not started"
    return "\n\n".join(f"{title}:\n{message}" for title, message in result.messages)


def _points(result: Result) -> int:
    return POINTS[result.exercise.level] if result.status == PASSED else 0


def _sum(*files: Path) -> str:
    """SHA-256 of the files, one after another."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
