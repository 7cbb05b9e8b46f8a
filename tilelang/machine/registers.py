"""How many registers a thread needs: an estimate from the thread IR, before NVIDIA's assembler decides.

Registers hold what is computed and still needed: at every op the live values are counted, and the peak taken.

    %a = global.load ...      live: a                1
    %b = mul %a, %a           live: a, b             2
    %c = add %a, %b           live: c                1 (a and b end here)

A 64-bit value takes two registers, a narrow one a whole one. `local` arrays are live from where they are made to the
end. Free are: constants and launch parameters (dims, strides, addresses: they are in the constant bank), booleans
(predicates), and what is computed from these alone in an unrolled loop. Loads of an unrolled loop are started
together, to wait for memory once: each has a register. `OVERHEAD` stands for addresses and temporaries.

Of ten of the course's kernels (sm_80), the estimate is 0.8 to 1.25 times what ptxas takes for eight, and half of it
for two (`cumsum`, `softmax_wide`) where ptxas starts loads much earlier. `tilec profile --ptxas` asks ptxas itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilelang.dtypes import DType
from tilelang.ir.core import Attr, Block, Kernel, LocalType, Op, SharedType, TensorType, Value
from tilelang.ir.liveness import Deaths, last_uses
from tilelang.machine.constants import constant_values

OVERHEAD = 10
IN_FLIGHT = 8
"""Loads of an unrolled loop that are started before the first is needed."""

MOST = 255
"""The architecture's limit for one thread; what does not fit is spilled."""


def estimate_registers(kernel: Kernel) -> int:
    """32-bit registers of one thread."""
    numbers = {op.result.name: op.attrs["value"] for op in kernel.walk() if op.name == "const"}
    return min(MOST, OVERHEAD + _peak(kernel.body, _Facts(last_uses(kernel.body), constant_values(kernel), numbers)))


def registers_of(dtype: DType) -> int:
    """Registers that one value of this type takes."""
    return 0 if dtype.is_bool else max(1, dtype.bits // 32)


@dataclass(frozen=True)
class _Facts:
    """Where values end, which of them are free, and the constants' numbers."""

    deaths: Deaths
    free: set[str]
    numbers: Mapping[str, Attr]


def _peak(block: Block, facts: _Facts) -> int:
    sizes = {arg.name: _size(arg, facts.free) for arg in block.args}
    live = peak = sum(sizes.values())
    dying = facts.deaths[id(block)]
    for place, op in enumerate(block.ops):
        dead = dying.get(place, ())
        peak = max([peak, *(live + _peak(inner, facts) + _in_flight(op, facts) for inner in op.blocks)])
        for result in op.results:
            sizes[result.name] = _size(result, facts.free)
            live += sizes[result.name]
        peak = max(peak, live - _reused(op, dead, sizes))
        live -= sum(sizes.get(name, 0) for name in dead if not _is_array(op, name))
    return peak


def _in_flight(loop: Op, facts: _Facts) -> int:
    """Registers for the loads of an unrolled loop beyond the first trip's."""
    if loop.name != "for" or not loop.attrs.get("unroll"):
        return 0
    lo, hi, step = (facts.numbers.get(bound.name) for bound in loop.operands[:3])
    if not (isinstance(lo, int) and isinstance(hi, int) and isinstance(step, int) and step):
        return 0
    ahead = min(len(range(lo, hi, step)), IN_FLIGHT) - 1
    loads = sum(registers_of(op.result.dtype) for op in loop.blocks[0].walk() if op.name == "global.load")
    return max(ahead, 0) * loads


def _reused(op: Op, dead: tuple[str, ...], sizes: dict[str, int]) -> int:
    """A result may take the register of an operand that ends here."""
    ending = sum(sizes.get(v.name, 0) for v in set(op.operands) if v.name in dead and not isinstance(v.type, LocalType))
    return min(ending, sum(sizes[result.name] for result in op.results))


def _is_array(op: Op, name: str) -> bool:
    return any(v.name == name and isinstance(v.type, LocalType) for v in (*op.operands, *op.results))


def _size(value: Value, free: set[str]) -> int:
    if value.name in free or isinstance(value.type, (SharedType, TensorType)):
        return 0
    if isinstance(value.type, LocalType):
        narrow = 4 // value.dtype.bytes if value.dtype.bits < 32 else 1  # the assembler packs halves in pairs
        return -(-value.type.size // narrow) * max(1, value.dtype.bits // 32)
    return registers_of(value.dtype)
