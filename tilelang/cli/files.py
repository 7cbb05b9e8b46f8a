"""Reading and writing files for the commands; every failure is a coded message."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from tilelang.cli.faults import Fault
from tilelang.diagnostics import CompileError, Sink, Source
from tilelang.near import nearest
from tilelang.rendering import printable

STDIN = "-"


def read_source(path: str) -> Source:
    """The `.tile` text in a file, or in the standard input for `-`.

    Raises:
        Fault: E0710 to E0712, the file cannot be read.
        CompileError: the bytes are not UTF-8 text, or too many.
    """
    from tilelang.syntax.lexing import read_source as decode

    sink = Sink()
    name = "<stdin>" if path == STDIN else path
    source = decode(read_bytes(path), name, sink)
    if sink.failed:
        raise CompileError(sink.diagnostics, source)
    return source


def read_bytes(path: str) -> bytes:
    """All bytes of a file, but no more than are enough to see that it is too large."""
    from tilelang.syntax.limits import MAX_FILE_BYTES

    if path == STDIN:
        return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    with explained(path), open(path, "rb") as file:
        return file.read(MAX_FILE_BYTES + 1)


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn the operating system's refusals to read `path` into coded messages."""
    shown = printable(path)
    try:
        yield
    except FileNotFoundError:
        raise Fault("E0710", f"there is no file `{shown}`", help=_similar_file(path)) from None
    except IsADirectoryError:
        help = f"name the files in it: {shown.rstrip('/')}/*.tile"
        raise Fault("E0711", f"`{shown}` is a folder, not a file", help=help) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise Fault("E0712", f"`{shown}` cannot be read", notes=(_reason(error),)) from None


def _similar_file(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        found = nearest(name, os.listdir(folder or "."))
    except OSError:
        return f"the folder `{printable(folder)}` is not there either" if folder else ""
    return f"did you mean `{printable(os.path.join(folder, found))}`?" if found else ""


def _reason(error: Exception) -> str:
    return printable((error.strerror if isinstance(error, OSError) else None) or str(error))


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` only when the block ends well.

    Until then, and if anything goes wrong, `path` is as it was. Permissions are kept, and a symbolic link
    goes on pointing to the file, which is replaced where it is. Something that is not a plain file
    (`/dev/stdout`, a pipe) is written directly.

    Raises:
        Fault: E0713, it cannot be written.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            with open(path, "wb") as file:
                yield file
            return
        with _replacing(Path(os.path.realpath(path))) as file:
            yield file
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise Fault("E0713", f"`{printable(path)}` cannot be written", notes=(_reason(error),)) from None


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    if target.is_dir():
        raise IsADirectoryError(None, "it is a folder")
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_for(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode_for(target: Path) -> int:
    """Permission bits: those of the file that is replaced, else what a new file would have."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def write_text(path: str, text: str) -> None:
    """Write a whole file at once, in UTF-8 (see `replacing`)."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path: str, results: object) -> None:
    """`results` as JSON into a file, or with `-` to the standard output."""
    text = json.dumps(results, indent=2, ensure_ascii=False) + "\n"
    if path == "-":
        click.echo(text, nl=False)
    else:
        write_text(path, text)
