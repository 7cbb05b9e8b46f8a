"""The compiler as one ordered tuple of stages. Run all, stop after any, look between, replace any.

A `Compilation` is what is known so far; a stage fills in one field from the fields before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from tilelang.diagnostics import CompileError, Diagnostic, InternalError, Sink, Source

if TYPE_CHECKING:
    from tilelang.ir.core import Kernel
    from tilelang.semantics.names import Names
    from tilelang.semantics.specialize import Binding
    from tilelang.semantics.typed import TypedKernel
    from tilelang.syntax import ast
    from tilelang.syntax.lexing import Token
    from tilelang.tiling.targets import Target

T = TypeVar("T")


@dataclass(frozen=True)
class Compilation:
    """Everything the stages pass on. The first five fields are given; each stage fills in its own.

    `facts`: attributes that a launch adds to the kernel for the stages of a GPU, see `tilelang.memory.axis`.
    """

    source: Source
    kernel: str | None = None
    binding: Binding | None = None
    target: Target | None = None
    facts: tuple[tuple[str, int], ...] = ()

    tokens: list[Token] | None = None
    module: ast.Module | None = None
    names: Names | None = None
    typed: TypedKernel | None = None
    tile_ir: Kernel | None = None
    optimized: Kernel | None = None
    laid_out: Kernel | None = None
    thread_ir: Kernel | None = None
    cuda: str | None = None
    cpu: str | None = None

    warnings: tuple[Diagnostic, ...] = ()
    seconds: tuple[tuple[str, float], ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Stage:
    """One step: `run(compilation, sink)` gives the value of field `name`."""

    name: str
    does: str
    run: Callable[[Compilation, Sink], object]


def _given(value: T | None) -> T:
    """`value`, which an earlier stage has filled in."""
    if value is None:
        raise InternalError("driver", "a stage was run before one that it needs")
    return value


def _lex(c: Compilation, sink: Sink) -> object:
    from tilelang.syntax.lexing import lex

    return lex(c.source, Sink())  # the parser lexes too, and reports malformed tokens with its own errors


def _parse(c: Compilation, sink: Sink) -> object:
    from tilelang.syntax.parsing import parse

    return parse(c.source, sink)


def _names(c: Compilation, sink: Sink) -> object:
    from tilelang.semantics.names import resolve

    return resolve(_given(c.module), sink)


def _types(c: Compilation, sink: Sink) -> object:
    from tilelang.semantics.check import check_kernel

    return check_kernel(_given(c.names), chosen_kernel(c), _given(c.binding), sink)


def _build(c: Compilation, sink: Sink) -> object:
    from tilelang.ir.build import build

    return build(_given(c.typed))


def _optimize(c: Compilation, sink: Sink) -> object:
    from tilelang.passes import optimize

    return optimize(_given(c.tile_ir))


def _lay_out(c: Compilation, sink: Sink) -> object:
    from tilelang.tiling.laying_out import lay_out

    kernel = _given(c.optimized)
    return lay_out(replace(kernel, attrs={**kernel.attrs, **dict(c.facts)}), _given(c.target))


def _lower(c: Compilation, sink: Sink) -> object:
    from tilelang.tiling.lower import to_threads

    return to_threads(_given(c.laid_out), _given(c.target), sink)


def _cuda(c: Compilation, sink: Sink) -> object:
    from tilelang.codegen.cuda import generate

    return generate(_given(c.thread_ir), _given(c.target), c.source)


def _cpu(c: Compilation, sink: Sink) -> object:
    from tilelang.codegen.cpu import generate

    return generate(_given(c.optimized), c.source)


FRONT = (
    Stage("tokens", "text to tokens", _lex),
    Stage("module", "tokens to a syntax tree", _parse),
    Stage("names", "every name to what it means", _names),
)
MIDDLE = (
    Stage("typed", "every expression to its type, metas and dims bound", _types),
    Stage("tile_ir", "typed tree to tile IR", _build),
    Stage("optimized", "tile IR to better tile IR", _optimize),
)
GPU = (
    Stage("laid_out", "tiles to layouts", _lay_out),
    Stage("thread_ir", "tiles to threads and memories", _lower),
    Stage("cuda", "thread IR to numba.cuda source", _cuda),
)
CPU = (
    Stage("cpu", "tile IR to numba CPU source", _cpu),
)


def run(compilation: Compilation, stages: Iterable[Stage], *, until: str | None = None,
        observe: Callable[[Stage, Compilation], None] | None = None) -> Compilation:
    """Run `stages` in order, up to and including the one named `until`.

    `observe` is called after each stage. A stage whose value is there already is not run again. Raises CompileError
    with all the errors of the first stage that reported any; warnings are kept on the result.
    """
    for stage in stages:
        if getattr(compilation, stage.name) is None:
            compilation = _run_stage(compilation, stage)
        if observe:
            observe(stage, compilation)
        if stage.name == until:
            break
    return compilation


def _run_stage(compilation: Compilation, stage: Stage) -> Compilation:
    sink, start = Sink(), time.perf_counter()
    try:
        value = stage.run(compilation, sink)
    except CompileError as error:
        error.source = error.source or compilation.source  # a stage that sees no text cannot name it
        raise
    spent = (stage.name, time.perf_counter() - start)
    if sink.failed:
        raise CompileError(sink.diagnostics, compilation.source)
    result: dict[str, Any] = {stage.name: value}
    return replace(compilation, **result, warnings=(*compilation.warnings, *sink.diagnostics),
                   seconds=(*compilation.seconds, spent))


def chosen_kernel(compilation: Compilation) -> ast.KernelDef:
    """The kernel asked for, or the only one of the file. Raises CompileError if that is not one kernel."""
    kernels = {k.name.text: k for k in _given(compilation.module).kernels}
    names = ", ".join(kernels) or "none"
    if compilation.kernel is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if compilation.kernel in kernels:
        return kernels[compilation.kernel]
    asked = (f"there is no kernel `{compilation.kernel}`" if compilation.kernel
             else "which kernel? the file does not have exactly one")
    raise CompileError([Diagnostic("E0701", f"{asked} in {compilation.source.name}",
                                   notes=(f"kernels in the file: {names}",), help="name one: FILE:KERNEL")],
                       compilation.source)
