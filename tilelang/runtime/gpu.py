"""Launching generated CUDA source on a real GPU, through numba.cuda.

Host arrays are copied to the GPU and outputs back; arrays that live on the GPU (`DeviceArray`) are used where they are.
Everything here needs a GPU to be tested; what it is made of (source, PTX, flat arguments) is tested without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tilelang.codegen.cuda import function_name
from tilelang.diagnostics import InternalError
from tilelang.dtypes import BF16, F16
from tilelang.ir.core import Kernel, TensorType
from tilelang.ir.host_types import numpy_dtype
from tilelang.memory.placement import dynamic_bytes
from tilelang.runtime.arrays import DeviceArray
from tilelang.runtime.cuda_arguments import Flat, copy_back, count_programs, flatten, in_order, reach
from tilelang.runtime.cuda_compile import signature
from tilelang.runtime.generated import define
from tilelang.runtime.log import new_log


def launch(cuda_source: str, thread_kernel: Kernel, args: Mapping[str, object], dims: Mapping[str, int],
           grid: Sequence[int], *, log: np.ndarray | None = None, device: int = 0) -> np.ndarray:
    """Run every program of `grid` on GPU number `device`, and wait for it. Returns the log.

    `args` holds NumPy arrays, `DeviceArray`s and numbers by parameter name; outputs are updated in place.

    Raises:
        CompileError: E0622, more programs than a launch can have; E0630, the extra `cuda` is not installed.
        InternalError: the driver reports an error.
    """
    if log is None:
        log = new_log(())
    if count_programs(grid) == 0:
        return log
    from numba import cuda
    from numba.cuda.cudadrv.driver import CudaAPIError, LinkerError
    from numba.cuda.cudadrv.error import CudaSupportError, NvrtcError, NvvmError

    try:
        with cuda.gpus[device]:
            _run(cuda_source, thread_kernel, args, dims, grid, log, device)
    except (CudaAPIError, CudaSupportError, LinkerError, NvvmError, NvrtcError) as failure:
        raise InternalError(f"GPU {device}", str(failure)) from failure
    return log


def _run(cuda_source: str, kernel: Kernel, args: Mapping[str, object], dims: Mapping[str, int], grid: Sequence[int],
         log: np.ndarray, device: int) -> None:
    from numba import cuda

    shared = dynamic_bytes(kernel)
    compiled = _compiled(cuda_source, function_name(kernel), signature(kernel), shared, device)
    tensors = [p for p in kernel.params if isinstance(p.type, TensorType)]
    flats = {p.name: _on_gpu(args[p.name]) for p in tensors}
    device_log = cuda.to_device(log)
    placed = {name: moved.flat for name, moved in flats.items()}
    arguments = in_order(kernel, placed, args, dims, grid, device_log)
    with _watched():
        compiled[prod(grid), int(kernel.attrs["threads"]), 0, shared](*arguments)  # type: ignore[index, arg-type]
    cuda.synchronize()
    device_log.copy_to_host(log)
    for param in tensors:
        moved = flats[param.name]
        if moved.host is not None and param.type.mode != "in":  # type: ignore[union-attr]
            copy_back(moved.host, moved.flat.memory.copy_to_host(), moved.flat)


_spent: ContextVar[list[float] | None] = ContextVar("spent", default=None)


@contextmanager
def timed() -> Iterator[list[float]]:
    """The seconds of every kernel that is run inside, on the GPU itself: no copies, no waiting for Python."""
    spent: list[float] = []
    token = _spent.set(spent)
    try:
        yield spent
    finally:
        _spent.reset(token)


@contextmanager
def _watched() -> Iterator[None]:
    """Around the launch of a kernel: its time, by two events in the GPU's own queue, if somebody asks for it."""
    spent = _spent.get()
    if spent is None:
        yield
        return
    from numba import cuda

    start, end = cuda.event(), cuda.event()  # with a time stamp, unless it is turned off
    start.record()
    yield
    end.record()
    end.synchronize()
    spent.append(cuda.event_elapsed_time(start, end) / 1e3)  # milliseconds


@lru_cache(maxsize=256)
def _compiled(source: str, function: str, type: object, shared: int, device: int) -> Callable:
    """The kernel, loaded on the current GPU, number `device`; its launches may ask for so many bytes of `shared`."""
    from numba import cuda
    from numba.cuda.cudadrv.driver import driver

    compiled = cuda.jit(type)(define(source, function))
    if shared:
        (overload,) = compiled.overloads.values()
        allow_shared(overload._codelibrary.get_cufunc(), shared, driver)
    return compiled


def allow_shared(loaded: Any, size: int, driver: Any) -> None:
    """Let the launches of a loaded kernel ask for `size` bytes of shared memory: beyond 48 KiB the driver wants to be
    told before. `loaded` and `driver` are numba's; it has no call for this attribute."""
    from cuda.bindings.driver import CUfunction_attribute

    attribute = CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    driver.cuKernelSetAttribute(attribute, size, loaded.handle, loaded.device.id)


@dataclass(frozen=True)
class _Moved:
    """An array argument on the GPU; `host` is where its outputs go back to, None if it lives on the GPU."""

    flat: Flat
    host: np.ndarray | None


def _on_gpu(value: object) -> _Moved:
    from numba import cuda

    if isinstance(value, DeviceArray):
        return _Moved(_flat_view(value), None)
    array = np.asarray(value)
    flat = flatten(array)
    return _Moved(Flat(cuda.to_device(np.ascontiguousarray(flat.memory)), flat.first, flat.strides), array)


def copy_to_host(array: DeviceArray) -> np.ndarray:
    """A GPU array's elements as a host array with the same strides."""
    if 0 in array.shape:
        return np.empty(array.shape, numpy_dtype(array.dtype))
    from numba import cuda

    with cuda.gpus[array.device]:
        flat = _flat_view(array)
        memory = flat.memory.copy_to_host().view(numpy_dtype(array.dtype))
    return Flat(memory, flat.first, flat.strides).view(array.shape)


def _flat_view(array: DeviceArray) -> Flat:
    """The memory of a GPU array from its lowest address on, without a copy."""
    from numba import cuda

    item = array.dtype.bytes
    strides = tuple(stride // item for stride in array.strides)
    below, above = reach(array.shape, strides)
    whole = DeviceArray(array.address + below * item, (above - below + 1,), (item,), array.dtype, array.readonly,
                        array.device, array.owner, array.stream)
    memory = cuda.as_cuda_array(whole)
    if array.dtype in (F16, BF16) and memory.dtype != np.uint16:
        memory = memory.view(np.uint16)
    return Flat(memory, -below, strides)
