"""`tilec course` for the kernels to write: the puzzles, and the capstone, which is graded on the learner's compiler."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilelang.cli.faults import OK, USAGE, USER_ERROR, Fault
from tilelang.cli.files import write_json
from tilelang.near import nearest
from tilelang.rendering import printable

if TYPE_CHECKING:
    from course.puzzles.grading import Verdict
    from course.puzzles.table import Puzzle

WIDTH = 26


def chosen(word: str) -> tuple[Puzzle, ...] | None:
    """The puzzles that a word means; None if it does not mean any. Raises Fault, E0742: there is none of that name."""
    from course.puzzles import learning
    from course.puzzles.table import PUZZLES

    try:
        return learning.chosen(word)
    except LookupError:
        names = [puzzle.name for puzzle in PUZZLES]
        wanted = word.strip("/").rpartition("/")[2]
        near = nearest(wanted, [*names, *(name.partition("_")[2] for name in names)])
        help = f"did you mean `puzzles/{near}`?" if near else ""
        title = f"there is no puzzle `{printable(wanted)}`"
        raise Fault("E0742", title, notes=(f"they are {', '.join(names)}",), help=help, status=USAGE) from None


def one(puzzles: tuple[Puzzle, ...], what: str) -> Puzzle:
    """The only one of them. Raises Fault, E0742."""
    if len(puzzles) != 1:
        raise Fault("E0742", f"which puzzle {what}?", help="name one, as in puzzles/12", status=USAGE)
    return puzzles[0]


# --------------------------------------------------------------------------------------- grading


def grade(puzzles: tuple[Puzzle, ...], file: Path | None, as_json: str | None, gradescope: str | None) -> int:
    """Grade the learner's kernels, or one of them in another file."""
    from course.puzzles import learning

    if file is not None:
        one(puzzles, "is in the file")
    quiet = as_json == "-"
    verdicts = []
    for puzzle in puzzles:
        path = file or puzzle.file
        if not path.is_file():
            raise Fault("E0743", f"there is no file `{printable(str(path))}` to grade",
                        help=f"`tilec course reset {learning.label(puzzle)}` writes it")
        if path.resolve() == puzzle.solution.resolve():
            raise Fault("E0743", f"`{printable(path.name)}` is the solution, not yours",
                        help=f"write in {_shown(puzzle.file)}")
        verdict = _graded(puzzle, path, quiet)
        verdicts.append(verdict)
        if not quiet:
            _show(verdict, path, alone=len(puzzles) == 1)
    if file is None:
        learning.record(verdicts)
    if as_json is not None:
        write_json(as_json, learning.json_results(verdicts, file))
    if gradescope is not None:
        write_json(gradescope, learning.gradescope_results(verdicts))
    done = sum(v.status == "passed" for v in verdicts)
    if not quiet:
        _summary(verdicts, done)
    return OK if done == len(verdicts) else USER_ERROR


def _graded(puzzle: Puzzle, path: Path, quiet: bool) -> Verdict:
    from course.puzzles.capstone import CAPSTONE
    from course.puzzles.grading import grade

    return grade(puzzle, path) if puzzle is not CAPSTONE else _graded_on_theirs(path, quiet)


def _graded_on_theirs(path: Path, quiet: bool) -> Verdict:
    """The capstone, on a compiler with the functions of the learner that have passed their graders."""
    from course.installing import CourseError
    from course.puzzles.grading import grade_capstone

    try:
        verdict, found = grade_capstone(path)
    except CourseError as error:
        raise Fault("E0744", f"your functions cannot be used: {printable(str(error))}") from None
    if not quiet:
        click.echo("graded on this compiler:")
        click.echo("\n".join(f"  {line}" for line in str(found).split("\n")))
    return verdict


def _show(verdict: Verdict, path: Path, *, alone: bool) -> None:
    if alone:
        click.echo(f"graded: {_shown(path)}")
        click.echo(f"{verdict.puzzle.name:<{WIDTH}} {verdict.status}")
        if verdict.message:
            click.echo("\n".join("    " + printable(line, keep="\t") for line in verdict.message.split("\n")))
        return
    first = verdict.message.partition("\n")[0] if verdict.status == "failed" else ""
    click.echo(f"{verdict.puzzle.name:<{WIDTH}} {verdict.status}{': ' if first else ''}{printable(first)}")


def _summary(verdicts: list[Verdict], done: int) -> None:
    from course.puzzles import learning

    if len(verdicts) > 1:
        click.echo(f"\n{done} of {len(verdicts)} puzzles are solved")
    missing = next((v for v in verdicts if v.status != "passed"), None)
    if missing is not None:
        click.echo(f"a hint: tilec course hint {learning.label(missing.puzzle)}")


# --------------------------------------------------------------------------------------- the rest


def hint(puzzles: tuple[Puzzle, ...]) -> int:
    """The next hint for a puzzle, or for the first that is not done."""
    from course.progress import DONE
    from course.puzzles import learning

    todo = [p for p in puzzles if learning.status(p) != DONE] if len(puzzles) > 1 else list(puzzles)
    if not todo:
        click.echo("the puzzles are done.")
        return OK
    number, count, text = learning.next_hint(todo[0])
    click.echo(f"{todo[0].name}, hint {number} of {count}: {text}")
    return OK


def reset(puzzles: tuple[Puzzle, ...]) -> int:
    """Begin a puzzle anew, and keep a copy."""
    from course.puzzles import learning

    puzzle = one(puzzles, "is to begin anew")
    try:
        copy = learning.reset(puzzle)
    except OSError as error:
        raise Fault("E0713", f"`{printable(str(puzzle.file))}` cannot be written", notes=(str(error),)) from None
    if copy is not None:
        click.echo(f"what was there is in {_shown(copy)}")
    click.echo(f"{_shown(puzzle.file)} begins anew")
    return OK


def show_list() -> None:
    """The capstone and the puzzles, with what is done."""
    from course.progress import DONE
    from course.puzzles import learning
    from course.puzzles.capstone import CAPSTONE
    from course.puzzles.table import PUZZLES

    capstone = learning.status(CAPSTONE)
    click.echo(f"ch13  Capstone  ({int(capstone == DONE)} of 1 done)")
    click.echo(f"      {CAPSTONE.name + '.tile':<{WIDTH}} {'hard':<9} {capstone}")
    found = [(puzzle.name, learning.status(puzzle)) for puzzle in PUZZLES]
    click.echo(f"puzzles  Kernels to write  ({sum(state == DONE for _, state in found)} of {len(found)} done)")
    for name, state in found:
        click.echo(f"      {name:<{WIDTH}} {'':<9} {state}")


def _shown(path: Path) -> str:
    """The path from here, if it lies below."""
    here = Path.cwd()
    return printable(str(path.relative_to(here) if path.is_relative_to(here) else path))
