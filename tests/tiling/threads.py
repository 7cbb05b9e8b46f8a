"""Helpers: tile IR text, lowered and run in numba's simulator, compared with the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilelang.codegen.cuda import generate
from tilelang.diagnostics import Sink, Source
from tilelang.ir.core import Kernel, Op
from tilelang.ir.interpreter import interpret
from tilelang.ir.parser import parse_kernel
from tilelang.ir.verifier import verify
from tilelang.runtime import simulator
from tilelang.tiling.lower import lower
from tilelang.tiling.targets import TARGETS

SIMULATOR = TARGETS["simulator"]
GPU = TARGETS["sm_80"]


def tile_kernel(header: str, body: str, dims: Sequence[str] = (), warps: int = 1) -> Kernel:
    names = ", ".join(f"%{d}" for d in dims)
    kernel = parse_kernel(f"kernel @k({header}) dims({names}) tile {{warps = {warps}}} {{\n{body}\n}}\n")
    verify(kernel)
    return kernel


def lowered(kernel: Kernel, target=GPU) -> Kernel:
    """The verified thread kernel; lowering must report nothing."""
    sink = Sink()
    thread = lower(kernel, target, sink)
    assert not sink.diagnostics, sink.diagnostics
    verify(thread)
    return thread


def simulate(thread: Kernel, args: Mapping[str, object], dims: Mapping[str, int] | None = None,
             grid: Sequence[int] = (1,), *, backwards: bool = False) -> dict[str, object]:
    """Run on copies of the arrays; returns all arguments as they are afterwards."""
    mine = {name: value.copy("K") if isinstance(value, np.ndarray) else value for name, value in args.items()}
    source = generate(thread, SIMULATOR, Source("", "test.tile"))
    simulator.run(source, thread, mine, dims or {}, grid, backwards=backwards, seconds=120)
    return mine


def agree(kernel: Kernel, args: Mapping[str, object], dims: Mapping[str, int] | None = None,
          grid: Sequence[int] = (1,), *, targets: Sequence = (SIMULATOR, GPU), rtol: float = 1e-5) -> None:
    """The simulator, in both orders of threads, gives what the interpreter gives."""
    wanted = {name: value.copy("K") if isinstance(value, np.ndarray) else value for name, value in args.items()}
    interpret(kernel, wanted, dims or {}, tuple(grid))
    for target in targets:
        thread = lowered(kernel, target)
        for backwards in (False, True):
            got = simulate(thread, args, dims, grid, backwards=backwards)
            for name, value in wanted.items():
                compare(got[name], value, rtol, f"{name} on {target.name}{' backwards' * backwards}")


def compare(got, wanted, rtol: float, what: str) -> None:
    if not isinstance(wanted, np.ndarray):
        return
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(got, wanted, what)
    else:
        wide = got.astype(np.float64), wanted.astype(np.float64)
        np.testing.assert_allclose(*wide, rtol=rtol, atol=rtol, err_msg=what)


def names(kernel: Kernel) -> list[str]:
    """The names of all ops, in order."""
    return [op.name for op in kernel.walk()]


def without_barrier(kernel: Kernel, number: int) -> Kernel:
    """The kernel with its barrier number `number` deleted."""
    count = -1

    def swept(block):
        nonlocal count
        ops: list[Op] = []
        for op in block.ops:
            if op.name == "barrier":
                count += 1
                if count == number:
                    continue
            ops.append(replace(op, blocks=tuple(swept(b) for b in op.blocks)))
        return replace(block, ops=tuple(ops))

    return replace(kernel, body=swept(kernel.body))
