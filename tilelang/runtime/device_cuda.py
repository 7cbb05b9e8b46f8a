"""The device's own functions on a GPU: bit patterns, real functions and atomics as LLVM or PTX instructions.

Same names and meanings as `tilelang.runtime.device_sim`. Multiplication is libdevice's `fmul_rn`: a plain `*` may be
fused with an addition that follows, and the language rounds after every op. PTX is NVIDIA's "Parallel Thread
Execution ISA".
"""

# mypy: disable-error-code="no-untyped-def, attr-defined"
# Functions of a device take any number type: numba infers what they are called with.

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.core import cgutils
from numba.cuda import libdevice, types
from numba.cuda.extending import intrinsic

device = cuda.jit(device=True, inline="always")
"""Device functions are inlined by numba itself: compiling one apart needs a GPU to be there."""

_IR = {types.uint16: ir.IntType(16), types.int32: ir.IntType(32), types.uint32: ir.IntType(32),
       types.int64: ir.IntType(64), types.uint64: ir.IntType(64), types.float32: ir.FloatType(),
       types.float64: ir.DoubleType()}
_HALF = ir.HalfType()
_REGISTER = {types.uint16: "h", types.int32: "r", types.uint32: "r", types.int64: "l", types.uint64: "l",
             types.float32: "f", types.float64: "d"}


def _unary(source: types.Type, result: types.Type, generate: Callable) -> Callable:
    """An intrinsic of one argument; generate(builder, value) writes the LLVM code."""

    @intrinsic
    def function(typingctx, x):
        if x != source:
            return None

        def codegen(context, builder, signature, arguments):
            return generate(builder, arguments[0])

        return result(source), codegen

    return function


def _reinterpret(source: types.Type, result: types.Type) -> Callable:
    """The same bits as another type."""
    return _unary(source, result, lambda builder, value: builder.bitcast(value, _IR[result]))


def ptx(source: types.Type, result: types.Type, instruction: str) -> Callable:
    """One PTX instruction from a register to a register."""
    signature = ir.FunctionType(_IR[result], [_IR[source]])
    assembly = ir.InlineAsm(signature, f"{instruction} $0, $1;", f"={_REGISTER[result]},{_REGISTER[source]}")
    return _unary(source, result, lambda builder, value: builder.call(assembly, [value]))


f32_bits = _reinterpret(types.float32, types.uint32)
f32_of_bits = _reinterpret(types.uint32, types.float32)
f64_bits = _reinterpret(types.float64, types.int64)
f16_bits = _unary(types.float32, types.uint16, lambda b, x: b.bitcast(b.fptrunc(x, _HALF), ir.IntType(16)))
f16_value = _unary(types.uint16, types.float32, lambda b, bits: b.fpext(b.bitcast(bits, _HALF), ir.FloatType()))
f16_bits_of_f64 = ptx(types.float64, types.uint16, "cvt.rn.f16.f64")


# ------------------------------------------------------------------------------------ the program's number

MOST_BLOCKS = 2**31 - 1
"""Of a grid, along x."""


@intrinsic
def block_id(typingctx):
    """`cuda.blockIdx.x`, and LLVM is told that it is not negative.

    To numba a negative index counts from the end: without this, it tests each index that is made of the number.
    """

    def codegen(context, builder, signature, arguments):
        integer = ir.IntType(32)
        name = "llvm.nvvm.read.ptx.sreg.ctaid.x"
        read = cgutils.get_or_insert_function(builder.module, ir.FunctionType(integer, []), name)
        number = builder.call(read, [])
        limits = [ir.Constant(integer, limit) for limit in (0, MOST_BLOCKS)]
        number.set_metadata("range", builder.module.add_metadata(limits))
        return number

    return types.int32(), codegen


# ------------------------------------------------------------------------------------ real functions


def _library(name: str) -> Callable:
    """A function of NVIDIA's libdevice."""
    function = getattr(libdevice, name)

    @device
    def call(x):
        return function(x)

    return call


_NAMES = {
    "floor": "floor", "ceil": "ceil", "round": "rint", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
    "log": "log", "log2": "log2", "log1p": "log1p", "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tanh": "tanh",
    "erf": "erf",
}

for _name, _function in _NAMES.items():
    globals()[f"{_name}_f32"] = _library(f"{_function}f")
    globals()[f"{_name}_f64"] = _library(_function)

cospi_f32 = _library("cospif")


@device
def mul_f32(a, b):
    return libdevice.fmul_rn(a, b)


@device
def mul_f64(a, b):
    return libdevice.dmul_rn(a, b)


@device
def fma_f32(a, b, c):
    return libdevice.fmaf(a, b, c)


@device
def fma_f64(a, b, c):
    return libdevice.fma(a, b, c)


@device
def pow_f32(a, b):
    return libdevice.powf(a, b)


@device
def pow_f64(a, b):
    return libdevice.pow(a, b)


@device
def rsqrt_f32(x):
    return np.float32(1) / libdevice.sqrtf(x)


@device
def rsqrt_f64(x):
    return np.float64(1) / libdevice.sqrt(x)


@device
def sigmoid_f32(x):
    """Written so that exp never overflows."""
    small = libdevice.expf(-abs(x))
    return (np.float32(1) if x >= np.float32(0) else small) / (np.float32(1) + small)


@device
def sigmoid_f64(x):
    small = libdevice.exp(-abs(x))
    return (np.float64(1) if x >= np.float64(0) else small) / (np.float64(1) + small)


# ------------------------------------------------------------------------------------ shuffles

WHOLE_WARP = 0xFFFFFFFF


@device
def shuffle_xor(value, distance):
    """What the thread of the warp has that is `distance` away, by exclusive or of their numbers."""
    return cuda.shfl_xor_sync(WHOLE_WARP, value, distance)


@device
def shuffle_lane(value, lane):
    """What thread number `lane` of the warp has."""
    return cuda.shfl_sync(WHOLE_WARP, value, lane)


@device
def shuffle_up(value, distance):
    """What the thread `distance` before this one has; the first ones of the warp keep their own."""
    return cuda.shfl_up_sync(WHOLE_WARP, value, distance)


@device
def shuffle_down(value, distance):
    """What the thread `distance` after this one has; the last ones of the warp keep their own."""
    return cuda.shfl_down_sync(WHOLE_WARP, value, distance)


# ------------------------------------------------------------------------------------ atomics


def _atomic(instruction: str, element: types.Type, values: int) -> Callable:
    """An atomic on array[at]; returns the old value. Addresses are generic, so it serves shared memory as well."""
    value_type, register = _IR[element], _REGISTER[element]
    words = {"f": "r", "d": "l"}.get(register, register) if ".b" in instruction else register
    word_type = {"r": ir.IntType(32), "l": ir.IntType(64)}.get(words, value_type)

    def codegen(context, builder, signature, arguments):
        array, at, *operands = arguments
        base = context.make_array(signature.args[0])(context, builder, array).data
        address = builder.ptrtoint(builder.gep(base, [at]), ir.IntType(64))
        operands = [builder.bitcast(v, word_type) for v in operands]
        shape = ir.FunctionType(word_type, [ir.IntType(64)] + [word_type] * values)
        places = ", ".join(f"${n + 2}" for n in range(values))
        constraints = ",".join([f"={words}", "l", *[words] * values, "~{memory}"])
        assembly = ir.InlineAsm(shape, f"{instruction} $0, [$1], {places};", constraints, side_effect=True)
        return builder.bitcast(builder.call(assembly, [address, *operands]), value_type)

    if values == 1:
        @intrinsic
        def atomic(typingctx, array, at, value):
            return element(array, types.int64, element), codegen
    else:
        @intrinsic
        def atomic(typingctx, array, at, expected, value):
            return element(array, types.int64, element, element), codegen
    return atomic


_ELEMENTS = {"i32": (types.int32, "s32", 32), "i64": (types.int64, "s64", 64), "u32": (types.uint32, "u32", 32),
             "u64": (types.uint64, "u64", 64), "f32": (types.float32, "f32", 32), "f64": (types.float64, "f64", 64)}

for _name, (_type, _suffix, _bits) in _ELEMENTS.items():
    _sum = _suffix.replace("s64", "u64")  # PTX adds i64 as u64: the same bits
    globals()[f"atomic_add_{_name}"] = _atomic(f"atom.add.{_sum}", _type, 1)
    globals()[f"atomic_xchg_{_name}"] = _atomic(f"atom.exch.b{_bits}", _type, 1)
    globals()[f"atomic_cas_{_name}"] = _atomic(f"atom.cas.b{_bits}", _type, 2)
    if _name[0] != "f":
        globals()[f"atomic_max_{_name}"] = _atomic(f"atom.max.{_suffix}", _type, 1)
        globals()[f"atomic_min_{_name}"] = _atomic(f"atom.min.{_suffix}", _type, 1)


def _extreme(cas: Callable, bits: Callable, larger: bool) -> Callable:
    """Float max or min: there is no instruction that keeps NaN, so try until nobody came in between."""

    @device
    def atomic(array, at, value):
        old = array[at]
        while True:
            most = old if old >= value or old != old else value
            least = old if old <= value or old != old else value
            seen = cas(array, at, old, most if larger else least)
            if bits(seen) == bits(old):
                return old
            old = seen

    return atomic


for _name, _bits_of in (("f32", f32_bits), ("f64", f64_bits)):
    _cas = globals()[f"atomic_cas_{_name}"]
    globals()[f"atomic_max_{_name}"] = _extreme(_cas, _bits_of, True)
    globals()[f"atomic_min_{_name}"] = _extreme(_cas, _bits_of, False)
