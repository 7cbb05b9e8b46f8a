"""A random program in every way there is to run it; all must give what the independent evaluator says.

`reference` is the interpreter on the tile IR as built and as optimised, and for every third program after each pass;
`cpu` the machine code; `model` the machine model, for one target after another; `simulator` numba's CUDA simulator;
`ptx` NVIDIA's compiler, which only has to accept the program.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout

import numpy as np

import tilelang
from tests.corpus import assert_close, assert_identical
from tests.fuzzing.programs import Program
from tilelang.codegen.cuda import generate
from tilelang.diagnostics import CompileError, Sink, Source
from tilelang.ir.build import build
from tilelang.ir.core import Kernel
from tilelang.ir.host_types import from_numpy
from tilelang.ir.interpreter import interpret
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel
from tilelang.ir.verifier import verify
from tilelang.machine import execute
from tilelang.passes import optimize
from tilelang.runtime import cuda_compile
from tilelang.semantics.check import check_kernel
from tilelang.semantics.names import resolve
from tilelang.semantics.specialize import Binding, TensorFact, bind, signature
from tilelang.syntax.parsing import parse
from tilelang.tiling.lower import lower
from tilelang.tiling.targets import TARGETS

MAX_STEPS = 200_000
TARGET_NAMES = ("sm_80", "simulator", "sm_90", "sm_75")
Arrays = dict[str, np.ndarray]


class Run:
    """One program, compiled up to the optimised tile IR when that is first needed."""

    def __init__(self, program: Program, number: int = 0) -> None:
        self.program, self.number = program, number
        self.kernel, self.binding = compiled(program)
        self.expected, self.errors = program.expected()
        self._optimized: Kernel | None = None

    def optimized(self, observe: Callable[[str, Kernel], None] | None = None) -> Kernel:
        """The optimised kernel; an observer verifies what it sees."""
        if self._optimized is None:
            self._optimized = optimize(self.kernel, verify=observe is None, observe=observe)
        return self._optimized

    def after(self, kernel: Kernel, batch: int | None = None) -> Arrays:
        """The arguments after the interpreter has run the kernel."""
        arguments = self.program.arguments
        interpret(kernel, arguments, self.binding.dims, self.program.grid, max_steps=MAX_STEPS, batch=batch)
        return arguments

    def compare(self, found: Arrays, where: str) -> None:
        for name, expected in self.expected.items():
            if name in self.errors:
                _assert_near(found[name], expected, self.errors[name], f"{where}: {name}")
            else:
                assert_close(found[name], expected, 0.0, 0.0, f"{where}: {name}")


def compiled(program: Program) -> tuple[Kernel, Binding]:
    """The program's tile IR, as built. Raises CompileError: the generator should only make correct programs."""
    source, sink = Source(program.text, "fuzz.tile"), Sink()
    module = parse(source, sink)
    names = resolve(module, sink)
    kernel = module.kernels[0]
    facts = {name: TensorFact(from_numpy(array.dtype), array.shape) for name, array in program.values.items()}
    binding = bind(signature(names, kernel), facts, {}, sink)
    typed = None if binding is None else check_kernel(names, kernel, binding, sink)
    if sink.failed:
        raise CompileError(sink.diagnostics, source)
    return build(typed), binding


def reference(this: Run) -> None:
    verify(this.kernel)
    text = print_kernel(this.kernel)
    if this.number % 4 == 1:
        assert print_kernel(parse_kernel(text)) == text, "the IR's text does not survive parsing"
    found = this.after(this.kernel)
    this.compare(found, "interpreter")
    if this.number % 4 == 0:
        assert_identical(this.after(this.kernel, batch=1), found, "one by one")
    texts = {text}

    def observe(name: str, changed: Kernel) -> None:
        text = print_kernel(changed)
        if text not in texts:
            texts.add(text)
            verify(changed)
            if this.number % 3 == 0:
                same(name, changed)

    def same(name: str, changed: Kernel) -> None:
        after, exact = this.after(changed), {n: v for n, v in found.items() if n not in this.errors}
        assert_identical(after, exact, f"after {name}")
        this.compare(after, f"after {name}")

    this.optimized(observe)
    if len(texts) > 1 and this.number % 3:
        same("the passes", this.optimized())


def model(this: Run) -> None:
    target = TARGET_NAMES[this.number // 2 % len(TARGET_NAMES)]
    sink = Sink()
    thread = lower(this.optimized(), TARGETS[target], sink)
    assert not sink.diagnostics, sink.diagnostics
    verify(thread)
    arguments = this.program.arguments
    report = execute(thread, arguments, this.binding.dims, this.program.grid, max_steps=MAX_STEPS)
    assert not report.findings, f"model of {target}: {report.findings[0]}"
    this.compare(arguments, f"model of {target}")


def _call(this: Run, device: str) -> None:
    """As a user runs it."""
    arguments = this.program.arguments
    with redirect_stdout(io.StringIO()):
        tilelang.compile(this.program.text, "fuzz.tile")["k"](**arguments, device=device)
    this.compare(arguments, device)


def ptx(this: Run) -> None:
    target = TARGETS[("sm_80", "sm_90")[this.number // EVERY["ptx"] % 2]]
    thread = lower(this.optimized(), target, Sink())
    text = cuda_compile.compile_ptx(generate(thread, target, Source(this.program.text)), thread, target)
    cuda_compile.ptxas_report(text, target)


DEVICES: dict[str, Callable[[Run], None]] = {
    "reference": reference, "model": model, "cpu": lambda this: _call(this, "cpu"),
    "simulator": lambda this: _call(this, "simulator"), "ptx": ptx,
}  # fmt: skip
EVERY = {"reference": 1, "model": 2, "cpu": 8, "simulator": 400, "ptx": 400}
"""One program in how many is run there, for the sake of time."""


def check(program: Program, number: int = 0, devices: tuple[str, ...] = ("reference",)) -> None:
    """Raise an exception, whose text begins with where, if anything is wrong."""
    this = Run(program, number)
    for device in devices:
        DEVICES[device](this)


def _assert_near(got: np.ndarray, want: np.ndarray, allowed: np.ndarray, what: str) -> None:
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(got - want) <= allowed
    wrong = ~(near | (got == want) | (np.isnan(got) & np.isnan(want)) | np.isinf(allowed))
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise AssertionError(f"{what}{list(at)}: got {got[at]!r}, expected {want[at]!r} ± {allowed[at]:.1e}")
