"""What the commands raise when the command line, not the program, is wrong."""

from __future__ import annotations

from tilelang.diagnostics import CompileError, Diagnostic

OK = 0
USER_ERROR = 1
"""The user's program or data is wrong."""
USAGE = 2
"""The command line itself is wrong."""
COMPILER_BUG = 3
INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""
PIPE_CLOSED = 141
"""128 + SIGPIPE: the reader of our output (`| head`) has gone."""


class Fault(CompileError):
    """One coded message about the command line or a file; `status` is what `tilec` exits with."""

    def __init__(
        self, code: str, title: str, *, notes: tuple[str, ...] = (), help: str = "", status: int = USER_ERROR
    ):
        super().__init__([Diagnostic(code, title, notes=notes, help=help)])
        self.status = status
