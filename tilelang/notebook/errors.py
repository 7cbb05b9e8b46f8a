"""Mistakes in place: a `CompileError` in a notebook shows its messages, not a Python traceback."""

from __future__ import annotations

import io
from types import TracebackType
from typing import TYPE_CHECKING

from tilelang.diagnostics import CompileError
from tilelang.rendering import render_rich

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def install(shell: InteractiveShell) -> None:
    """From now on a CompileError of any cell is shown like this; other exceptions are as before."""
    shell.set_custom_exc((CompileError,), show)


def show(
    shell: InteractiveShell,
    kind: type[CompileError],
    error: CompileError,
    traceback: TracebackType | None,
    tb_offset: int | None = None,
) -> list[str]:
    """IPython's hook: show the messages in place of the traceback, and return what was shown."""
    lines = coloured(error).split("\n")
    shell._showtraceback(kind, error, lines)  # as IPython's own handlers do; there is no public name for it
    return lines


def coloured(error: CompileError) -> str:
    """The messages with ANSI colours, an empty line between two; notebooks turn the codes into colours."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="standard", highlight=False, width=200)
    for number, diagnostic in enumerate(error.diagnostics):
        if number:
            console.print()
        console.print(render_rich(diagnostic, error.source), soft_wrap=True)
    return stream.getvalue().rstrip("\n")
