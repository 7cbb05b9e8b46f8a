"""Grading a chapter: its test functions are run one by one, without pytest, and what they say is put together.

The graders, `course/chNN_slug/test_exercise*.py`, are plain pytest files. A test function's parameters are named after
the exercises that it grades: pytest gets them as fixtures (`course/conftest.py`), this module passes them itself.
"""

from __future__ import annotations

import importlib
import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from course.learner import SECONDS, Learner, NotStarted, Stopped, Unfit, Wrong
from course.table import Chapter, Exercise

Test = Callable[..., None]

PASSED, FAILED, NOT_STARTED = "passed", "failed", "not started"
TOO_DEEP = "what it returned contains itself, or is nested too deep to be compared"


@dataclass
class Result:
    """What became of one exercise. `messages`: of each test that failed, or why nothing could be run."""

    exercise: Exercise
    file: Path
    passed: int = 0
    total: int = 0
    messages: list[tuple[str, str]] = field(default_factory=list)
    started: bool = True
    seconds: float = 0.0

    @property
    def status(self) -> str:
        if not self.started:
            return NOT_STARTED
        return PASSED if self.passed == self.total and self.total else FAILED


def tests_of(chapter: Chapter) -> dict[str, list[Test]]:
    """The test functions for each exercise, in the order of the file. Raises LookupError if one has none."""
    found: dict[str, list[Test]] = {exercise.name: [] for exercise in chapter.exercises}
    for path in sorted(chapter.folder.glob("test_exercise*.py")):
        module = importlib.import_module(f"course.{chapter.name}.{path.stem}")
        for name, function in vars(module).items():
            if name.startswith("test_") and inspect.isfunction(function):
                for parameter in inspect.signature(function).parameters:
                    found[parameter].append(function)
    bare = [name for name, tests in found.items() if not tests]
    if bare:
        raise LookupError(f"{chapter.folder} has no test for {', '.join(bare)}")
    return found


def grade_exercise(chapter: Chapter, exercise: Exercise, file: Path, *, seconds: float = SECONDS,
                   may_be_reference: bool = False, until_first: bool = False) -> Result:
    """Run the tests of one exercise on one file. `until_first`: stop at the first that fails."""
    tests = tests_of(chapter)[exercise.name]
    learner = Learner(exercise, file, seconds, chapter.exercises, may_be_reference=may_be_reference)
    result, begin = Result(exercise, file, total=len(tests)), time.perf_counter()
    for test in tests:
        try:
            learner.prepare()
            test(**{exercise.name: learner})
            result.passed += 1
        except (NotStarted, Unfit, Stopped) as wrong:  # the other tests would say the same
            result.started = not isinstance(wrong, NotStarted)
            result.messages.append((title_of(test), str(wrong)))
            break
        except Wrong as wrong:
            result.messages.append((title_of(test), str(wrong)))
            if until_first:
                break
        except RecursionError:  # while the answer was compared or shown; the learner's own comes as `Raised`
            result.messages.append((title_of(test), TOO_DEEP))
            break
    result.seconds = time.perf_counter() - begin
    return result


def grade(chapter: Chapter, file: Path | None = None, only: str = "", **options: object) -> Iterator[Result]:
    """The results of a chapter's exercises, one after another. `only`: the name of one exercise."""
    for exercise in chapter.exercises:
        if only in ("", exercise.name):
            yield grade_exercise(chapter, exercise, file or chapter.file, **options)  # type: ignore[arg-type]


def title_of(test: Test) -> str:
    """`test_a_tab_is_one_column` -> `a tab is one column`."""
    return test.__name__.removeprefix("test_").replace("_", " ")
