"""Making a failing program small: fewer and smaller choices that fail in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence

from tests.fuzzing.choices import Choices
from tests.fuzzing.programs import Program, random_program

Failing = Callable[[Program], None]
"""Raises what is wrong with a program."""


def kind(failure: BaseException) -> str:
    """What two failures of one fault have in common: the exception, and its message without names and numbers."""
    words = re.sub(r"`[^`]*`|%\w+|\d+", "", str(failure).strip().split("\n")[0])
    return f"{type(failure).__name__}: {words.partition('got')[0][:60]}"


def shrunk(tape: Sequence[int], failing: Failing, wanted: str, seconds: float = 60.0) -> Program:
    """The smallest program found in the time that fails as the one on `tape` does."""
    best, program, end = list(tape), random_program(Choices(tape=tape)), time.monotonic() + seconds
    going = True
    while going and time.monotonic() < end:
        going = False
        for candidate in _smaller(best):
            if time.monotonic() > end:
                break
            made = _fails(candidate, failing, wanted)
            if made is not None and (len(made[1].text), made[0]) < (len(program.text), best):
                (best, program), going = made, True
                break
    return program


def _smaller(tape: list[int]) -> Iterator[list[int]]:
    """Shorter tapes first: long pieces cut out, then short ones; then smaller numbers."""
    size = len(tape) // 2
    while size:
        for start in range(0, len(tape) - size + 1, size):
            yield tape[:start] + tape[start + size :]
        size //= 2
    for at, value in enumerate(tape):
        for less in {0, value // 2, value - 1} - {value, -1}:
            yield [*tape[:at], less, *tape[at + 1 :]]


def _fails(tape: list[int], failing: Failing, wanted: str) -> tuple[list[int], Program] | None:
    """The choices really made, and the program, if it fails in the wanted way."""
    choices = Choices(tape=tape)
    program = random_program(choices)
    try:
        failing(program)
    except Exception as failure:
        return (choices.made, program) if kind(failure) == wanted else None
    return None
