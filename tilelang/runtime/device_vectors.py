"""Loads and stores of up to 16 bytes at once, global or shared memory <-> registers, as LLVM's instructions or PTX.

    load_f32x4(v_regs, 4, x, at)            v_regs[4..8] = x[at..at + 4]            LDG.E.128
    store_shared_f16x2(v_regs, 4, s, at)    s[at..at + 2] = v_regs[4..6]            STS

The place must be a multiple of the vector's bytes. Half floats are f32 in registers: they are converted one by one,
which is exact both ways, because a register holds what a half float can hold.
"""

# mypy: disable-error-code="no-untyped-def, attr-defined"
# numba infers the types of an intrinsic's arguments.

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import cuda  # noqa: F401  (numba.cuda's types exist once it is imported)
from numba.cuda import types
from numba.cuda.extending import intrinsic

from tilelang.codegen.cuda import vector_widths
from tilelang.dtypes import DTYPES
from tilelang.runtime.intrinsics import shared_address

I16, I32, I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
F16, F32 = ir.HalfType(), ir.FloatType()
REGISTER = {"global": "l", "shared": "r"}
"""How the address of a memory is passed to inline PTX."""
GLOBAL = 1
"""LLVM's number for the address space of global memory."""


def _element(context, builder, array_type, array, at):
    """A pointer to element `at` of an array."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [at])


def _words_address(context, builder, array_type, array, at, space: str):
    """Where words begin, as PTX wants it: 64 bits in global memory, 32 in shared."""
    if space == "shared":
        return shared_address(context, builder, array_type, array, at)
    return builder.ptrtoint(_in_global(builder, _element(context, builder, array_type, array, at), I32), I64)


def _in_global(builder, pointer, moved: ir.Type):
    """The address as one in global memory of what is moved."""
    return builder.addrspacecast(builder.bitcast(pointer, ir.PointerType(moved)), ir.PointerType(moved, GLOBAL))


def _as_words(width: int, item_bytes: int, space: str) -> int:
    """How many words of 32 bits to move by hand: LLVM splits vectors of smaller elements, and has 64 bits for addresses
    in shared memory. 0: it does it well itself."""
    return width * item_bytes // 4 if item_bytes < 4 or space == "shared" else 0


def _load_words(builder, address, words: int, space: str):
    """A vector of words, by one instruction."""
    places = ", ".join(f"${k}" for k in range(words))
    text = f"ld.{space}.b32 {places}, [$1];" if words == 1 else f"ld.{space}.v{words}.b32 {{{places}}}, [${words}];"
    result = I32 if words == 1 else ir.LiteralStructType([I32] * words)
    constraints = ",".join(["=r"] * words) + f",{REGISTER[space]},~{{memory}}"
    loaded = builder.call(ir.InlineAsm(ir.FunctionType(result, [address.type]), text, constraints, True), [address])
    vector = ir.Constant(ir.VectorType(I32, words), ir.Undefined)
    for k in range(words):
        word = loaded if words == 1 else builder.extract_value(loaded, k)
        vector = builder.insert_element(vector, word, ir.Constant(I32, k))
    return vector


def _store_words(builder, address, vector, words: int, space: str) -> None:
    places = ", ".join(f"${k + 1}" for k in range(words))
    text = f"st.{space}.b32 [$0], {places};" if words == 1 else f"st.{space}.v{words}.b32 [$0], {{{places}}};"
    function = ir.FunctionType(ir.VoidType(), [address.type] + [I32] * words)
    assembly = ir.InlineAsm(function, text, REGISTER[space] + "," + "r," * words + "~{memory}", True)
    parts = [builder.extract_element(vector, ir.Constant(I32, k)) for k in range(words)]
    builder.call(assembly, [address, *parts])


def _load(width: int, item_bytes: int, convert: Callable, space: str) -> Callable:
    words = _as_words(width, item_bytes, space)

    @intrinsic
    def load(typingctx, registers, first, memory, at):
        def codegen(context, builder, signature, arguments):
            place = context, builder, signature.args[2], *arguments[2:]
            source = _element(*place)
            target = _element(context, builder, signature.args[0], *arguments[:2])
            vector = ir.VectorType(source.type.pointee, width)
            if words:
                loaded = builder.bitcast(_load_words(builder, _words_address(*place, space), words, space), vector)
            else:
                loaded = builder.load(_in_global(builder, source, vector), align=width * item_bytes)
            for k in range(width):
                number = ir.Constant(I32, k)
                value = convert(builder, builder.extract_element(loaded, number))
                builder.store(value, builder.gep(target, [number]))
            return context.get_dummy_value()

        return types.void(registers, first, memory, at), codegen

    return load


def _store(width: int, item_bytes: int, convert: Callable, space: str) -> Callable:
    words = _as_words(width, item_bytes, space)

    @intrinsic
    def store(typingctx, registers, first, memory, at):
        def codegen(context, builder, signature, arguments):
            place = context, builder, signature.args[2], *arguments[2:]
            source = _element(context, builder, signature.args[0], *arguments[:2])
            target = _element(*place)
            vector = ir.Constant(ir.VectorType(target.type.pointee, width), ir.Undefined)
            for k in range(width):
                number = ir.Constant(I32, k)
                value = convert(builder, builder.load(builder.gep(source, [number])))
                vector = builder.insert_element(vector, value, number)
            if words:
                _store_words(builder, _words_address(*place, space),
                             builder.bitcast(vector, ir.VectorType(I32, words)), words, space)
            else:
                builder.store(vector, _in_global(builder, target, vector.type), align=width * item_bytes)
            return context.get_dummy_value()

        return types.void(registers, first, memory, at), codegen

    return store


def _as_it_is(builder, value):
    return value


def _f16_value(builder, bits):
    return builder.fpext(builder.bitcast(bits, F16), F32)


def _f16_bits(builder, value):
    return builder.bitcast(builder.fptrunc(value, F16), I16)


def _bf16_value(builder, bits):
    """A bfloat16 is the upper half of an f32."""
    return builder.bitcast(builder.shl(builder.zext(bits, I32), ir.Constant(I32, 16)), F32)


def _bf16_bits(builder, value):
    return builder.trunc(builder.lshr(builder.bitcast(value, I32), ir.Constant(I32, 16)), I16)


CONVERSIONS = {"f16": (_f16_value, _f16_bits), "bf16": (_bf16_value, _bf16_bits)}


def vector_functions() -> dict[str, Callable]:
    """`load_f32x4`, `store_u8x16` and so on: every element type and width."""
    found = {}
    for name, dtype in DTYPES.items():
        value, bits = CONVERSIONS.get(name, (_as_it_is, _as_it_is))
        for width in vector_widths(dtype):
            for space, place in (("global", ""), ("shared", "shared_")):
                found[f"load_{place}{name}x{width}"] = _load(width, dtype.bytes, value, space)
                found[f"store_{place}{name}x{width}"] = _store(width, dtype.bytes, bits, space)
    return found
