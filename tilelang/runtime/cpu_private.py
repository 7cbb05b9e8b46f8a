"""Words for adding to a small tensor that all programs share, such as a histogram.

An atomic add takes a cache line away from the other cores, each time. If a kernel does nothing else with a tensor than
to add to it, and never looks at the old values, then nobody can tell whether each addition went there at once. So a
chunk of programs adds to a copy of its own that starts from zero, and adds the copy to the tensor at its end:

    counts_room = private_room(hi - lo, 4096, B)        # elements of the copy; 0: not worth it, add to the tensor
    counts_own = private_copy(counts, counts_room)
    counts_room = room_got(counts, counts_own, counts_room)
    ...  add_private(condition, counts_own, i, v, counts_room)
    ...  merge_private(counts, i * counts_s0, counts_own, i)    for every element
    discard_private(counts_own, counts_room)
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, register_jitable

from tilelang.runtime.cpu_atomics import ORDER
from tilelang.runtime.cpu_formats import FORMATS, I64
from tilelang.runtime.cpu_memory import BYTE_POINTER, element, emit_load, emit_store
from tilelang.runtime.cpu_words import is_float

MAX_ELEMENTS = 1 << 15
"""A copy should stay in the core's own cache."""
WORTH = 4
"""Additions for each element of the copy, at least: making and merging it costs about two."""


@register_jitable
def private_room(programs, additions, size):
    """Elements of a private copy for so many programs of so many additions each; 0 if none is worth having."""
    return size if 0 < size <= MAX_ELEMENTS and programs * additions >= WORTH * size else 0


@intrinsic
def private_copy(typing, tensor, room):
    """Zeros for `room` elements; the tensor itself if that is 0, or there is no memory."""

    def generate(context, builder, signature, values):
        calloc = cgutils.get_or_insert_function(builder.module, ir.FunctionType(BYTE_POINTER, [I64, I64]), "calloc")
        before = builder.basic_block
        with builder.if_then(_wanted(builder, values[1])):
            zeros = builder.call(calloc, [values[1], ir.Constant(I64, FORMATS[tensor.format].bytes)])
            none = builder.icmp_unsigned("==", zeros, ir.Constant(BYTE_POINTER, None))
            made = builder.select(none, values[0], zeros)
            inside = builder.basic_block
        merged = builder.phi(BYTE_POINTER)
        merged.add_incoming(values[0], before)
        merged.add_incoming(made, inside)
        return merged

    return tensor(tensor, types.int64), generate


@intrinsic
def room_got(typing, tensor, copy, room):
    """`room` if there is a copy, else 0."""

    def generate(context, builder, signature, values):
        same = builder.icmp_unsigned("==", values[0], values[1])
        return builder.select(same, ir.Constant(I64, 0), values[2])

    return types.int64(tensor, tensor, types.int64), generate


def _wanted(builder: ir.IRBuilder, room: ir.Value) -> ir.Value:
    return builder.icmp_signed(">", room, ir.Constant(I64, 0))


def _atomic_add(builder: ir.IRBuilder, tensor, base: ir.Value, offset: ir.Value, value: ir.Value) -> None:
    kind = "fadd" if is_float(FORMATS[tensor.format].register) else "add"
    builder.atomic_rmw(kind, element(builder, tensor, base, offset), value, ORDER)


def _add(builder: ir.IRBuilder, tensor, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.fadd(a, b) if is_float(FORMATS[tensor.format].register) else builder.add(a, b)


@intrinsic
def add_private(typing, condition, tensor, offset, value, room):
    """Add to an element if the condition holds: plainly to a private copy, atomically to a tensor."""
    register = FORMATS[tensor.format].register

    def generate(context, builder, signature, values):
        condition, base, offset, value, room = values
        with builder.if_then(condition), builder.if_else(_wanted(builder, room)) as (private, shared):
            with private:
                old = emit_load(builder, tensor, base, offset)
                emit_store(builder, tensor, base, offset, _add(builder, tensor, old, value))
            with shared:
                _atomic_add(builder, tensor, base, offset, value)
        return context.get_dummy_value()

    return types.void(types.boolean, tensor, types.int64, register, types.int64), generate


@intrinsic
def merge_private(typing, tensor, offset, copy, copy_offset):
    """Add an element of the copy to the tensor's, unless it is zero."""

    def generate(context, builder, signature, values):
        base, offset, copy_base, copy_offset = values
        value = emit_load(builder, copy, copy_base, copy_offset)
        zero = ir.Constant(value.type, 0)
        floating = is_float(FORMATS[tensor.format].register)
        differs = builder.fcmp_unordered("!=", value, zero) if floating else builder.icmp_unsigned("!=", value, zero)
        with builder.if_then(differs):
            _atomic_add(builder, tensor, base, offset, value)
        return context.get_dummy_value()

    return types.void(tensor, types.int64, copy, types.int64), generate


@intrinsic
def discard_private(typing, copy, room):
    """Give the copy's memory back."""

    def generate(context, builder, signature, values):
        free = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [BYTE_POINTER]), "free")
        with builder.if_then(_wanted(builder, values[1])):
            builder.call(free, [values[0]])
        return context.get_dummy_value()

    return types.void(copy, types.int64), generate
