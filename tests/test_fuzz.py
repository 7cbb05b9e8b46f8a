"""Random well-typed programs: an independent evaluator == the interpreter after every pass == every device.

A few, for every commit; `python -m tests.fuzzing --programs 20000` runs many.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzzing.choices import Choices
from tests.fuzzing.programs import Program, random_program
from tests.fuzzing.running import check
from tests.fuzzing.shrinking import kind, shrunk

COUNT, SHARDS = 96, 8
ON_CPU = (11, 307, 1003, 2021)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_programs(shard: int) -> None:
    for seed in range(shard, COUNT, SHARDS):
        run(seed, ("reference", "model"))


@pytest.mark.parametrize("seed", ON_CPU)
def test_random_programs_as_machine_code(seed: int) -> None:
    run(seed, ("cpu",))


def run(seed: int, devices: tuple[str, ...]) -> None:
    program = random_program(Choices(seed))
    try:
        check(program, seed, devices)
    except Exception as failure:
        raise AssertionError(f"seed {seed}: {failure}\n{program.text}") from failure


def test_a_seed_always_makes_the_same_program() -> None:
    first, again = (random_program(Choices(7)) for _ in range(2))
    assert first.text == again.text
    for name, array in first.values.items():
        np.testing.assert_array_equal(array, again.values[name])


def test_recorded_choices_make_the_program_again() -> None:
    choices = Choices(7)
    program = random_program(choices)
    assert random_program(Choices(tape=choices.made)).text == program.text


def test_a_failing_program_is_made_small() -> None:
    """Whatever multiplies is taken to fail: what is left is little more than a multiplication."""

    def failing(program: Program) -> None:
        if " * " in program.text.partition("{\n")[2]:
            raise AssertionError("it multiplies")

    choices = next(c for c in map(Choices, range(100)) if " * " in random_program(c).text.partition("{\n")[2])
    program = random_program(Choices(tape=choices.made))
    small = shrunk(choices.made, failing, kind(AssertionError("it multiplies")), seconds=10)
    assert " * " in small.text and len(small.text) < 400 and len(small.text) <= len(program.text)
