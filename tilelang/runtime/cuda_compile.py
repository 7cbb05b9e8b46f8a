"""numba.cuda source -> PTX -> what ptxas says of it -> SASS. No GPU needed, only the extra `cuda`.

The tools come from NVIDIA's wheels, never from PATH: an older ptxas does not read newer PTX. Who knows better sets
TILEC_CUDA_TOOLS.
"""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilelang.codegen.cuda import function_name
from tilelang.codegen.cuda_signature import Parameter, parameters
from tilelang.diagnostics import CompileError, Diagnostic
from tilelang.dtypes import BF16, F16
from tilelang.ir.core import Kernel
from tilelang.runtime.generated import define
from tilelang.tiling.targets import Target

TOOLS_MISSING = "E0630"
TOOLS = "TILEC_CUDA_TOOLS"
"""The environment variable that names a folder with `ptxas` and `nvdisasm` to use instead of the wheels'."""
INSTALL = "pip install 'tile-course[cuda]'"
SECONDS = 300
"""How long ptxas and nvdisasm may take."""


@dataclass(frozen=True)
class Resources:
    """What ptxas reports for one thread: 32-bit registers, bytes spilled, bytes of local memory (stack); for one
    block: bytes of static shared memory."""

    registers: int
    spills: int
    shared: int
    local: int


def tool(name: str) -> Path:
    """The path of `ptxas` or `nvdisasm`: in the folder that TILEC_CUDA_TOOLS names, else in the installed wheels.

    Raises:
        CompileError: E0630, the extra `cuda` is not installed.
    """
    chosen = os.environ.get(TOOLS)
    if chosen:
        if (Path(chosen) / name).is_file():
            return Path(chosen) / name
        raise _missing(f"there is no `{name}` in {chosen}, the folder that {TOOLS} names")
    roots = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    for root in dict.fromkeys(map(Path, roots)):
        found = sorted(root.glob(f"nvidia/cu*/bin/{name}")) + sorted(root.glob(f"nvidia/cuda_nvcc/bin/{name}"))
        if found:
            return found[-1]
    raise _missing(f"`{name}` is not installed")


def _missing(what: str) -> CompileError:
    return CompileError([Diagnostic(TOOLS_MISSING, f"the CUDA toolkit is needed for this, and {what}",
                                    help=f"install it as Python wheels, no GPU needed: {INSTALL}")])


def argument_types(kernel: Kernel) -> tuple:
    """numba's types of the generated function's parameters."""
    return tuple(numba_type(parameter) for parameter in parameters(kernel))


def numba_type(parameter: Parameter) -> Any:
    types = _numba_types()
    names = {"bool": "boolean", "f32": "float32", "f64": "float64"}
    dtype, kind = parameter.dtype, parameter.kind
    if dtype in (F16, BF16):
        element = types.uint16 if kind == "tensor" else types.float32
    else:
        sign = "int" if dtype.is_signed else "uint"
        element = getattr(types, names.get(dtype.name, f"{sign}{dtype.bits}"))
    return types.Array(element, 1, "C") if kind in ("tensor", "log") else element


def compile_ptx(cuda_source: str, thread_kernel: Kernel, target: Target) -> str:
    """PTX for `target.architecture`.

    Raises:
        CompileError: E0630, the extra `cuda` is not installed.
    """
    from cuda.pathfinder import DynamicLibNotFoundError
    from numba import cuda

    function: Callable = define(cuda_source, function_name(thread_kernel))
    try:
        ptx, _ = cuda.compile_ptx(function, signature(thread_kernel), cc=target.architecture, lineinfo=False)
    except (ImportError, OSError, DynamicLibNotFoundError) as absent:
        said = str(absent).partition("\n")[0]
        raise _missing(f"numba.cuda cannot find NVIDIA's compiler ({said})") from absent
    return ptx


def signature(kernel: Kernel) -> Any:
    """numba's type of the generated function."""
    return _numba_types().void(*argument_types(kernel))


def _numba_types() -> Any:
    """numba's element types; its module fills itself at run time, so type checkers see nothing in it."""
    from numba.cuda import types

    return types


def ptxas_report(ptx: str, target: Target) -> Resources:
    """Assemble PTX and read ptxas's account of the (one) kernel in it."""
    with tempfile.TemporaryDirectory() as folder:
        report = _assemble(ptx, target, Path(folder))
    return Resources(registers=_number(r"Used (\d+) registers", report),
                     spills=_number(r"(\d+) bytes spill stores", report),
                     shared=_number(r"(\d+) bytes smem", report),
                     local=_number(r"(\d+) bytes stack frame", report))


def sass(ptx: str, target: Target) -> str:
    """The machine code of PTX, disassembled."""
    return disassemble(assemble(ptx, target), "-c")


def assemble(ptx: str, target: Target) -> bytes:
    """The machine code of PTX: a cubin, which is an ELF file."""
    with tempfile.TemporaryDirectory() as folder:
        _assemble(ptx, target, Path(folder))
        return (Path(folder) / "kernel.cubin").read_bytes()


def disassemble(cubin: bytes, *options: str) -> str:
    """What nvdisasm prints of a cubin: code, and unless `-c` says otherwise all that stands beside it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.cubin").write_bytes(cubin)
        return _run([str(tool("nvdisasm")), *options, str(Path(folder) / "kernel.cubin")]).stdout


def _assemble(ptx: str, target: Target, folder: Path) -> str:
    """Leaves `kernel.cubin` in `folder`; returns what ptxas said."""
    (folder / "kernel.ptx").write_text(ptx)
    done = _run([str(tool("ptxas")), f"-arch={target.name}", "-v", str(folder / "kernel.ptx"), "-o",
                 str(folder / "kernel.cubin")])
    return done.stderr + done.stdout


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0
