"""Words of the generated CPU source that other threads can see: atomics, failed asserts, prints, trouble.

An atomic is one LLVM `atomicrmw` where there is one with the language's meaning, else a loop around a
compare-and-swap. All are relaxed: between programs nothing is ordered but the atomics' own cell.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tilelang.runtime.cpu_formats import F32, F64, FORMATS, I32, I64
from tilelang.runtime.cpu_memory import element
from tilelang.runtime.cpu_words import is_float, is_signed, llvm_call
from tilelang.runtime.log import HEADER, MAX_SITES, RECORD

ORDER = "monotonic"

Update = Callable[[ir.IRBuilder, types.Type, ir.Value, ir.Value], ir.Value]
"""(builder, type, pointer, value) -> the old value"""


def _atomic(update: Update):
    """A word `atomic(c, y, i, v)`: update element i of y if c; the old value, or 0."""

    @intrinsic
    def word(typing, condition, pointer, offset, value):
        register = FORMATS[pointer.format].register

        def generate(context, builder, signature, values):
            condition, base, offset, value = values
            return _guarded(builder, condition, value.type, lambda: update(
                builder, register, element(builder, pointer, base, offset), value))

        return register(types.boolean, pointer, types.int64, register), generate

    return word


def _guarded(builder: ir.IRBuilder, condition: ir.Value, type: ir.Type, emit: Callable[[], ir.Value]) -> ir.Value:
    """What `emit` gives if the condition holds, else 0."""
    before = builder.basic_block
    with builder.if_then(condition):
        value = emit()
        inside = builder.basic_block
    merged = builder.phi(type)
    merged.add_incoming(ir.Constant(type, 0), before)
    merged.add_incoming(value, inside)
    return merged


def _add(builder: ir.IRBuilder, type: types.Type, pointer: ir.Value, value: ir.Value) -> ir.Value:
    return builder.atomic_rmw("fadd" if is_float(type) else "add", pointer, value, ORDER)


def _exchange(builder: ir.IRBuilder, type: types.Type, pointer: ir.Value, value: ir.Value) -> ir.Value:
    return builder.atomic_rmw("xchg", pointer, value, ORDER)


def _extreme(name: str) -> Update:
    """max or min. Of floats, `atomicrmw fmax` would lose NaN: a compare-and-swap loop keeps it."""

    def update(builder: ir.IRBuilder, type: types.Type, pointer: ir.Value, value: ir.Value) -> ir.Value:
        if is_float(type):
            return _swap_loop(builder, pointer, lambda old: llvm_call(builder, f"llvm.{name}imum", old, value))
        return builder.atomic_rmw(name if is_signed(type) else "u" + name, pointer, value, ORDER)

    return update


def _swap_loop(builder: ir.IRBuilder, pointer: ir.Value, combine: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """Replace a float in memory by `combine` of it, again until no other thread was in between; the old value."""
    float_type = pointer.type.pointee
    bits = I32 if float_type == F32 else I64
    cell = builder.bitcast(pointer, bits.as_pointer())
    start = builder.load_atomic(cell, ORDER, bits.width // 8)
    before, loop = builder.basic_block, builder.append_basic_block("swap")
    builder.branch(loop)
    builder.position_at_end(loop)
    seen = builder.phi(bits)
    seen.add_incoming(start, before)
    old = builder.bitcast(seen, float_type)
    attempt = builder.cmpxchg(cell, seen, builder.bitcast(combine(old), bits), ORDER, ORDER)
    seen.add_incoming(builder.extract_value(attempt, 0), builder.basic_block)
    done = builder.append_basic_block("swapped")
    builder.cbranch(builder.extract_value(attempt, 1), done, loop)
    builder.position_at_end(done)
    return old


atomic_add = _atomic(_add)
atomic_xchg = _atomic(_exchange)
atomic_max = _atomic(_extreme("max"))
atomic_min = _atomic(_extreme("min"))


@intrinsic
def atomic_cas(typing, condition, pointer, offset, value, expected):
    """atomic_cas(c, y, i, v, e): if c and element i has e's bits, it becomes v; the old value, or 0."""
    register = FORMATS[pointer.format].register

    def generate(context, builder, signature, values):
        condition, base, offset, value, expected = values

        def swap() -> ir.Value:
            bits = ir.IntType(8 * FORMATS[pointer.format].bytes)
            cell = builder.bitcast(element(builder, pointer, base, offset), bits.as_pointer())
            attempt = builder.cmpxchg(cell, builder.bitcast(expected, bits), builder.bitcast(value, bits),
                                      ORDER, ORDER)
            return builder.bitcast(builder.extract_value(attempt, 0), value.type)

        return _guarded(builder, condition, value.type, swap)

    return register(types.boolean, pointer, types.int64, register, register), generate


# ------------------------------------------------------------------------------------ the log


def _word_of_log(builder: ir.IRBuilder, log: ir.Value, index: ir.Value | int) -> ir.Value:
    """Pointer to an i64 of the log."""
    number = ir.Constant(I64, index) if isinstance(index, int) else index
    return builder.gep(builder.inttoptr(log, I64.as_pointer()), [number])


@intrinsic
def log_failure(typing, log, program, site):
    """log_failure(log, program, site): an assert was false; the log keeps the first such program's."""

    def generate(context, builder, signature, values):
        log, program, site = values
        code = builder.add(builder.mul(program, ir.Constant(I64, MAX_SITES)), site)
        builder.atomic_rmw("min", _word_of_log(builder, log, 0), code, ORDER)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def log_print(typing, log, capacity, site, program, element, payload):
    """Append a record of `tilelang.runtime.log`, or only count it when `capacity` records are there."""

    def generate(context, builder, signature, values):
        log, capacity, *record = values
        number = builder.atomic_rmw("add", _word_of_log(builder, log, 1), ir.Constant(I64, 1), ORDER)
        with builder.if_then(builder.icmp_signed("<", number, capacity)):
            at = builder.add(builder.mul(number, ir.Constant(I64, RECORD)), ir.Constant(I64, HEADER))
            for position, word in enumerate(record):
                builder.store(word, _word_of_log(builder, log, builder.add(at, ir.Constant(I64, position))))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


@intrinsic
def payload(typing, value):
    """A printed value as the log's 64 bits: an integer or bool widened, a float as f64's bits."""

    def generate(context, builder, signature, values):
        raw = values[0]
        if is_float(value):
            return builder.bitcast(raw if raw.type == F64 else builder.fpext(raw, F64), I64)
        if raw.type.width == 64:
            return raw
        return builder.sext(raw, I64) if is_signed(value) else builder.zext(raw, I64)

    return types.int64(value), generate


# ------------------------------------------------------------------------------------ trouble


def _word_of_trouble(builder: ir.IRBuilder, arguments: ir.Value, slot: int) -> ir.Value:
    at = builder.add(arguments, ir.Constant(I64, 8 * slot))
    return builder.inttoptr(at, I64.as_pointer())


@intrinsic(prefer_literal=True)
def report_trouble(typing, arguments, slot, trouble):
    """report_trouble(args, 14, 1): programs cannot go on; 1 says why."""
    if not isinstance(slot, types.Literal):
        return None

    def generate(context, builder, signature, values):
        word = _word_of_trouble(builder, values[0], slot.literal_value)
        builder.store_atomic(values[2], word, "monotonic", 8)
        return context.get_dummy_value()

    return types.void(types.int64, slot, types.int64), generate


@intrinsic(prefer_literal=True)
def stopped(typing, arguments, slot):
    """stopped(args, 14): should programs stop?"""
    if not isinstance(slot, types.Literal):
        return None

    def generate(context, builder, signature, values):
        word = builder.load_atomic(_word_of_trouble(builder, values[0], slot.literal_value), "monotonic", 8)
        return builder.icmp_signed("!=", word, ir.Constant(I64, 0))

    return types.boolean(types.int64, slot), generate
