"""Where a kernel can run. A device says whether it is there, and turns a compiled kernel into something to call.

`auto` is the first GPU if there is one, else `cpu`. All devices give the same results, see the language reference.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tilelang.diagnostics import CompileError, Diagnostic
from tilelang.driver import CPU as CPU_STAGES
from tilelang.driver import GPU as GPU_STAGES
from tilelang.driver import Compilation, Stage
from tilelang.near import nearest
from tilelang.runtime import executables
from tilelang.runtime.executables import Executable
from tilelang.tiling.targets import TARGETS, Target


@dataclass(frozen=True)
class Device:
    """One place to run kernels.

    `stages` follow the middle of the compiler (`tilelang.driver.MIDDLE`); `load` makes an executable of what
    they leave. `missing` gives the reason why the device is not there, or None. `gpu` is the GPU's number.
    """

    name: str
    does: str
    load: Callable[[Compilation], Executable]
    stages: tuple[Stage, ...] = ()
    target: Target | None = None
    missing: Callable[[], str | None] = lambda: None
    gpu: int | None = None

    def available(self) -> str | None:
        """None if the device can be used here, else the reason why not."""
        return self.missing()

    def __str__(self) -> str:
        return self.name


DEVICES = (
    Device("cpu", "all cores of this computer, machine code made with numba", executables.cpu, CPU_STAGES),
    Device("reference", "the interpreter of the tile IR, in NumPy", executables.reference),
    Device(
        "simulator",
        "the CUDA source on numba's CUDA simulator: slow, every thread is Python",
        executables.simulator,
        GPU_STAGES,
        TARGETS["simulator"],
    ),
    Device(
        "model",
        "the thread IR on a model of a GPU that finds races",
        executables.model,
        GPU_STAGES[:2],
        TARGETS["sm_80"],
    ),
)
"""The devices that every computer has."""


def device_names() -> tuple[str, ...]:
    """Every name that `device=` takes here; `cuda:N` for each GPU."""
    return ("auto", *(d.name for d in DEVICES), *(f"cuda:{n}" for n in range(gpu_count())))


def find_device(name: str | Device, gpus: Sequence[int] = ()) -> Device:
    """The device called `name`; with `auto`, the GPU on which an argument lives, if one does.

    Raises:
        CompileError: E0520, there is no such device; E0521, it is not available here.
    """
    name = str(name)
    if name == "auto":
        name = f"cuda:{gpus[0] if gpus else 0}" if gpu_count() else "cpu"
    device = _devices().get(name)
    if device is None and (match := re.fullmatch(r"cuda(?::(\d{1,4}))?", name, re.ASCII)):
        device = gpu_device(int(match.group(1) or 0))
    if device is None:
        known = ("auto", *_devices(), "cuda:0")
        guess = "cuda:0" if name.lower() in ("gpu", "nvidia") else nearest(name, known)
        raise CompileError(
            [
                Diagnostic(
                    "E0520",
                    f"there is no device `{name}`",
                    notes=(f"the devices are {', '.join(known)}",),
                    help=f"did you mean `{guess}`?" if guess else "leave `device` out",
                )
            ]
        )
    if (reason := device.available()) is not None:
        raise CompileError(
            [
                Diagnostic(
                    "E0521",
                    f"the device `{device.name}` is not available here",
                    notes=(reason,),
                    help="use the device `cpu`, or leave `device` out",
                )
            ]
        )
    return device


def find_target(target: str | Target) -> Target:
    """The target called `target`. Raises CompileError (E0520)."""
    if isinstance(target, Target):
        return target
    if target not in TARGETS:
        guess = nearest(target, TARGETS)
        raise CompileError(
            [
                Diagnostic(
                    "E0520",
                    f"there is no target `{target}`",
                    notes=(f"the targets are {', '.join(TARGETS)}",),
                    help=f"did you mean `{guess}`?" if guess else "",
                )
            ]
        )
    return TARGETS[target]


@cache
def _devices() -> Mapping[str, Device]:
    return {device.name: device for device in DEVICES}


@cache
def gpu_device(number: int) -> Device:
    """The device of GPU `number`, there or not."""
    return Device(
        f"cuda:{number}",
        "an NVIDIA GPU",
        executables.gpu(number),
        GPU_STAGES,
        _target_of(number),
        lambda: _gpu_missing(number),
        number,
    )


def _gpu_missing(number: int) -> str | None:
    return None if number < gpu_count() else f"no GPU number {number} answers here; `tilec doctor` says more"


@cache
def gpu_count() -> int:
    """How many CUDA GPUs there are.

    Asks the driver itself, which takes milliseconds where importing numba takes half a second.
    """
    driver = _driver()
    count = ctypes.c_int(0)
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


@cache
def _driver() -> ctypes.CDLL | None:
    """NVIDIA's driver, initialised; None if there is none or it finds no GPU."""
    for name in ("libcuda.so.1", "nvcuda.dll", "libcuda.dylib"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        return driver if driver.cuInit(0) == 0 else None
    return None


def gpu_name(number: int) -> str:
    """What the maker calls GPU `number`, empty if there is no such GPU."""
    driver = _driver()
    if driver is None or number >= gpu_count():
        return ""
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(256)
    if driver.cuDeviceGet(ctypes.byref(device), number) or driver.cuDeviceGetName(name, len(name), device):
        return ""
    return name.value.decode("utf-8", "replace")


CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of the CUDA driver API."""


def _target_of(number: int) -> Target | None:
    """The newest known target that the GPU can run and that need not be asked for by name, None if there is no such
    GPU."""
    driver = _driver()
    if driver is None or number >= gpu_count():
        return None
    major, minor = ctypes.c_int(0), ctypes.c_int(0)
    driver.cuDeviceGetAttribute(ctypes.byref(major), CAPABILITY_MAJOR, number)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), CAPABILITY_MINOR, number)
    able = [t for t in TARGETS.values() if t.capability is not None and t.capability <= (major.value, minor.value)
            and not t.wgmma]
    return max(able, key=lambda t: t.capability or (0, 0), default=None)
