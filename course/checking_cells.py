"""For the "your turn" cells of notebooks whose tasks are not functions of the compiler: a verdict, never an exception.

A notebook is run from top to bottom before anybody has solved anything, so "not yet" is no error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

LONGEST = 60
"""Characters of a call's arguments in a verdict."""


def check_array(name: str, found: object, expected: np.ndarray, tolerance: float = 1e-5) -> None:
    """Say whether an array is what it should be, and if not, where it begins to differ."""
    array = np.asarray(found)
    if array.shape != expected.shape:
        print(f"not yet: {name} gives the shape {array.shape}, it should be {expected.shape}")
        return
    wrong = ~np.isclose(array, expected, rtol=tolerance, atol=tolerance)
    if not wrong.any():
        print(f"right: {name} gives what it should")
        return
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    print(f"not yet: {name} differs in {int(wrong.sum()):,} of {wrong.size:,} places, the first is {list(at)}: "
          f"{array[at]:.5g} where {expected[at]:.5g} should be")


def check_function(function: Callable[..., object], cases: Sequence[tuple[tuple[object, ...], object]]) -> None:
    """Say whether a function gives what it should for (arguments, result) pairs; show the first that goes wrong."""
    name = function.__name__
    for arguments, expected in cases:
        call = f"{name}({_short(', '.join(map(repr, arguments)))})"
        try:
            found = function(*arguments)
        except Exception as error:  # whatever a reader's code does, the notebook goes on
            print(f"not yet: {call} raises {type(error).__name__}: {error}" if str(error) else
                  f"not yet: {call} raises {type(error).__name__}")
            return
        if found != expected:
            print(f"not yet: {call} gives {found!r}, it should be {expected!r}")
            return
    print(f"right: {name} passes {len(cases)} cases")


def _short(text: str) -> str:
    """The beginning of a long text, so that a verdict stays on one line."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def grade_chapter(word: str) -> None:
    """Grade the exercises of a chapter (`"ch03"`), as `tilec course grade` does, and say what to do next."""
    from course.exercises import find_chapter
    from course.grading import FAILED, NOT_STARTED, PASSED, grade
    from course.progress import record

    chapter = find_chapter(word)
    if chapter is None:
        print(f"there is no chapter {word!r} with exercises")
        return
    results = list(grade(chapter))
    record(chapter, results)
    print(f"course/{chapter.name}/exercise.py\n")
    for result in results:
        print(f"  {result.exercise.name:<24} {result.exercise.level:<8} {result.status}")
    done = sum(result.status == PASSED for result in results)
    print(f"\n{done} of {len(results)} right")
    wrong = next((r for r in results if r.status == FAILED and r.messages), None)
    todo = wrong or next((r for r in results if r.status == NOT_STARTED), None)
    if wrong is not None:
        test, message = wrong.messages[0]
        print(f"\n{wrong.exercise.name}: {test}\n{message}")
    if todo is not None:
        print(f"next: {todo.exercise.name}; `tilec course hint {chapter.short} {todo.exercise.name}` gives a hint")


def grade_capstone() -> None:
    """Grade `course/ch13_capstone/attention.tile`, as `tilec course grade ch13` does, and say what to do next."""
    from course.puzzles import grading, learning
    from course.puzzles.capstone import CAPSTONE

    verdict, found = grading.grade_capstone()
    learning.record([verdict])
    print(f"course/ch13_capstone/attention.tile, on a compiler with {found.count} functions of yours\n")
    print(f"  {CAPSTONE.name:<24} {'hard':<8} {verdict.status}")
    if verdict.status == grading.FAILED:
        print(f"\n{verdict.message}")
    if verdict.status != grading.PASSED:
        print("\n`tilec course hint ch13` gives a hint")
