"""Before and after, in IR text: what a pass makes of a kernel's body."""

from __future__ import annotations

import textwrap

from tilelang.ir.core import Kernel
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel
from tilelang.ir.verifier import verify
from tilelang.passes import Pass

HEADER = """\
kernel @k(%x: in f32[%M, 8], %v: in f32[%N], %y: inout f32[%N], %z: out f32[%M, 8], %h: inout i32[16], %i: in i32[%N],
          %s: f32, %n: i32, %b: bool) dims(%M, %N) tile {grid.0 = "M", grid.1 = 3} {
"""


def kernel(body: str) -> Kernel:
    """A verified kernel with this body; its parameters are those of `HEADER`."""
    parsed = parse_kernel(HEADER + textwrap.dedent(body) + "\n}\n")
    verify(parsed)
    return parsed


def body_of(of: Kernel) -> str:
    """The ops as text, without the header, not indented."""
    lines = print_kernel(of).splitlines()[1:-1]
    return textwrap.dedent("\n".join(lines)).strip()


def check(run: Pass, before: str, after: str) -> None:
    """The pass turns the first body into the second."""
    result = run(kernel(before))
    verify(result)
    assert body_of(result) == body_of(kernel(after))


def unchanged(run: Pass, body: str) -> None:
    """The pass refuses to touch this body."""
    check(run, body, body)
