"""Arrays as the runtime sees them: a NumPy array (`HostArray`), or an address on a GPU (`DeviceArray`).

`as_array` takes what a caller may pass: NumPy arrays, anything with `__array_interface__`,
`__cuda_array_interface__` or DLPack. Nothing is copied. What cannot be used raises `Refused`, which says in a
caller's words what was given and what to write instead; `tilelang.runtime.arguments` adds the parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tilelang.dtypes import BF16, DTYPES, DType
from tilelang.ir.host_types import from_numpy, numpy_dtype
from tilelang.runtime import dlpack

HostArray: TypeAlias = np.ndarray

ALIGNED, WRITEABLE = 0x100, 0x400
"""Bits of `ndarray.flags.num` (NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE)."""

LONGEST_INTEGER = 4096
"""Bits of an integer that messages show as it is. No element type holds numbers of more than 1024."""

CUDA_TYPES = {numpy_dtype(dtype).str: dtype for dtype in DTYPES.values() if dtype != BF16}
"""`typestr` of the CUDA array interface to element type. It has no bfloat16: that comes through DLPack."""


class Refused(Exception):
    """A value that cannot be an argument: a code, what was given, why, and what to write instead.

    `{x}` in `help` stands for the name of the value, `{dtype}` for the NumPy type that the parameter takes.
    """

    def __init__(self, code: str, given: str, why: str, help: str):
        super().__init__(given)
        self.code, self.given, self.why, self.help = code, given, why, help


@dataclass(frozen=True, eq=False)
class DeviceArray:
    """An array in the memory of GPU number `device`.

    `address` is that of element [0, 0, ...], `strides` are in bytes; `owner` keeps the memory alive. Passes itself
    on through `__cuda_array_interface__` (bfloat16 as `u16`, which has the same bits).
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    readonly: bool
    device: int
    owner: object
    stream: int | None = None

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {
            "version": 3,
            "typestr": _typestr(self.dtype),
            "shape": self.shape,
            "strides": self.strides,
            "data": (self.address, self.readonly),
            "stream": self.stream,
        }


Number: TypeAlias = int | float | bool
Array: TypeAlias = HostArray | DeviceArray
Argument: TypeAlias = Array | Number
"""What a kernel can be launched with."""


def as_array(value: object) -> Array:
    """The array that `value` is or lends, without a copy. Raises Refused."""
    if isinstance(value, np.ndarray):
        array: Array = _plain(value)
    elif offers(value, "__array_interface__") and not isinstance(value, np.generic):
        array = _through_interface(value)
    elif (interface := _cuda_interface(value)) is not None:
        array = _through_cuda_interface(value, interface)
    elif offers(value, "__dlpack__"):
        array = _from_dlpack(value)
    else:
        raise _not_an_array(value)
    if isinstance(array, np.ndarray):
        _check_usable(array)
    return array


def offers(value: object, attribute: str) -> bool:
    """Does a stranger's object have this attribute? One whose property fails has it: using it will say why."""
    try:
        return hasattr(value, attribute)
    except Exception:
        return True


def describe(value: object) -> str:
    """What a caller passed, for a message: `float64 array of shape (3, 4)`, `the number 3`, `a list`."""
    if isinstance(value, (np.ndarray, DeviceArray)):
        name = value.dtype.name if isinstance(value, DeviceArray) else str(value.dtype)
        place = f" on GPU {value.device}" if isinstance(value, DeviceArray) else ""
        return f"{'an' if name[0] in 'aeiou' else 'a'} {name} array of shape {value.shape}{place}"
    if value is None:
        return "None"
    if isinstance(value, (bool, np.bool_)):
        return f"the bool {bool(value)}"
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:  # Python refuses to print the very long ones
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, (int, float, np.integer, np.floating)):
        return f"the number {_short(str(value))}"
    if isinstance(value, str):
        return f"the string {_short(repr(value))}"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _short(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _plain(array: HostArray) -> HostArray:
    if isinstance(array, np.ma.MaskedArray):
        raise Refused(
            "E0505",
            "a masked array",
            "its mask would be ignored",
            "pass `{x}.filled(0)`, and the mask as an array of its own",
        )
    return array if type(array) is np.ndarray else array.view(np.ndarray)


def _through_interface(value: object) -> HostArray:
    try:
        return np.asarray(value)
    except Exception as error:  # the object is a stranger's: whatever it raises is the caller's to see
        raise _lending_failed(value, "__array_interface__", error) from error


def _cuda_interface(value: object) -> dict | None:
    """The CUDA array interface, None if there is none. PyTorch's property raises where it has nothing to say."""
    try:
        interface = getattr(value, "__cuda_array_interface__", None)
    except Exception:  # e.g. a CUDA tensor of bfloat16: `__dlpack__` is asked next, and reports what is wrong
        return None
    return interface if isinstance(interface, dict) else None


def _through_cuda_interface(value: object, interface: dict) -> DeviceArray:
    try:
        return _from_cuda(value, interface)
    except Refused:
        raise
    except Exception as error:  # as in `_through_interface`
        raise _lending_failed(value, "__cuda_array_interface__", error) from error


def _from_cuda(value: object, interface: dict) -> DeviceArray:
    """Source: CUDA Array Interface, version 3, in numba-cuda's manual."""
    dtype = CUDA_TYPES.get(str(interface["typestr"]))
    if dtype is None:
        raise _unusable_type(f"a GPU array of type {interface['typestr']!r}")
    shape = tuple(int(extent) for extent in interface["shape"])
    address, readonly = interface["data"]
    strides = interface.get("strides") or tuple(s * dtype.bytes for s in dlpack.row_major(shape))
    device = _gpu_of(value)
    return DeviceArray(
        int(address or 0), shape, tuple(strides), dtype, bool(readonly), device, value, interface.get("stream")
    )


def _gpu_of(value: object) -> int:
    """On which GPU an array is. The CUDA array interface does not say; PyTorch and CuPy do."""
    device = getattr(value, "device", None)
    for attribute in ("index", "id"):
        number = getattr(device, attribute, None)
        if isinstance(number, int):
            return number
    return 0


def _from_dlpack(value: object) -> Array:
    try:
        lent = dlpack.borrow(value)
    except Exception as error:  # as in `_through_interface`
        raise _lending_failed(value, "__dlpack__", error) from error
    if lent.dtype is None:
        raise _unusable_type(f"an array of {lent.type_text}")
    strides = tuple(stride * lent.dtype.bytes for stride in lent.strides)
    if lent.device_type in (dlpack.CUDA, dlpack.CUDA_MANAGED):
        return DeviceArray(lent.address, lent.shape, strides, lent.dtype, lent.readonly, lent.device_id, lent)
    if lent.device_type not in (dlpack.CPU, dlpack.CUDA_HOST):
        raise Refused(
            "E0522",
            f"an array on a device of DLPack type {lent.device_type}",
            "only the memory of this computer and of CUDA GPUs can be used",
            "copy it to the host first",
        )
    return host_array(lent.address, lent.shape, strides, lent.dtype, lent.readonly, lent)


def host_array(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, readonly: bool, owner: object
) -> HostArray:
    """A NumPy array over memory at `address`, which `owner` keeps alive. No element is touched."""
    if 0 in shape:
        empty = np.empty(shape, numpy_dtype(dtype))
        empty.flags.writeable = not readonly
        return empty
    array = np.asarray(
        _Memory(
            owner,
            {"version": 3, "typestr": _typestr(dtype), "shape": shape, "strides": strides, "data": (address, readonly)},
        )
    )
    return array.view(numpy_dtype(dtype))


def _typestr(dtype: DType) -> str:
    """The type in the array interfaces' notation; bfloat16, which they lack, as its bits."""
    return "<u2" if dtype == BF16 else numpy_dtype(dtype).str


class _Memory:
    """Stands between NumPy and the owner of a piece of memory."""

    def __init__(self, owner: object, interface: dict[str, object]):
        self.owner = owner
        self.__array_interface__ = interface


def _check_usable(array: HostArray) -> None:
    if from_numpy(array.dtype) is None:
        swapped = array.dtype.newbyteorder("=")
        if from_numpy(swapped) is not None:
            raise Refused(
                "E0507",
                f"an array of dtype {array.dtype.str!r}",
                "its bytes are in the order of another kind of computer",
                f"write `{{x}}.astype(np.{swapped.name})`",
            )
        raise _unusable_type(describe(array))
    if not array.flags.num & ALIGNED:
        raise Refused(
            "E0508",
            "an array that is not aligned",
            f"its elements do not lie at multiples of {array.dtype.itemsize} bytes",
            "write `{x}.copy()`",
        )


def _unusable_type(given: str) -> Refused:
    return Refused(
        "E0506",
        given,
        f"the element types are {', '.join(DTYPES)}",
        "convert it with `{x}.astype(...)` to one of np.float32, np.float16, ml_dtypes.bfloat16, np.int32, ...",
    )


def _lending_failed(value: object, protocol: str, error: Exception) -> Refused:
    text = str(error).strip().split("\n")[0] or type(error).__name__
    grad = "grad" in text
    return Refused(
        "E0523",
        f"borrowed from {describe(value)}",
        f"its `{protocol}` failed: {_short(text, 200)}",
        "write `{x}.detach()`" if grad else "convert it to a NumPy array first",
    )


def _not_an_array(value: object) -> Refused:
    if isinstance(value, (list, tuple, range)):
        return Refused(
            "E0505",
            describe(value),
            "an array is needed, with its element type decided",
            "write `np.asarray({x}, dtype={dtype})`",
        )
    if offers(value, "__array__") and not isinstance(value, np.generic):
        return Refused(
            "E0505", describe(value), "it can be turned into an array only by a copy", "write `np.asarray({x})`"
        )
    return Refused("E0505", describe(value), "an array is needed", "pass a NumPy array, or one of PyTorch, CuPy or JAX")
