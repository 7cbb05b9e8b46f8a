"""Words of the generated CPU source for random numbers: Philox 4x32-10, as in `tilelang.ir.philox`."""

from __future__ import annotations

import math

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tilelang.ir.philox import KEY_STEPS, MULTIPLIERS, ROUNDS
from tilelang.runtime.cpu_formats import F32, I32, I64
from tilelang.runtime.cpu_math import log_of
from tilelang.runtime.cpu_real import Real


def philox(builder: ir.IRBuilder, seed: ir.Value, offset: ir.Value) -> list[ir.Value]:
    """The four u32 words for an i64 seed and an i64 offset."""
    key = list(_halves(builder, seed))
    words = [*_halves(builder, offset), ir.Constant(I32, 0), ir.Constant(I32, 0)]
    for _ in range(ROUNDS):
        low0, high0 = _product(builder, MULTIPLIERS[0], words[0])
        low1, high1 = _product(builder, MULTIPLIERS[1], words[2])
        words = [builder.xor(builder.xor(high1, words[1]), key[0]), low1,
                 builder.xor(builder.xor(high0, words[3]), key[1]), low0]
        key = [builder.add(k, ir.Constant(I32, step)) for k, step in zip(key, KEY_STEPS, strict=True)]
    return words


def _halves(builder: ir.IRBuilder, value: ir.Value) -> tuple[ir.Value, ir.Value]:
    return builder.trunc(value, I32), builder.trunc(builder.lshr(value, ir.Constant(I64, 32)), I32)


def _product(builder: ir.IRBuilder, factor: int, word: ir.Value) -> tuple[ir.Value, ir.Value]:
    return _halves(builder, builder.mul(builder.zext(word, I64), ir.Constant(I64, factor)))


def _unit(builder: ir.IRBuilder, word: ir.Value) -> Real:
    """The upper 24 bits as an f32 in [0, 1)."""
    return Real(builder, builder.uitofp(builder.lshr(word, ir.Constant(I32, 8)), F32)) * 2.0**-24


def _normal(builder: ir.IRBuilder, words: list[ir.Value]) -> ir.Value:
    """Box-Muller on the first two words."""
    u1, u2 = _unit(builder, words[0]).wide() + 2.0**-24, _unit(builder, words[1]).wide()
    radius = (log_of(u1) * -2.0).sqrt()
    return (radius * (u2 * (2.0 * math.pi)).cos()).narrow(F32).value


def _word(finish, result: types.Type):
    @intrinsic
    def word(typing, seed, offset):
        def generate(context, builder, signature, values):
            return finish(builder, philox(builder, *values))

        return result(types.int64, types.int64), generate

    return word


rand = _word(lambda builder, words: _unit(builder, words[0]).value, types.float32)
randn = _word(_normal, types.float32)
randint = _word(lambda builder, words: words[0], types.uint32)
