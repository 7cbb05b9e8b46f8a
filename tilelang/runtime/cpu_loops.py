"""Words of the generated CPU source that are loops themselves, written in Python for numba to compile."""

from __future__ import annotations

from numba.extending import register_jitable

from tilelang.runtime.cpu_numbers import (
    add,
    bit_and,
    eq,
    floordiv,
    lt,
    mul,
    one_like,
    shr,
    sub,
    to_i64,
    to_u64,
)


@register_jitable
def trips(lo, hi, step):
    """How often `for k in range(lo, hi, step)` runs, as i64; for any integer type, and right at its ends.

    Differences are taken modulo 2^64, where they are right even if a signed difference would overflow.
    """
    if step > 0:
        distance, stride = to_u64(hi) - to_u64(lo), to_u64(step)
        empty = hi <= lo
    else:
        distance, stride = to_u64(lo) - to_u64(hi), to_u64(0) - to_u64(step)
        empty = lo <= hi
    if empty or step == 0:
        return to_i64(to_u64(0))
    return to_i64(floordiv(distance - to_u64(1), stride) + to_u64(1))


@register_jitable
def int_power(a, b):
    """a ** b for integers of one type, by repeated squaring; wraps. b < 0: 1 or -1 for those bases, else 0."""
    zero = sub(a, a)
    one = one_like(a)
    if lt(b, zero):
        if eq(a, one):
            return one
        if eq(a, sub(zero, one)):
            return sub(one, add(bit_and(b, one), bit_and(b, one)))
        return zero
    result = one
    while not eq(b, zero):
        if not eq(bit_and(b, one), zero):
            result = mul(result, a)
        a = mul(a, a)
        b = shr(b, one)
    return result
