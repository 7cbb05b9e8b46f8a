"""`python -m tilelang.catalogue [--update]`: run every page, and compare or rewrite its Message block.

Every example goes through the command line, in a folder of its own, exactly as a reader would run it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tilelang.catalogue import EXAMPLE_FILE, Example, Page, codes, page, page_path, replace_message


def outcome(example: Example) -> tuple[int, str]:
    """Run an example; (exit code, standard error stream) of its last command.

    Without a program `example.tile` is not written: the page is about a file that is not there.
    """
    status, stderr = 0, ""
    with _in_empty_folder():
        if example.program.strip():
            Path(EXAMPLE_FILE).write_text(example.program, encoding="utf-8")
        if example.script:
            return _script(example.script)
        for program, *words in command_lines(example):
            status, stderr = _tilec(words) if program == "tilec" else _python(words)
    return status, stderr


def command_lines(example: Example) -> list[list[str]]:
    """The commands that an example stands for, in words."""
    if example.console:
        return [shlex.split(line) for line in example.console]
    if example.args is not None:
        return [["tilec", "run", EXAMPLE_FILE, *shlex.split(example.args)]]
    return [["tilec", "check", EXAMPLE_FILE]]


def _tilec(words: list[str]) -> tuple[int, str]:
    from tilelang.cli.main import run

    stderr = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(stderr):
        return run(words), stderr.getvalue()


def _python(words: list[str]) -> tuple[int, str]:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def _script(text: str) -> tuple[int, str]:
    """Run Python as a reader's own program would; a message counts as written to the standard error stream."""
    from tilelang.diagnostics import CompileError

    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, "example.py", "exec"), {"__name__": "__main__"})
    except CompileError as error:
        return 1, str(error)
    return 0, ""


def messages(stderr: str) -> dict[str, str]:
    """The first diagnostic of each code in the output of `tilec`, by code."""
    found: dict[str, str] = {}
    for block in re.split(r"^(?=(?:error|warning)\[[EW]\d{4}\])", stderr, flags=re.MULTILINE):
        match = re.match(r"(?:error|warning)\[([EW]\d{4})\]", block)
        if match:
            # Diagnostics are separated by a blank line; what follows one is the next, or a closing count.
            found.setdefault(match.group(1), block.split("\n\n")[0].rstrip("\n"))
    return found


def complaints(entry: Page) -> Iterator[str]:
    """What is wrong with a page, in words; nothing if its examples do what it says."""
    status, stderr = outcome(entry.wrong)
    actual = messages(stderr).get(entry.code)
    if actual is None:
        yield f"the wrong example does not give {entry.code}; it gives (exit {status}):\n{stderr}"
    elif actual != entry.message:
        yield f"the message is now (regenerate with `python -m tilelang.catalogue --update`):\n{actual}"
    if entry.code.startswith("E") and status not in (1, 2):
        yield f"the wrong example exits with {status}, not with 1 or 2"
    status, stderr = outcome(entry.right)
    if status != 0 or entry.code in messages(stderr):
        yield f"the right example exits with {status}:\n{stderr}"


@contextlib.contextmanager
def _in_empty_folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def update(entry: Page) -> bool:
    """Write the actual message into the page; True if that changed it."""
    actual = messages(outcome(entry.wrong)[1]).get(entry.code)
    if actual is None or actual == entry.message:
        return False
    page_path(entry.code).write_text(replace_message(entry.text, actual), encoding="utf-8")
    return True


def main(argv: list[str]) -> int:
    wanted = [a for a in argv if a != "--update"] or codes()
    failures = 0
    for code in wanted:
        if "--update" in argv and update(page(code)):
            print(f"{code}: message updated")
            page.cache_clear()
        for complaint in complaints(page(code)):
            failures += 1
            print(f"{code}: {complaint}\n")
    print(f"{len(wanted)} pages, {failures} complaints")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
