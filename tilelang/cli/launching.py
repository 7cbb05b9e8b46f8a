"""From what a command line gives to a launch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tilelang.cli.faults import USAGE, Fault
from tilelang.cli.kernels import Header
from tilelang.cli.terminal import show_diagnostics

if TYPE_CHECKING:
    from tilelang.cli.inputs import Inputs
    from tilelang.runtime.program import KernelHandle, Launch

OPTIONS = ("device", "tuned")
"""Words that a launch from Python takes beside the kernel's own names."""


def load_kernel(header: Header) -> KernelHandle:
    """The kernel, to be launched; shows the warnings about its program."""
    import tilelang

    program = tilelang.compile(header.source.text, header.source.name)
    show_diagnostics(header.warnings, header.source)
    return program[header.name]


def prepare(header: Header, inputs: Inputs, device: str, tuned: bool = True) -> Launch:
    """The launch, with all arguments bound and the outputs allocated.

    Raises:
        Fault: E0705, a dim or meta has the name of an option.
        CompileError: as `KernelHandle.prepare`.
    """
    kernel = load_kernel(header)
    by_name: dict[str, object] = {**inputs.dims, **inputs.settings}
    _check_names(by_name)
    return kernel.prepare(*positional(header, inputs), device=device, tuned=tuned, **by_name)


def positional(header: Header, inputs: Inputs) -> list[object]:
    """The arguments by position, so that a parameter may have any name; None leaves an output out."""
    return [inputs.arguments.get(name) for name in header.params]


def _check_names(names: Iterable[str]) -> None:
    for name in OPTIONS:
        if name in names:
            title = f"a dim or meta called `{name}` cannot be given by name"
            raise Fault("E0705", title, help="give it another name in the program", status=USAGE)
