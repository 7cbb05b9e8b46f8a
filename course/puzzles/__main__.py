"""The puzzles on the command line.

    python -m course.puzzles                 how far you are
    python -m course.puzzles grade 12        what is right or wrong with puzzle 12
    python -m course.puzzles reset 12        start puzzle 12 again: what you wrote is lost
    python -m course.puzzles write           write the files that are missing; none is overwritten
    python -m course.puzzles check           do the files agree with the solutions? (for those who change the course)
"""

from __future__ import annotations

import click

from course.puzzles.grading import FAILED, PASSED, grade
from course.puzzles.stubs import reset as put_stub
from course.puzzles.stubs import stale
from course.puzzles.table import PUZZLES, Puzzle, find


class PuzzleName(click.ParamType):
    """A puzzle by its number or name."""

    name = "puzzle"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Puzzle:
        try:
            return find(value)
        except LookupError as error:
            self.fail(str(error), param, ctx)


@click.group(invoke_without_command=True, help="Without a command: how far you are.")
@click.pass_context
def main(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        done = 0
        for puzzle in PUZZLES:
            verdict = grade(puzzle)
            done += verdict.status == PASSED
            summary = verdict.message.partition("\n")[0] if verdict.status == FAILED else ""
            click.echo(f"{puzzle.name:<22} {verdict.status}{': ' if summary else ''}{summary}")
        click.echo(f"{done} of {len(PUZZLES)} solved")


@main.command("grade", help="What is right or wrong with a puzzle.")
@click.argument("puzzle", type=PuzzleName())
def grade_one(puzzle: Puzzle) -> None:
    verdict = grade(puzzle)
    click.echo(verdict.message or f"{puzzle.name} {verdict.status}")
    raise SystemExit(verdict.status != PASSED)


@main.command(help="Start a puzzle again; what its file holds is lost.")
@click.argument("puzzle", type=PuzzleName())
def reset(puzzle: Puzzle) -> None:
    put_stub(puzzle)
    click.echo(f"wrote {puzzle.file.name}")


@main.command(help="Write the files that are missing.")
def write() -> None:
    for puzzle in PUZZLES:
        if not puzzle.file.exists():
            put_stub(puzzle)
            click.echo(f"wrote {puzzle.file.name}")


@main.command(help="Do the files agree with the solutions?")
def check() -> None:
    wrong = ", ".join(puzzle.name for puzzle in stale())
    if wrong:
        raise click.ClickException(f"missing, or not the stub of the solution: {wrong}")


if __name__ == "__main__":
    main(prog_name="python -m course.puzzles")
