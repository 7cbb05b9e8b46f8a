"""The device library: what generated CUDA code calls where Python and the language mean different things.

Every function here is plain arithmetic that means the same to numba.cuda and to NumPy scalars. What needs an
instruction of its own (bit patterns, real functions, atomics) comes from `device_cuda`, or in numba's simulator
(NUMBA_ENABLE_CUDASIM=1) from `device_sim`, under the same names.

Names end in the element type they work on. Half floats are f32 values which a half float can hold: `f16(x)` rounds to
one, `f16_bits` and `f16_value` go to and from memory.
"""

# mypy: disable-error-code="no-untyped-def, attr-defined"
# Functions of a device take any number type: numba infers what they are called with.

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import config

from tilelang.ir import philox
from tilelang.runtime import log

if config.ENABLE_CUDASIM:
    from tilelang.runtime import device_sim as hardware
    from tilelang.runtime.device_sim import approximations, dynamic_functions, vector_functions
else:
    from tilelang.runtime import device_cuda as hardware  # type: ignore[no-redef]
    from tilelang.runtime.device_approximate import approximations
    from tilelang.runtime.device_shared import dynamic_functions
    from tilelang.runtime.device_vectors import vector_functions

device = hardware.device

i32, i64, u32, u64 = np.int32, np.int64, np.uint32, np.uint64
f32, f64 = np.float32, np.float64

INTEGERS = {f"{sign}{bits}": getattr(np, f"{'int' if sign == 'i' else 'uint'}{bits}")
            for sign in "iu" for bits in (8, 16, 32, 64)}
ATOMICS = [f"atomic_{kind}_{name}" for kind in ("add", "max", "min", "xchg", "cas")
           for name in ("i32", "i64", "u32", "u64", "f32", "f64")]
REAL = [f"{name}_{dtype}" for name in (
    "mul", "fma", "pow", "floor", "ceil", "round", "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt",
    "sin", "cos", "tanh", "erf", "sigmoid") for dtype in ("f32", "f64")]

f32_bits, f32_of_bits, f64_bits = hardware.f32_bits, hardware.f32_of_bits, hardware.f64_bits
globals().update(vector_functions() | dynamic_functions() | approximations())
block_id = hardware.block_id
shuffle_xor, shuffle_lane = hardware.shuffle_xor, hardware.shuffle_lane
shuffle_up, shuffle_down = hardware.shuffle_up, hardware.shuffle_down
f16_bits, f16_value, f16_bits_of_f64 = hardware.f16_bits, hardware.f16_value, hardware.f16_bits_of_f64
globals().update({name: getattr(hardware, name) for name in (*REAL, *ATOMICS)})


# ------------------------------------------------------------------------------------ integers


def _division(name: str, T: type) -> dict[str, Callable]:
    """`//` and `%` for one integer type; `T(...)` wraps."""
    zero = T(0)
    minus_one = T(-1) if name[0] == "i" else zero  # never equal to an unsigned divisor that is not 0

    @device
    def floordiv(a, b):
        """Rounds down; by zero gives 0. By -1 is a negation, which wraps where division would trap."""
        if b == zero:
            return zero
        if b == minus_one:
            return T(-a)
        return T(a // b)

    @device
    def mod(a, b):
        """Takes the divisor's sign; by zero gives 0."""
        if b == zero or b == minus_one:  # noqa: SIM109 (numba: a chain of tests is plain code)
            return zero
        return T(a % b)

    return {f"floordiv_{name}": floordiv, f"mod_{name}": mod}


def _shifts(name: str, T: type) -> dict[str, Callable]:
    """`<<` and `>>` for one integer type."""
    zero, minus_one, width = T(0), T(~T(0)), T(np.dtype(T).itemsize * 8)

    @device
    def shl(a, amount):
        """By the width or more, or by less than 0, leaves nothing."""
        if amount < zero or amount >= width:
            return zero
        return T(a << amount)

    @device
    def shr(a, amount):
        """Arithmetic for signed types; by the width or more leaves the sign."""
        if amount < zero or amount >= width:
            return minus_one if a < zero else zero
        return T(a >> amount)

    return {f"shl_{name}": shl, f"shr_{name}": shr}


def _power_and_sign(name: str, T: type) -> dict[str, Callable]:
    zero, one, two, minus_one = T(0), T(1), T(2), T(~T(0))

    @device
    def power(a, b):
        """By squaring, wrapping. A negative exponent gives 0, but for the bases 1 and -1."""
        if b < zero:
            if a == one:
                return one
            if a == minus_one:
                return a if b % two != zero else one
            return zero
        result, factor, left = one, a, b
        while left > zero:
            if left & one:
                result = T(result * factor)
            factor = T(factor * factor)
            left = T(left >> one)
        return result

    @device
    def sign(a):
        if a > zero:
            return one
        return minus_one if a < zero else zero

    return {f"pow_{name}": power, f"sign_{name}": sign}


for _name, _type in INTEGERS.items():
    globals().update({**_division(_name, _type), **_shifts(_name, _type), **_power_and_sign(_name, _type)})


# ------------------------------------------------------------------------------------ conversions


def _saturating(T: type, F: type):
    """Float to integer: truncates, saturates, takes NaN to 0. The bounds are powers of two, exact in F."""
    limits = np.iinfo(T)
    low, above = F(limits.min), F(2.0 ** (limits.bits - (1 if limits.min < 0 else 0)))
    least, most, zero = T(limits.min), T(limits.max), T(0)

    @device
    def convert(x):
        if x != x:
            return zero
        if x <= low:
            return least
        if x >= above:
            return most
        return T(x)

    return convert


for _name, _type in INTEGERS.items():
    globals()[f"{_name}_from_f32"] = _saturating(_type, np.float32)
    globals()[f"{_name}_from_f64"] = _saturating(_type, np.float64)

NAN = f32(np.nan)
SIGN_AND_EXPONENT, ROUND_UP, HALF_WORD = u32(0xFFFF0000), u32(0x7FFF), u32(16)


@device
def f16(x):
    """An f32 rounded to the nearest f16."""
    return f16_value(f16_bits(x))


@device
def f16_from_f64(x):
    return f16_value(f16_bits_of_f64(x))


@device
def bf16(x):
    """An f32 rounded to the nearest bf16, ties to even: bf16 is the upper half of an f32."""
    if x != x:
        return NAN
    bits = f32_bits(x)
    odd = u32(u32(bits >> HALF_WORD) & u32(1))
    return f32_of_bits(u32(u32(bits + u32(ROUND_UP + odd)) & SIGN_AND_EXPONENT))


@device
def bf16_bits(x):
    """A bf16 value as it is stored."""
    return np.uint16(f32_bits(x) >> HALF_WORD)


@device
def bf16_value(bits):
    return f32_of_bits(u32(u32(bits) << HALF_WORD))


@device
def bf16_from_f64(x):
    """Rounded once: on the way to f32 to odd (see `tilelang.ir.rounding`), so that no tie appears."""
    near = f32(x)
    if f64(near) == x or x != x:
        return bf16(near)
    bits = f32_bits(near)
    if abs(f64(near)) > abs(x):
        bits = u32(bits - u32(1))
    return bf16(f32_of_bits(u32(bits | u32(1))))


@device
def bf16_from_i32(x):
    return bf16_from_f64(f64(x))


@device
def bf16_from_u32(x):
    return bf16_from_f64(f64(x))


@device
def bf16_from_i64(x):
    """What does not fit f64's 53 bits keeps its upper bits and one that says whether the others were 0."""
    if i64(-(1 << 53)) < x and x < i64(1 << 53):
        return bf16_from_f64(f64(x))
    kept = i64(x >> i64(11))
    if i64(x & i64(0x7FF)) != i64(0):
        kept = i64(kept | i64(1))
    return bf16_from_f64(f64(kept) * f64(2048.0))


@device
def bf16_from_u64(x):
    if x < u64(1 << 53):
        return bf16_from_f64(f64(x))
    kept = u64(x >> u64(11))
    if u64(x & u64(0x7FF)) != u64(0):
        kept = u64(kept | u64(1))
    return bf16_from_f64(f64(kept) * f64(2048.0))


# ------------------------------------------------------------------------------------ floats


@device
def maximum_float(a, b):
    """The larger; NaN if one is NaN."""
    return a if a >= b or a != a else b


@device
def minimum_float(a, b):
    """The smaller; NaN if one is NaN."""
    return a if a <= b or a != a else b


def _sign(F: type):
    one, zero = F(1), F(0)

    @device
    def sign(x):
        """-1, 0 or 1; NaN of NaN."""
        if x > zero:
            return one
        if x < zero:
            return -one
        return zero if x == zero else x

    return sign


sign_f32, sign_f64 = _sign(np.float32), _sign(np.float64)


@device
def isnan(x):
    return x != x


@device
def isinf(x):
    return x == x and x - x != x - x


# ------------------------------------------------------------------------------------ random numbers

M0, M1 = u64(philox.MULTIPLIERS[0]), u64(philox.MULTIPLIERS[1])
STEP0, STEP1 = u32(philox.KEY_STEPS[0]), u32(philox.KEY_STEPS[1])
ROUNDS = philox.ROUNDS
WORD = u64(32)
UNIT = f32(2.0**-24)
TWO = f32(2.0)


@device
def philox_words(seed, offset):
    """The first two words of Philox 4x32-10 (see `tilelang.ir.philox`)."""
    key0, key1 = u32(u64(seed)), u32(u64(seed) >> WORD)
    word0, word1 = u32(u64(offset)), u32(u64(offset) >> WORD)
    word2, word3 = u32(0), u32(0)
    for _ in range(ROUNDS):
        product0, product1 = u64(M0 * u64(word0)), u64(M1 * u64(word2))
        word0, word1, word2, word3 = (
            u32(u32(u32(product1 >> WORD) ^ word1) ^ key0), u32(product1),
            u32(u32(u32(product0 >> WORD) ^ word3) ^ key1), u32(product0))
        key0, key1 = u32(key0 + STEP0), u32(key1 + STEP1)
    return word0, word1


@device
def unit(word):
    """The upper 24 bits as an f32 in [0, 1)."""
    return f32(u32(word >> u32(8))) * UNIT


@device
def randint(seed, offset):
    return philox_words(seed, offset)[0]


@device
def rand(seed, offset):
    return unit(philox_words(seed, offset)[0])


@device
def randn(seed, offset):
    """Box-Muller on the first two words. cospi(2 u) is cos(2 pi u) without the range reduction of large angles."""
    first, second = philox_words(seed, offset)
    radius = hardware.sqrt_f32(f32(-2.0) * hardware.log_f32(unit(first) + UNIT))
    return radius * hardware.cospi_f32(TWO * unit(second))


# ------------------------------------------------------------------------------------ the log

SITES, HEADER, RECORD = i64(log.MAX_SITES), i64(log.HEADER), i64(log.RECORD)
atomic_min_log, atomic_add_log = hardware.atomic_min_i64, hardware.atomic_add_i64


@device
def log_assert(log, holds, site, program):
    """Note a failed assert; the lowest program and site stay (see `tilelang.runtime.log`)."""
    if not holds:
        atomic_min_log(log, i64(0), i64(i64(program * SITES) + i64(site)))


@device
def log_print(log, site, program, element, payload):
    """Append a print record, if there is room; count it in any case."""
    place = i64(HEADER + i64(RECORD * atomic_add_log(log, i64(1), i64(1))))
    if place + RECORD <= log.size:
        log[place] = i64(site)
        log[place + i64(1)] = program
        log[place + i64(2)] = i64(element)
        log[place + i64(3)] = i64(payload)


@device
def payload_integer(x):
    return i64(x)


@device
def payload_float(x):
    return f64_bits(f64(x))


for _name in ("bool", *INTEGERS):
    globals()[f"payload_{_name}"] = payload_integer
for _name in ("f16", "bf16", "f32", "f64"):
    globals()[f"payload_{_name}"] = payload_float
