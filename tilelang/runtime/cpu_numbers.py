"""Words of the generated CPU source for arithmetic, comparison and conversion: exactly the language's rules.

Written as LLVM instructions without fast-math flags, so f32 `a * b + c` rounds twice on every machine and the
results equal the interpreter's to the bit. Integers have no undefined case: they wrap, and division by zero is 0.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tilelang.runtime.cpu_formats import F32, F64, I64, round_bf16, round_f16, round_to_odd
from tilelang.runtime.cpu_words import (
    always,
    binary,
    boolean,
    constant_like,
    is_float,
    is_signed,
    llvm_call,
    ternary,
    unary,
)

Builder = ir.IRBuilder
Type = types.Type
Value = ir.Value


# ------------------------------------------------------------------------------------ arithmetic


def _by_kind(on_integers: str, on_floats: str):
    """The builder's method for integers or the one for floats."""

    def build(builder: Builder, type: Type, *operands: Value) -> Value:
        return getattr(builder, on_floats if is_float(type) else on_integers)(*operands)

    return build


def _negate(builder: Builder, type: Type, a: Value) -> Value:
    return builder.fneg(a) if is_float(type) else builder.sub(constant_like(a, 0), a)


def _safe_divisor(builder: Builder, type: Type, b: Value) -> tuple[Value, Value, Value]:
    """(b is zero, b is -1, b with 1 in place of both): the two divisors that would trap."""
    zero = builder.icmp_unsigned("==", b, constant_like(b, 0))
    minus_one = builder.icmp_unsigned("==", b, constant_like(b, -1)) if is_signed(type) else ir.Constant(
        ir.IntType(1), 0)
    return zero, minus_one, builder.select(builder.or_(zero, minus_one), constant_like(b, 1), b)


def _floor_divide(builder: Builder, type: Type, a: Value, b: Value) -> Value:
    """Rounds down; by zero 0; the smallest integer by -1 wraps."""
    zero, minus_one, safe = _safe_divisor(builder, type, b)
    if is_signed(type):
        remainder = builder.srem(a, safe)
        quotient = builder.sub(builder.sdiv(a, safe), builder.zext(_signs_differ(builder, remainder, safe), a.type))
    else:
        quotient = builder.udiv(a, safe)
    wrapped = builder.select(minus_one, builder.sub(constant_like(a, 0), a), quotient)
    return builder.select(zero, constant_like(a, 0), wrapped)


def _signs_differ(builder: Builder, remainder: Value, divisor: Value) -> Value:
    """C's remainder is not yet the language's: it is not zero and has not the divisor's sign."""
    differ = builder.icmp_signed("<", builder.xor(remainder, divisor), constant_like(divisor, 0))
    return builder.and_(differ, builder.icmp_unsigned("!=", remainder, constant_like(remainder, 0)))


def _modulo(builder: Builder, type: Type, a: Value, b: Value) -> Value:
    """Takes the divisor's sign; by zero 0."""
    zero, minus_one, safe = _safe_divisor(builder, type, b)
    if is_signed(type):
        remainder = builder.srem(a, safe)
        mended = builder.select(_signs_differ(builder, remainder, safe), builder.add(remainder, safe), remainder)
    else:
        mended = builder.urem(a, safe)
    return builder.select(builder.or_(zero, minus_one), constant_like(a, 0), mended)


def _too_far(builder: Builder, amount: Value) -> tuple[Value, Value]:
    """(shifts everything out, amount with 0 in that case); a negative amount is a huge unsigned one."""
    far = builder.icmp_unsigned(">=", amount, constant_like(amount, amount.type.width))
    return far, builder.select(far, constant_like(amount, 0), amount)


def _shift_left(builder: Builder, type: Type, a: Value, amount: Value) -> Value:
    far, safe = _too_far(builder, amount)
    return builder.select(far, constant_like(a, 0), builder.shl(a, safe))


def _shift_right(builder: Builder, type: Type, a: Value, amount: Value) -> Value:
    far, safe = _too_far(builder, amount)
    if not is_signed(type):
        return builder.select(far, constant_like(a, 0), builder.lshr(a, safe))
    last = constant_like(a, a.type.width - 1)
    return builder.ashr(a, builder.select(far, last, safe))


def _absolute(builder: Builder, type: Type, a: Value) -> Value:
    if is_float(type):
        return llvm_call(builder, "llvm.fabs", a)
    if not is_signed(type):
        return a
    negative = builder.icmp_signed("<", a, constant_like(a, 0))
    return builder.select(negative, builder.sub(constant_like(a, 0), a), a)


def _sign(builder: Builder, type: Type, a: Value) -> Value:
    """-1, 0 or 1; NaN of NaN."""
    zero = constant_like(a, 0)
    one = constant_like(a, 1)
    if is_float(type):
        unit = llvm_call(builder, "llvm.copysign", one, a)
        ordinary = builder.fcmp_ordered("one", a, zero)
        return builder.select(ordinary, unit, a)  # zero and NaN stay what they are
    if not is_signed(type):
        return builder.select(builder.icmp_unsigned("!=", a, zero), one, zero)
    positive = builder.select(builder.icmp_signed(">", a, zero), one, zero)
    return builder.select(builder.icmp_signed("<", a, zero), constant_like(a, -1), positive)


def _extreme(float_name: str, comparison: str):
    """maximum or minimum; LLVM's `maximum` and `minimum` (not `maxnum`) propagate NaN, as the language does.

    `nsz`: which zero comes out of +0 and -0 is left open, as in NumPy; telling them apart doubles the instructions.
    """

    def build(builder: Builder, type: Type, a: Value, b: Value) -> Value:
        if is_float(type):
            return llvm_call(builder, float_name, a, b, flags=("nsz",))
        compare = builder.icmp_signed if is_signed(type) else builder.icmp_unsigned
        return builder.select(compare(comparison, a, b), a, b)

    return build


def _float_call(name: str):
    return lambda builder, type, *operands: llvm_call(builder, name, *operands)


def _is_infinite(builder: Builder, type: Type, a: Value) -> Value:
    return builder.fcmp_ordered("==", llvm_call(builder, "llvm.fabs", a), constant_like(a, float("inf")))


def _compare(symbol: str):
    def build(builder: Builder, type: Type, a: Value, b: Value) -> Value:
        if is_float(type):
            compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
        else:
            compare = builder.icmp_signed if is_signed(type) else builder.icmp_unsigned
        return compare(symbol, a, b)

    return build


add = binary(_by_kind("add", "fadd"))
sub = binary(_by_kind("sub", "fsub"))
mul = binary(_by_kind("mul", "fmul"))
div = binary(_by_kind("fdiv", "fdiv"))
neg = unary(_negate)
floordiv = binary(_floor_divide)
mod = binary(_modulo)
shl = binary(_shift_left)
shr = binary(_shift_right)
bit_and = binary(_by_kind("and_", "and_"))
bit_or = binary(_by_kind("or_", "or_"))
bit_xor = binary(_by_kind("xor", "xor"))
bit_not = unary(lambda builder, type, a: builder.not_(a))
absolute = unary(_absolute)
sign = unary(_sign)
maximum = binary(_extreme("llvm.maximum", ">"))
minimum = binary(_extreme("llvm.minimum", "<"))
floor = unary(_float_call("llvm.floor"))
ceil = unary(_float_call("llvm.ceil"))
round_even = unary(_float_call("llvm.rint"))
sqrt = unary(_float_call("llvm.sqrt"))
fma = ternary(_float_call("llvm.fma"))
one_like = unary(lambda builder, type, a: constant_like(a, 1))
isnan = unary(lambda builder, type, a: builder.fcmp_unordered("uno", a, a), boolean)
isinf = unary(_is_infinite, boolean)
eq = binary(_compare("=="), boolean)
ne = binary(_compare("!="), boolean)
lt = binary(_compare("<"), boolean)
le = binary(_compare("<="), boolean)
gt = binary(_compare(">"), boolean)
ge = binary(_compare(">="), boolean)


@intrinsic
def select(typing, condition, then, other):
    """select(c, a, b): a if c, else b; both are computed."""

    def generate(context, builder, signature, values):
        return builder.select(*values)

    return then(types.boolean, then, then), generate


@intrinsic
def inside(typing, index, extent):
    """0 <= index < extent, as one unsigned comparison (extent is not negative)."""

    def generate(context, builder, signature, values):
        return builder.icmp_unsigned("<", *values)

    return types.boolean(types.int64, types.int64), generate


@intrinsic
def length(typing, number):
    """length(64): 64, but LLVM cannot know (see `tilelang.codegen.cpu_nest`)."""

    def generate(context, builder, signature, values):
        return builder.asm(ir.FunctionType(I64, [I64]), "", "=r,0", values, side_effect=False)

    return types.int64(types.int64), generate


# ------------------------------------------------------------------------------------ extremes


def _beats(comparison: str):
    """Is `a` a new extreme, after `best`? A NaN beats everything but an earlier NaN."""

    def build(builder: Builder, type: Type, a: Value, best: Value) -> Value:
        if not is_float(type):
            compare = builder.icmp_signed if is_signed(type) else builder.icmp_unsigned
            return compare(comparison, a, best)
        a_is_nan = builder.fcmp_unordered("uno", a, a)
        best_is_number = builder.fcmp_ordered("ord", best, best)
        return builder.or_(builder.fcmp_ordered(comparison, a, best), builder.and_(a_is_nan, best_is_number))

    return build


beats_max = binary(_beats(">"), boolean)
beats_min = binary(_beats("<"), boolean)


# ------------------------------------------------------------------------------------ sums


def _accumulate(integer: str, real: str):
    """A step of a sum or product, whose order is free: LLVM may keep partial results, one for each vector lane."""

    def build(builder: Builder, type: Type, total: Value, term: Value) -> Value:
        if not is_float(type):
            return getattr(builder, integer)(total, term)
        return getattr(builder, real)(total, term, flags=("reassoc", "nsz"))

    return build


accumulate_sum = binary(_accumulate("add", "fadd"))
accumulate_prod = binary(_accumulate("mul", "fmul"))


# ------------------------------------------------------------------------------------ conversion

_INTEGERS = {t: getattr(types, name) for t, name in (
    ("i8", "int8"), ("i16", "int16"), ("i32", "int32"), ("i64", "int64"),
    ("u8", "uint8"), ("u16", "uint16"), ("u32", "uint32"), ("u64", "uint64"))}


def _to_integer(target: types.Integer):
    """Float: truncate, saturate, NaN to 0. Integer: wrap. bool: 0 or 1."""
    width = ir.IntType(target.bitwidth)
    saturating = "llvm.fptosi.sat" if target.signed else "llvm.fptoui.sat"

    def build(builder: Builder, type: Type, a: Value) -> Value:
        if is_float(type):
            function = builder.module.declare_intrinsic(saturating, [width, a.type], ir.FunctionType(width, [a.type]))
            return builder.call(function, [a])
        if a.type.width >= width.width:
            return a if a.type.width == width.width else builder.trunc(a, width)
        return builder.sext(a, width) if is_signed(type) else builder.zext(a, width)

    return unary(build, always(target))


def _to_bool(builder: Builder, type: Type, a: Value) -> Value:
    """Is it not zero? (A NaN is not.)"""
    if is_float(type):
        return builder.fcmp_unordered("!=", a, constant_like(a, 0))
    return builder.icmp_unsigned("!=", a, constant_like(a, 0))


def _to_float(target: ir.Type):
    def build(builder: Builder, type: Type, a: Value) -> Value:
        if is_float(type):
            if a.type == target:
                return a
            return builder.fptrunc(a, target) if target == F32 else builder.fpext(a, target)
        return builder.sitofp(a, target) if is_signed(type) else builder.uitofp(a, target)

    return build


def _to_half(rounded):
    """To f16 or bf16 held in an f32. On the way from 64-bit numbers to f32, round to odd, not twice to nearest."""

    def build(builder: Builder, type: Type, a: Value) -> Value:
        if not is_float(type):
            a = _integer_to_f64_odd(builder, type, a)
        return rounded(builder, a if a.type == F32 else round_to_odd(builder, a))

    return build


def _integer_to_f64_odd(builder: Builder, type: Type, a: Value) -> Value:
    """An integer as f64; 64-bit ones that do not fit its 53 bits are rounded to odd."""
    convert = builder.sitofp if is_signed(type) else builder.uitofp
    if a.type.width < 64:
        return convert(a, F64)
    shift = builder.ashr if is_signed(type) else builder.lshr
    lost = builder.icmp_unsigned("!=", builder.and_(a, ir.Constant(I64, 0x7FF)), ir.Constant(I64, 0))
    kept = builder.or_(shift(a, ir.Constant(I64, 11)), builder.zext(lost, I64))
    magnitude = _absolute(builder, type, a)
    small = builder.icmp_unsigned("<", magnitude, ir.Constant(I64, 1 << 53))
    return builder.select(small, convert(a, F64), builder.fmul(convert(kept, F64), ir.Constant(F64, 2048.0)))


to_bool = unary(_to_bool, boolean)
to_i8, to_i16, to_i32, to_i64, to_u8, to_u16, to_u32, to_u64 = map(_to_integer, _INTEGERS.values())
to_f32 = unary(_to_float(F32), always(types.float32))
to_f64 = unary(_to_float(F64), always(types.float64))
to_f16 = unary(_to_half(round_f16), always(types.float32))
to_bf16 = unary(_to_half(round_bf16), always(types.float32))
