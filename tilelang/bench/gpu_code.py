"""Figures of the machine code that the compiler, and Triton, make of one kernel. Nothing runs; no GPU is needed.

    .tile -> numba.cuda source -> PTX -> cubin ─┐
                                                ├─ nvdisasm -> `tilelang.runtime.sass` -> `Figures`
    Triton's kernel ------------------> cubin ─┘

A *step* is one trip of the kernel's loop as it is written, whatever the assemblers unroll: what stands in the loop of
the machine code is divided by the trips that it makes, which its tensor-core instructions tell. A kernel without a loop
is one step, all of it.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilelang
from tilelang.bench.gpu_cases import GpuCase
from tilelang.runtime import cuda_compile, sass
from tilelang.tiling.targets import TARGETS, Target

WORKER = Path(__file__).with_name("triton_worker.py")
WARP_GROUP = 4
"""Warps that do one HGMMA together."""
SECONDS = 600
"""How long Triton may take for all kernels."""


@dataclass(frozen=True)
class Figures:
    """Static figures of a kernel. `registers`: 32-bit, of a thread. `local`: instructions that access local memory,
    spilled registers first of all. `accesses`, `wide`: of global memory, in the whole kernel, and those among them that
    move 128 bits. Per step: `tensor` (tensor-core instructions), `copies` (LDGSTS), `matrices` (LDSM), `barriers`, and
    all `instructions`."""

    registers: int
    local: int
    accesses: int
    wide: int
    tensor: float
    copies: float
    matrices: float
    barriers: float
    instructions: float


@dataclass(frozen=True)
class Row:
    """One kernel for one target: this compiler's figures, and Triton's or why there are none."""

    case: GpuCase
    target: str
    ours: Figures
    triton: Figures | None = None
    missing: str = ""

    @property
    def ratio(self) -> float | None:
        """This compiler's instructions of a step to Triton's."""
        return self.ours.instructions / self.triton.instructions if self.triton else None


def figures(disassembly: str, warps: int, flops: int) -> Figures:
    """Of one kernel, as nvdisasm prints all of its cubin. `flops`: of the dots of a step, by all warps; 0: no loop."""
    code = sass.read(disassembly)
    everything = sass.whole(code)
    step = sass.main_loop(code) if flops else everything
    steps = _flops(step, warps) / flops if flops else 1.0

    def each(*kinds: str) -> float:
        return sass.count(step, *kinds) / steps if steps else 0.0

    accesses, wide = sass.wide(everything)
    return Figures(code.registers, sass.count(everything, "LDL", "STL"), accesses, wide, each(*sass.TENSOR_CORE),
                   each("LDGSTS"), each("LDSM"), each("BAR"), len(step) / steps if steps else 0.0)


def _flops(step: Iterable[sass.Instruction], warps: int) -> float:
    """Of the tensor cores, for all warps."""
    found = list(step)
    alone = [i for i in found if not i.kind.endswith("GMMA")]
    together = [i for i in found if i.kind.endswith("GMMA")]
    return sass.tensor_core_flops(alone) * warps + sass.tensor_core_flops(together) * warps / WARP_GROUP


def our_figures(case: GpuCase, target: Target) -> Figures:
    """Compile the course's kernel for a GPU that need not be there.

    Raises:
        CompileError: E0630, the extra `cuda` is not installed; or the kernel does not compile for the target.
    """
    program = tilelang.load(case.path)
    metas: dict[str, Any] = dict(case.metas)
    compiled = program[case.kernel].compile(*case.arguments, target=target.name, **metas)
    if compiled.cuda is None or compiled.thread_ir is None:
        raise TypeError(f"{case.name} was not compiled")
    ptx = cuda_compile.compile_ptx(compiled.cuda, compiled.thread_ir, target)
    return figures(cuda_compile.disassemble(cuda_compile.assemble(ptx, target)), case.warps, case.flops)


def triton_figures(cases: Iterable[tuple[GpuCase, Target]], python: str) -> list[Figures | str]:
    """Triton's figures for each, by the Python at this path; in their place, why there are none."""
    asked = list(cases)
    requests = "".join(json.dumps(case.triton_request(capability(target))) + "\n" for case, target in asked)
    try:
        done = subprocess.run([python, str(WORKER)], input=requests, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as failed:
        return [str(failed)] * len(asked)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if len(answers) != len(asked):
        last = done.stderr.strip().splitlines()[-1:] or [f"it ended with status {done.returncode}"]
        return [last[0]] * len(asked)
    return [_figures_of(case, answer) for (case, _), answer in zip(asked, answers, strict=True)]


def _figures_of(case: GpuCase, answer: dict) -> Figures | str:
    if answer["error"] is not None:
        return str(answer["error"])
    disassembly = cuda_compile.disassemble(base64.b64decode(answer["cubin"]))
    return figures(disassembly, case.warps, case.flops)


def capability(target: Target) -> int:
    """80 for sm_80."""
    if target.capability is None:
        raise ValueError(f"{target.name} has no machine code")
    return target.capability[0] * 10 + target.capability[1]


def report(cases: Iterable[GpuCase], targets: Iterable[str], python: str | None) -> list[Row]:
    """All rows; `python` None leaves Triton out."""
    wanted = [(case, TARGETS[name]) for name in targets for case in cases]
    rows = [Row(case, target.name, our_figures(case, target)) for case, target in wanted]
    if python is None:
        return rows
    others = triton_figures(wanted, python)
    return [Row(row.case, row.target, row.ours, other if isinstance(other, Figures) else None,
                other if isinstance(other, str) else "") for row, other in zip(rows, others, strict=True)]
