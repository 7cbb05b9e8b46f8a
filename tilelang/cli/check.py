"""`tilec check FILE...`: all mistakes that can be found without arrays."""

from __future__ import annotations

import click

from tilelang.cli.faults import OK, USER_ERROR
from tilelang.cli.files import read_source
from tilelang.cli.terminal import show_count, show_diagnostics
from tilelang.diagnostics import CompileError, Diagnostic, Sink, Source


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def command(files: tuple[str, ...]) -> int:
    """Report the mistakes in programs.

    Nothing is run: extents that depend on an array's shape are checked when a kernel is launched. `-` is the
    standard input. Silence means that all is well.
    """
    found: list[Diagnostic] = []
    for path in files:
        try:
            source = read_source(path)
            diagnostics = check(source)
            show_diagnostics(diagnostics, source)
        except CompileError as error:
            diagnostics = error.diagnostics
            show_diagnostics(diagnostics, error.source)
        found += diagnostics
    show_count(found)
    return USER_ERROR if any(d.is_error for d in found) else OK


def check(source: Source) -> list[Diagnostic]:
    """All that the front end has to say about a program: warnings, and errors of the first stage with any."""
    from tilelang.driver import FRONT, Compilation, run
    from tilelang.semantics.check import check_module

    front = run(Compilation(source), FRONT)
    sink = Sink(list(front.warnings))
    if front.names is not None:
        check_module(front.names, sink)
    return sink.diagnostics
