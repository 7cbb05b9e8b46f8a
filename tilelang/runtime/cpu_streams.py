"""Words about rows on their way between memory and cache: asked for early, or written past the cache.

When they are used is decided in `tilelang.codegen.cpu_ahead` and `tilelang.codegen.cpu_streams`.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tilelang.runtime.cpu_dot import registers
from tilelang.runtime.cpu_formats import FORMATS, I32, I64
from tilelang.runtime.cpu_memory import BYTE_POINTER, Pointer, element, mark_scope

CACHE_LINE = 64
PREFETCHED_BYTES = 16 << 10
"""Of one row at most: two of them must fit into the second-level cache beside what the program works on."""
STREAMED_BYTES = 8 << 20
"""From this size on, an output is not expected to be in the cache any more when someone reads it."""


@intrinsic
def prefetch_row(typing, x, start, stride, count):
    """prefetch_row(x, i, 1, n): elements i up to i + n will be read; ignored if they are no neighbours.

    Only a hint to the processor, for any address.
    """

    def generate(context, builder, signature, values):
        base, start, stride, count = values
        bytes = FORMATS[x.format].bytes
        type = ir.FunctionType(ir.VoidType(), [BYTE_POINTER, I32, I32, I32])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch.p0", (), type)
        most = ir.Constant(I64, PREFETCHED_BYTES // bytes)
        stop = builder.select(builder.icmp_signed("<", count, most), count, most)
        adjacent = builder.icmp_signed("==", stride, ir.Constant(I64, 1))
        with builder.if_then(adjacent):
            step = ir.Constant(I64, CACHE_LINE // bytes)
            with cgutils.for_range_slice(builder, ir.Constant(I64, 0), stop, step, intp=I64) as (i, _):
                address = builder.ptrtoint(base, I64)
                offset = builder.mul(builder.add(start, i), ir.Constant(I64, bytes))
                at = builder.inttoptr(builder.add(address, offset), BYTE_POINTER)
                builder.call(prefetch, [at, ir.Constant(I32, 0), ir.Constant(I32, 3), ir.Constant(I32, 1)])
        return context.get_dummy_value()

    return types.void(x, types.int64, types.int64, types.int64), generate


@intrinsic
def streams(typing, y, stride, size):
    """streams(y, 1, M * N): is y, of that many elements, large, and are its rows without gaps?"""

    def generate(context, builder, signature, values):
        _, stride, size = values
        least = ir.Constant(I64, STREAMED_BYTES // FORMATS[y.format].bytes)
        return builder.and_(builder.icmp_signed("==", stride, ir.Constant(I64, 1)),
                            builder.icmp_signed(">=", size, least))

    return types.boolean(y, types.int64, types.int64), generate


@intrinsic
def row_target(typing, y, start, line, streaming):
    """row_target(y, i, line, c): where to put a row: at address `line` if c, else into y from element i on."""

    def generate(context, builder, signature, values):
        base, start, line, streaming = values
        row = builder.bitcast(element(builder, y, base, start), BYTE_POINTER)
        return builder.select(streaming, builder.inttoptr(line, BYTE_POINTER), row)

    return y(y, types.int64, types.int64, types.boolean), generate


@intrinsic
def stream_row(typing, y, start, row, count, streaming):
    """stream_row(y, i, row, n, c): if c, copy n elements from `row` into y from element i on, past the cache.

    Only whole cache lines are streamed. The elements before the first and behind the last go the ordinary way: their
    lines belong to the neighbouring rows as well.
    """

    def generate(context, builder, signature, values):
        base, start, row, count, streaming = values
        with builder.if_then(streaming):
            _Copy(builder, y, element(builder, y, base, start), row).write(count)
        return context.get_dummy_value()

    return types.void(y, types.int64, y, types.int64, types.boolean), generate


@intrinsic
def settle_streams(typing):
    """What was streamed is in its place for other threads to see, once this is done."""

    def generate(context, builder, signature, values):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


class _Copy:
    """Writes the loops of one streamed copy."""

    def __init__(self, builder: ir.IRBuilder, y: Pointer, target: ir.Value, source: ir.Value):
        self.builder, self.pointer = builder, y
        self.layout = FORMATS[y.format]
        self.target = target
        self.source = builder.bitcast(source, self.layout.memory.as_pointer())
        self.lanes = registers().vector_bytes // self.layout.bytes

    def write(self, count: ir.Value) -> None:
        builder, bytes = self.builder, self.layout.bytes
        to_line = builder.and_(builder.sub(ir.Constant(I64, 0), builder.ptrtoint(self.target, I64)),
                               ir.Constant(I64, CACHE_LINE - 1))
        before = builder.lshr(to_line, ir.Constant(I64, bytes.bit_length() - 1))
        head = builder.select(builder.icmp_signed("<", before, count), before, count)
        step = CACHE_LINE // bytes
        whole = builder.and_(builder.sub(count, head), ir.Constant(I64, -step))
        tail = builder.add(head, whole)
        self._each(ir.Constant(I64, 0), head, 1, self._element)
        self._each(head, tail, step, self._line)
        self._each(tail, count, 1, self._element)

    def _each(self, start: ir.Value, stop: ir.Value, step: int, copy: Callable[[ir.Value], None]) -> None:
        with cgutils.for_range_slice(self.builder, start, stop, ir.Constant(I64, step), intp=I64) as (i, _):
            copy(i)

    def _element(self, i: ir.Value) -> None:
        """The index goes through an instruction that LLVM cannot see into, or it would write vectors for so few."""
        i = self.builder.asm(ir.FunctionType(I64, [I64]), "", "=r,0", [i], side_effect=False)
        self._move(i, self.layout.memory, self.layout.bytes)

    def _line(self, i: ir.Value) -> None:
        for first in range(0, CACHE_LINE // self.layout.bytes, self.lanes):
            at = self.builder.add(i, ir.Constant(I64, first))
            stored = self._move(at, ir.VectorType(self.layout.memory, self.lanes), registers().vector_bytes)
            stored.set_metadata("nontemporal", self.builder.module.add_metadata([ir.Constant(I32, 1)]))

    def _move(self, i: ir.Value, type: ir.Type, align: int) -> ir.Instruction:
        builder = self.builder
        at, to = (builder.bitcast(builder.gep(p, [i], inbounds=True), type.as_pointer())
                  for p in (self.source, self.target))
        loaded = builder.load(at, align=self.layout.bytes)
        mark_scope(builder, self.pointer, loaded)
        stored = builder.store(loaded, to, align=align)
        mark_scope(builder, self.pointer, stored)
        return stored
