"""Device `cpu`: generated source -> machine code, and its launch on all cores.

    compiled = compile(generate(kernel, source), kernel)
    compiled.launch({"x": x, "y": y}, {"N": len(x)}, grid=(16,))
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import numba
import numpy as np
from numba import cfunc, int64, void

from tilelang.codegen.cpu import with_units
from tilelang.codegen.cpu_arguments import GRID_AXES, argument_slots
from tilelang.codegen.cpu_translation import ENTRY
from tilelang.ir.core import Kernel, TensorType
from tilelang.ir.host_types import numpy_dtype
from tilelang.runtime import cpu_driver
from tilelang.runtime.cpu_modules import compile_source, compile_uncached
from tilelang.runtime.cpu_trouble import check, stopping_for_ctrl_c
from tilelang.runtime.log import CAPACITY, NO_FAILURE, Report, decode, new_log, sites

Argument = np.ndarray | np.generic | int | float | bool

CHUNKS_PER_THREAD = 8
"""Enough chunks that cores finish together, few enough that scratch is allocated rarely."""

TRY_ALONE_SECONDS = 1e-3

SLICE_SECONDS = 0.1
"""How long a launch may run before Python looks for Ctrl-C."""

ALONE_SECONDS = 10e-6
"""Work expected to be done sooner is not worth waking other cores for, which takes microseconds, on a busy machine
many."""


def compile(text: str, kernel: Kernel) -> CompiledCpu:
    """A kernel to launch, from the source that `tilelang.codegen.cpu.generate` made of it.

    Machine code is made at the first launch, for the layout of that launch's tensors.
    """
    return CompiledCpu(text, kernel)


class CompiledCpu:
    """One kernel, compiled anew for each layout of tensors: which axis of each has neighbours in memory."""

    def __init__(self, text: str, kernel: Kernel):
        self.text = text
        self.kernel = kernel
        self._slots = argument_slots(kernel)
        self._sites = sites(kernel)
        self._may_hang = any(op.name == "while" for op in kernel.walk())
        self._variants: dict[tuple[int, ...], Variant] = {}
        self._lock = threading.Lock()
        self._params = [(param.name, param.type.dtype.bytes if isinstance(param.type, TensorType) else 0)
                        for param in kernel.params]
        self._scalars = {param.name: numpy_dtype(param.dtype) for param in kernel.params
                         if not isinstance(param.type, TensorType)}
        self._dims = [dim.name for dim in kernel.dims]

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int], grid: tuple[int, ...]) -> Report | None:
        """Run all programs of the grid; returns when the outputs are written.

        `args`: every parameter by name; arrays of the parameter's element type, aligned, in any layout. `dims`: every
        dim, the hidden ones too. A kernel with asserts or prints returns what they said; the programs after a failed
        assert may not have run.

        Raises:
            KeyboardInterrupt: Ctrl-C. Some programs have run; a single program is interrupted in a `while` only.
            NoScratch: there was no memory for scratch; what the outputs hold is not decided.
        """
        words, units = self._arguments(args)
        words += [dims[name] for name in self._dims]
        programs = 1
        for extent in grid:
            programs *= extent
        words += (*grid, *(1,) * (GRID_AXES - len(grid)))
        variant = self._variants.get(units) or self._compile(units)
        log = new_log(self._sites) if self._sites else None
        words += (0, 0, 0) if log is None else (log.ctypes.data, CAPACITY if len(log) > 2 else 0, 0)
        slots = np.array(words, np.int64)
        with stopping_for_ctrl_c(slots, self._slots.trouble) if self._may_hang else nullcontext():
            variant.run(slots, programs, log)
        return None if log is None else decode(log, self._sites, grid)

    def _arguments(self, args: Mapping[str, Argument]) -> tuple[list[int], tuple[int, ...]]:
        """(the words of all parameters, per tensor the axis of stride 1 or -1)"""
        words: list[int] = []
        units: list[int] = []
        for name, size in self._params:
            value = args[name]
            if not size:
                words.append(self._scalar_word(name, value))
                continue
            words.append(value.__array_interface__["data"][0])  # type: ignore[union-attr]
            unit = -1
            for axis, (stride, extent) in enumerate(zip(value.strides, value.shape, strict=True)):  # type: ignore
                words.append(stride // size)
                if stride == size or extent < 2:
                    unit = axis
            units.append(unit)
        return words, tuple(units)

    def _scalar_word(self, name: str, value: Argument) -> int:
        """A scalar's bits, in the low bytes of a word."""
        raw = np.asarray(value).astype(self._scalars[name]).tobytes()
        return int.from_bytes(raw.ljust(8, b"\0"), "little", signed=True)

    def _compile(self, units: tuple[int, ...]) -> Variant:
        with self._lock:
            if units not in self._variants:
                self._variants[units] = Variant(with_units(self.text, units), self._slots.trouble)
            return self._variants[units]

    # ---------------------------------------------------------------- looking at it

    def llvm_ir(self, units: tuple[int, ...] | None = None) -> str:
        """The LLVM IR after optimisation, for tensors with these axes of stride 1; contiguous ones by default."""
        return self._inspected(units).inspect_llvm()

    def asm(self, units: tuple[int, ...] | None = None) -> str:
        """The machine code as assembly, as `llvm_ir`."""
        return self._inspected(units)._library.get_asm_str()

    def _inspected(self, units: tuple[int, ...] | None):  # type: ignore[no-untyped-def]
        if units is None:
            units = tuple(p.type.rank - 1 for p in self.kernel.params if isinstance(p.type, TensorType))
        return compile_uncached(with_units(self.text, units), _compile_kernel)


class Variant:
    """Machine code for one layout, and how fast it was: seconds per program with all cores, and with one."""

    def __init__(self, text: str, trouble: int):
        self.text = text
        self._trouble = trouble
        self.code = compile_source(text, _compile_kernel)
        self._call = self.code.ctypes
        self._address = self.code.address
        self._together = 0.0
        self._alone = 0.0

    def run(self, words: np.ndarray, programs: int, log: np.ndarray | None = None) -> None:
        """Run programs 0 up to `programs`, in slices that end in time for Ctrl-C."""
        done, most = 0, numba.get_num_threads()
        while done < programs:
            count = self._slice(programs - done, most)
            threads = 1 if self._goes_alone(count) else min(most, count)
            start = time.perf_counter()
            self._run_slice(words, done, done + count, threads)
            self._learn((time.perf_counter() - start) / count, threads)
            check(words, self._trouble)
            done += count
            if log is not None and log[0] != NO_FAILURE:
                return

    def _slice(self, left: int, threads: int) -> int:
        """How many programs to run before looking again: one for each core while their speed is unknown."""
        known = self._together or self._alone
        if not known:
            return min(left, threads)
        return min(left, max(threads, int(SLICE_SECONDS / known)))

    def _goes_alone(self, count: int) -> bool:
        """Is it quicker not to wake the other cores? Where it cannot be much, what one core takes is tried out."""
        if not self._alone:
            return 0 < self._together * count < TRY_ALONE_SECONDS
        if self._alone * count < ALONE_SECONDS:
            return True
        return self._alone < self._together and self._together * count < TRY_ALONE_SECONDS

    def _learn(self, seconds: float, threads: int) -> None:
        """Note seconds per program; one slow time (the system took the core away) is not believed at once."""
        if threads == 1:
            self._alone = min(seconds, 4 * self._alone) if self._alone else seconds
        else:
            self._together = seconds

    def _run_slice(self, words: np.ndarray, lo: int, hi: int, threads: int) -> None:
        if threads == 1:
            self._call(lo, hi, words.ctypes.data)
            return
        chunk = -(-(hi - lo) // (threads * CHUNKS_PER_THREAD))
        counter = np.array([lo], np.int64)
        launcher()(self._address, hi, chunk, threads, words.ctypes.data, counter.ctypes.data)


def _compile_kernel(module: ModuleType, cache: bool):  # type: ignore[no-untyped-def]
    """A C function with numba's floating point as IEEE 754 has it: no fast-math, division by zero gives inf."""
    return cfunc(void(int64, int64, int64), cache=cache, error_model="numpy")(getattr(module, ENTRY))


@lru_cache(maxsize=1)
def launcher():  # type: ignore[no-untyped-def]
    """The parallel driver, compiled or from the cache."""
    text = Path(cpu_driver.__file__).read_text(encoding="utf-8")
    return compile_source(text, lambda module, cache: module.compile_launch(cache))
