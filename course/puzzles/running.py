"""A learner's `.tile` file, run: on the interpreter for the values, on the machine model for the memory traffic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

import tilelang
from course.puzzles.cases import Arena, Case, arena
from course.puzzles.specs import Array
from course.puzzles.table import Puzzle
from course.puzzles.traffic import Moved, Recorder
from tilelang.diagnostics import CompileError, Diagnostic, Source
from tilelang.ir.core import Kernel
from tilelang.ir.interpreter import BATCH_ELEMENTS, StepLimitReached, TileAssertionError, interpret
from tilelang.machine import Problem, Report, execute
from tilelang.runtime.launch import Launch
from tilelang.semantics.types import TileType

STEPS = 20_000
"""Loop iterations that a run may take; right answers take some hundred."""
ELEMENTS = 1 << 25
"""Elements of the largest tile times programs; right answers have less than a million."""
WORK = 1 << 28
"""Steps times elements that are computed at a time: seconds, not hours."""

TOGETHER = 32
"""Programs that the machine model runs at a time."""

T = TypeVar("T")


class Wrong(AssertionError):
    """The kernel is not right; the message is for the learner."""


class NotStarted(Wrong):
    """The kernel's body is empty."""


@dataclass(frozen=True)
class Outcome:
    """One run: the output as it was left, and what the inputs held before."""

    case: Case
    arena: Arena
    before: Mapping[str, Array]

    @property
    def found(self) -> Array:
        return self.arena.view


class Attempt:
    """A learner's file for a puzzle. Raises NotStarted, or Wrong with the compiler's own messages."""

    def __init__(self, puzzle: Puzzle, path: Path):
        self.puzzle = puzzle
        try:
            self.program = tilelang.load(_as_seen_from_here(path))
            self.handle = self.program[puzzle.kernel]
        except OSError as error:
            raise Wrong(f"{path.name} cannot be read: {error.strerror or error}") from None
        except CompileError as error:
            raise Wrong(str(error)) from None
        if not self.handle.signature.kernel.body.body:
            raise NotStarted(f"not started: the body of `{puzzle.kernel}` in {path.name} is empty")
        self._check_parameters()

    @property
    def source(self) -> Source:
        return self.program.source

    def _check_parameters(self) -> None:
        """The grader passes the stub's parameters; grid and metas are the learner's own business."""
        solution = tilelang.load(self.puzzle.solution)[self.puzzle.kernel]
        expected, found = ([p.show() for p in handle.signature.params] for handle in (solution, self.handle))
        if expected != found:
            raise Wrong(
                f"the parameters of `{self.puzzle.kernel}` were changed, so it cannot be called\n"
                f"  expected: ({', '.join(expected)})\n  found:    ({', '.join(found)})\n"
                "  the grid, and what stands in [ ] behind the kernel's name, you may change"
            )

    # ------------------------------------------------------------------------------------ running

    def run(self, case: Case) -> Outcome:
        """The kernel on one case, on the interpreter. Raises Wrong if it cannot be run to its end."""
        output, inputs = arena(case), _inputs(case)
        before = {name: value.copy() for name, value in inputs.items() if isinstance(value, np.ndarray)}

        def go() -> None:
            launch = self.handle.prepare(**inputs, **{case.output: output.view}, device="reference")
            kernel, arguments, steps = _given(launch.compilation.optimized), launch.arguments, self._steps(launch, case)
            together = 1 if case.kind == "alone" else None
            interpret(kernel, arguments, launch.dims, launch.grid, output=_quiet, max_steps=steps, batch=together)  # type: ignore[arg-type]

        self._plainly(go, case)
        return Outcome(case, output, before)

    def measure(self) -> tuple[Outcome, Moved]:
        """The shape whose traffic counts, on the machine model. Raises Wrong if that finds a race."""
        dims = self.puzzle.traffic.dims
        case = Case(self.puzzle, "model", dims, self.puzzle.make(np.random.default_rng(0), **dims))
        output, inputs = arena(case), _inputs(case)
        plain = np.ascontiguousarray(output.view)  # traffic depends on strides: those of an array of its own

        def go() -> tuple[list[Report], Recorder]:
            launch = self.handle.prepare(**inputs, **{case.output: plain}, device="model")
            return _on_the_model(launch, self._steps(launch, case))

        reports, recorder = self._plainly(go, case)
        for report in reports:
            self._check_findings(report, case)
        output.view[...] = plain
        arrays = {**inputs, case.output: plain}
        sizes = {name: value.nbytes for name, value in arrays.items() if isinstance(value, np.ndarray)}
        ops = [op for op, _ in reports[0].ops] if reports else []
        return Outcome(case, output, {}), recorder.moved(ops, self.source, sizes)

    # ------------------------------------------------------------------------- what stops a kernel

    def _steps(self, launch: Launch, case: Case) -> int:
        """How many loop iterations the launch may take. Raises Wrong if even without loops it would take too long."""
        values = (value for op in _given(launch.compilation.optimized).walk() for value in op.results)
        tile = max((value.type.size for value in values if isinstance(value.type, TileType)), default=1)
        programs = math.prod(launch.grid)
        if tile * programs > ELEMENTS:
            raise Wrong(
                f"too much work for {case}: {programs:,} programs with tiles of {tile:,} elements, and {case.output} "
                f"has but {case.expected.size:,}\n"
                "  likely cause: tiles far larger than the tensor, or every program does the work of all"
            )
        return min(STEPS, WORK // max(1, min(tile * programs, max(BATCH_ELEMENTS, tile))))

    def _check_findings(self, report: Report, case: Case) -> None:
        for finding in report.findings:
            number = self.source.position(finding.span.start)[0]
            where = f"line {number}: {self.source.line(number).strip()}"
            if finding.problem is not Problem.GLOBAL_RACE:
                raise Wrong(_bug(f"{finding}; {where}"))
            raise Wrong(
                f"two threads of one program meet at one element of `{finding.array}`, for {case}\n  {where}\n"
                "  likely cause: two elements of a tile are stored to one place, and which stays is not decided;\n"
                "  let every element have a place of its own, or use `atomic_add`"
            )

    def _plainly(self, go: Callable[[], T], case: Case) -> T:
        """Run, and put whatever stops the kernel into words."""
        try:
            with np.errstate(all="ignore"):
                return go()
        except CompileError as error:
            raise Wrong(f"{error}\n  for {case}") from None
        except TileAssertionError as failed:
            program = ", ".join(map(str, failed.program))
            said = Diagnostic("E0590", f"assert failed: {failed.text}", failed.span, f"false in program ({program})")
            raise Wrong(f"{CompileError([said], self.source)}\n  for {case}") from None
        except Wrong:
            raise
        except StepLimitReached:
            raise Wrong(
                f"it does not come to an end, for {case}: stopped after thousands of steps of its loops\n"
                "  likely cause: a `while` whose condition never changes, or a `for` with a tiny step"
            ) from None
        except Exception as error:  # nothing else may come out of the compiler
            raise Wrong(_bug(f"{type(error).__name__}: {error}, for {case}")) from error


def _on_the_model(launch: Launch, steps: int) -> tuple[list[Report], Recorder]:
    """All programs, TOGETHER at a time, so that the recorder knows which is which."""
    kernel, arguments, recorder, reports = _given(launch.compilation.thread_ir), launch.arguments, Recorder(), []
    for first in range(0, math.prod(launch.grid), TOGETHER):
        ids = np.arange(first, min(first + TOGETHER, math.prod(launch.grid)), dtype=np.int64)
        recorder.first = first
        reports.append(
            execute(kernel, arguments, launch.dims, launch.grid, output=_quiet, max_steps=steps,  # type: ignore[arg-type]
                    batch=TOGETHER, programs=ids, watch=recorder.watch)
        )  # fmt: skip
    return reports, recorder


def _as_seen_from_here(path: Path) -> Path:
    """As short as a message should show it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _inputs(case: Case) -> dict[str, Array | float]:
    return {name: value for name, value in case.inputs.items() if name != case.output}


def _given(kernel: Kernel | None) -> Kernel:
    if kernel is None:
        raise ValueError("a kernel was prepared and not compiled")
    return kernel


def _bug(text: str) -> str:
    return f"this is a bug in the compiler, not in your kernel: {text}"


def _quiet(text: str, value: Array | None, program: tuple[int, ...]) -> None:
    """What the kernel prints is for `tilec run`, not for the grader."""
