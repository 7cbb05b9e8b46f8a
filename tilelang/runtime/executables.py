"""Compiled kernels as something to call: one function for each kind of device.

An executable runs one launch and returns when the outputs hold the results. It raises `AssertFailed` for a failed
`assert`, and hands what the kernel prints to `output`, in the order of programs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from tilelang.diagnostics import InternalError, Span
from tilelang.driver import Compilation
from tilelang.ir.batch import PrintSink, TileAssertionError
from tilelang.runtime.address_space import IMPORT_ROOM, simulator_room, want_process, want_room
from tilelang.runtime.arrays import Argument
from tilelang.runtime.log import Report, new_log, sites

T = TypeVar("T")


class Executable(Protocol):
    """`arguments` by parameter name, none missing; `dims` with the hidden ones; `grid` has no extent of 0."""

    def __call__(
        self, arguments: Mapping[str, Argument], dims: Mapping[str, int], grid: tuple[int, ...], output: PrintSink
    ) -> None: ...


class AssertFailed(Exception):
    """An `assert` of the kernel was false in `program` (its ids, one for each grid axis)."""

    def __init__(self, program: tuple[int, ...], text: str, span: Span):
        self.program, self.text, self.span = program, text, span
        super().__init__(f"program {program}: {text}")


class OutOfMemory(Exception):
    """The system had no memory for what programs need beside their arguments."""


class RaceFound(Exception):
    """Two elements of one store went to one place of `tensor`: the `.tile` program leaves open which stays."""

    def __init__(self, program: tuple[int, ...], tensor: str, span: Span):
        self.program, self.tensor, self.span = program, tensor, span
        super().__init__(f"program {program}: {tensor}")


def reference(compilation: Compilation) -> Executable:
    """The optimised tile IR on the interpreter."""
    from tilelang.ir.interpreter import interpret

    kernel = _there(compilation.optimized)

    def launch(arguments, dims, grid, output):  # type: ignore[no-untyped-def]
        _with_asserts(lambda: interpret(kernel, arguments, dims, grid, output=output))

    return launch


def model(compilation: Compilation) -> Executable:
    """The thread IR, all threads at once, on the model of a GPU. What it finds wrong is a bug of the compiler."""
    from tilelang.machine import Problem, execute

    kernel = _there(compilation.thread_ir)

    def launch(arguments, dims, grid, output):  # type: ignore[no-untyped-def]
        report = _with_asserts(lambda: execute(kernel, arguments, dims, grid, output=output))
        for finding in report.findings:
            if finding.problem is Problem.GLOBAL_RACE and finding.other in (None, finding.op):
                raise RaceFound(finding.program, finding.array or "", finding.span)
        if report.findings:
            found = "\n".join(str(finding) for finding in report.findings[:20])
            raise InternalError("lowering to threads", f"{len(report.findings)} faults in {kernel.name}", found)

    return launch


def cpu(compilation: Compilation) -> Executable:
    """numba's machine code, on all cores."""
    if "numba" not in sys.modules:
        want_room(IMPORT_ROOM, "loading numba")
    from tilelang.runtime.cpu import compile
    from tilelang.runtime.cpu_trouble import NoScratch

    compiled = compile(_there(compilation.cpu), _there(compilation.optimized))

    def launch(arguments, dims, grid, output):  # type: ignore[no-untyped-def]
        try:
            report = compiled.launch(arguments, dims, grid)
        except NoScratch:
            raise OutOfMemory from None
        if report is not None:
            deliver(report, output)

    return launch


def simulator(compilation: Compilation) -> Executable:
    """The CUDA source on numba's simulator, in a process of its own."""
    from tilelang.runtime.log import decode
    from tilelang.runtime.simulator import run

    source, kernel = _there(compilation.cuda), _there(compilation.thread_ir)
    found = sites(_there(compilation.optimized))
    want_process(simulator_room(int(kernel.attrs["threads"])), "numba's simulator")  # type: ignore[arg-type]

    def launch(arguments, dims, grid, output):  # type: ignore[no-untyped-def]
        log = new_log(found)
        run(source, kernel, arguments, dims, grid, log=log)
        deliver(decode(log, found, grid), output)

    return launch


def gpu(number: int) -> Callable[[Compilation], Executable]:
    """The CUDA source on GPU `number`."""

    def load(compilation: Compilation) -> Executable:
        from tilelang.runtime.gpu import launch as run
        from tilelang.runtime.log import decode

        source, kernel = _there(compilation.cuda), _there(compilation.thread_ir)
        found = sites(_there(compilation.optimized))

        def launch(arguments, dims, grid, output):  # type: ignore[no-untyped-def]
            log = new_log(found)
            run(source, kernel, arguments, dims, grid, log=log, device=number)
            deliver(decode(log, found, grid), output)

        return launch

    return load


def deliver(report: Report, output: PrintSink) -> None:
    """Hand on what a launch printed, up to the program whose assert failed; then raise AssertFailed for that."""
    last = None if report.failure is None else _turn(report.failure.program)
    for entry in sorted(report.printed, key=lambda entry: _turn(entry.program)):
        if last is None or _turn(entry.program) <= last:
            output(entry.site.text, entry.value, entry.program)
    if report.dropped:
        output(f"... and {report.dropped} more values, for which the print buffer had no room", None, ())
    if report.failure is not None:
        failure = report.failure
        raise AssertFailed(failure.program, failure.site.text, failure.site.span)


def _turn(program: tuple[int, ...]) -> tuple[int, ...]:
    """Sorts programs in their order, axis 0 fastest."""
    return program[::-1]


def _with_asserts(run: Callable[[], T]) -> T:
    try:
        return run()
    except TileAssertionError as failed:
        raise AssertFailed(failed.program, failed.text, failed.span) from None


def _there(stage: T | None) -> T:
    """What a stage left; every stage that a device needs has run before."""
    if stage is None:
        raise InternalError("runtime", "a device was given a kernel that is not compiled for it")
    return stage
