"""Objects that lend arrays through DLPack and the CUDA array interface without any library that does."""

from __future__ import annotations

import ctypes

import numpy as np

from tilelang.runtime import dlpack

DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, DESTRUCTOR]


_alive: list[object] = []
"""A capsule is destroyed by C code that does not keep its lender: the lenders stay."""


class Lender:
    """Lends `array`'s memory as a DLPack capsule made by hand, in the old form or the versioned one.

    `code` and `bits` overrule the element type, `device` the place; `given_back` counts destroyed capsules.
    """

    def __init__(
        self,
        array: np.ndarray,
        code: int,
        bits: int,
        *,
        lanes: int = 1,
        device: tuple[int, int] = (1, 0),
        versioned: bool = True,
        readonly: bool = False,
        strides: bool = True,
        offset: int = 0,
        major: int = 1,
    ):
        self.array = array
        self.given_back = 0
        shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        steps = (ctypes.c_int64 * max(1, array.ndim))(*(s // array.itemsize for s in array.strides))
        self.struct: ctypes.Structure = dlpack._Versioned() if versioned else dlpack._Managed()
        if versioned:
            self.struct.major, self.struct.minor, self.struct.flags = major, 0, int(readonly)
        tensor = self.struct.tensor
        tensor.data = array.__array_interface__["data"][0] - offset
        tensor.byte_offset = offset
        tensor.device.type, tensor.device.id = device
        tensor.ndim = array.ndim
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, lanes
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        if strides:
            tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
        self.kept = (shape, steps)
        self.versioned = versioned
        _alive.append(self)
        self.destructor = DESTRUCTOR(self._destroyed)

    def _destroyed(self, _: int) -> None:
        self.given_back += 1

    def __dlpack__(self, **options: object) -> object:
        if not self.versioned and options:
            raise TypeError("unexpected keyword argument 'max_version'")
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        return _new(ctypes.addressof(self.struct), name, self.destructor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.struct.tensor.device.type, self.struct.tensor.device.id


class Failing:
    """Lends nothing: its `__dlpack__` raises, as PyTorch's does for a tensor that requires a gradient."""

    def __init__(self, error: Exception):
        self.error = error

    def __dlpack__(self, **options: object) -> object:
        raise self.error


class OnGpu:
    """An array at a made-up address of a GPU, with the CUDA array interface. The address is never touched."""

    def __init__(
        self,
        shape: tuple[int, ...],
        typestr: str = "<f4",
        *,
        address: int = 0x7F0000000000,
        strides: tuple[int, ...] | None = None,
        readonly: bool = False,
    ):
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": typestr,
            "strides": strides,
            "data": (address, readonly),
            "stream": None,
        }


class Interfaced:
    """Lends a NumPy array through `__array_interface__` alone."""

    def __init__(self, array: np.ndarray):
        self.array = array

    @property
    def __array_interface__(self) -> dict:
        return self.array.__array_interface__
