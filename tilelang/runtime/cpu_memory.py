"""Words of the generated CPU source that touch memory: pointers, loads, stores, scratch, the launch's arguments.

Each is a numba *intrinsic*: a function of the generated source whose body is the LLVM instructions written
here. They work on raw pointers, because numba's array indexing tests every signed index for wraparound, which
keeps LLVM from vectorising.

A value in a register has its dtype's compute type: `f16` and `bf16` are widened to f32 by a load and narrowed by
a store (exactly, since every op rounds its result), a bool is one bit in a register and a byte in memory.

A kernel's pointers never overlap: the runtime refuses overlapping outputs, and scratch is ours. LLVM is told so by
*scoped noalias metadata* (LLVM language reference, "noalias and alias.scope"), or it would test at run time
before each vectorised loop, and give up where there are many tensors.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

from tilelang.runtime.cpu_formats import FORMATS, I64, from_memory, to_memory

BYTE_POINTER = ir.IntType(8).as_pointer()
DOMAIN = "tile"

__all__ = ["allocate", "argument", "load", "load_if", "release", "scalar_argument", "scratch", "store",
           "store_if", "stride", "tensor"]


class Pointer(types.Type):
    """The address of elements of one format, in region `scope` of `scopes` disjoint regions of memory."""

    def __init__(self, format: str, scope: int, scopes: int):
        self.format, self.scope, self.scopes = format, scope, scopes
        super().__init__(f"Pointer({format}, {scope} of {scopes})")


@register_model(Pointer)
class PointerModel(models.PrimitiveModel):
    """In a register, a pointer is a byte pointer."""

    def __init__(self, manager, frontend_type):
        super().__init__(manager, frontend_type, BYTE_POINTER)


def _literals(*given: types.Type) -> bool:
    return all(isinstance(t, types.Literal) for t in given)


def _pointer_type(format: types.Type, scope: types.Type, scopes: types.Type) -> Pointer | None:
    if not _literals(format, scope, scopes):
        return None
    return Pointer(format.literal_value, scope.literal_value, scopes.literal_value)


def _slot(builder: ir.IRBuilder, address: ir.Value, number: int, type: ir.Type = I64) -> ir.Value:
    """Read 8-byte slot `number` at `address`, as `type`."""
    at = builder.add(address, ir.Constant(I64, 8 * number))
    loaded = builder.load(builder.inttoptr(at, type.as_pointer()))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@intrinsic(prefer_literal=True)
def argument(typing, arguments, slot):
    """argument(arguments, 3): the i64 in slot 3 of the launch's arguments."""
    if not _literals(slot):
        return None

    def generate(context, builder, signature, values):
        return _slot(builder, values[0], slot.literal_value)

    return types.int64(arguments, slot), generate


@intrinsic(prefer_literal=True)
def scalar_argument(typing, arguments, slot, format):
    """scalar_argument(arguments, 3, "f16"): the scalar whose memory format fills the low bytes of slot 3."""
    if not _literals(slot, format):
        return None
    layout = FORMATS[format.literal_value]

    def generate(context, builder, signature, values):
        raw = _slot(builder, values[0], slot.literal_value, layout.memory)
        return from_memory(builder, layout, raw)

    return layout.register(arguments, slot, format), generate


@intrinsic(prefer_literal=True)
def tensor(typing, arguments, slot, format, scope, scopes):
    """tensor(arguments, 0, "f32", 0, 3): the tensor whose address is in slot 0; see `Pointer` for the rest."""
    pointer = _pointer_type(format, scope, scopes)
    if pointer is None or not _literals(slot):
        return None

    def generate(context, builder, signature, values):
        return _slot(builder, values[0], slot.literal_value, BYTE_POINTER)

    return pointer(arguments, slot, format, scope, scopes), generate


@intrinsic(prefer_literal=True)
def stride(typing, arguments, slot, axis, unit):
    """stride(arguments, 4, 1, x_unit): the stride in slot 4, of axis 1; 1, known to LLVM, if x_unit is that axis."""
    if not _literals(slot, axis, unit):
        return None

    def generate(context, builder, signature, values):
        if axis.literal_value == unit.literal_value:
            return ir.Constant(I64, 1)
        return _slot(builder, values[0], slot.literal_value)

    return types.int64(arguments, slot, axis, unit), generate


@intrinsic
def allocate(typing, size):
    """allocate(size): the address of `size` fresh bytes, a multiple of 64; 0 if there is no memory. `release` gives
    it back."""

    def generate(context, builder, signature, values):
        malloc = cgutils.get_or_insert_function(builder.module, ir.FunctionType(BYTE_POINTER, [I64]), "malloc")
        # The address that malloc gave is kept in the 8 bytes below the aligned one.
        raw = builder.ptrtoint(builder.call(malloc, [builder.add(values[0], ir.Constant(I64, 128))]), I64)
        aligned = builder.and_(builder.add(raw, ir.Constant(I64, 127)), ir.Constant(I64, -64))
        got = builder.icmp_unsigned("!=", raw, ir.Constant(I64, 0))
        with builder.if_then(got, likely=True):
            below = builder.inttoptr(builder.sub(aligned, ir.Constant(I64, 8)), I64.as_pointer())
            builder.store(raw, below)
        return builder.select(got, aligned, ir.Constant(I64, 0))

    return types.int64(types.int64), generate


@intrinsic
def release(typing, memory):
    """Give back what `allocate` gave."""

    def generate(context, builder, signature, values):
        free = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [BYTE_POINTER]), "free")
        below = builder.inttoptr(builder.sub(values[0], ir.Constant(I64, 8)), I64.as_pointer())
        builder.call(free, [builder.inttoptr(builder.load(below), BYTE_POINTER)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic(prefer_literal=True)
def scratch(typing, memory, offset, format, scope, scopes):
    """scratch(memory, 4096, "f32", 2, 3): the tile kept 4096 bytes into the scratch memory."""
    pointer = _pointer_type(format, scope, scopes)
    if pointer is None or not _literals(offset):
        return None

    def generate(context, builder, signature, values):
        at = builder.add(values[0], ir.Constant(I64, offset.literal_value))
        return builder.inttoptr(at, BYTE_POINTER)

    return pointer(types.int64, offset, format, scope, scopes), generate


# ------------------------------------------------------------------------------------ elements


def element(builder: ir.IRBuilder, pointer: Pointer, base: ir.Value, offset: ir.Value) -> ir.Value:
    """The typed LLVM pointer to element `offset` (i64, in elements)."""
    typed = builder.bitcast(base, FORMATS[pointer.format].memory.as_pointer())
    return builder.gep(typed, [offset], inbounds=True)


def mark_scope(builder: ir.IRBuilder, pointer: Pointer, instruction: ir.Instruction) -> None:
    """Say that a load or store touches its pointer's scope and no other."""
    module = builder.module
    domain = module.add_metadata([DOMAIN])
    scopes = [module.add_metadata([f"{DOMAIN}.{number}", domain]) for number in range(pointer.scopes)]
    others = [scope for number, scope in enumerate(scopes) if number != pointer.scope]
    instruction.set_metadata("alias.scope", module.add_metadata([scopes[pointer.scope]]))
    if others:
        instruction.set_metadata("noalias", module.add_metadata(others))


def emit_load(builder: ir.IRBuilder, pointer: Pointer, base: ir.Value, offset: ir.Value) -> ir.Value:
    layout = FORMATS[pointer.format]
    loaded = builder.load(element(builder, pointer, base, offset), align=layout.bytes)
    mark_scope(builder, pointer, loaded)
    return from_memory(builder, layout, loaded)


def emit_store(builder: ir.IRBuilder, pointer: Pointer, base: ir.Value, offset: ir.Value, value: ir.Value) -> None:
    layout = FORMATS[pointer.format]
    stored = builder.store(to_memory(builder, layout, value), element(builder, pointer, base, offset),
                           align=layout.bytes)
    mark_scope(builder, pointer, stored)


@intrinsic
def load(typing, pointer, offset):
    """load(x, i): element i of x. Nothing is tested; the generated source has done so."""

    def generate(context, builder, signature, values):
        return emit_load(builder, pointer, values[0], values[1])

    return FORMATS[pointer.format].register(pointer, types.int64), generate


@intrinsic
def load_if(typing, condition, pointer, offset, other):
    """load_if(c, x, i, other): element i of x if c, else `other`, and x is not touched."""
    register = FORMATS[pointer.format].register

    def generate(context, builder, signature, values):
        before = builder.basic_block
        with builder.if_then(values[0]):
            loaded = emit_load(builder, pointer, values[1], values[2])
            inside = builder.basic_block
        merged = builder.phi(loaded.type)
        merged.add_incoming(values[3], before)
        merged.add_incoming(loaded, inside)
        return merged

    return register(types.boolean, pointer, types.int64, register), generate


@intrinsic
def store(typing, pointer, offset, value):
    """store(y, i, v): element i of y becomes v."""

    def generate(context, builder, signature, values):
        emit_store(builder, pointer, *values)
        return context.get_dummy_value()

    return types.void(pointer, types.int64, FORMATS[pointer.format].register), generate


@intrinsic
def store_if(typing, condition, pointer, offset, value):
    """store_if(c, y, i, v): element i of y becomes v if c, else y is not touched."""

    def generate(context, builder, signature, values):
        with builder.if_then(values[0]):
            emit_store(builder, pointer, *values[1:])
        return context.get_dummy_value()

    return types.void(types.boolean, pointer, types.int64, FORMATS[pointer.format].register), generate
