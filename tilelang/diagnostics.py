"""Spans, coded diagnostics and the two exceptions of the compiler.

A stage never raises at the first mistake: it reports to a `Sink` and goes on, and the driver
stops after a stage that reported an error. `CompileError` carries every diagnostic of that
stage. `InternalError` is a bug of the compiler, never the user's fault.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """A `.tile` text and the name it is shown under."""

    text: str
    name: str = "<text>"

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each line."""
        starts = [0]
        for offset, char in enumerate(self.text):
            if char == "\n":
                starts.append(offset + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """1-based (line, column) of a character offset; the column counts characters."""
        line = bisect_right(self.line_starts, offset) - 1
        return line + 1, offset - self.line_starts[line] + 1

    def line(self, number: int) -> str:
        """Text of 1-based line `number`, without its line ending."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True)
class Span:
    """Characters `start` up to, not including, `end` of the source, as offsets."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the beginning of this one to the end of `other`."""
        return Span(min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Label:
    """A second place that a diagnostic points at, with a few words ("first declared here")."""

    span: Span
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """One message.

    `code` is the key of the catalogue ("E0312" is an error, "W0101" a warning); `title` says what is wrong
    in one line; `label` stands under the marked span; `notes` say what was expected and found;
    `help` is a change that would mend it.
    """

    code: str
    title: str
    span: Span | None = None
    label: str = ""
    others: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""

    @property
    def is_error(self) -> bool:
        return self.code.startswith("E")


@dataclass
class Sink:
    """Collects the diagnostics of one stage, in order of report, each once."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    _seen: set[Diagnostic] = field(default_factory=set, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._seen.update(self.diagnostics)

    def report(self, diagnostic: Diagnostic) -> None:
        if diagnostic not in self._seen:
            self._seen.add(diagnostic)
            self.diagnostics.append(diagnostic)

    def error(self, code: str, title: str, span: Span | None = None, *, label: str = "",
              others: tuple[Label, ...] = (), notes: tuple[str, ...] = (), help: str = "") -> None:
        """Report a diagnostic; see `Diagnostic` for the fields."""
        self.report(Diagnostic(code, title, span, label, others, notes, help))

    @property
    def failed(self) -> bool:
        """True once an error (not only warnings) was reported."""
        return any(d.is_error for d in self.diagnostics)


class CompileError(Exception):
    """The user's program or data is wrong: one or more diagnostics, with the source they point into."""

    def __init__(self, diagnostics: list[Diagnostic], source: Source | None = None):
        self.diagnostics = diagnostics
        self.source = source
        super().__init__("\n".join(f"{d.code}: {d.title}" for d in diagnostics))

    def __str__(self) -> str:
        from tilelang.rendering import render_plain

        return "\n".join(render_plain(d, self.source) for d in self.diagnostics)


class InternalError(Exception):
    """A bug in the compiler. `stage` names the stage or pass, `dump` holds what reproduces it."""

    def __init__(self, stage: str, message: str, dump: str = ""):
        self.stage = stage
        self.dump = dump
        super().__init__(f"{stage}: {message}")
