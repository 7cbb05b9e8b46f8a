"""Every word that generated CPU source can use; it imports them from here and uses nothing else but numba's range."""

# ruff: noqa: F401  (the words are used by generated files)
from __future__ import annotations

from numpy import float32 as f32
from numpy import float64 as f64
from numpy import int8 as i8
from numpy import int16 as i16
from numpy import int32 as i32
from numpy import int64 as i64
from numpy import uint8 as u8
from numpy import uint16 as u16
from numpy import uint32 as u32
from numpy import uint64 as u64

from tilelang.runtime.cpu_atomics import (
    atomic_add,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_xchg,
    log_failure,
    log_print,
    payload,
    report_trouble,
    stopped,
)
from tilelang.runtime.cpu_copy import copy_row
from tilelang.runtime.cpu_dot import dot
from tilelang.runtime.cpu_loops import int_power, trips
from tilelang.runtime.cpu_math import (
    cos,
    erf,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    power,
    rsqrt,
    sigmoid,
    sin,
    tanh,
)
from tilelang.runtime.cpu_memory import (
    allocate,
    argument,
    load,
    load_if,
    release,
    scalar_argument,
    scratch,
    store,
    store_if,
    stride,
    tensor,
)
from tilelang.runtime.cpu_numbers import (
    absolute,
    accumulate_prod,
    accumulate_sum,
    add,
    beats_max,
    beats_min,
    bit_and,
    bit_not,
    bit_or,
    bit_xor,
    ceil,
    div,
    eq,
    floor,
    floordiv,
    fma,
    ge,
    gt,
    inside,
    isinf,
    isnan,
    le,
    length,
    lt,
    maximum,
    minimum,
    mod,
    mul,
    ne,
    neg,
    round_even,
    select,
    shl,
    shr,
    sign,
    sqrt,
    sub,
    to_bf16,
    to_bool,
    to_f16,
    to_f32,
    to_f64,
    to_i8,
    to_i16,
    to_i32,
    to_i64,
    to_u8,
    to_u16,
    to_u32,
    to_u64,
)
from tilelang.runtime.cpu_private import (
    add_private,
    discard_private,
    merge_private,
    private_copy,
    private_room,
    room_got,
)
from tilelang.runtime.cpu_random import rand, randint, randn
from tilelang.runtime.cpu_streams import prefetch_row, row_target, settle_streams, stream_row, streams
from tilelang.runtime.cpu_transpose import transpose

nan = float("nan")
inf = float("inf")

__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]
