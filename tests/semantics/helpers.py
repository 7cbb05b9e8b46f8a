"""Checking small programs in tests."""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.diagnostics import Diagnostic, Sink, Source
from tilelang.semantics.check import check_module
from tilelang.semantics.names import Names, resolve
from tilelang.semantics.typed import TypedKernel
from tilelang.syntax.parsing import parse


@dataclass(frozen=True)
class Checked:
    source: Source
    names: Names
    kernels: list[TypedKernel]
    diagnostics: list[Diagnostic]

    @property
    def codes(self) -> list[str]:
        return [d.code for d in self.diagnostics]

    @property
    def kernel(self) -> TypedKernel:
        """The only kernel of a program that has no mistakes."""
        assert self.codes == [], [f"{d.code}: {d.title}" for d in self.diagnostics]
        (kernel,) = self.kernels
        return kernel

    def found(self) -> list[tuple[str, int]]:
        """(code, line) of every message, by line."""
        places = [(d.code, self.source.position(d.span.start)[0]) for d in self.diagnostics if d.span]
        return sorted(places, key=lambda place: (place[1], place[0]))


def check(text: str) -> Checked:
    """All that names and types have to say about a program, which must parse."""
    source, sink = Source(text, "test.tile"), Sink()
    module = parse(source, sink)
    assert not sink.diagnostics, [f"{d.code}: {d.title}" for d in sink.diagnostics]
    names = resolve(module, sink)
    kernels = check_module(names, sink)
    return Checked(source, names, kernels, sink.diagnostics)


def check_body(
    body: str, header: str = "x: f32[N], n: i32[N], s: f32, out y: f32[N], inout z: i32[N]", before: str = ""
) -> Checked:
    """A kernel with this body, over `B = 16`."""
    return check(f"{before}\nkernel k[_B = 16]({header}) grid (N) {{\n{body}\n}}\n")


def type_of(expression: str, before: str = "") -> str:
    """The type that `let v = expression;` gives `v`, as text."""
    header = (
        "x: f32[N], n: i32[N], u: u32[N], h: f16[N], d: f64[N], s: f32, w: f32[M, N], out y: f32[N], inout z: i32[N]"
    )
    kernel = check_body(f"let _v = {expression};", header, before).kernel
    (statement,) = kernel.body
    return str(statement.vars[0].type)
