"""`tilec course`: exercises, their grades and hints, in a checkout of the course."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilelang.cli import puzzles
from tilelang.cli.faults import OK, USAGE, USER_ERROR, Fault
from tilelang.cli.files import write_json
from tilelang.near import nearest
from tilelang.rendering import printable

if TYPE_CHECKING:
    from course.grading import Result
    from course.table import Chapter, Exercise

WIDTH = 26


def open_course(checkout: str | None = None) -> None:
    """Make the package `course` importable, from a checkout, or from the one that the compiler stands in.

    Raises:
        Fault: E0740, it is not there.
    """
    root = Path(checkout) if checkout is not None else Path(__file__).resolve().parents[2]
    if not (root / "course" / "exercises.py").is_file():
        where = f"in `{printable(checkout)}`" if checkout is not None else "beside the compiler"
        help = "clone the repository, and say where it is: tilec course --in FOLDER"
        raise Fault("E0740", f"there is no course {where}", help=help)
    path = str(root.resolve())
    if path not in sys.path:
        sys.path.insert(0, path)
    importlib.import_module("course.exercises")


@click.group("course", invoke_without_command=True)
@click.option("--in", "checkout", type=click.Path(), metavar="FOLDER", help="The checkout of the course to use.")
@click.pass_context
def command(context: click.Context, checkout: str | None) -> int:
    """The exercises of the course: without a command, what there is and what is done."""
    open_course(checkout)
    return _list() if context.invoked_subcommand is None else OK


@command.command("list")
def list_() -> int:
    """List the exercises, with what is done."""
    return _list()


@command.command()
@click.argument("chapter")
@click.argument("exercise", required=False)
@click.option("--file", type=click.Path(), help="Grade this file instead of the chapter's exercise.py.")
@click.option("--json", "as_json", type=click.Path(), metavar="PATH", help="Write the results as JSON; - prints them.")
@click.option("--gradescope", type=click.Path(), metavar="PATH", help="Write a results.json for Gradescope.")
def grade(chapter: str, exercise: str | None, file: str | None, as_json: str | None, gradescope: str | None) -> int:
    """Grade your functions of a chapter (ch05, 5 or names), or one of them.

    Or your kernels: puzzles/12 or another, puzzles for all of them, ch13 for the capstone.
    """
    kernels = puzzles.chosen(chapter)
    if kernels is not None:
        _no_exercise(chapter, exercise)
        return puzzles.grade(kernels, Path(file) if file is not None else None, as_json, gradescope)
    found, chosen = _chapter(chapter), None
    if exercise is not None:
        chosen = _exercise(found, exercise)
    path = Path(file) if file is not None else found.file
    if not path.is_file():
        raise Fault("E0743", f"there is no file `{printable(str(path))}` to grade", help=_reset_help(found))
    from course.grading import grade as grade_chapter
    from course.progress import record

    quiet = as_json == "-"
    results = []
    if not quiet:
        click.echo(f"graded: {_shown(path)}")
    for result in grade_chapter(found, path, chosen.name if chosen else ""):
        results.append(result)
        if not quiet:
            _show(result)
    record(found, results)
    from course.results import gradescope_results, json_results

    if as_json is not None:
        write_json(as_json, json_results(found, path, results))
    if gradescope is not None:
        write_json(gradescope, gradescope_results(found, path, results))
    if not quiet:
        _summary(found, results)
    return OK if all(result.status == "passed" for result in results) else USER_ERROR


@command.command()
@click.argument("chapter")
@click.argument("exercise", required=False)
def hint(chapter: str, exercise: str | None) -> int:
    """Give the next hint for an exercise (the first that is not done, if none is named), or for a puzzle."""
    kernels = puzzles.chosen(chapter)
    if kernels is not None:
        _no_exercise(chapter, exercise)
        return puzzles.hint(kernels)
    from course.hints import next_hint
    from course.progress import DONE, statuses

    found = _chapter(chapter)
    if exercise is None:
        states = statuses(found)
        open_ones = [e for e in found.exercises if states[e.name] != DONE]
        if not open_ones:
            click.echo(f"{found.short} is done.")
            return OK
        chosen = open_ones[0]
    else:
        chosen = _exercise(found, exercise)
    number, count, text = next_hint(found, chosen)
    click.echo(f"{chosen.name}, hint {number} of {count}: {text}")
    return OK


@command.command()
@click.argument("chapter")
@click.argument("exercise", required=False)
def reset(chapter: str, exercise: str | None) -> int:
    """Begin a chapter anew, or one function of it, or a puzzle; what you have written is kept as a copy."""
    kernels = puzzles.chosen(chapter)
    if kernels is not None:
        _no_exercise(chapter, exercise)
        return puzzles.reset(kernels)
    from course.resetting import reset_chapter

    found = _chapter(chapter)
    name = _exercise(found, exercise).name if exercise is not None else ""
    try:
        copy = reset_chapter(found, name)
    except OSError as error:
        raise Fault("E0713", f"`{printable(str(found.file))}` cannot be written", notes=(str(error),)) from None
    except ValueError as error:
        raise Fault("E0743", str(error), help=f"reset the whole chapter: tilec course reset {found.short}") from None
    if copy is not None:
        click.echo(f"what was there is in {_shown(copy)}")
    click.echo(f"{_shown(found.file)} begins anew" + (f" at {name}" if name else ""))
    return OK


@command.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def run(words: tuple[str, ...]) -> int:
    """Run a kernel on a compiler with your functions in it: `tilec run --mine`, with its arguments."""
    from tilelang.cli.run import command as run_command

    with run_command.make_context("tilec run", ["--mine", *words]) as context:
        return int(run_command.invoke(context) or OK)


# --------------------------------------------------------------------------------------- finding


def _chapter(word: str) -> Chapter:
    from course.exercises import chapters, find_chapter

    found = find_chapter(word)
    if found is not None:
        return found
    names = [*(c.short for c in chapters()), "ch13"]  # of the last one, the kernel to write
    near = nearest(word, [*names, *(c.slug for c in chapters())])
    help = f"did you mean `{near}`?" if near else ""
    title = f"there is no chapter `{printable(word)}` with exercises"
    raise Fault("E0741", title, notes=(f"they are {', '.join(names)}",), help=help, status=USAGE)


def _no_exercise(word: str, exercise: str | None) -> None:
    """A puzzle is one kernel."""
    if exercise is not None:
        title = f"`{printable(word)}` has no exercise `{printable(exercise)}`"
        raise Fault("E0742", title, help=f"leave the second word out: {printable(word)}", status=USAGE)


def _exercise(chapter: Chapter, name: str) -> Exercise:
    names = [e.name for e in chapter.exercises]
    if name in names:
        return chapter.exercise(name)
    near = nearest(name, names)
    help = f"did you mean `{near}`?" if near else ""
    title = f"{chapter.short} has no exercise `{printable(name)}`"
    raise Fault("E0742", title, notes=(f"its exercises are {', '.join(names)}",), help=help, status=USAGE)


def _shown(path: Path) -> str:
    """The path from here, if it lies below."""
    here = Path.cwd()
    return printable(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _reset_help(chapter: Chapter) -> str:
    return f"`tilec course reset {chapter.short}` writes the stubs"


# --------------------------------------------------------------------------------------- showing


def _list() -> int:
    from course.exercises import chapters
    from course.progress import DONE, statuses

    for chapter in chapters():
        states = statuses(chapter)
        done = sum(state == DONE for state in states.values())
        click.echo(f"{chapter.short}  {chapter.title}  ({done} of {len(states)} done)")
        for exercise in chapter.exercises:
            click.echo(f"      {exercise.name:<{WIDTH}} {exercise.level:<9} {states[exercise.name]}")
    puzzles.show_list()
    click.echo("\nwrite in course/chNN_*/exercise.py; then: tilec course grade chNN, tilec course hint chNN")
    click.echo("write in course/puzzles/NN_*.tile; then: tilec course grade puzzles/NN, tilec course hint puzzles/NN")
    return OK


def _show(result: Result) -> None:
    counted = f"{result.passed} of {result.total} tests" if result.started else "still the stub"
    click.echo(f"{result.exercise.name:<{WIDTH}} {result.status:<12} {counted}")
    for title, message in result.messages[:3] if result.started else ():
        click.echo(f"  {title}:")
        click.echo("\n".join("    " + printable(line, keep="\t") for line in message.split("\n")))
    if len(result.messages) > 3:
        click.echo(f"  ... and {len(result.messages) - 3} more")


def _summary(chapter: Chapter, results: Iterable[Result]) -> None:
    found = list(results)
    passed = [r for r in found if r.status == "passed"]
    click.echo(f"\n{len(passed)} of {len(found)} exercises of {chapter.short} pass")
    missing = next((r for r in found if r.status != "passed"), None)
    if missing is not None:
        click.echo(f"a hint: tilec course hint {chapter.short} {missing.exercise.name}")
