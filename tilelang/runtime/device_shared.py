"""Parts of a block's dynamic shared memory, as arrays of generated kernels.

    a_shared = dynamic_f16(0, 16384)        16,384 half floats, as u16, from byte 0 of the block's dynamic memory on

numba has `cuda.shared.array(0, dtype)`, and slices of it; but their bounds are found when the kernel runs, from the
size that the launch asked for. Here place and size are constants, and the machine code is that of declared arrays.
"""

# mypy: disable-error-code="no-untyped-def, attr-defined"
# numba infers the types of an intrinsic's arguments.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import cuda  # noqa: F401  (numba.cuda's types exist once it is imported)
from numba.cuda import types
from numba.cuda.extending import intrinsic

from tilelang.dtypes import DTYPES, DType
from tilelang.tiling.warpgroup_layout import PATTERN

I8 = ir.IntType(8)
SHARED = 3
"""LLVM's number for the address space of shared memory."""
NAME = "tilec_dynamic_shared"


def _memory(module: ir.Module) -> ir.GlobalVariable:
    """The dynamic shared memory: an array whose size the launch decides. There is one for the whole kernel.

    All parts begin where they want to if it begins at a multiple of what the most demanding ones want.
    """
    if NAME in module.globals:
        return module.globals[NAME]
    memory = ir.GlobalVariable(module, ir.ArrayType(I8, 0), NAME, SHARED)
    memory.linkage, memory.align = "external", PATTERN
    return memory


def _part(element: Any, item: int) -> Callable:
    @intrinsic
    def part(typingctx, first, size):
        """The `size` elements from byte `first` on."""
        result = types.Array(element, 1, "C")

        def codegen(context, builder, signature, arguments):
            memory = builder.bitcast(_memory(builder.module), ir.PointerType(I8, SHARED))
            start = builder.addrspacecast(builder.gep(memory, [arguments[0]]), ir.PointerType(I8))
            array, bytes_each = context.make_array(result)(context, builder), context.get_constant(types.intp, item)
            extent = context.cast(builder, arguments[1], signature.args[1], types.intp)
            context.populate_array(array, data=builder.bitcast(start, array.data.type), shape=[extent],
                                   strides=[bytes_each], itemsize=bytes_each, meminfo=None)
            return array._getvalue()

        return result(first, size), codegen

    return part


def dynamic_functions() -> dict[str, Callable]:
    """`dynamic_f32` and so on: every element type, as it is in memory."""
    return {f"dynamic_{name}": _part(_element(dtype), dtype.bytes) for name, dtype in DTYPES.items()}


def _element(dtype: DType) -> Any:
    """numba's type of an element in memory: half floats are bits."""
    if dtype.is_bool:
        return types.boolean
    if dtype.is_float:
        return {16: types.uint16, 32: types.float32, 64: types.float64}[dtype.bits]
    return getattr(types, f"{'int' if dtype.is_signed else 'uint'}{dtype.bits}")
