"""Hints in steps: each call gives the next one, and the last names the solution file."""

from __future__ import annotations

import contextlib
import json

from course.progress import FOLDER, make_folder
from course.table import COURSE, Chapter, Exercise

GIVEN = "hints.json"


def hints_of(chapter: Chapter, exercise: Exercise) -> tuple[str, ...]:
    """All hints, the last of which is where the solution stands."""
    where = chapter.solution.relative_to(COURSE.parent)
    home = f"{exercise.module.replace('.', '/')}.py"
    return (*exercise.hints, f"the solution is {exercise.name} in {where}; the compiler has it in {home}")


def next_hint(chapter: Chapter, exercise: Exercise) -> tuple[int, int, str]:
    """(its number, how many there are, the hint); after the last one the last again."""
    return next_of(f"{chapter.short}.{exercise.name}", hints_of(chapter, exercise))


def next_of(key: str, hints: tuple[str, ...]) -> tuple[int, int, str]:
    """The same for any list of hints; what has been given is remembered under `key`."""
    given = _given()
    number = min(given.get(key, 0), len(hints) - 1)
    given[key] = number + 1
    with contextlib.suppress(OSError):  # without memory it is the first hint again
        make_folder()
        (FOLDER / GIVEN).write_text(json.dumps(given, sort_keys=True), encoding="utf-8")
    return number + 1, len(hints), hints[number]


def _given() -> dict[str, int]:
    try:
        found = json.loads((FOLDER / GIVEN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, int)} if isinstance(found, dict) else {}
