"""How a word of the generated source is made from the LLVM instructions it stands for.

numba types a call of an intrinsic by calling its Python function with the operands' types, and generates code by
calling what that returns. These helpers write that ceremony once: a word is then one line in a table.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

Build = Callable[..., ir.Value]
"""(builder, numba type of the first operand, *LLVM operands) -> the LLVM result"""

Result = Callable[[types.Type], types.Type]


def same(operand: types.Type) -> types.Type:
    return operand


def boolean(operand: types.Type) -> types.Type:
    return types.boolean


def always(result: types.Type) -> Result:
    return lambda operand: result


def unary(build: Build, result: Result = same):
    """A word of one operand; `result` gives its type from the operand's."""

    @intrinsic
    def word(typing, a):
        def generate(context, builder, signature, values):
            return build(builder, a, *values)

        return result(a)(a), generate

    return word


def binary(build: Build, result: Result = same):
    """A word of two operands of one type."""

    @intrinsic
    def word(typing, a, b):
        def generate(context, builder, signature, values):
            return build(builder, a, *values)

        return result(a)(a, a), generate

    return word


def ternary(build: Build, result: Result = same):
    """A word of three operands of one type."""

    @intrinsic
    def word(typing, a, b, c):
        def generate(context, builder, signature, values):
            return build(builder, a, *values)

        return result(a)(a, a, a), generate

    return word


def llvm_call(builder: ir.IRBuilder, name: str, *operands: ir.Value, flags: tuple[str, ...] = ()) -> ir.Value:
    """Call the LLVM intrinsic `name` (as "llvm.floor") on operands of one type, with these fast-math flags."""
    function = builder.module.declare_intrinsic(name, [operands[0].type],
                                                ir.FunctionType(operands[0].type, [o.type for o in operands]))
    return builder.call(function, operands, fastmath=flags)


def constant_like(value: ir.Value, number: int | float) -> ir.Constant:
    return ir.Constant(value.type, number)


def is_float(type: types.Type) -> bool:
    return isinstance(type, types.Float)


def is_signed(type: types.Type) -> bool:
    return isinstance(type, types.Integer) and type.signed
