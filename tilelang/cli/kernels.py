"""The kernel that a command line means, and what its header says about element types and shapes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from tilelang.cli.faults import Fault
from tilelang.cli.files import read_source
from tilelang.diagnostics import Diagnostic, InternalError, Source
from tilelang.driver import FRONT, Compilation, run
from tilelang.dtypes import DTYPES, DType
from tilelang.near import nearest
from tilelang.rendering import printable
from tilelang.semantics.constants import Value
from tilelang.semantics.evaluation import evaluate
from tilelang.semantics.mistakes import Mistake
from tilelang.semantics.names import Names
from tilelang.semantics.signature import signature
from tilelang.syntax import ast
from tilelang.syntax.limits import deep_trees

Setting = int | float | bool | str


@dataclass(frozen=True)
class Header:
    """One kernel of a file, its names looked up; nothing is specialised yet."""

    source: Source
    names: Names
    kernel: ast.KernelDef
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        return self.kernel.name.text

    @property
    def dims(self) -> tuple[str, ...]:
        """The named dims, in order of first appearance."""
        return tuple(self.names.dims[self.name])

    @property
    def metas(self) -> dict[str, ast.Meta]:
        return {meta.name.text: meta for meta in self.kernel.metas}

    @property
    def params(self) -> dict[str, ast.Param]:
        return {param.name.text: param for param in self.kernel.params}

    @property
    def outputs(self) -> list[str]:
        """The tensors that the kernel writes."""
        return [name for name, param in self.params.items() if param.mode != "in"]

    def signature(self) -> str:
        """The kernel's header on one line."""
        return signature(self.names, self.kernel).show()

    def element_type(self, param: ast.Param, settings: Mapping[str, object]) -> DType | None:
        """The element type of a parameter: its own, or the one its meta is set to or has as its default."""
        name = param.dtype.text
        if name in DTYPES:
            return DTYPES[name]
        meta = self.metas.get(name)
        if name in settings:
            return DTYPES.get(str(settings[name]))
        choices = (meta.default, *meta.choices) if meta is not None else ()
        named = next((c.text for c in choices if isinstance(c, ast.Name)), "")
        return DTYPES.get(named)

    def shape(
        self, param: ast.Param, dims: Mapping[str, int], settings: Mapping[str, Setting]
    ) -> tuple[int, ...] | None:
        """The extents of a tensor, None while a dim that they need is not known."""
        known: dict[str, Value] = dict(dims)
        with deep_trees():
            for name, meta in self.metas.items():
                value = settings.get(name, self._default(meta, known))
                if value is not None and not isinstance(value, str):
                    known[name] = value
            extents = [self._value(extent, known) for extent in param.dims or ()]
        if not all(type(extent) is int and extent >= 0 for extent in extents):
            return None
        return tuple(extent for extent in extents if isinstance(extent, int))

    def _default(self, meta: ast.Meta, known: Mapping[str, Value]) -> Value | None:
        default = meta.default if meta.default is not None else next(iter(meta.choices), None)
        return self._value(default, known) if default is not None else None

    def _value(self, expr: ast.Expr, known: Mapping[str, Value]) -> Value | None:
        try:
            return evaluate(expr, self.names.meanings, self.names.consts, known)
        except Mistake:
            return None


def locate(text: str) -> tuple[str, str | None]:
    """`FILE[:KERNEL]` taken apart. A file whose name has a colon is found as it is."""
    path, colon, kernel = text.rpartition(":")
    if not colon or os.path.exists(text) or not kernel.isidentifier():
        return text, None
    return path, kernel


def read_header(path: str, kernel: str | None) -> Header:
    """Read a file and look its names up.

    Raises:
        CompileError: the file cannot be read, has mistakes, or does not have exactly the kernel asked for.
    """
    source = read_source(path)
    front = run(Compilation(source, kernel), FRONT)
    if front.names is None:
        raise InternalError("cli", "the front end ended without names and without an error")
    return Header(source, front.names, _chosen(front.names, source, kernel), front.warnings)


def _chosen(names: Names, source: Source, asked: str | None) -> ast.KernelDef:
    """The kernel called `asked`, or the only one of the file."""
    kernels = {kernel.name.text: kernel for kernel in names.module.kernels}
    if asked in kernels:
        return kernels[asked]
    if asked is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    file = printable(source.name)
    notes = (f"kernels in the file: {', '.join(kernels) or 'none'}",)
    if asked is not None:
        near = nearest(asked, kernels)
        help = f"did you mean `{near}`?" if near else ""
        raise Fault("E0701", f"there is no kernel `{printable(asked)}` in {file}", notes=notes, help=help)
    if not kernels:
        raise Fault("E0701", f"there is no kernel in {file}", help="a file needs a kernel to be run")
    title = f"{file} has {len(kernels)} kernels, and it is not said which"
    raise Fault("E0701", title, notes=notes, help=f"name one: {file}:{next(iter(kernels))}")
