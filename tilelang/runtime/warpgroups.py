"""Products of warp groups (`wgmma`, sm_90a only): instructions that numba has no name for, as functions of generated
kernels.

    fence_async()                           what is in shared memory may be read by tensor cores, after a barrier
    wgmma_fence(acc, 64)                    the 64 accumulators have the values they were given      WARPGROUP.ARRIVE
    wgmma_f16(acc, 0, a, i, 0x4000004000010000, b, j, 0x4000004001000000, 128, 0, 1)
                                            acc[64, 128] += a[64, 16] @ b[16, 128], by four warps    HGMMA.64x128x16.F32
    wgmma_f16_from_registers(acc, 0, p, 0, b, j, 0x4000004001000000, 128, 1)
                                            the same with A in four registers of p, two halves each
    wgmma_commit()                          the products so far form a group
    wgmma_wait_0(acc, 64)                   all groups are done, the accumulators may be used        WARPGROUP.DEPBAR

The numbers behind an operand's place are its matrix descriptor without the start (`tilelang.tiling.warpgroup_layout`);
behind them the columns, and for A and B whether k is not the axis along which rows run. They are literals: the number
of registers and the text of the instruction depend on them. Fence and wait name the accumulators so that LLVM, which
knows nothing of products under way, computes with them neither too late nor too early. Whether a product is right no
compiler can tell; nothing here was tried on a GPU.

Source: NVIDIA, "Parallel Thread Execution ISA", section "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
Instructions"; for `fence.proxy.async` also "Async proxy" there.
"""

# mypy: disable-error-code="no-untyped-def, attr-defined"
# numba infers the types of an intrinsic's arguments.

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import cuda  # noqa: F401  (numba.cuda's types exist once it is imported)
from numba.cuda import types
from numba.cuda.extending import intrinsic

from tilelang.runtime.intrinsics import F32, I32, I64, element_address, neighbours, plain, shared_address, store_all
from tilelang.tiling.warpgroup_layout import CHUNK, FIELD


def _descriptor(context, builder, signature, arguments, place: int):
    """The 64 bits of the operand whose array is argument `place`: its start goes to the lowest bits."""
    start = shared_address(context, builder, signature.args[place], *arguments[place:place + 2])
    units = builder.udiv(builder.and_(start, ir.Constant(I32, FIELD)), ir.Constant(I32, CHUNK))
    return builder.or_(builder.zext(units, I64), ir.Constant(I64, signature.args[place + 2].literal_value))


def _instruction(kind: str, columns: int, a_turned: int, b_turned: int) -> ir.InlineAsm:
    """Accumulators are inputs and outputs. The operands behind the descriptors: 1, add to them; 1 and 1, no signs
    changed; and whether A and B are turned."""
    count = columns // 2
    places = ", ".join(f"${n}" for n in range(count))
    text = (f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{kind}.{kind} {{{places}}}, ${2 * count}, "
            f"${2 * count + 1}, 1, 1, 1, {a_turned}, {b_turned};")
    constraints = ",".join(["=f"] * count + [str(n) for n in range(count)] + ["l", "l", "~{memory}"])
    type = ir.FunctionType(ir.LiteralStructType([F32] * count), [F32] * count + [I64, I64])
    return ir.InlineAsm(type, text, constraints, side_effect=True)


def _instruction_from_registers(kind: str, columns: int, b_turned: int) -> ir.InlineAsm:
    """With A in four registers, which have no sign to change and are not turned."""
    count = columns // 2
    places, words = (", ".join(f"${n}" for n in numbers) for numbers in (range(count), range(2 * count, 2 * count + 4)))
    text = (f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{kind}.{kind} {{{places}}}, {{{words}}}, "
            f"${2 * count + 4}, 1, 1, 1, {b_turned};")
    constraints = ",".join(["=f"] * count + [str(n) for n in range(count)] + ["r"] * 4 + ["l", "~{memory}"])
    type = ir.FunctionType(ir.LiteralStructType([F32] * count), [F32] * count + [I32] * 4 + [I64])
    return ir.InlineAsm(type, text, constraints, side_effect=True)


def _product_from_registers(kind: str) -> Callable:
    @intrinsic
    def multiply(typingctx, acc, acc_at, a, a_at, b, b_at, b_bits, columns, b_turned):
        """Start to add the product of a[a_at .. + 4], of all threads, and an operand in shared memory."""
        if not all(isinstance(literal, types.IntegerLiteral) for literal in (b_bits, columns, b_turned)):
            return None

        def codegen(context, builder, signature, arguments):
            count, turned = (literal.literal_value for literal in signature.args[7:])
            descriptor = _descriptor(context, builder, signature, arguments, 4)
            first, word = (element_address(context, builder, signature.args[n], *arguments[n:n + 2]) for n in (0, 2))
            totals, words = neighbours(builder, first, count // 2), neighbours(builder, word, 4)
            given = [*map(builder.load, totals), *map(builder.load, words), descriptor]
            store_all(builder, builder.call(_instruction_from_registers(kind, count, turned), given), totals)
            return context.get_dummy_value()

        return types.void(acc, acc_at, a, a_at, b, b_at, b_bits, columns, b_turned), codegen

    return multiply


def _product(kind: str) -> Callable:
    @intrinsic
    def multiply(typingctx, acc, acc_at, a, a_at, a_bits, b, b_at, b_bits, columns, a_turned, b_turned):
        """Start to add the product of two operands in shared memory to acc[acc_at .. + columns / 2]."""
        literals = (a_bits, b_bits, columns, a_turned, b_turned)
        if not all(isinstance(literal, types.IntegerLiteral) for literal in literals):
            return None

        def codegen(context, builder, signature, arguments):
            shape = [literal.literal_value for literal in signature.args[8:]]
            descriptors = [_descriptor(context, builder, signature, arguments, place) for place in (2, 5)]
            first = element_address(context, builder, signature.args[0], *arguments[:2])
            totals = neighbours(builder, first, shape[0] // 2)
            before = [builder.load(pointer) for pointer in totals]
            store_all(builder, builder.call(_instruction(kind, *shape), [*before, *descriptors]), totals)
            return context.get_dummy_value()

        return types.void(acc, acc_at, a, a_at, a_bits, b, b_at, b_bits, columns, a_turned, b_turned), codegen

    return multiply


wgmma_f16, wgmma_bf16 = _product("f16"), _product("bf16")
wgmma_f16_from_registers, wgmma_bf16_from_registers = _product_from_registers("f16"), _product_from_registers("bf16")


def _around(instruction: str) -> Callable:
    """An instruction between what was computed of some registers before, and what is computed of them later."""

    @intrinsic
    def execute(typingctx, acc, count):
        if not isinstance(count, types.IntegerLiteral):
            return None

        def codegen(context, builder, signature, arguments):
            number = signature.args[1].literal_value
            letter, item = ("f", F32) if signature.args[0].dtype == types.float32 else ("r", I32)
            constraints = ",".join([f"={letter}"] * number + [str(n) for n in range(number)] + ["~{memory}"])
            type = ir.FunctionType(ir.LiteralStructType([item] * number), [item] * number)
            first = element_address(context, builder, signature.args[0], arguments[0], ir.Constant(I32, 0))
            totals = neighbours(builder, first, number)
            assembly = ir.InlineAsm(type, instruction, constraints, side_effect=True)
            store_all(builder, builder.call(assembly, [builder.load(pointer) for pointer in totals]), totals)
            return context.get_dummy_value()

        return types.void(acc, count), codegen

    return execute


fence_async = plain("fence.proxy.async.shared::cta;")
wgmma_fence = _around("wgmma.fence.sync.aligned;")
wgmma_commit = plain("wgmma.commit_group.sync.aligned;")
wgmma_wait_0, wgmma_wait_1, wgmma_wait_2, wgmma_wait_3 = (
    _around(f"wgmma.wait_group.sync.aligned {pending};") for pending in range(4))
