"""A teaching compiler for `.tile` kernels.

    import numpy as np, tilelang

    program = tilelang.load("course/kernels/softmax.tile")
    y = program["softmax"](np.random.randn(4, 1000).astype(np.float32))

Nothing heavy is imported before it is used, so that the command line starts fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilelang.diagnostics import CompileError, InternalError

if TYPE_CHECKING:
    from tilelang.runtime.devices import device_names
    from tilelang.runtime.program import KernelHandle, Launch, Program, compile, load

__all__ = ["CompileError", "InternalError", "KernelHandle", "Launch", "Program", "compile", "device_names", "load"]

_HOMES = {
    "KernelHandle": "tilelang.runtime.program",
    "Launch": "tilelang.runtime.program",
    "Program": "tilelang.runtime.program",
    "compile": "tilelang.runtime.program",
    "load": "tilelang.runtime.program",
    "device_names": "tilelang.runtime.devices",
}


def __getattr__(name: str) -> object:
    """Import the runtime at its first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tilelang' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
