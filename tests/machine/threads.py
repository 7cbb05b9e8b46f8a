"""Helpers: thread kernels as IR text, run on the machine model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilelang.ir.core import Block, Kernel
from tilelang.ir.parser import parse_kernel
from tilelang.ir.verifier import verify
from tilelang.machine import Problem, Report, execute


def constants(*numbers: int) -> str:
    """`%c0: i32`, `%c1: i32`, ... for these numbers, and `%w0: i64` likewise."""
    return "\n".join(f"%c{n}: i32 = const {{value = {n}}}\n%w{n}: i64 = const {{value = {n}}}" for n in numbers)


def thread_kernel(header: str, body: str, threads: int = 32, dims: Sequence[str] = ()) -> Kernel:
    """A verified kernel. Its body has %t (thread, i32), %tw (i64), %p (program, i64), and constants 0, 1, 2."""
    names = ", ".join(f"%{dim}" for dim in dims)
    start = f"%t: i32 = thread_id\n%tw: i64 = cast %t\n%p: i64 = program_id {{axis = 0}}\n{constants(0, 1, 2)}\n"
    kernel = parse_kernel(f"kernel @k({header}) dims({names}) thread {{threads = {threads}}} {{\n{start}{body}\n}}\n")
    verify(kernel)
    return kernel


def run(kernel: Kernel, grid: Sequence[int] = (1,), dims: dict[str, int] | None = None, *, check: bool = True,
        batch: int | None = None, **args: Any) -> Report:
    """Execute; unless `check` is false, nothing may be wrong."""
    report = execute(kernel, args, dims or {}, tuple(grid), batch=batch, max_steps=100_000)
    if check:
        assert report.findings == ()
    return report


def problems(report: Report) -> set[Problem]:
    return {finding.problem for finding in report.findings}


def without_barrier(kernel: Kernel, number: int) -> Kernel:
    """The kernel without its barrier `number`, in the order of the text."""
    seen = iter(range(1_000_000))

    def block(old: Block) -> Block:
        ops = []
        for op in old.ops:
            if op.name == "barrier" and next(seen) == number:
                continue
            ops.append(replace(op, blocks=tuple(block(b) for b in op.blocks)) if op.blocks else op)
        return Block(old.args, tuple(ops))

    return replace(kernel, body=block(kernel.body))


def barriers(kernel: Kernel) -> int:
    return sum(op.name == "barrier" for op in kernel.walk())
