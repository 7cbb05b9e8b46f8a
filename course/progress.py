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
    result = {}
    for exercise in chapter.exercises:
        node = found.get(exercise.name)
        begun = node is not None and not is_stub(node)
        result[exercise.name] = status_of(_key(chapter, exercise), fingerprint(node)) if node and begun else NOT_STARTED
    return result


def record(chapter: Chapter, results: list[Result]) -> None:
    """Remember the verdicts on the learner's own file; those on other files are nobody's progress."""
    mine = [r for r in results if r.file.resolve() == chapter.file.resolve()]
    try:
        found = functions(chapter.file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return
    entries: dict[str, dict] = {}
    for result in mine:
        node = found.get(result.exercise.name)
        if node is not None and not is_stub(node):
            entries[_key(chapter, result.exercise)] = entry(fingerprint(node), result.status == PASSED)
    remember(entries)


def entry(fingerprint: str, passed: bool) -> dict[str, object]:
    """A verdict on what has this fingerprint, given now."""
    return {"function": fingerprint, "passed": passed, "at": int(time.time())}


def remember(entries: dict[str, dict]) -> None:
    """Add verdicts to those that are kept. A read-only checkout has no memory, and grading works all the same."""
    with contextlib.suppress(OSError):
        make_folder()
        aside = FOLDER / f"{GRADED}.{os.getpid()}"
        aside.write_text(json.dumps({**_verdicts(), **entries}, indent=1, sort_keys=True), encoding="utf-8")
        os.replace(aside, FOLDER / GRADED)


def status_of(key: str, fingerprint: str) -> str:
    """What is known of something that was begun: not graded as it stands, not right, or done."""
    verdict = _verdicts().get(key, {})
    return WRITTEN if verdict.get("function") != fingerprint else DONE if verdict.get("passed") else FAILED


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


def keep_copy(file: Path, name: str) -> Path | None:
    """A copy of a learner's file, called `name` and dated; None if there is no file. Raises OSError."""
    if not file.is_file():
        return None
    make_folder()
    stamp = time.strftime("%Y%m%d-%H%M%S")
    path = FOLDER / f"{name}-{stamp}{file.suffix}"
    number = 1
    while path.exists():
        number += 1
        path = FOLDER / f"{name}-{stamp}-{number}{file.suffix}"
    shutil.copy2(file, path)
    return path
