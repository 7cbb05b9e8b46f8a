"""The standard streams: what cannot be shown becomes an escape, and a full disk has an exception of its own.

An OSError does not say which file it is about. That of a standard stream is the user's affair, any other the
compiler's, so they must be told apart.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO


class CannotPrint(OSError):
    """A standard stream takes no more: its disk is full, say. (A closed pipe is a BrokenPipeError, as ever.)"""


class Stream(io.TextIOWrapper):
    """A standard stream that raises CannotPrint."""

    lost = False
    """True once something could not be delivered."""

    def write(self, text: str) -> int:
        with self._told():
            return super().write(text)

    def flush(self) -> None:
        with self._told():
            super().flush()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self.lost = True
            raise
        except OSError as error:
            self.lost = True
            raise CannotPrint(error.errno, error.strerror) from error


def open_streams() -> None:
    """Put such streams in the place of Python's. One that the caller has closed (`tilec ... >&-`) swallows all."""
    sys.stdout, sys.stderr = _opened(sys.stdout), _opened(sys.stderr)


def _opened(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    encoding, lines = stream.encoding, stream.line_buffering
    buffer = stream.detach()
    if isinstance(buffer, io.RawIOBase):  # with PYTHONUNBUFFERED, where a write that ends halfway is no error
        buffer, lines = io.BufferedWriter(buffer), True
    return Stream(buffer, encoding=encoding, errors="backslashreplace", line_buffering=lines)


def abandon_lost_streams() -> None:
    """Send what could not be delivered to nowhere: Python would try, and complain, once more at exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, Stream) and stream.lost:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
