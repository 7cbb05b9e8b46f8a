"""Approximations for `approx=true` on a GPU: what its special function unit gives, in one to four instructions.

    exp(x)       2^(x * log2 e)             FMUL, MUFU.EX2        a / b      a * (1 / b)          MUFU.RCP, FMUL
    log(x)       log2(x) * ln 2             MUFU.LG2, FMUL        sqrt(x)                         MUFU.SQRT
    sin(x)       of x / 2 pi turns          FMUL, MUFU.SIN        tanh(x)                         MUFU.TANH
    sigmoid(x)   1 / (1 + 2^(-x log2 e))    FMUL, MUFU.EX2, FADD, MUFU.RCP

All but `tanh` are the instructions with `.ftz`: subnormal numbers, those below 2^-126, are taken as 0 and come out as
0. Without it ptxas scales operands and results up and down around each of them, three instructions more. Errors are
those of the "PTX ISA" (rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh) and, for what is composed here, those of CUDA's
`__expf`, `__logf` and `__fdividef` ("CUDA C++ Programming Guide", intrinsic functions), which are the same
instructions. grammar/LANGUAGE.md has them.
"""

# mypy: disable-error-code="no-untyped-def, attr-defined"
# Functions of a device take any number type: numba infers what they are called with.

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba.cuda import types

from tilelang.ir.tile_ops import APPROXIMATE
from tilelang.runtime.device_cuda import device, mul_f32, ptx

LOG2_E, LN_2, ONE = np.float32(1.4426950408889634), np.float32(0.6931471805599453), np.float32(1)


def _instruction(name: str) -> Callable:
    return ptx(types.float32, types.float32, name)


exp2 = _instruction("ex2.approx.ftz.f32")
log2 = _instruction("lg2.approx.ftz.f32")
sqrt = _instruction("sqrt.approx.ftz.f32")
rsqrt = _instruction("rsqrt.approx.ftz.f32")
sin = _instruction("sin.approx.ftz.f32")
cos = _instruction("cos.approx.ftz.f32")
tanh = _instruction("tanh.approx.f32")
reciprocal = _instruction("rcp.approx.ftz.f32")


@device
def exp(x):
    """Below -87.34 the result would be subnormal, and is 0."""
    return exp2(mul_f32(x, LOG2_E))


@device
def log(x):
    return mul_f32(log2(x), LN_2)


@device
def div(a, b):
    """A plain product, which is none at all where a is 1 (see `tilelang.passes.reciprocals`)."""
    return a * reciprocal(b)


@device
def sigmoid(x):
    """Where the exponential is infinite, its reciprocal is 0."""
    return reciprocal(ONE + exp2(mul_f32(x, -LOG2_E)))


def approximations() -> dict[str, Callable]:
    """`exp_approx` and so on."""
    return {f"{name}_approx": globals()[name] for name in APPROXIMATE}
