"""How each element type is held on the CPU: in memory, and in a register.

The one place that knows that numba has no half floats: `f16` and `bf16` live in memory as 16 bits and in
registers as f32, and what stands between are the conversions of this file. Conversions that narrow round to
nearest, ties to even, once.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir
from numba.core import types

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()


@dataclass(frozen=True)
class Format:
    """`memory`: LLVM type of a stored element. `register`: numba type of a loaded one."""

    name: str
    memory: ir.Type
    register: types.Type
    bytes: int


FORMATS: dict[str, Format] = {f.name: f for f in (
    Format("bool", I8, types.boolean, 1),
    Format("i8", I8, types.int8, 1), Format("i16", I16, types.int16, 2),
    Format("i32", I32, types.int32, 4), Format("i64", I64, types.int64, 8),
    Format("u8", I8, types.uint8, 1), Format("u16", I16, types.uint16, 2),
    Format("u32", I32, types.uint32, 4), Format("u64", I64, types.uint64, 8),
    Format("f16", I16, types.float32, 2), Format("bf16", I16, types.float32, 2),
    Format("f32", F32, types.float32, 4), Format("f64", F64, types.float64, 8),
)}


def from_memory(builder: ir.IRBuilder, layout: Format, raw: ir.Value) -> ir.Value:
    """A stored element as the value a register holds. Exact."""
    match layout.name:
        case "bool":
            return builder.icmp_unsigned("!=", raw, ir.Constant(I8, 0))
        case "f16":
            return builder.fpext(builder.bitcast(raw, F16), F32)
        case "bf16":
            wide = builder.shl(builder.zext(raw, I32), ir.Constant(I32, 16))
            return builder.bitcast(wide, F32)
        case _:
            return raw


def to_memory(builder: ir.IRBuilder, layout: Format, value: ir.Value) -> ir.Value:
    """The inverse. A half float in a register is representable already, so nothing is rounded here."""
    match layout.name:
        case "bool":
            return builder.zext(value, I8)
        case "f16":
            return builder.bitcast(builder.fptrunc(value, F16), I16)
        case "bf16":
            upper = builder.lshr(builder.bitcast(value, I32), ir.Constant(I32, 16))
            return builder.trunc(upper, I16)
        case _:
            return value


def round_f16(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """f32 to the nearest f16, as f32."""
    return builder.fpext(builder.fptrunc(value, F16), F32)


def round_bf16(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """f32 to the nearest bf16, as f32: add just under half a unit of the kept bits, then cut the rest off."""
    bits = builder.bitcast(value, I32)
    last = builder.and_(builder.lshr(bits, ir.Constant(I32, 16)), ir.Constant(I32, 1))
    up = builder.add(bits, builder.add(last, ir.Constant(I32, 0x7FFF)))
    is_nan = builder.fcmp_unordered("uno", value, value)
    quiet = builder.or_(bits, ir.Constant(I32, 0x400000))  # a NaN must not round up to an infinity
    kept = builder.and_(builder.select(is_nan, quiet, up), ir.Constant(I32, -0x10000))
    return builder.bitcast(kept, F32)


def round_to_odd(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """f64 to f32 by rounding to odd, which a second rounding cannot mistake for a tie (`tilelang.ir.rounding`)."""
    near = builder.fptrunc(value, F32)
    back = builder.fpext(near, F64)
    inexact = builder.fcmp_ordered("one", back, value)
    finite = builder.fcmp_ordered("<", _magnitude(builder, near), ir.Constant(F32, float("inf")))
    overflowed = builder.and_(builder.not_(finite), inexact)
    bits = builder.bitcast(near, I32)
    outward = builder.fcmp_ordered(">", _magnitude(builder, back), _magnitude(builder, value))
    cut = builder.sub(bits, builder.zext(outward, I32))  # magnitudes of floats count up with their bits
    odd = builder.bitcast(builder.or_(cut, ir.Constant(I32, 1)), F32)
    keep = builder.or_(overflowed, builder.not_(inexact))
    return builder.select(keep, near, odd)


def _magnitude(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    function = builder.module.declare_intrinsic("llvm.fabs", [value.type])
    return builder.call(function, [value])
