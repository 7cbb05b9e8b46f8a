"""The process in which a learner's code runs. It loads a file, and calls a function in it when asked to.

    -> ("load", path, target, others)                 <- ("loaded",) | ("unloadable", what, line, text) | ("spoilt",)
    -> ("call", through, args, keywords)              <- ("value", value, changed) | ("raised", ...) | ...

`target` is the function of the compiler that the learner's takes the place of, here, in this process: so a whole pass
can be run with one part of it the learner's. Should the learner's code call the compiler's function after all, it
is told so. A process is spoilt if the file loaded before has patched something: another must be started.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import types
from collections.abc import Callable
from contextlib import ExitStack
from typing import BinaryIO

from course import guard, tampering, wire
from course.swapping import ReferenceUsed, compiler_function, swapped

MEMORY = 6 << 30
"""Bytes of address space; a learner's endless list ends here and not with the machine."""
PRINTED = 1 << 20
"""Bytes that may be written to any file, what is printed included."""

Reply = tuple[object, ...]


class Worker:
    def __init__(self) -> None:
        self.stack = ExitStack()
        self.function: Callable[..., object] | None = None
        self.path = ""
        self.state: tampering.State = {}

    # ------------------------------------------------------------------------------------- loading

    def load(self, path: str, target: str, others: tuple[str, ...]) -> Reply:
        """Load a file to call the function that replaces `target`. In place of `others`, which it may define too,
        it gets the compiler's, so that a mistake in one function is not held against another."""
        self.stack.close()
        self.stack, self.function, self.path = ExitStack(), None, path
        if tampering.changed(self.state):
            return ("spoilt",)
        compiler_function(target)  # imports the compiler's part before the learner's code can be in the way
        guard.close(target.partition(":")[0], path)
        self.state = tampering.state()
        module = types.ModuleType("exercise")
        module.__file__ = path
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            exec(compile(text, path, "exec"), module.__dict__)
        except NotImplementedError:
            return "unloadable", "NotImplementedError outside of a function", 0, ""
        except BaseException as error:
            return "unloadable", _named(error), _line_of(error, path), str(getattr(error, "text", None) or "").strip()
        name = target.partition(":")[2].rpartition(".")[2]
        function = module.__dict__.get(name)
        if function is None:
            return "unloadable", f"there is no function `{name}` in it", 0, ""
        if not isinstance(function, types.FunctionType) or function.__code__.co_filename != path:
            return "unloadable", f"`{name}` is not a function that this file defines itself", 0, ""
        for other in others:
            module.__dict__[other.rpartition(":")[2]] = compiler_function(other)
        self.function = function
        self.stack.enter_context(swapped(target, self._watched(function)))
        return ("loaded",)

    def _watched(self, function: types.FunctionType) -> Callable[..., object]:
        """The learner's function for the rest of the compiler; not for the learner's own code."""

        def called(*args: object, **keywords: object) -> object:
            # 0: here; 1: the stand-in in the compiler's place; 2: who called that.
            if sys._getframe(2).f_globals is function.__globals__:
                raise ReferenceUsed
            return function(*args, **keywords)

        return called

    # ------------------------------------------------------------------------------------- calling

    def call(self, through: str, args: tuple, keywords: dict) -> Reply:
        if self.function is None:
            return "gone", "nothing is loaded"
        before = wire.encode((args, keywords))
        try:
            if through:
                from course import harness

                value = getattr(harness, through)(self.function, *args, **keywords)
            else:
                value = self.function(*args, **keywords)
            if isinstance(value, types.GeneratorType):
                value = list(value)
        except BaseException as error:
            return self._raised(error)
        changed = not through and wire.encode((args, keywords)) != before
        try:
            data = wire.encode(value)
            wire.decode(data)
        except Exception:
            return "no data", type(value).__name__
        if len(data) > wire.LARGEST // 2:  # the reply is a little longer than the value
            return "no data", f"{type(value).__name__} of {len(data)} bytes"
        return "value", value, changed

    def _raised(self, error: BaseException) -> Reply:
        if any(isinstance(e, ReferenceUsed) for e in _chain(error)):
            return ("reference",)
        # A library may have wrapped the learner's exception in one of its own: then the learner's is the one to show.
        error = next((e for e in _chain(error) if _line_of(e, self.path)), error)
        diagnostics = list(getattr(error, "diagnostics", []))
        mine = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == self.path]
        line, text = (mine[-1].lineno or 0, mine[-1].line or "") if mine else (0, "")
        unwritten = any(isinstance(e, NotImplementedError) for e in _chain(error))
        return "raised", type(error).__name__, _shortened(str(error)), line, text, diagnostics, unwritten


def _chain(error: BaseException | None) -> list[BaseException]:
    found = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _named(error: BaseException) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {_shortened(message)}" if message else type(error).__name__


def _line_of(error: BaseException, path: str) -> int:
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno or 0
    mine = [f.lineno or 0 for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    return mine[-1] if mine else 0


def _shortened(text: str, limit: int = 600) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _limit_resources() -> None:
    try:
        import resource
        import signal
    except ImportError:  # Windows has no such limits
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (PRINTED, PRINTED))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer until the other side hangs up."""
    import pickle

    worker = Worker()
    while (data := wire.receive(requests)) is not None:
        try:
            kind, *rest = pickle.loads(data)  # from the grader, which is trusted
            reply = worker.load(*rest) if kind == "load" else worker.call(*rest)
        except Exception:  # no mistake in the learner's function ends here, but what it patched may
            reply = ("spoilt",)
        with contextlib.suppress(OSError, ValueError):  # too much was printed, or the stream was closed
            sys.stdout.flush()
        wire.send(replies, wire.encode(reply))


def main() -> None:
    """`python -m course.worker`: standard input and output are the pipes; what the learner prints goes to fd 2."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # standard error is a file that the grader reads
    _limit_resources()
    guard.install()
    sys.modules["solutions"] = None  # type: ignore[assignment]
    serve(requests, replies)


if __name__ == "__main__":
    main()
