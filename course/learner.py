"""A learner's function as the grader sees it: it is called here and runs in another process, with a time limit."""

from __future__ import annotations

import ast
import atexit
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from course import wire
from course.exercises import functions, is_stub
from course.table import COURSE, SOLUTIONS, Exercise

SECONDS = 20.0
"""For one call. The longest call of a right answer takes a few hundredths of a second."""

FORBIDDEN = {"solutions", "course", "importlib", "inspect", "gc", "ctypes", "subprocess", "runpy", "pickle"}
"""Modules that no exercise needs, and with which one could get at an answer without writing it."""
FORBIDDEN_CALLS = {"exec", "eval", "compile", "open", "__import__"}


class Wrong(AssertionError):
    """The learner's function is not right; the message is for the learner."""


class NotStarted(Wrong):
    """The function is still the stub."""


class Unfit(Wrong):
    """The file cannot be graded: it does not load, or it takes the answer from elsewhere."""


class Stopped(Wrong):
    """The function did not come back."""


@dataclass(frozen=True)
class Raised:
    """An exception instead of a value. `line` is where in the learner's file, 0 if nowhere there."""

    kind: str
    message: str
    line: int = 0
    text: str = ""
    diagnostics: tuple = ()

    def __str__(self) -> str:
        shown = f"{self.kind}: {self.message}" if self.message else self.kind
        return f"{shown}\n            in line {self.line}: {self.text}" if self.line else shown


# --------------------------------------------------------------------------------------- the process


class Process:
    """The worker, started when it is first needed and again after it had to be stopped.

    `holds` is whatever stands for the function that is loaded in it; None if nothing is.
    """

    def __init__(self) -> None:
        self.holds: object = None
        self._running: subprocess.Popen[bytes] | None = None
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the worker lives)

    def ask(self, message: tuple[object, ...], seconds: float) -> object:
        """The worker's reply. Raises Stopped."""
        running = self._start()
        self._printed.seek(0)
        self._printed.truncate()
        late = threading.Event()

        def stop_it() -> None:
            late.set()
            running.kill()

        timer = threading.Timer(seconds, stop_it)
        timer.start()
        try:
            wire.send(_pipe(running.stdin), pickle.dumps(message, protocol=5))
            data = wire.receive(_pipe(running.stdout))
        except OSError:
            data = None
        timer.cancel()
        if data is None:
            self.stop()
            if late.is_set():
                raise Stopped(f"it did not come back within {seconds:g} seconds: is there an endless loop?")
            raise Stopped("it ended the whole process: nothing was returned")
        try:
            return wire.decode(data)
        except Exception as error:
            self.stop()  # what it sends next may be nonsense too
            raise Stopped(f"what it returned cannot be read: {error}") from None

    def printed(self) -> str:
        """What the learner's code printed during the last call."""
        self._printed.seek(0)
        return self._printed.read(2000).decode("utf-8", "replace")

    def stop(self) -> None:
        """End the worker; the next question starts another."""
        self.holds = None
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            for pipe in (self._running.stdin, self._running.stdout):
                if pipe is not None:
                    pipe.close()
            self._running = None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._running is None or self._running.poll() is not None:
            root = str(COURSE.parent)
            paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
            self._running = subprocess.Popen(
                [sys.executable, "-m", "course.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._printed,
                cwd=root,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
        return self._running


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise OSError("the worker has no pipes")
    return pipe


PROCESS = Process()
atexit.register(PROCESS.stop)


# --------------------------------------------------------------------------------------- the function


@dataclass
class Learner:
    """One exercise in one file, which defines `siblings` too. Calling it gives the function's value, or `Raised`.

    `through` is the name of a function of `course.harness` that gets the learner's function and the arguments, where
    the arguments themselves cannot travel or the whole stage is to be run.
    """

    exercise: Exercise
    file: Path
    seconds: float = SECONDS
    siblings: tuple[Exercise, ...] = ()
    through: str = ""
    may_be_reference: bool = False
    _state: dict[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.exercise.name

    def via(self, harness: str) -> Learner:
        """The same function, called through a function of `course.harness`."""
        return replace(self, through=harness)  # the state is shared

    def __call__(self, *args: object, **keywords: object) -> object:
        self.prepare()
        try:
            reply = PROCESS.ask(("call", self.through, args, keywords), self.seconds)
        except Stopped as stopped:
            self._state["stopped"] = str(stopped)
            raise Stopped(f"{shown_call(self, args, keywords)}\n  {stopped}{self._also_printed()}") from None
        return self._value(reply, args, keywords)

    def _value(self, reply: object, args: tuple, keywords: dict) -> object:
        match reply:
            case ("value", value, changed):
                if changed:
                    raise Wrong(f"{shown_call(self, args, keywords)}\n  changed one of its arguments; make a new value")
                return value
            case ("raised", kind, message, line, text, diagnostics, unwritten):
                if unwritten:
                    raise NotStarted(f"{self.name} is not finished: it raises NotImplementedError")
                return Raised(str(kind), str(message), int(str(line)), str(text), _as_tuple(diagnostics))
            case ("reference",):
                raise Unfit(f"{self.name} calls the compiler's own {self.name}: write it yourself")
            case ("no data", kind):
                raise Wrong(f"{shown_call(self, args, keywords)}\n  returned a {kind}, which is no plain value")
            case ("spoilt",):
                PROCESS.stop()
                raise Unfit(f"{shown_call(self, args, keywords)}\n  changed something in Python itself, or in the "
                            "compiler, without which it cannot be graded")
        raise Unfit(f"the grader lost the process that runs {self.file}")

    def printed(self) -> str:
        return PROCESS.printed()

    def _also_printed(self) -> str:
        printed = self.printed().strip()
        return "\n  it printed:\n" + "\n".join("    " + line for line in printed.split("\n")[:10]) if printed else ""

    # ------------------------------------------------------------------------------------- before the first call

    def prepare(self) -> None:
        """See to it that the worker holds this function. Raises NotStarted, Unfit, Stopped."""
        if "stopped" in self._state:
            raise Stopped(f"{self.name} was stopped before: {self._state['stopped']}")
        if "unfit" in self._state:
            raise self._state["unfit"]  # type: ignore[misc]
        if PROCESS.holds is self._state:
            return
        try:
            self.inspect()
            self._load()
        except Wrong as wrong:
            self._state["unfit"] = wrong
            raise
        PROCESS.holds = self._state

    def inspect(self) -> None:
        """What can be told from the text of the file. Raises NotStarted, Unfit."""
        resolved = self.file.resolve()
        reference = resolved.is_relative_to(SOLUTIONS.resolve()) or resolved.is_relative_to(COURSE.parent / "tilelang")
        if reference and not self.may_be_reference:
            raise Unfit(f"{self.file} is the reference: there is nothing to grade in it")
        try:
            text = self.file.read_text(encoding="utf-8")
            found = functions(text)
        except OSError as error:
            raise Unfit(f"{self.file} cannot be read: {error.strerror}") from None
        except (SyntaxError, ValueError) as error:
            raise Unfit(_syntax_error(self.file, error)) from None
        if self.name in found and is_stub(found[self.name]):
            raise NotStarted(f"{self.name} is not started")
        shortcut = _shortcut(ast.parse(text), self.exercise)
        if shortcut:
            raise Unfit(f"{self.file.name} {shortcut}: write {self.name} yourself")
        if self.name not in found:
            raise Unfit(f"{self.file.name} does not define a function `{self.name}` any more")

    def _load(self) -> None:
        try:
            others = tuple(e.target for e in self.siblings if e.name != self.name and not e.owner)
            message = ("load", str(self.file.resolve()), self.exercise.target, others)
            reply = PROCESS.ask(message, self.seconds)
            if reply == ("spoilt",):
                PROCESS.stop()
                reply = PROCESS.ask(message, self.seconds)
        except Stopped as stopped:
            raise Unfit(f"{self.file.name} cannot be loaded: {stopped}") from None
        match reply:
            case ("unloadable", what, line, text):
                where = f", line {line}" if line else ""
                raise Unfit(f"{self.file.name}{where} cannot be loaded: {what}" + (f"\n    {text}" if text else ""))


def _syntax_error(file: Path, error: SyntaxError | ValueError) -> str:
    if not isinstance(error, SyntaxError):
        return f"{file.name} is no Python text: {error}"
    text = f"\n    {error.text.strip()}" if error.text else ""
    return f"{file.name}, line {error.lineno} is no Python: {error.msg}{text}"


def _shortcut(tree: ast.Module, exercise: Exercise) -> str:
    """How the file gets at an answer that it does not contain; empty if it does not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            taken = not exercise.owner and any(item.name == exercise.name for item in node.names)
            if taken and modules[0] == exercise.module:
                return f"imports {exercise.name} from the compiler"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            return f"calls {node.func.id}()"
        else:
            continue
        for module in modules:
            if module.split(".")[0] in FORBIDDEN and module != "course.extra":
                return f"imports {module}"
    return ""


def _as_tuple(found: object) -> tuple:
    return tuple(found) if isinstance(found, list) else ()


# --------------------------------------------------------------------------------------- words for a call


def shown_call(function: Learner, args: tuple, keywords: dict) -> str:
    from course.showing import show

    shown = [show(a) for a in args] + [f"{k}={show(v)}" for k, v in keywords.items()]
    flat = f"{function.name}({', '.join(shown)})"
    if len(flat) <= 110 and "\n" not in flat:
        return flat
    inside = ",\n".join("\n".join("    " + line for line in text.split("\n")) for text in shown)
    return f"{function.name}(\n{inside})"
