"""Arguments for trials: the caller's inputs, and arrays of our own for all that a kernel writes.

Before each run `out` arrays are filled with values that no kernel would compute, and `inout` arrays with what the
caller's hold. So no run sees what another wrote, a configuration that leaves a part of its output out is found, and
the caller's arrays are not touched.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilelang.ir.host_types import numpy_dtype
from tilelang.runtime.arguments import Argument
from tilelang.runtime.arrays import DeviceArray
from tilelang.semantics.binding import Binding
from tilelang.semantics.signature import Signature

ALIGNMENT = 64
"""Bytes, a line of the CPU's cache: copies lie on one as the original does."""
POISON_BYTE = 0xA5


class Arena:
    """`arguments`: for every parameter, in order. Those that are written are host arrays, also if the caller's are not.

    A kernel's GPU gets them copied; that is not part of what is measured.
    """

    def __init__(self, signature: Signature, given: Mapping[str, Argument], binding: Binding):
        self.arguments: dict[str, Argument] = {}
        self._written: dict[str, np.ndarray] = {}
        self._originals: dict[str, np.ndarray] = {}
        for param in signature.params:
            value = given.get(param.name)
            if param.dims is not None and param.mode != "in":
                original = _on_host(value) if param.mode == "inout" else value
                value = self._written[param.name] = _own(param.name, original, binding)
                if isinstance(original, np.ndarray) and param.mode == "inout":
                    self._originals[param.name] = original
            if value is not None:
                self.arguments[param.name] = value

    def reset(self) -> None:
        """Make ready for the next run."""
        for name, array in self._written.items():
            if name in self._originals:
                np.copyto(array, self._originals[name])
            else:
                array[...] = poison(array.dtype)

    def outputs(self) -> Mapping[str, np.ndarray]:
        """What the last run wrote; the next run overwrites it."""
        return self._written

    def snapshot(self) -> dict[str, np.ndarray]:
        """A copy of what the last run wrote."""
        return {name: array.copy() for name, array in self._written.items()}


def _own(name: str, original: Argument | None, binding: Binding) -> np.ndarray:
    if isinstance(original, np.ndarray):
        return twin(original)
    return np.empty(binding.shapes[name], numpy_dtype(binding.dtypes[name]))


def _on_host(array: Argument | None) -> Argument | None:
    if not isinstance(array, DeviceArray):
        return array
    from tilelang.runtime.gpu import copy_to_host

    return copy_to_host(array)


def twin(array: np.ndarray) -> np.ndarray:
    """An array of its own with the same shape, element type, strides, and place in a cache line; not filled."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    spans = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)]
    below, above = -sum(s for s in spans if s < 0), sum(s for s in spans if s > 0)
    space = np.empty(below + above + array.itemsize + ALIGNMENT, np.uint8)
    first = below + (array.ctypes.data - space.ctypes.data - below) % ALIGNMENT
    return np.ndarray(array.shape, array.dtype, space.data, first, array.strides)


def poison(dtype: np.dtype) -> object:
    """A value to see that an element was not written: NaN, an unlikely integer, true."""
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.frombuffer(bytes([POISON_BYTE]) * dtype.itemsize, dtype)[0]
    return np.nan
