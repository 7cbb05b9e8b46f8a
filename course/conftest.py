"""Makes `pytest course` read well: a fixture for each exercise, short messages, and a table at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from course.exercises import chapters
from course.grading import Result
from course.learner import PROCESS, Learner, NotStarted, Unfit, Wrong
from course.progress import record
from course.table import Chapter

_learners: dict[tuple[str, str], Learner] = {}
_results: dict[tuple[str, str], Result] = {}


def _chapter_of(path: Path) -> Chapter | None:
    return next((c for c in chapters() if c.folder == path.parent), None)


def _fixture(name: str) -> Callable[[pytest.FixtureRequest], Learner]:
    def learner(request: pytest.FixtureRequest) -> Learner:
        chapter = _chapter_of(request.path)
        if chapter is None:
            raise LookupError(f"{request.path} is in no chapter's folder")
        key = chapter.name, name
        if key not in _learners:
            exercise = chapter.exercise(name)
            _learners[key] = Learner(exercise, chapter.file, siblings=chapter.exercises)
            _results[key] = Result(exercise, chapter.file)
        state = _learners[key]._state
        if state.get("told"):
            pytest.skip(str(state["unfit"]))
        try:
            _learners[key].prepare()
        except (NotStarted, Unfit):
            state["told"] = True  # the other tests of this exercise need not repeat it
            raise
        return _learners[key]

    return pytest.fixture(name=name)(learner)  # type: ignore[return-value]


for _name in sorted({e.name for c in chapters() for e in c.exercises}):
    globals()[f"fixture_of_{_name}"] = _fixture(_name)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """A learner sees what is wrong with the function, not the grader's inside."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    error = call.excinfo.value if call.excinfo is not None else None
    chapter = _chapter_of(item.path)
    if isinstance(error, Wrong) and chapter is not None:
        report.longrepr = f"{chapter.file.relative_to(chapter.folder.parent.parent)}\n{error}\n"
        if call.when == "setup":
            report.when = "call"  # it is the exercise that is not right, not the test's preparation
            report.outcome = "failed"
    if chapter is not None and (call.when == "call" or isinstance(error, Wrong)):
        for name in getattr(item, "fixturenames", ()):
            result = _results.get((chapter.name, name))
            if result is not None:
                result.total += 1
                result.passed += report.outcome == "passed"
                result.started = result.started and not isinstance(error, NotStarted)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _results:
        return
    terminalreporter.section("exercises")
    for chapter in chapters():
        for (name, exercise), result in _results.items():
            if name == chapter.name:
                counted = "" if not result.started else f"  {result.passed} of {result.total} tests"
                terminalreporter.write_line(f"{chapter.short} {exercise:<24} {result.status}{counted}")
    terminalreporter.write_line("graded: the files exercise.py in course/; hints: tilec course hint chNN NAME")


def pytest_sessionfinish() -> None:
    PROCESS.stop()
    for chapter in chapters():
        found = [r for (name, _), r in _results.items() if name == chapter.name and r.total]
        if found:
            record(chapter, found)
