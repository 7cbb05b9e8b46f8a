"""`tilec fmt FILE...`: programs laid out in the standard way."""

from __future__ import annotations

import difflib
import sys

import click

from tilelang.cli.faults import OK, USER_ERROR
from tilelang.cli.files import STDIN, read_source, write_text
from tilelang.cli.terminal import plural, show_count, show_diagnostics
from tilelang.diagnostics import CompileError, Diagnostic, Sink, Source
from tilelang.rendering import printable


@click.command("fmt")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Change nothing; print what would change.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def command(check: bool, diff: bool, files: tuple[str, ...]) -> int:
    """Lay programs out in the standard way, in place.

    A file with a syntax error is left alone. `-` formats the standard input to the standard output.
    """
    problems: list[Diagnostic] = []
    changed = 0
    for path in files:
        try:
            changed += _format_file(path, check, diff)
        except CompileError as error:
            show_diagnostics(error.diagnostics, error.source)
            problems += error.diagnostics
    show_count(problems)
    if check and changed:
        click.echo(f"{plural(changed, 'file')} would be laid out differently", err=True)
    return USER_ERROR if problems or (check and changed) else OK


def _format_file(path: str, check: bool, diff: bool) -> bool:
    """Format one file as the options say; True if it was not in the standard layout."""
    source = read_source(path)
    text = formatted(source)
    changed = text != source.text
    if diff:
        _print_diff(source, text)
    elif check:
        if changed:
            click.echo(printable(source.name))
    elif path == STDIN:
        click.echo(text, nl=False)
    elif changed:
        write_text(path, text)
    return changed


def formatted(source: Source) -> str:
    """The source in the standard layout; raises CompileError if it has syntax errors."""
    from tilelang.syntax.format import format_source

    sink = Sink()
    text = format_source(source, sink)
    if sink.failed:
        raise CompileError(sink.diagnostics, source)
    return text


def _print_diff(source: Source, text: str) -> None:
    name = printable(source.name)
    lines = difflib.unified_diff(
        source.text.splitlines(keepends=True), text.splitlines(keepends=True), name, f"{name} (formatted)"
    )
    for line in lines:
        sys.stdout.write(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")


