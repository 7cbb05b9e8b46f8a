"""Printing: diagnostics to the standard error stream, in colour when somebody is looking."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

import click

from tilelang.diagnostics import Diagnostic, Source
from tilelang.rendering import render_plain


def is_terminal(stream: TextIO) -> bool:
    """True if colours are welcome: a terminal, and NO_COLOR (https://no-color.org) is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def show_diagnostics(diagnostics: Iterable[Diagnostic], source: Source | None) -> None:
    """Print each diagnostic, followed by an empty line."""
    if not is_terminal(sys.stderr):
        for diagnostic in diagnostics:
            click.echo(render_plain(diagnostic, source) + "\n", err=True)
        return
    from rich.console import Console

    from tilelang.rendering import render_rich

    console = Console(stderr=True, highlight=False)
    for diagnostic in diagnostics:
        console.print(render_rich(diagnostic, source), soft_wrap=True)
        console.print()


def show_count(diagnostics: Iterable[Diagnostic]) -> None:
    """The closing line: how many errors and warnings there were. Nothing if there were none."""
    found = list(diagnostics)
    errors = sum(d.is_error for d in found)
    parts = [plural(errors, "error")] if errors else []
    if len(found) > errors:
        parts.append(plural(len(found) - errors, "warning"))
    if parts:
        click.echo(" and ".join(parts), err=True)
    code = next((d.code for d in found if d.is_error), None)
    if code is not None:
        click.echo(f"`tilec explain {code}` says more about the first", err=True)


def plural(number: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
