"""The word `copy_row`: a short row of known length from one place to another.

    copy_row(t, 64, 1, x, base, x_s1, 32)     t[64 + j] = x[base + j * x_s1]  for j < 32

A loop that LLVM makes of this for a variable length spends most of its time getting in and out of vectors.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tilelang.runtime.cpu_dot import registers
from tilelang.runtime.cpu_formats import FORMATS, I64
from tilelang.runtime.cpu_memory import Pointer, element, mark_scope


@intrinsic(prefer_literal=True)
def copy_row(typing, target, target_start, target_stride, source, source_start, source_stride, length):
    """Starts and strides in elements. With both strides 1 the row goes in whole vectors."""
    if not isinstance(length, types.IntegerLiteral) or target.format != source.format:
        return None

    def generate(context, builder, signature, values):
        to, to_start, to_stride, at, at_start, at_stride, _ = values
        one = ir.Constant(I64, 1)
        adjacent = builder.and_(builder.icmp_signed("==", to_stride, one), builder.icmp_signed("==", at_stride, one))
        with builder.if_else(adjacent) as (then, otherwise):
            with then:
                _in_vectors(builder, target, to, to_start, source, at, at_start, length.literal_value)
            with otherwise:
                _one_by_one(builder, target, to, (to_start, to_stride), source, at, (at_start, at_stride),
                            length.literal_value)
        return context.get_dummy_value()

    int64 = types.int64
    return types.void(target, int64, int64, source, int64, int64, length), generate


def _in_vectors(builder: ir.IRBuilder, target: Pointer, to: ir.Value, to_start: ir.Value, source: Pointer,
                at: ir.Value, at_start: ir.Value, length: int) -> None:
    layout = FORMATS[source.format]
    lanes = registers().vector_bytes // layout.bytes
    for first in range(0, length, lanes):
        vector = ir.VectorType(layout.memory, min(lanes, length - first)).as_pointer()
        offset = ir.Constant(I64, first)
        read = builder.bitcast(element(builder, source, at, builder.add(at_start, offset)), vector)
        loaded = builder.load(read, align=layout.bytes)
        mark_scope(builder, source, loaded)
        write = builder.bitcast(element(builder, target, to, builder.add(to_start, offset)), vector)
        stored = builder.store(loaded, write, align=layout.bytes)
        mark_scope(builder, target, stored)


def _one_by_one(builder: ir.IRBuilder, target: Pointer, to: ir.Value, to_place: tuple[ir.Value, ir.Value],
                source: Pointer, at: ir.Value, at_place: tuple[ir.Value, ir.Value], length: int) -> None:
    before, body = builder.basic_block, builder.append_basic_block("elements")
    builder.branch(body)
    builder.position_at_end(body)
    j = builder.phi(I64)
    j.add_incoming(ir.Constant(I64, 0), before)
    read = builder.add(at_place[0], builder.mul(j, at_place[1]))
    loaded = builder.load(element(builder, source, at, read), align=FORMATS[source.format].bytes)
    mark_scope(builder, source, loaded)
    write = builder.add(to_place[0], builder.mul(j, to_place[1]))
    stored = builder.store(loaded, element(builder, target, to, write), align=FORMATS[target.format].bytes)
    mark_scope(builder, target, stored)
    following = builder.add(j, ir.Constant(I64, 1))
    j.add_incoming(following, body)
    after = builder.append_basic_block("copied")
    builder.cbranch(builder.icmp_signed("<", following, ir.Constant(I64, length)), body, after)
    builder.position_at_end(after)
