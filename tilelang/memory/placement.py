"""Where shared arrays are in a block's shared memory.

    %a: shared f16[16384]              a at byte 0
    %b: shared f16[16384]       ->     b at byte 32768
    %s: shared f32[3]                  s at byte 65536; 65552 bytes in all

Up to 48 KiB a kernel may simply declare its arrays, on every GPU. A kernel that needs more has one array of dynamic
size instead, whose bytes the launch asks for, and its arrays are parts of that. Every array begins at a multiple
of 16 bytes, so that the widest accesses and asynchronous copies may use it; where warp groups multiply, at a multiple
of 1024, so that their operands may (`tilelang.tiling.warpgroup_layout`).

Source: CUDA C++ Programming Guide, "Shared Memory" and "Technical Specifications per Compute Capability".
"""

from __future__ import annotations

from tilelang.ir.core import Kernel, SharedType, Value
from tilelang.tiling.warpgroup_layout import PATTERN

DECLARABLE = 48 * 1024
"""Bytes of shared memory that a kernel may declare. More than that it can only ask for when it is launched."""

ALIGNMENT = 16
"""Bytes. Where an array begins is a multiple of it."""


def alignment(kernel: Kernel) -> int:
    """Bytes. Where an array of a thread kernel begins is a multiple of it."""
    return PATTERN if any(op.name == "shared.wgmma" for op in kernel.walk()) else ALIGNMENT


def place_arrays(kernel: Kernel) -> tuple[dict[Value, int], int]:
    """The first byte of each shared array of a thread kernel, in the order of declaration, and all bytes together."""
    starts: dict[Value, int] = {}
    end, unit = 0, alignment(kernel)
    for op in kernel.body.ops:
        if op.name == "shared":
            starts[op.result] = end
            end += -(-array_bytes(op.result) // unit) * unit
    return starts, end


def dynamic_bytes(kernel: Kernel) -> int:
    """Bytes of shared memory that a launch of a thread kernel has to ask for; 0 where its arrays are declared."""
    _, needed = place_arrays(kernel)
    return needed if needed > DECLARABLE else 0


def array_bytes(array: Value) -> int:
    """Bytes of a shared array."""
    if not isinstance(array.type, SharedType):
        raise TypeError(f"{array} is no shared array")
    return array.type.size * array.dtype.bytes
