"""Shows what is wrong with a kernel, and not the inside of the grader."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from course.puzzles.running import NotStarted, Wrong


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    outcome = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, Wrong):
        puzzle = item.callspec.params["puzzle"]  # type: ignore[attr-defined]
        shown = str(error) if isinstance(error, NotStarted) else f"{puzzle.file.name}: {error}"
        outcome.get_result().longrepr = shown + "\n"  # type: ignore[attr-defined]
