"""Chapter 12, Launching and tuning: solutions.

Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from tilelang.runtime.arrays import DeviceArray, Number, Refused, describe, offers
from tilelang.runtime.calls import _inputs
from tilelang.runtime.overlap import Array, _some_offsets_are_near
from tilelang.runtime.tuning.race import CLOSE
from tilelang.runtime.tuning.space import Config
from tilelang.runtime.tuning.store import Tunable
from tilelang.semantics.signature import Signature


# tilelang/semantics/constants.py
def next_pow2(n: int) -> int:
    """The smallest power of two that is at least `max(n, 1)`."""
    return 1 << (n - 1).bit_length() if n > 1 else 1


# tilelang/runtime/dlpack.py
def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


# tilelang/runtime/log.py
def _ids(program: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    ids = []
    for extent in grid:
        ids.append(program % extent)
        program //= extent
    return tuple(ids)


# tilelang/runtime/tuning/race.py
def winner(seconds: Mapping[int, float]) -> int:
    """The fastest; of those that are as fast as can be told, the one with the lowest number."""
    fastest = min(seconds.values())
    return min(number for number, time in seconds.items() if time <= CLOSE * fastest)


# tilelang/runtime/cache.py
def key_of(*parts: str) -> str:
    """A name for what these parts decide together."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part};".encode())
    return digest.hexdigest()[:40]


# tilelang/runtime/cuda_arguments.py
def reach(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """How far below and above its first element an array goes: (-elements, elements). Zeros for an empty one."""
    if 0 in shape:
        return 0, 0
    ends = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


# tilelang/runtime/calls.py
def given_names(signature: Signature, count: int) -> tuple[str, ...]:
    """The parameters that `count` positional arguments are for."""
    inputs = _inputs(signature)
    return tuple(p.name for p in (signature.params if count > len(inputs) else inputs)[:count])


# tilelang/runtime/arguments.py
def _converted(value: object) -> Number:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)) or type(value).__name__ == "bfloat16":
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, (complex, np.complexfloating)):
        raise Refused("E0517", f"the complex number {value}", "a real number is needed", "write `{x}.real`")
    if offers(value, "item") and getattr(value, "shape", None) in ((), (1,)):
        raise Refused("E0517", describe(value), "a plain number is needed", "write `{x}.item()`")
    is_array = isinstance(value, np.ndarray)
    help = "for an array, give the parameter axes: `{x}: f32[N]`" if is_array else "pass a number, such as `{x}=1`"
    raise Refused("E0517", describe(value), "a number is needed", help)


# tilelang/runtime/tuning/space.py
def configurations(choices: Mapping[str, Sequence[Tunable]], first: Config) -> list[dict[str, Tunable]]:
    """Every combination once: `first` if it is one of them, then the others, the last meta changing fastest."""
    found = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    return [config for config in found if config == first] + [config for config in found if config != first]


# tilelang/runtime/tuning/race.py
def still_in(samples: Mapping[int, Sequence[float]], slack: float) -> list[int]:
    """Those that are not clearly slower than the leader, the one with the lowest median.

    One fast run is enough: those stay whose fastest run took at most `slack` times the leader's median. `samples` are
    seconds.
    """
    lead = min(statistics.median(times) for times in samples.values())
    return [number for number, times in samples.items() if min(times) <= slack * lead]


# tilelang/runtime/overlap.py
def meets_itself(array: Array) -> bool:
    """True if two different indexes name the same byte, or if that could not be decided."""
    itemsize = array.dtype.bytes if isinstance(array, DeviceArray) else array.dtype.itemsize
    axes = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1)
    if any(n == 0 for _, n in axes):
        return False
    reach = itemsize  # bytes that the axes so far span; the next axis must step over all of them
    for stride, extent in axes:
        if stride < reach:
            return stride == 0 or _some_offsets_are_near(axes, itemsize)
        reach += stride * (extent - 1)
    return False
