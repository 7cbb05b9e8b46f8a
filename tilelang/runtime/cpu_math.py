"""Words of the generated CPU source for the elementary functions.

A call into the C library computes one element at a time. What kernels use most is therefore spelt out as
branch-free polynomials, which LLVM turns into vector code together with the loop around them: `exp` in f32 itself
(0.4 ns an element instead of 3 to 5), the other f32 functions in f64 with enough terms that the f32 result
is rounded about once. For f64 operands, and for the rest, the C library is called.

The reductions are W. J. Cody and W. Waite's (Software Manual for the Elementary Functions, 1980); f32 `exp` has the
coefficients of S. Moshier's Cephes library.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types

from tilelang.runtime.cpu_formats import F32, F64, I32, I64
from tilelang.runtime.cpu_real import Real
from tilelang.runtime.cpu_words import Build, binary, unary

LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453
INF = math.inf


# ------------------------------------------------------------------------------------ f32 exp, in f32

ROUND_F32 = 12582912.0
"""1.5 * 2^23: adding it to a small f32 rounds to an integer, which then stands in the low bits of the sum."""


def exp_f32(x: Real) -> Real:
    """exp, within 1 ulp. Beyond the clamp's ends exp is 0 or inf, which the scaling below yields by itself."""
    x = x.clamp(-104.0, 89.0)
    shifted = (x * LOG2_E) + ROUND_F32
    k = shifted - ROUND_F32
    r = k.times_plus(-0.693359375, x)  # ln 2 in two parts; the first has so few bits that the product is exact
    r = k.times_plus(2.12194440e-4, r)
    return _scale_f32(_exp_core_f32(r), shifted)


def exp2_f32(x: Real) -> Real:
    x = x.clamp(-151.0, 129.0)
    shifted = x + ROUND_F32
    r = (x - (shifted - ROUND_F32)) * LN_2
    return _scale_f32(_exp_core_f32(r), shifted)


def _exp_core_f32(r: Real) -> Real:
    """exp(r) for |r| <= ln(2) / 2."""
    p = r.polynomial(1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
                     5.0000001201e-1)
    return p.times_plus(r * r, r) + 1.0


def _scale_f32(y: Real, shifted: Real) -> Real:
    """y * 2^k, for any k that gives an f32; k is in `shifted`'s low bits.

    AVX-512 has an instruction for it. Elsewhere it takes two steps, so that results below the normal range come out.
    """
    b = y.builder
    k = b.sub(shifted.bits(), ir.Constant(I32, 0x4B400000))
    if llvmlite.binding.get_host_cpu_features().get("avx512f"):
        ldexp = b.module.declare_intrinsic("llvm.ldexp", [F32, I32], ir.FunctionType(F32, [F32, I32]))
        return Real(b, b.call(ldexp, [y.value, k]))
    half = b.ashr(k, ir.Constant(I32, 1))
    return y * _power_of_two_f32(b, half) * _power_of_two_f32(b, b.sub(k, half))


def _power_of_two_f32(builder: ir.IRBuilder, k: ir.Value) -> Real:
    biased = builder.shl(builder.add(k, ir.Constant(I32, 127)), ir.Constant(I32, 23))
    return Real(builder, builder.bitcast(biased, F32))


# ------------------------------------------------------------------------------------ f32 functions, in f64

ROUND_F64 = 6755399441055744.0
"""1.5 * 2^52, as ROUND_F32."""

TAYLOR_EXP = tuple(1.0 / math.factorial(n) for n in range(10, 1, -1))
"""1/10!, ..., 1/2!: exp(r) - 1 - r over r^2; for |r| <= ln(2) / 2 what is left out is below 2^-39."""


def _exp_parts(x: Real) -> tuple[Real, Real]:
    """(exp(r) - 1, 2^k) with x = r + k ln 2, for x within f64's exponent range."""
    shifted = (x * LOG2_E) + ROUND_F64
    r = (shifted - ROUND_F64).times_plus(-LN_2, x)
    b = x.builder
    k = b.sub(shifted.bits(), ir.Constant(I64, 0x4338000000000000))
    scale = b.bitcast(b.shl(b.add(k, ir.Constant(I64, 1023)), ir.Constant(I64, 52)), F64)
    return r.polynomial(*TAYLOR_EXP).times_plus(r * r, r), Real(b, scale)


def _exp(x: Real) -> Real:
    p, scale = _exp_parts(x.clamp(-700.0, 700.0))
    return (p + 1.0) * scale


def _expm1(x: Real) -> Real:
    """p is exact to its last bits near 0, where exp(x) - 1 would have none left."""
    p, scale = _exp_parts(x.clamp(-700.0, 700.0))
    return p * scale + (scale - 1.0)


def log_of(x: Real) -> Real:
    """log, for any f32 value widened to f64 (so never subnormal)."""
    b = x.builder
    # 2^e * m with m in [sqrt(1/2), sqrt(2)): subtract sqrt(1/2)'s bits, so that the exponent field steps there.
    offset = ir.Constant(I64, 0x3FE6A09E667F3BCD)
    moved = b.sub(x.bits(), offset)
    exponent = b.ashr(moved, ir.Constant(I64, 52))
    mantissa = b.add(b.and_(moved, ir.Constant(I64, (1 << 52) - 1)), offset)
    m, e = Real(b, b.bitcast(mantissa, F64)), Real(b, b.sitofp(exponent, F64))
    s = (m - 1.0) / (m + 1.0)
    odd_terms = tuple(2.0 / n for n in range(15, 0, -2))
    result = e.times_plus(LN_2, s * (s * s).polynomial(*odd_terms))
    result = result.where(x.below(INF), x)  # log(inf) = inf, NaN stays
    result = result.lift(math.nan).where(x.below(0.0), result)
    return result.lift(-INF).where(x.equals(0.0), result)


def _log2(x: Real) -> Real:
    return log_of(x) * LOG2_E


def _log1p(x: Real) -> Real:
    small = x * x.polynomial(1.0 / 3.0, -0.5, 1.0)
    return small.where(x.magnitude().below(2.0**-18), log_of(x + 1.0))


def _tanh(x: Real) -> Real:
    """(e - 1) / (e + 1) with e = exp(2x); e - 1 from expm1, so small x keep their bits."""
    y = x.clamp(-20.0, 20.0)
    minus_one = _expm1(y + y)
    return (minus_one / (minus_one + 2.0)).with_sign_of(x)


def _sigmoid(x: Real) -> Real:
    return x.lift(1.0) / (_exp(-x) + 1.0)


# ------------------------------------------------------------------------------------ the words

Formula = Callable[[Real], Real]


def _library(name: str) -> Build:
    """A call of the C library's function on f64; an f32 operand is widened, its result rounded."""

    def build(builder: ir.IRBuilder, type: types.Type, *operands: ir.Value) -> ir.Value:
        wide = [Real(builder, operand).wide().value for operand in operands]
        signature = ir.FunctionType(F64, [F64] * len(wide))
        function = cgutils.get_or_insert_function(builder.module, signature, name)
        return Real(builder, builder.call(function, wide)).narrow(operands[0].type).value

    return build


def _by_type(for_f32: Formula, for_f64: Build, *, wide: bool = True):
    """The word that computes f32 by a formula (in f64 if `wide`) and f64 by the C library."""

    def build(builder: ir.IRBuilder, type: types.Type, a: ir.Value) -> ir.Value:
        if type == types.float64:
            return for_f64(builder, type, a)
        x = Real(builder, a)
        return for_f32(x.wide() if wide else x).narrow(F32).value

    return unary(build)


def _rsqrt(builder: ir.IRBuilder, type: types.Type, a: ir.Value) -> ir.Value:
    x = Real(builder, a)
    return (x.lift(1.0) / x.sqrt()).value


def _sigmoid_f64(builder: ir.IRBuilder, type: types.Type, a: ir.Value) -> ir.Value:
    """Stable: exp of -|x| cannot overflow."""
    x = Real(builder, a)
    small = Real(builder, _library("exp")(builder, type, (-x.magnitude()).value))
    return (small.where(x.below(0.0), 1.0) / (small + 1.0)).value


exp = _by_type(exp_f32, _library("exp"), wide=False)
exp2 = _by_type(exp2_f32, _library("exp2"), wide=False)
expm1 = _by_type(_expm1, _library("expm1"))
log = _by_type(log_of, _library("log"))
log2 = _by_type(_log2, _library("log2"))
log1p = _by_type(_log1p, _library("log1p"))
tanh = _by_type(_tanh, _library("tanh"))
sigmoid = _by_type(_sigmoid, _sigmoid_f64)
rsqrt = unary(_rsqrt)
sin = unary(_library("sin"))
cos = unary(_library("cos"))
erf = unary(_library("erf"))
power = binary(_library("pow"))
