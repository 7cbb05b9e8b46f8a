"""When the compiler itself is wrong: a report that reproduces it, instead of a traceback on the screen."""

from __future__ import annotations

import datetime
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from tilelang.diagnostics import InternalError
from tilelang.rendering import printable

LONGEST_SOURCE = 200_000
"""Bytes of each program that go into a report."""


def report_bug(error: BaseException, argv: Sequence[str]) -> None:
    """Write the report and say where it is."""
    text = describe(error, argv)
    what = f"{type(error).__name__}: {error}" if not isinstance(error, InternalError) else str(error)
    first_line = printable(what.split("\n")[0])
    click.echo(f"tilec: internal error: {first_line}", err=True)
    click.echo("This is a bug in the compiler, not in your program.", err=True)
    path = _save(text)
    if path is not None:
        click.echo(f"A report that reproduces it is in {printable(str(path))}", err=True)
    else:
        click.echo("No folder could be written to, so the report follows.\n\n" + text, err=True)


def describe(error: BaseException, argv: Sequence[str]) -> str:
    """The text of a report: versions, command line, traceback, the compiler's dump, and the programs."""
    from tilelang.cli.doctor import versions

    parts = [
        "tilec internal error report",
        f"command: tilec {' '.join(map(repr, argv))}",
        f"folder: {Path.cwd()}",
        f"python: {sys.version}",
        f"platform: {platform.platform()}",
        "packages: " + ", ".join(f"{name} {version or 'absent'}" for name, version in versions().items()),
        "",
        "".join(traceback.format_exception(error)),
    ]
    if isinstance(error, InternalError) and error.dump:
        parts += [f"--- dump of {error.stage} ---", error.dump]
    for word in argv:
        parts += _program(word)
    return "\n".join(parts) + "\n"


def _program(word: str) -> list[str]:
    """The text of the program that a word of the command line names, if it does."""
    for name in (word, word.rpartition(":")[0]):
        if name.endswith(".tile") and os.path.isfile(name):
            with open(name, "rb") as file:
                text = file.read(LONGEST_SOURCE).decode("utf-8", "replace")
            return [f"--- {name} ---", text]
    return []


def _save(text: str) -> Path | None:
    """Write the report under the cache folder, or failing that in the system's folder for temporary files."""
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    from tilelang.runtime.cache import cache_root

    cache = cache_root()
    folders = [cache / "crashes"] if cache is not None else []
    for folder in [*folders, Path(tempfile.gettempdir())]:
        path = folder / f"tilec-crash-{stamp}-{os.getpid()}.txt"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
            return path
        except OSError:
            continue
    return None
