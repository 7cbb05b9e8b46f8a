"""The device's own functions in numba's simulator: NumPy scalars in place of instructions.

Same names and meanings as `tilelang.runtime.device_cuda`. Real functions are computed in f64 and rounded, like the
reference's, so that the simulator differs from the reference in the order of sums only.
"""

# mypy: disable-error-code="no-untyped-def, attr-defined"
# Functions of a device take any number type: numba infers what they are called with.

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Callable

import ml_dtypes
import numpy as np
from numba.cuda.simulator import kernel as simulator

from tilelang.codegen.cuda import vector_widths
from tilelang.dtypes import DTYPES
from tilelang.ir.fused import fma
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.tile_ops import APPROXIMATE


def device(function: Callable) -> Callable:
    """Device functions are plain Python functions here."""
    return function


# ------------------------------------------------------------------------------------ bits


def f32_bits(x):
    return np.float32(x).view(np.uint32)


def f32_of_bits(bits):
    return np.uint32(bits).view(np.float32)


def f64_bits(x):
    return np.float64(x).view(np.int64)


def f16_bits(x):
    return np.float32(x).astype(np.float16).view(np.uint16)


def f16_value(bits):
    return np.float32(np.uint16(bits).view(np.float16))


def f16_bits_of_f64(x):
    return np.float64(x).astype(np.float16).view(np.uint16)


def bf16_bits(x):
    return np.float32(x).astype(ml_dtypes.bfloat16).view(np.uint16)


# ------------------------------------------------------------------------------------ the program's number


def block_id():
    return np.int32(threading.current_thread().blockIdx.x)


# ------------------------------------------------------------------------------------ real functions


def _rounded(function: Callable[[np.float64], object]) -> tuple[Callable, Callable]:
    return (lambda x: np.float32(function(np.float64(x)))), (lambda x: np.float64(function(np.float64(x))))


def _sigmoid(x):
    small = np.exp(-abs(x))
    return (1.0 if x >= 0 else small) / (1.0 + small)


floor_f32, floor_f64 = _rounded(np.floor)
ceil_f32, ceil_f64 = _rounded(np.ceil)
round_f32, round_f64 = _rounded(np.rint)
exp_f32, exp_f64 = _rounded(np.exp)
exp2_f32, exp2_f64 = _rounded(np.exp2)
expm1_f32, expm1_f64 = _rounded(np.expm1)
log_f32, log_f64 = _rounded(np.log)
log2_f32, log2_f64 = _rounded(np.log2)
log1p_f32, log1p_f64 = _rounded(np.log1p)
sqrt_f32, sqrt_f64 = _rounded(np.sqrt)
rsqrt_f32, rsqrt_f64 = _rounded(lambda x: 1.0 / np.sqrt(x))
sin_f32, sin_f64 = _rounded(np.sin)
cos_f32, cos_f64 = _rounded(np.cos)
cospi_f32, _ = _rounded(lambda x: np.cos(np.pi * x))
tanh_f32, tanh_f64 = _rounded(np.tanh)
erf_f32, erf_f64 = _rounded(math.erf)
sigmoid_f32, sigmoid_f64 = _rounded(_sigmoid)


def pow_f64(a, b):
    """Of arrays: NumPy takes square roots for scalar exponents of 0.5, which is not `pow` at -inf."""
    return np.power(np.array([a], np.float64), np.array([b], np.float64))[0]


def pow_f32(a, b):
    return np.float32(pow_f64(a, b))


def approximations() -> dict[str, Callable]:
    """`exp_approx` and so on: no worse than the functions themselves."""
    found = {f"{name}_approx": globals()[f"{name}_f32"] for name in APPROXIMATE if name != "div"}
    return {**found, "div_approx": lambda a, b: a / b}


def mul_f32(a, b):
    return a * b


def mul_f64(a, b):
    return a * b


FLOAT64, INT64 = struct.Struct("<d"), struct.Struct("<q")
DROPPED, TIE = (1 << 29) - 1, 1 << 28
"""The bits of an f64 that f32 has no room for, and what they are halfway between two f32s."""
SMALLEST_NORMAL = 2.0**-126


def fma_f32(a, b, c):
    """Rounded once. The product is exact in f64; rounding the sum again, to f32, goes wrong only at a tie."""
    total = float(a) * float(b) + float(c)
    if abs(total) >= SMALLEST_NORMAL:
        (bits,) = INT64.unpack(FLOAT64.pack(total))
        if bits & DROPPED != TIE:
            return np.float32(total)
    return np.float32(fma(np.asarray(a), np.asarray(b), np.asarray(c)))


def fma_f64(a, b, c):
    return np.float64(fma(np.asarray(a), np.asarray(b), np.asarray(c)))


# ------------------------------------------------------------------------------------ shuffles

WARP = 32


def shuffle_xor(value, distance):
    """numba's simulator has no shuffles: all values are laid open, between two barriers."""
    return _exchanged(value, lambda lane: lane ^ distance)


def shuffle_lane(value, lane):
    return _exchanged(value, lambda _: lane)


def shuffle_up(value, distance):
    return _exchanged(value, lambda lane: lane - distance if lane >= distance else lane)


def shuffle_down(value, distance):
    return _exchanged(value, lambda lane: lane + distance if lane + distance < WARP else lane)


def _exchanged(value, source: Callable):
    """So all threads of the block must come, not of the warp only."""
    thread = threading.current_thread()
    mine, laid_open = thread.threadIdx.x, thread._manager.exchange
    laid_open[mine] = value
    thread.syncthreads()
    taken = laid_open[mine // WARP * WARP + source(mine % WARP)]
    thread.syncthreads()
    return taken


# ------------------------------------------------------------------------------------ shared memory


def _dynamic(item: np.dtype) -> Callable:
    def part(first, size):
        """The `size` elements from byte `first` of the block's dynamic shared memory on."""
        memory = simulator._get_kernel_context().shared.array(0, np.uint8)
        return memory[first:first + size * item.itemsize].view(item)

    return part


def dynamic_functions() -> dict[str, Callable]:
    """`dynamic_f32` and so on: half floats are bits."""
    return {f"dynamic_{name}": _dynamic(np.dtype(np.uint16) if dtype.is_float and dtype.bits == 16
                                        else numpy_dtype(dtype)) for name, dtype in DTYPES.items()}


# ------------------------------------------------------------------------------------ vectors


def _load_vector(width: int, value: Callable) -> Callable:
    def load(registers, first, tensor, at):
        if at % width:
            raise ValueError(f"a vector of {width} elements at {at}")
        for k in range(width):
            registers[first + k] = value(tensor[at + k])

    return load


def _store_vector(width: int, bits: Callable) -> Callable:
    def store(registers, first, tensor, at):
        if at % width:
            raise ValueError(f"a vector of {width} elements at {at}")
        for k in range(width):
            tensor[at + k] = bits(registers[first + k])

    return store


def _bf16_value(bits):
    return (np.uint32(bits) << np.uint32(16)).view(np.float32)


def vector_functions() -> dict[str, Callable]:
    """`load_f32x4` and so on."""
    found = {}
    for name, dtype in DTYPES.items():
        value, bits = {"f16": (f16_value, f16_bits), "bf16": (_bf16_value, bf16_bits)}.get(
            name, (lambda x: x, lambda x: x))
        for width in vector_widths(dtype):
            for place in ("", "shared_"):
                found[f"load_{place}{name}x{width}"] = _load_vector(width, value)
                found[f"store_{place}{name}x{width}"] = _store_vector(width, bits)
    return found


# ------------------------------------------------------------------------------------ atomics

_one_at_a_time = threading.Lock()


def _atomic(change: Callable) -> Callable:
    """An atomic that replaces array[at] by change(old, *values) and returns the old value."""

    def atomic(array, at, *values):
        with _one_at_a_time:
            old = array[at]
            array[at] = change(old, *values)
        return old

    return atomic


def _cas(old, expected, value):
    """By bits: a NaN equals itself, and 0.0 is not -0.0."""
    kind = type(old)
    return value if old.tobytes() == kind(expected).tobytes() else old


def _max(old, value):
    return np.maximum(old, value)


def _min(old, value):
    return np.minimum(old, value)


_CHANGES = {"add": lambda old, value: old + value, "max": _max, "min": _min, "cas": _cas,
            "xchg": lambda old, value: value}

for _kind, _change in _CHANGES.items():
    for _name in ("i32", "i64", "u32", "u64", "f32", "f64"):
        globals()[f"atomic_{_kind}_{_name}"] = _atomic(_change)
