"""How the checker gives up on one expression or statement and goes on with the next.

A rule that finds the program wrong raises a `Mistake`. The statement around it catches it, reports it
once, and marks what the statement would have declared as unusable, so that one mistake gives one message.
`gather` lets all operands of one expression report theirs before the expression gives up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from tilelang.diagnostics import Diagnostic, Label, Sink, Span
from tilelang.syntax.limits import MAX_ERRORS

In = TypeVar("In")
Out = TypeVar("Out")


class Mistake(Exception):
    """The user's program is wrong here; `diagnostics` is empty when the cause has been reported already."""

    def __init__(self, diagnostics: Iterable[Diagnostic] = ()):
        self.diagnostics = tuple(diagnostics)
        super().__init__("; ".join(f"{d.code}: {d.title}" for d in self.diagnostics))


class LimitedSink(Sink):
    """Keeps the first `MAX_ERRORS` errors and as many warnings; later ones are rarely read.

    They are counted apart: a hundred warnings must not hide an error, or the stage would seem to have passed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._left = {True: MAX_ERRORS, False: MAX_ERRORS}

    @property
    def full(self) -> bool:
        """True once no more errors are kept: then the work of wording one can be saved."""
        return self._left[True] == 0

    def report(self, diagnostic: Diagnostic) -> None:
        before = len(self.diagnostics)
        if self._left[diagnostic.is_error]:
            super().report(diagnostic)
            self._left[diagnostic.is_error] -= len(self.diagnostics) - before


def mistake(
    code: str,
    title: str,
    span: Span,
    *,
    label: str = "",
    others: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
    help: str = "",
) -> Mistake:
    """A `Mistake` of one diagnostic; the fields are those of `Diagnostic`."""
    return Mistake((Diagnostic(code, title, span, label, others, notes, help),))


def known() -> Mistake:
    """A `Mistake` for what depends on something that was reported already."""
    return Mistake()


def gather(function: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
    """`[function(item) for item in items]`, but all items are tried, and their mistakes raised as one."""
    results: list[Out] = []
    found: list[Diagnostic] = []
    failed = False
    for item in items:
        try:
            results.append(function(item))
        except Mistake as wrong:
            failed = True
            found += wrong.diagnostics
    if failed:
        raise Mistake(found)
    return results
