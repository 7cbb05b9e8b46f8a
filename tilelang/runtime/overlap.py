"""Do two arrays share an element? Does an array meet itself?

A kernel's programs run in any order, so a result may not depend on who writes first: an output must lie apart from all
other arguments, and all its elements apart from each other.
"""

from __future__ import annotations

import numpy as np

from tilelang.runtime.arrays import DeviceArray, HostArray

WORK_LIMIT = 100_000
"""Steps that the exact test may take. Finding a shared element of two strided arrays is a bounded Diophantine
equation, which is NP-complete in general; for arrays of rank up to 4 it takes a few steps."""
LARGEST_LISTED = 1 << 22
"""Elements of an array whose offsets `meets_itself` lists one by one when nothing simpler decides."""

Array = HostArray | DeviceArray


def share_an_element(a: Array, b: Array) -> bool:
    """True if some byte belongs to both, or if that could not be decided within WORK_LIMIT."""
    if isinstance(a, DeviceArray) or isinstance(b, DeviceArray):
        if not (isinstance(a, DeviceArray) and isinstance(b, DeviceArray)) or a.device != b.device:
            return False
        a, b = _shadow(a), _shadow(b)
    if not np.may_share_memory(a, b):  # compares the bounds only
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=WORK_LIMIT))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


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


def _some_offsets_are_near(axes: list[tuple[int, int]], itemsize: int) -> bool:
    """Whether two elements lie nearer than one element's size: the exact test, for views that interleave."""
    if np.prod([n for _, n in axes], dtype=float) > LARGEST_LISTED:
        return True
    offsets = np.zeros(1, np.int64)
    for stride, extent in axes:
        offsets = np.add.outer(offsets, np.arange(extent) * stride).ravel()
    offsets.sort()
    return bool(np.any(np.diff(offsets) < itemsize))


class _Shadow:
    def __init__(self, interface: dict[str, object]):
        self.__array_interface__ = interface


def _shadow(array: DeviceArray) -> HostArray:
    """A NumPy array with the addresses of a GPU array. Only the addresses may be used: reading it would crash."""
    return np.asarray(
        _Shadow(
            {
                "version": 3,
                "typestr": f"|V{array.dtype.bytes}",
                "shape": array.shape,
                "strides": array.strides,
                "data": (array.address, True),
            }
        )
    )
