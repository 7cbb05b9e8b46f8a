"""Loads and stores of up to 16 bytes at once, global memory <-> registers, as LLVM's vector instructions or PTX.

    load_f32x4(v_regs, 4, x, at)        v_regs[4..8] = x[at..at + 4]        LDG.E.128

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

I16, I32, I64, F32 = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
GLOBAL = 1
"""LLVM's number for the address space of global memory."""


def _element(context, builder, array_type, array, at):
    """A pointer to element `at` of an array."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [at])


def _in_global(builder, pointer, moved: ir.Type):
    """The address as one in global memory of what is moved."""
    return builder.addrspacecast(builder.bitcast(pointer, ir.PointerType(moved)), ir.PointerType(moved, GLOBAL))


def _as_words(width: int, item_bytes: int) -> int:
    """How many words of 32 bits to move by hand: LLVM splits vectors of smaller elements. 0: it does it well itself."""
    return width * item_bytes // 4 if item_bytes < 4 else 0


def _load_words(builder, pointer, words: int):
    """A vector of words from global memory, by one instruction."""
    places = ", ".join(f"${k}" for k in range(words))
    text = f"ld.global.b32 {places}, [$1];" if words == 1 else f"ld.global.v{words}.b32 {{{places}}}, [${words}];"
    result = I32 if words == 1 else ir.LiteralStructType([I32] * words)
    assembly = ir.InlineAsm(ir.FunctionType(result, [I64]), text, ",".join(["=r"] * words) + ",l,~{memory}", True)
    loaded = builder.call(assembly, [builder.ptrtoint(_in_global(builder, pointer, I32), I64)])
    vector = ir.Constant(ir.VectorType(I32, words), ir.Undefined)
    for k in range(words):
        word = loaded if words == 1 else builder.extract_value(loaded, k)
        vector = builder.insert_element(vector, word, ir.Constant(I32, k))
    return vector


def _store_words(builder, pointer, vector, words: int) -> None:
    places = ", ".join(f"${k + 1}" for k in range(words))
    text = f"st.global.b32 [$0], {places};" if words == 1 else f"st.global.v{words}.b32 [$0], {{{places}}};"
    function = ir.FunctionType(ir.VoidType(), [I64] + [I32] * words)
    assembly = ir.InlineAsm(function, text, "l," + "r," * words + "~{memory}", True)
    parts = [builder.extract_element(vector, ir.Constant(I32, k)) for k in range(words)]
    builder.call(assembly, [builder.ptrtoint(_in_global(builder, pointer, I32), I64), *parts])


def _load(width: int, item_bytes: int, convert: Callable) -> Callable:
    words = _as_words(width, item_bytes)

    @intrinsic
    def load(typingctx, registers, first, tensor, at):
        def codegen(context, builder, signature, arguments):
            source = _element(context, builder, signature.args[2], *arguments[2:])
            target = _element(context, builder, signature.args[0], *arguments[:2])
            vector = ir.VectorType(source.type.pointee, width)
            if words:
                loaded = builder.bitcast(_load_words(builder, source, words), vector)
            else:
                loaded = builder.load(_in_global(builder, source, vector), align=width * item_bytes)
            for k in range(width):
                number = ir.Constant(I32, k)
                value = convert(builder, builder.extract_element(loaded, number))
                builder.store(value, builder.gep(target, [number]))
            return context.get_dummy_value()

        return types.void(registers, first, tensor, at), codegen

    return load


def _store(width: int, item_bytes: int, convert: Callable) -> Callable:
    words = _as_words(width, item_bytes)

    @intrinsic
    def store(typingctx, registers, first, tensor, at):
        def codegen(context, builder, signature, arguments):
            source = _element(context, builder, signature.args[0], *arguments[:2])
            target = _element(context, builder, signature.args[2], *arguments[2:])
            vector = ir.Constant(ir.VectorType(target.type.pointee, width), ir.Undefined)
            for k in range(width):
                number = ir.Constant(I32, k)
                value = convert(builder, builder.load(builder.gep(source, [number])))
                vector = builder.insert_element(vector, value, number)
            if words:
                _store_words(builder, target, builder.bitcast(vector, ir.VectorType(I32, words)), words)
            else:
                builder.store(vector, _in_global(builder, target, vector.type), align=width * item_bytes)
            return context.get_dummy_value()

        return types.void(registers, first, tensor, at), codegen

    return store


def _as_it_is(builder, value):
    return value


def _f16_value(builder, bits):
    assembly = ir.InlineAsm(ir.FunctionType(F32, [I16]), "cvt.f32.f16 $0, $1;", "=f,h")
    return builder.call(assembly, [bits])


def _f16_bits(builder, value):
    assembly = ir.InlineAsm(ir.FunctionType(I16, [F32]), "cvt.rn.f16.f32 $0, $1;", "=h,f")
    return builder.call(assembly, [value])


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
            found[f"load_{name}x{width}"] = _load(width, dtype.bytes, value)
            found[f"store_{name}x{width}"] = _store(width, dtype.bytes, bits)
    return found
