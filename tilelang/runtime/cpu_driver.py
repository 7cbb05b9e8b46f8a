"""The one parallel function: it hands chunks of a grid to all cores. Compiled once, used by every kernel.

Each core takes the next chunk as soon as it is done with one, so a core that the system takes away for a while, or
chunks of unequal work (causal attention), do not keep the others waiting. A launch costs about two microseconds.
"""

from __future__ import annotations

from llvmlite import ir
from numba import int64, njit, prange, types, void
from numba.extending import intrinsic

from tilelang.runtime.cpu_formats import I64


@intrinsic
def call_kernel(typing, address, lo, hi, arguments):
    """Call the kernel `void(i64 lo, i64 hi, i64 arguments)` at an address."""

    def generate(context, builder, signature, values):
        kernel = ir.FunctionType(ir.VoidType(), [I64, I64, I64])
        builder.call(builder.inttoptr(values[0], kernel.as_pointer()), values[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate


@intrinsic
def claim(typing, counter, amount):
    """Add to a counter that all threads share; what it was before."""

    def generate(context, builder, signature, values):
        return builder.atomic_rmw("add", builder.inttoptr(values[0], I64.as_pointer()), values[1], "monotonic")

    return types.int64(types.int64, types.int64), generate


def launch(kernel, hi, chunk, threads, arguments, counter):
    """Run programs from `*counter` up to `hi`, `chunk` at a time, on so many threads."""
    for _ in prange(threads):
        lo = claim(counter, chunk)
        while lo < hi:
            call_kernel(kernel, lo, min(lo + chunk, hi), arguments)
            lo = claim(counter, chunk)


def compile_launch(cache: bool):
    """`launch` as machine code; None if numba has no threading layer here."""
    return njit(void(*[int64] * 6), parallel=True, nogil=True, cache=cache)(launch)
