"""Tensor cores and asynchronous copies: instructions that numba has no name for, as functions of generated kernels.

    load_matrix(a, 0, a_shared, at)         four 8 x 8 matrices of halves, shared memory -> registers     LDSM
    permute_bytes(x, y, 0x6420)             bytes 0 and 2 of x, then of y                                     PRMT
    a[0] = pack_f16(x, y)                   two numbers, rounded to halves, in one register                   F2FP
    mma_f16(acc, 0, a, 0, b, 0)             acc[16, 8] += a[16, 16] @ b[16, 8], by one warp               HMMA
    load_chunk(r, 0, a, offset, inside)     16 bytes, global memory -> registers, or zeros                 LDG.128
    store_chunk(a_shared, at, r, 0)         16 bytes, registers -> shared memory                           STS.128
    copy_async(a_shared, at, a, offset, 8)  16 bytes, global -> shared memory, while the thread goes on   LDGSTS
    commit_async(); wait_async_1()          the copies so far form a group; all but 1 group have arrived
    maximum_nan(x, y)                       the larger of two f32; NaN if one is NaN                  FMNMX.NAN

Each is one PTX instruction, written as inline assembly. An array argument is followed by the position in it; fragments
are local arrays of u32, two halves or four bytes to a register. All threads of a warp must come, with arguments that
belong together: `tilelang.tiling.mma` has the layouts. None of this exists in numba's simulator.

Source: NVIDIA, "Parallel Thread Execution ISA": sections on mma, ldmatrix and cp.async.
"""

# mypy: disable-error-code="no-untyped-def, attr-defined"
# numba infers the types of an intrinsic's arguments.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir
from numba import cuda  # noqa: F401  (numba.cuda's types exist once it is imported)
from numba.cuda import types
from numba.cuda.extending import intrinsic

I32, I64, F32 = ir.IntType(32), ir.IntType(64), ir.FloatType()
SHARED = 3
"""LLVM's number for the address space of shared memory."""


# ------------------------------------------------------------------------------------ pieces


def element_address(context, builder, array_type, array, at):
    """A pointer to element `at` of an array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [at])


def shared_address(context, builder, array_type, array, at):
    """The 32-bit address in shared memory of element `at` of an array there.

    All of it in 32 bits: a 64-bit pointer to the element would keep the constants among the terms of `at` out of the
    instruction's own offset.
    """
    pointer = context.make_array(array_type)(context, builder, array).data
    start = builder.ptrtoint(builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, SHARED)), I32)
    place = builder.trunc(at, I32) if at.type.width > 32 else at
    return builder.add(start, builder.mul(place, ir.Constant(I32, array_type.dtype.bitwidth // 8)))


def neighbours(builder, pointer, count: int) -> list:
    """Pointers to an element and those after it."""
    return [builder.gep(pointer, [ir.Constant(I32, k)]) for k in range(count)]


def store_all(builder, values, pointers) -> None:
    for k, pointer in enumerate(pointers):
        builder.store(builder.extract_value(values, k), pointer)


def _braces(first: int, count: int) -> str:
    """`{$4, $5}`: a vector operand of PTX."""
    return "{" + ", ".join(f"${n}" for n in range(first, first + count)) + "}"


# ------------------------------------------------------------------------------------ maximum, minimum


def _extreme(instruction: str) -> Callable:
    assembly = ir.InlineAsm(ir.FunctionType(F32, [F32, F32]), f"{instruction} $0, $1, $2;", "=f,f,f")

    @intrinsic
    def extreme(typingctx, a, b):
        """Of two f32. Comparisons would take three instructions: greater, NaN, select."""
        if a != types.float32 or b != types.float32:
            return None

        def codegen(context, builder, signature, arguments):
            return builder.call(assembly, arguments)

        return types.float32(a, b), codegen

    return extreme


maximum_nan, minimum_nan = _extreme("max.NaN.f32"), _extreme("min.NaN.f32")


# ------------------------------------------------------------------------------------ ldmatrix


def _load_matrix(instruction: str) -> Callable:
    assembly = ir.InlineAsm(ir.FunctionType(ir.LiteralStructType([I32] * 4), [I32]),
                            f"{instruction} {_braces(0, 4)}, [$4];", "=r,=r,=r,=r,r,~{memory}", side_effect=True)

    @intrinsic
    def load(typingctx, fragment, fragment_at, shared, at):
        """fragment[fragment_at + m] = this lane's two halves of matrix m, whose row `lane % 8` starts at the place
        in `shared` (16 bytes, aligned) that lane `8 * m + lane % 8` gives."""

        def codegen(context, builder, signature, arguments):
            address = shared_address(context, builder, signature.args[2], *arguments[2:])
            loaded = builder.call(assembly, [address])
            target = element_address(context, builder, signature.args[0], *arguments[:2])
            store_all(builder, loaded, neighbours(builder, target, 4))
            return context.get_dummy_value()

        return types.void(fragment, fragment_at, shared, at), codegen

    return load


load_matrix = _load_matrix("ldmatrix.sync.aligned.m8n8.x4.shared.b16")
load_matrix_trans = _load_matrix("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")


# ------------------------------------------------------------------------------------ pack


def _pack(instruction: str) -> Callable:
    """Two f32 -> the u32 of their roundings, the first in the lower half."""
    assembly = ir.InlineAsm(ir.FunctionType(I32, [F32, F32]), instruction, "=r,f,f")

    @intrinsic
    def pack(typingctx, low, high):
        if low != types.float32 or high != types.float32:
            return None

        def codegen(context, builder, signature, arguments):
            return builder.call(assembly, arguments)

        return types.uint32(low, high), codegen

    return pack


pack_f16 = _pack("{ .reg .b16 low, high; cvt.rn.f16.f32 low, $1; cvt.rn.f16.f32 high, $2; mov.b32 $0, {low, high}; }")
pack_bf16 = _pack("cvt.rn.bf16x2.f32 $0, $2, $1;")


@intrinsic
def permute_bytes(typingctx, low, high, selector):
    """Four of the eight bytes of two u32: byte n is the one whose number is in the selector's bits from 4 n on."""
    if any(number != types.uint32 for number in (low, high, selector)):
        return None

    def codegen(context, builder, signature, arguments):
        assembly = ir.InlineAsm(ir.FunctionType(I32, [I32, I32, I32]), "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r")
        return builder.call(assembly, arguments)

    return types.uint32(low, high, selector), codegen


@intrinsic
def round_tf32(typingctx, x):
    """The bits of an f32 rounded to tf32: 10 bits of fraction, halves away from zero.

    PTX's `cvt.rna.tf32` is not used: on sm_80 it is the same addition and mask, but makes an infinity of a NaN whose
    bits are all among those that are cut off.
    """
    if x != types.float32:
        return None

    def codegen(context, builder, signature, arguments):
        (value,) = arguments
        raised = builder.add(builder.bitcast(value, I32), ir.Constant(I32, 0x1000))
        rounded = builder.and_(raised, ir.Constant(I32, 0xFFFFE000))
        return builder.select(builder.fcmp_unordered("uno", value, value), ir.Constant(I32, 0x7FFFE000), rounded)

    return types.uint32(x), codegen


# ------------------------------------------------------------------------------------ mma


@dataclass(frozen=True)
class MmaForm:
    """One form of `mma.sync`: its shape, the types of d, a, b and c in PTX's order, 32-bit registers of a and b."""

    shape: str
    types: str
    a: int
    b: int

    @property
    def accumulates_floats(self) -> bool:
        return self.types.startswith("f32")


MMA_FORMS = {
    "mma_f16": MmaForm("m16n8k16", "f32.f16.f16.f32", 4, 2),
    "mma_bf16": MmaForm("m16n8k16", "f32.bf16.bf16.f32", 4, 2),
    "mma_f16_k8": MmaForm("m16n8k8", "f32.f16.f16.f32", 2, 1),
    "mma_tf32": MmaForm("m16n8k8", "f32.tf32.tf32.f32", 4, 2),
    "mma_i8": MmaForm("m16n8k32", "s32.s8.s8.s32", 4, 2),
}
"""sm_75 has only `mma_f16_k8`; the others need sm_80."""


def _mma(form: MmaForm) -> Callable:
    number, letter = (F32, "f") if form.accumulates_floats else (I32, "r")
    operands = form.a + form.b
    text = (f"mma.sync.aligned.{form.shape}.row.col.{form.types} {_braces(0, 4)}, {_braces(4, form.a)}, "
            f"{_braces(4 + form.a, form.b)}, {_braces(4 + operands, 4)};")
    constraints = ",".join([f"={letter}"] * 4 + ["r"] * operands + [letter] * 4)
    assembly = ir.InlineAsm(ir.FunctionType(ir.LiteralStructType([number] * 4), [I32] * operands + [number] * 4),
                            text, constraints)

    @intrinsic
    def multiply(typingctx, acc, acc_at, a, a_at, b, b_at):
        """acc[acc_at .. + 4] += a's fragment at a_at times b's at b_at."""

        def codegen(context, builder, signature, arguments):
            pointers = [element_address(context, builder, signature.args[n], *arguments[n:n + 2]) for n in (0, 2, 4)]
            totals = neighbours(builder, pointers[0], 4)
            inputs = neighbours(builder, pointers[1], form.a) + neighbours(builder, pointers[2], form.b) + totals
            result = builder.call(assembly, [builder.load(pointer) for pointer in inputs])
            store_all(builder, result, totals)
            return context.get_dummy_value()

        return types.void(acc, acc_at, a, a_at, b, b_at), codegen

    return multiply


mma_f16, mma_bf16, mma_f16_k8, mma_tf32, mma_i8 = (_mma(form) for form in MMA_FORMS.values())


# ------------------------------------------------------------------------------------ cp.async


@intrinsic
def copy_async(typingctx, shared, at, tensor, offset, count):
    """Copy `count` elements from `tensor[offset]` to `shared[at]` and fill up with zeros to 16 bytes. Both places
    must be multiples of 16 bytes. The elements may be used after a wait, by other threads after a barrier too."""
    instruction = "cp.async.cg.shared.global [$0], [$1], 16, $2;"
    assembly = ir.InlineAsm(ir.FunctionType(ir.VoidType(), [I32, I64, I32]), instruction, "r,l,r,~{memory}",
                            side_effect=True)

    def codegen(context, builder, signature, arguments):
        target = shared_address(context, builder, signature.args[0], *arguments[:2])
        source = builder.ptrtoint(element_address(context, builder, signature.args[2], *arguments[2:4]), I64)
        bytes_each = ir.Constant(I32, signature.args[2].dtype.bitwidth // 8)
        size = context.cast(builder, arguments[4], signature.args[4], types.int32)
        builder.call(assembly, [target, source, builder.mul(size, bytes_each)])
        return context.get_dummy_value()

    return types.void(shared, at, tensor, offset, count), codegen


@intrinsic
def load_chunk(typingctx, registers, registers_at, tensor, offset, inside):
    """registers[registers_at .. + 4] = the 16 bytes from `tensor[offset]` on, a multiple of 16; or zeros, unless
    `inside`."""
    if inside != types.boolean:
        return None
    zeros = " ".join(f"mov.b32 ${n}, 0;" for n in range(4))
    instruction = f"{{ .reg .pred p; setp.ne.b32 p, $5, 0; {zeros} @p ld.global.v4.b32 {_braces(0, 4)}, [$4]; }}"
    assembly = ir.InlineAsm(ir.FunctionType(ir.LiteralStructType([I32] * 4), [I64, I32]), instruction,
                            "=&r,=&r,=&r,=&r,l,r,~{memory}", side_effect=True)

    def codegen(context, builder, signature, arguments):
        source = builder.ptrtoint(element_address(context, builder, signature.args[2], *arguments[2:4]), I64)
        loaded = builder.call(assembly, [source, builder.zext(arguments[4], I32)])
        target = element_address(context, builder, signature.args[0], *arguments[:2])
        store_all(builder, loaded, neighbours(builder, target, 4))
        return context.get_dummy_value()

    return types.void(registers, registers_at, tensor, offset, inside), codegen


@intrinsic
def store_chunk(typingctx, shared, at, registers, registers_at):
    """The 16 bytes from `shared[at]` on, a multiple of 16, = registers[registers_at .. + 4]."""
    assembly = ir.InlineAsm(ir.FunctionType(ir.VoidType(), [I32] * 5), f"st.shared.v4.b32 [$0], {_braces(1, 4)};",
                            "r,r,r,r,r,~{memory}", side_effect=True)

    def codegen(context, builder, signature, arguments):
        address = shared_address(context, builder, signature.args[0], *arguments[:2])
        source = element_address(context, builder, signature.args[2], *arguments[2:])
        builder.call(assembly, [address, *(builder.load(pointer) for pointer in neighbours(builder, source, 4))])
        return context.get_dummy_value()

    return types.void(shared, at, registers, registers_at), codegen


@intrinsic
def is_aligned(typingctx, tensor, first):
    """Is the address of `tensor[first]` a multiple of 16 bytes?"""

    def codegen(context, builder, signature, arguments):
        address = builder.ptrtoint(element_address(context, builder, signature.args[0], *arguments), I64)
        return builder.icmp_unsigned("==", builder.and_(address, ir.Constant(I64, 15)), ir.Constant(I64, 0))

    return types.boolean(tensor, first), codegen


def plain(instruction: str) -> Callable:
    """An instruction without operands."""
    assembly = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), instruction, "~{memory}", side_effect=True)

    @intrinsic
    def execute(typingctx):
        def codegen(context, builder, signature, arguments):
            builder.call(assembly, [])
            return context.get_dummy_value()

        return types.void(), codegen

    return execute


commit_async = plain("cp.async.commit_group;")
wait_async_0, wait_async_1, wait_async_2, wait_async_3 = (
    plain(f"cp.async.wait_group {pending};") for pending in range(4))
