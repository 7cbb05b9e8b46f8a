"""Random well-typed programs: an independent evaluator == the interpreter == the interpreter after every pass.

`TILEC_FUZZ=5000 pytest tests/test_fuzz.py` runs as many programs; without it a few, for every commit.
"""

from __future__ import annotations

import os
from random import Random

import numpy as np
import pytest

from tests.corpus import assert_close, assert_identical
from tests.fuzzing.programs import PROGRAMS, Program, random_program
from tilelang.diagnostics import CompileError, Sink, Source
from tilelang.driver import FRONT, Compilation, run
from tilelang.ir.build import build
from tilelang.ir.core import Kernel
from tilelang.ir.host_types import from_numpy
from tilelang.ir.interpreter import interpret
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel
from tilelang.ir.verifier import verify
from tilelang.passes import optimize
from tilelang.semantics.check import check_kernel
from tilelang.semantics.specialize import Binding, TensorFact, bind, signature

COUNT = int(os.environ.get("TILEC_FUZZ", "96"))
"""How many programs are run in all."""

SHARDS = 8


def compiled(program: Program) -> tuple[Kernel, Binding]:
    """The program's tile IR, as built. Raises CompileError: the generator should only make correct programs."""
    source, sink = Source(program.text, "fuzz.tile"), Sink()
    front = run(Compilation(source), FRONT)
    kernel = front.module.kernels[0]
    facts = {
        name: TensorFact(from_numpy(array.dtype), array.shape) for name, array in program.arguments.items()
    }
    binding = bind(signature(front.names, kernel), facts, {}, sink)
    typed = None if binding is None else check_kernel(front.names, kernel, binding, sink)
    if sink.failed:
        raise CompileError(sink.diagnostics, source)
    return build(typed), binding


def after(
    program: Program, kernel: Kernel, binding: Binding, batch: int | None = None
) -> dict[str, np.ndarray]:
    """The arguments after a run of tile IR."""
    arguments = {name: array.copy() for name, array in program.arguments.items()}
    interpret(kernel, arguments, binding.dims, (PROGRAMS,), max_steps=100_000, batch=batch)
    return arguments


def check(program: Program) -> None:
    """Every way to run the program gives the same."""
    kernel, binding = compiled(program)
    verify(kernel)
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
    found, expected = after(program, kernel, binding), program.expected()
    for name, array in expected.items():
        assert_close(found[name], array, 0.0, 0.0, f"interpreter: {name}")
    assert_identical(after(program, kernel, binding, batch=1), found, "one by one")
    texts = {print_kernel(kernel)}

    def compare(name: str, changed: Kernel) -> None:
        text = print_kernel(changed)
        if text not in texts:
            texts.add(text)
            assert_identical(after(program, changed, binding), found, f"after {name}")

    optimize(kernel, observe=compare)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_programs(shard: int) -> None:
    for seed in range(shard, COUNT, SHARDS):
        program = random_program(Random(seed))
        try:
            check(program)
        except Exception as failure:
            raise AssertionError(f"seed {seed}: {failure}\n{program.text}") from failure
