"""What the compiler computes itself: values made of constants alone, so that no instruction is left of them.

An unrolled loop's index counts as a constant: after unrolling, every trip has its own.

    for %c0, %c8, %c1 {unroll = true} (%r: i32) {
      %at: i32 = mul %r, %c128          no instruction: 0, 128, 256, ...
      %e: i32 = add %at, %t             one: %t differs between threads
"""

from __future__ import annotations

from tilelang.ir.core import Block, Kernel
from tilelang.ir.thread_ops import THREAD_OPS

LAUNCH = ("stride", "num_programs")
"""Ops whose value is an argument of the launch, in the constant bank."""


def constant_values(kernel: Kernel) -> set[str]:
    """Names of the values that take neither a register nor an instruction: constants and arguments of the launch."""
    constants: set[str] = set()
    _visit(kernel.body, constants)
    arguments = {value.name for value in (*kernel.params, *kernel.dims)}
    arguments |= {result.name for op in kernel.walk() if op.name in LAUNCH for result in op.results}
    return constants | arguments


def _visit(block: Block, constants: set[str]) -> None:
    for op in block.ops:
        computable = op.operands and not op.blocks and THREAD_OPS[op.name].pure
        if op.name == "const" or (computable and all(value.name in constants for value in op.operands)):
            constants.update(result.name for result in op.results)
        if op.name == "for" and op.attrs.get("unroll"):
            constants.add(op.blocks[0].args[0].name)
        for inner in op.blocks:
            _visit(inner, constants)
