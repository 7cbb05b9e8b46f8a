"""Reading DLPack: the way in which PyTorch, JAX, CuPy and others lend each other their arrays.

An array's `__dlpack__()` gives a capsule, a Python object around a C pointer to a small struct: where the numbers
are, on which device, of which type, and the extents and strides. The struct is read here with ctypes rather than by
`np.from_dlpack`, which knows neither bfloat16 nor GPUs. The capsule is kept, never consumed: when the last array made
from it goes, the capsule goes, and its own destructor tells the lender.

Source: dlpack.h, version 1.1, https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from tilelang.dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
"""`DLDeviceType`s whose memory this program can use. Pinned host memory is read like any other."""

ELEMENT_TYPES: dict[tuple[int, int], DType] = {
    (0, 8): I8,
    (0, 16): I16,
    (0, 32): I32,
    (0, 64): I64,
    (1, 8): U8,
    (1, 16): U16,
    (1, 32): U32,
    (1, 64): U64,
    (2, 16): F16,
    (2, 32): F32,
    (2, 64): F64,
    (4, 16): BF16,
    (6, 8): BOOL,
}
"""`DLDataType` (code, bits) to element type."""

READ_ONLY_FLAG = 1
IMMUTABLE_LENDERS = frozenset({"jax", "jaxlib"})
"""Before DLPack 1.0 a capsule could not say that it is read-only; these libraries' arrays always are."""


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """`DLManagedTensor`, before DLPack 1.0."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`, from DLPack 1.0 on."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


@dataclass(frozen=True)
class Lent:
    """An array lent through DLPack.

    `address` is that of element [0, 0, ...]; `strides` are in elements. `dtype` is None if it is none of the
    language's element types; then `type_text` says what it is. `capsule` keeps the memory alive.
    """

    address: int
    device_type: int
    device_id: int
    dtype: DType | None
    type_text: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    readonly: bool
    capsule: object


def borrow(lender: object) -> Lent:
    """Ask `lender.__dlpack__()` for its array. Raises whatever the lender raises, or ValueError for no capsule."""
    try:
        capsule = lender.__dlpack__(max_version=(1, 1))  # type: ignore[attr-defined]
    except TypeError:  # a lender from before DLPack 1.0 knows no `max_version`
        capsule = lender.__dlpack__()  # type: ignore[attr-defined]
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise ValueError(f"DLPack version {versioned.major}.{versioned.minor} is not known here")
        return _lent(versioned.tensor, bool(versioned.flags & READ_ONLY_FLAG), capsule)
    if _is_valid(capsule, b"dltensor"):
        managed = _Managed.from_address(_pointer(capsule, b"dltensor"))
        return _lent(managed.tensor, type(lender).__module__.split(".")[0] in IMMUTABLE_LENDERS, capsule)
    raise ValueError(f"`__dlpack__()` gave a {type(capsule).__name__}, not a DLPack capsule")


def _lent(tensor: _Tensor, readonly: bool, capsule: object) -> Lent:
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim)) if tensor.strides else row_major(shape)
    code, bits, lanes = tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
    dtype = ELEMENT_TYPES.get((code, bits)) if lanes == 1 else None
    return Lent(
        (tensor.data or 0) + tensor.byte_offset,
        tensor.device.type,
        tensor.device.id,
        dtype,
        f"DLPack type code {code}, {bits} bits, {lanes} lanes",
        shape,
        strides,
        readonly,
        capsule,
    )


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
