"""What a learner's code may not do in the process that it runs in: open a file that holds the answer, start another.

Python tells an audit hook (PEP 578) of every file that is opened and of every process that is started, whichever
function does it, and a hook cannot be taken away again. So it makes no difference whether the solution is opened by
`open`, by `os.open`, or by an import under another name. This keeps a grader honest; it is no wall against somebody
who takes this very process apart.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from course.table import COURSE, SOLUTIONS

PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"}

_ANSWERS = tuple(os.path.realpath(folder) + os.sep for folder in (SOLUTIONS, COURSE.parent / "tests" / "course"))

_allowed = ""
"""The file that is graded: to be read wherever it lies."""
_closed: tuple[str, ...] = ()
"""How the paths begin that may not be opened; none until a file is loaded."""


def close(module: str, allowed: str) -> None:
    """From now on no file is opened that has the answer in it: neither a solution nor the compiler's `module`.

    `module` has been imported. Files already read (its code, its line numbers) stay as they are.
    """
    global _allowed, _closed
    own = os.path.realpath(str(sys.modules[module].__file__))
    folder, stem = os.path.dirname(own), Path(own).stem
    _allowed = os.path.realpath(allowed)
    _closed = (*_ANSWERS, os.path.join(folder, stem + "."), os.path.join(folder, "__pycache__", stem + "."))


def install() -> None:
    """Watch this process from now on; once."""
    sys.addaudithook(_watch)


def _watch(event: str, args: tuple) -> None:
    if not _closed:
        return
    if event == "open":
        if isinstance(args[0], (str, bytes, os.PathLike)):
            _check(os.path.realpath(os.fsdecode(args[0])))
    elif event in PROCESSES:
        raise PermissionError("a graded function starts no process")


def _check(path: str) -> None:
    if (path + os.sep).startswith(_closed) and path != _allowed:  # the folder itself leads to its files as well
        raise PermissionError(f"{os.path.basename(path)} holds the answer: write it yourself")
