"""What the table of exercises is made of.

Each chapter's row stands in its own folder, `course/chNN_slug/__init__.py`, as `CHAPTER`. An exercise names a
function of the compiler; the stub and the solution are made from that function (`course.generating`), so nothing is
written twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

COURSE = Path(__file__).resolve().parent
SOLUTIONS = COURSE.parent / "solutions"

LEVELS = ("warm-up", "core", "hard")


@dataclass(frozen=True)
class Exercise:
    """One function that the learner writes.

    `target` is `module:qualname` in the compiler. `task` says what to write, where the function's own docstring is
    too short for that. `example` is in doctest form, and is run against the solution. `hints` go from a nudge to
    nearly the answer; the solution file is named behind the last one.
    """

    target: str
    level: str
    task: str = ""
    example: str = ""
    hints: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        return self.target.partition(":")[0]

    @property
    def qualname(self) -> str:
        return self.target.partition(":")[2]

    @property
    def owner(self) -> str:
        """The class that a method belongs to; empty for a function."""
        return self.qualname.rpartition(".")[0]

    @property
    def name(self) -> str:
        """What the learner's function is called."""
        return self.qualname.rpartition(".")[2]


@dataclass(frozen=True)
class Chapter:
    """One chapter with its exercises. `stage` is what `tilec run --mine` calls this part of the compiler."""

    number: int
    slug: str
    title: str
    stage: str
    exercises: tuple[Exercise, ...] = ()

    @property
    def name(self) -> str:
        """`ch05_names`: the chapter's folder, solution file and notebook share it."""
        return f"ch{self.number:02}_{self.slug}"

    @property
    def short(self) -> str:
        return f"ch{self.number:02}"

    @property
    def folder(self) -> Path:
        return COURSE / self.name

    @property
    def file(self) -> Path:
        """Where the learner writes."""
        return self.folder / "exercise.py"

    @property
    def graders(self) -> tuple[Path, ...]:
        """The files that grade it."""
        return tuple(sorted(self.folder.glob("test_exercise*.py")))

    @property
    def solution(self) -> Path:
        return SOLUTIONS / f"{self.name}.py"

    def exercise(self, name: str) -> Exercise:
        """The exercise of that name. Raises KeyError."""
        return {exercise.name: exercise for exercise in self.exercises}[name]
