"""Runs a piece of a long run of random programs, see `tests.fuzzing.long_run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.fuzzing.choices import Choices
from tests.fuzzing.long_run import say
from tests.fuzzing.programs import random_program
from tests.fuzzing.running import EVERY, check
from tests.fuzzing.shrinking import kind, shrunk
from tests.fuzzing.speed import prepare


def devices_of(number: int, devices: Sequence[str]) -> tuple[str, ...]:
    """Where program `number` is run."""
    return tuple(device for device in devices if number % EVERY[device] == 0)


def run(first: int, count: int, seed: int, devices: Sequence[str]) -> None:
    prepare()
    for number in range(first, first + count):
        say(begin=number)
        choices, chosen = Choices(seed + number), devices_of(number, devices)
        program = random_program(choices)
        try:
            check(program, number, chosen)
        except Exception as failure:
            wanted = kind(failure)
            small = shrunk(choices.made, lambda p, n=number, d=chosen: check(p, n, d), wanted)
            say(failed=number, kind=wanted, text=str(failure).strip()[:2000], input=small.text,
                layouts=small.layouts)  # fmt: skip
        say(end=chosen)


if __name__ == "__main__":
    run(*(int(word) for word in sys.argv[1:4]), sys.argv[4].split(","))
