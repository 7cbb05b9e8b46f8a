"""The learner's functions in the compiler.

    with course.installed("ch05", "ch09") as mine:
        program = tilelang.compile(text)        # names and tiling are the learner's, as far as they are written
        print(mine)

Every stage may be in any mix of the learner's functions and the compiler's own. An exercise that is still a stub
leaves the compiler's function where it is, so one unfinished chapter never blocks a later one.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from course.exercises import chapters, find_chapter, functions, is_stub
from course.progress import DONE, statuses
from course.swapping import compiler_function, swapped
from course.table import SOLUTIONS, Chapter, Exercise


class CourseError(Exception):
    """A chapter that does not exist, or a learner's file that cannot be loaded. The message is for the learner."""


@dataclass(frozen=True)
class Installed:
    """What is in the compiler: names of functions by chapter, those that were left out, and the files they are from."""

    mine: Mapping[Chapter, tuple[str, ...]]
    left_out: Mapping[Chapter, tuple[str, ...]]
    files: tuple[Path, ...] = ()

    @property
    def count(self) -> int:
        return sum(map(len, self.mine.values()))

    def __str__(self) -> str:
        """One line for each chapter: `names: yours are look_up, nearest (2 of 6)`."""
        lines = []
        for chapter, names in self.mine.items():
            total = len(chapter.exercises)
            whose = "the compiler's own" if not names else f"yours: {', '.join(names)}"
            if 0 < len(names) < total:
                whose += f" ({len(names)} of {total})"
            lines.append(f"{chapter.stage:<14} {whose}")
        return "\n".join(lines)


@contextmanager
def installed(*names: str, source: Path | None = None, only_done: bool = False) -> Iterator[Installed]:
    """The learner's functions of these chapters (`"ch09"`, `9`, `"tiling"`; none: of all) in the compiler's place.

    `source`: take the files from this folder instead, where they are called `chNN_slug.py`, and not all need be there;
    `solutions()` is such a folder. `only_done`: leave out what has not passed its grader as it stands now.

    Raises:
        CourseError: there is no such chapter, or a file cannot be loaded.
    """
    if source is not None and not source.is_dir():
        raise CourseError(f"there is no folder {source}")
    mine: dict[Chapter, tuple[str, ...]] = {}
    left_out: dict[Chapter, tuple[str, ...]] = {}
    files: list[Path] = []
    with ExitStack() as stack:
        for chapter in _chosen(names):
            file = chapter.file if source is None else source / f"{chapter.name}.py"
            written = _written(file, chapter) if source is None or file.exists() else set()
            done = {n for n, status in statuses(chapter).items() if status == DONE} if only_done else set(written)
            taken = [e for e in chapter.exercises if e.name in written and e.name in done]
            for exercise, function in _loaded(chapter, file, taken):
                stack.enter_context(swapped(exercise.target, function))
                files.append(file)
            mine[chapter] = tuple(e.name for e in taken)
            left_out[chapter] = tuple(e.name for e in chapter.exercises if e.name in written and e.name not in done)
        yield Installed(mine, left_out, tuple(dict.fromkeys(files)))


def solutions() -> Path:
    """The folder of the solutions, for `installed(source=...)`."""
    return SOLUTIONS


def _chosen(names: tuple[str, ...]) -> tuple[Chapter, ...]:
    if not names:
        return chapters()
    found = []
    for name in names:
        chapter = find_chapter(str(name))
        if chapter is None:
            raise CourseError(f"there is no chapter {name!r} with exercises: {', '.join(c.short for c in chapters())}")
        found.append(chapter)
    return tuple(found)


def _written(file: Path, chapter: Chapter) -> set[str]:
    try:
        found = functions(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CourseError(f"{file} cannot be read: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise CourseError(f"{file}{line} is no Python: {error}") from None
    return {e.name for e in chapter.exercises if e.name in found and not is_stub(found[e.name])}


def _loaded(chapter: Chapter, file: Path, taken: list[Exercise]) -> Iterator[tuple[Exercise, Callable[..., object]]]:
    if not taken:
        return
    module = types.ModuleType(f"mine.{chapter.name}")
    module.__file__ = str(file)
    try:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), module.__dict__)
    except Exception as error:
        raise CourseError(f"{file} cannot be loaded: {type(error).__name__}: {error}") from error
    names = {e.name for e in taken}
    for exercise in chapter.exercises:  # what is not written yet is the compiler's, also within the file
        if not exercise.owner and exercise.name not in names:
            module.__dict__[exercise.name] = compiler_function(exercise.target)
    for exercise in taken:
        yield exercise, module.__dict__[exercise.name]
