"""What has been graded, kept in `course/.progress/`, which no version control sees.

A verdict holds for one text of one function: when the learner changes it, it is as if it had not been graded.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from pathlib import Path

from course.exercises import fingerprint, functions, is_stub
from course.grading import PASSED, Result
from course.table import COURSE, Chapter, Exercise

FOLDER = COURSE / ".progress"
GRADED = "graded.json"

NOT_STARTED, WRITTEN, FAILED, DONE = "not started", "not graded", "not right yet", "done"


def statuses(chapter: Chapter) -> dict[str, str]:
    """Of each exercise: not started, written and not graded, graded and not right, or done."""
    try:
        found = functions(chapter.file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {exercise.name: WRITTEN for exercise in chapter.exercises}
    verdicts = _verdicts()
    result = {}
    for exercise in chapter.exercises:
        node = found.get(exercise.name)
        if node is None or is_stub(node):
            result[exercise.name] = NOT_STARTED
            continue
        verdict = verdicts.get(_key(chapter, exercise), {})
        known = verdict.get("function") == fingerprint(node)
        result[exercise.name] = (DONE if verdict.get("passed") else FAILED) if known else WRITTEN
    return result


def record(chapter: Chapter, results: list[Result]) -> None:
    """Remember the verdicts on the learner's own file; those on other files are nobody's progress."""
    mine = [r for r in results if r.file.resolve() == chapter.file.resolve()]
    try:
        found = functions(chapter.file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return
    verdicts = _verdicts()
    for result in mine:
        node = found.get(result.exercise.name)
        if node is not None and not is_stub(node):
            entry = {"function": fingerprint(node), "passed": result.status == PASSED, "at": int(time.time())}
            verdicts[_key(chapter, result.exercise)] = entry
    with contextlib.suppress(OSError):  # a read-only checkout has no memory, and grading works all the same
        make_folder()
        aside = FOLDER / f"{GRADED}.{os.getpid()}"
        aside.write_text(json.dumps(verdicts, indent=1, sort_keys=True), encoding="utf-8")
        os.replace(aside, FOLDER / GRADED)


def _key(chapter: Chapter, exercise: Exercise) -> str:
    return f"{chapter.short}.{exercise.name}"


def _verdicts() -> dict[str, dict]:
    try:
        found = json.loads((FOLDER / GRADED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, dict)} if isinstance(found, dict) else {}


def make_folder() -> None:
    FOLDER.mkdir(exist_ok=True)
    ignore = FOLDER / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


def keep_copy(chapter: Chapter) -> Path | None:
    """A copy of the learner's file, dated; None if there is no file. Raises OSError."""
    if not chapter.file.is_file():
        return None
    make_folder()
    stamp = time.strftime("%Y%m%d-%H%M%S")
    path = FOLDER / f"{chapter.name}-{stamp}.py"
    number = 1
    while path.exists():
        number += 1
        path = FOLDER / f"{chapter.name}-{stamp}-{number}.py"
    shutil.copy2(chapter.file, path)
    return path
