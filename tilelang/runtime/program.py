"""From Python: a `.tile` file as an object, its kernels as functions on arrays.

program = tilelang.load("softmax.tile")
y = program["softmax"](x)                                   # outputs left out are allocated and returned
program["softmax"](x, y, BLOCK=2048, device="reference")    # or written where they should go
program.tune("matmul", a, b)                                # later calls are faster
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilelang.diagnostics import CompileError, Diagnostic, InternalError, Sink, Source
from tilelang.driver import FRONT, Compilation, chosen_kernel, run
from tilelang.near import nearest
from tilelang.runtime.kernel import KernelHandle
from tilelang.runtime.launch import Launch

if TYPE_CHECKING:
    from tilelang.runtime.tuning.result import TuningResult

__all__ = ["KernelHandle", "Launch", "Program", "compile", "load"]


def load(path: str | os.PathLike[str]) -> Program:
    """The program in a `.tile` file.

    Raises:
        OSError: the file cannot be read.
        CompileError: its text is not a program.
    """
    from tilelang.syntax.lexing import read_source

    sink = Sink()
    source = read_source(Path(path), os.fspath(path), sink)
    if sink.failed:
        raise CompileError(sink.diagnostics, source)
    return Program(source)


def compile(text: str, name: str = "<text>") -> Program:
    """The program in `text`; messages call it `name`. Raises CompileError."""
    return Program(Source(text, name))


class Program:
    """A `.tile` file, its names looked up; kernels are compiled when they are called, for the arguments they get.

    `program["softmax"]` is a kernel; iterating gives their names, in the order of the file. `warnings` holds
    what the compiler has to say about the text so far.
    """

    def __init__(self, source: Source):
        self.source = source
        self.front = run(Compilation(source), FRONT)
        self.warnings = self.front.warnings
        if self.front.module is None:
            raise InternalError("runtime", "the front end ended without a module and without an error")
        self.kernels: tuple[str, ...] = tuple(kernel.name.text for kernel in self.front.module.kernels)
        self._handles: dict[str, KernelHandle] = {}

    def __getitem__(self, name: str) -> KernelHandle:
        """The kernel called `name`. Raises CompileError (E0701) if there is none."""
        handle = self._handles.get(name) if isinstance(name, str) else None
        if handle is None:
            if name not in self.kernels:
                raise self._no_kernel(name)
            front = Compilation(**{**vars(self.front), "kernel": name})
            handle = self._handles[name] = KernelHandle(front, chosen_kernel(front))
        return handle

    def tune(self, kernel: str, /, *args: object, **keywords: Any) -> TuningResult:
        """Find the fastest metas of a kernel for these arguments; see `KernelHandle.tune`."""
        return self[kernel].tune(*args, **keywords)

    def _no_kernel(self, name: object) -> CompileError:
        guess = nearest(name, self.kernels) if isinstance(name, str) else None
        listed = ", ".join(self.kernels) or "none"
        return CompileError(
            [
                Diagnostic(
                    "E0701",
                    f"there is no kernel `{name}` in {self.source.name}",
                    notes=(f"kernels in the file: {listed}",),
                    help=f"did you mean `{guess}`?" if guess else "",
                )
            ],
            self.source,
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __contains__(self, name: object) -> bool:
        return name in self.kernels

    def __repr__(self) -> str:
        return f"<tile program {self.source.name}: {', '.join(self.kernels) or 'no kernels'}>"
