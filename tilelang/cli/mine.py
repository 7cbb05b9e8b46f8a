"""`tilec run --mine`: the compiler with the learner's functions in it, and what is said when one of them fails."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilelang.cli.course import open_course
from tilelang.cli.faults import Fault
from tilelang.diagnostics import CompileError, InternalError
from tilelang.rendering import printable

if TYPE_CHECKING:
    from course.installing import Installed


WITHOUT = "run without --mine: if it works then, one of your functions is not right"


@contextmanager
def learners_compiler(source: str | None = None) -> Iterator[None]:
    """Inside, the compiler runs on the functions that have passed their graders; says which they are.

    `source`: a folder with the files to take instead, graded or not.

    Raises:
        Fault: E0740 without a course, E0744 for files that cannot be loaded, E0745 if a learner's function fails.
    """
    open_course()
    from course.installing import CourseError, installed

    folder = Path(source) if source is not None else None
    files: tuple[Path, ...] = ()
    try:
        with installed(source=folder, only_done=folder is None) as found:
            files = found.files
            _announce(found)
            yield
    except CourseError as error:
        raise Fault("E0744", f"your functions cannot be used: {printable(str(error))}") from None
    except (CompileError, click.exceptions.ClickException, click.exceptions.Exit, MemoryError, BrokenPipeError):
        raise
    except Exception as error:
        fault = _blamed(error, files)
        if fault is None:
            raise
        raise fault from error


def _announce(found: Installed) -> None:
    if not found.count:
        click.echo("none of your functions has passed its grader yet: every stage is the compiler's own")
    else:
        click.echo("the compiler, stage by stage:")
        for line in str(found).split("\n"):
            click.echo(f"  {line}")
    for chapter, names in found.left_out.items():
        if names:
            command = f"tilec course grade {chapter.short}"
            click.echo(f"  left out until they pass: {', '.join(names)} ({command})")


def _blamed(error: Exception, files: tuple[Path, ...]) -> Fault | None:
    """The message for a failure that a learner's function has caused or may have; None if it has no part in it."""
    names = {str(file): file for file in files}
    for part in _chain(error):
        for frame in reversed(traceback.extract_tb(part.__traceback__)):
            if frame.filename in names:
                where = f"{names[frame.filename].name}, line {frame.lineno}: {frame.line or ''}"
                title = f"your `{frame.name}` raised {type(part).__name__}: {printable(str(part)) or 'no message'}"
                return Fault("E0745", title, notes=(printable(where),), help=WITHOUT)
    if isinstance(error, InternalError) and files:
        return Fault("E0745", f"with your functions in it the compiler failed: {printable(str(error))}", help=WITHOUT)
    return None


def _chain(error: BaseException | None) -> list[BaseException]:
    """The exception and those that led to it."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
