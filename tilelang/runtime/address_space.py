"""How much address space a process may have (`ulimit -v`), and whether what comes next still fits.

LLVM ends the process when it finds no memory, and Python at the very end of its own may try forever: neither can be
told to the user afterwards, so it is looked at before. Only address space can be: there alone the limit is certain.
"""

from __future__ import annotations

import os
from pathlib import Path

IMPORT_ROOM = 256 << 20
"""Bytes for numba, LLVM and the first kernel. Measured on Linux: 170 MiB for the libraries, then as `COMPILE_ROOM`."""
COMPILE_ROOM = 64 << 20
"""Bytes to compile one kernel. Measured: 19 MiB for a sum, 33 for attention, 4 more for the parallel launcher."""
SIMULATOR_ROOM = 512 << 20
"""Bytes for a process with numba's simulator in it, which takes 335 MiB on Linux; without the threads of a block."""
STACK, ARENA, ARENAS_PER_CORE = 8 << 20, 64 << 20, 8
"""What glibc reserves: bytes for a thread's stack and for an arena of `malloc`, of which threads have one each as long
as there are no more than so many (see `mallopt`, M_ARENA_MAX)."""


def address_space() -> int | None:
    """Bytes of address space that this process may have; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def want_room(size: int, purpose: str) -> None:
    """Raises MemoryError if the limit leaves less than `size` bytes. Without a limit, or on a system that does not say
    how much is in use, there is nothing to look at."""
    limit, used = address_space(), _in_use()
    if limit is not None and used is not None and limit - used < size:
        left = max(0, limit - used) >> 20
        raise MemoryError(f"{purpose} takes up to {size >> 20} MiB of address space; {left} MiB are left")


def want_process(size: int, purpose: str) -> None:
    """Raises MemoryError if a process of its own, which has the same limit as this one, may not have `size` bytes."""
    limit = address_space()
    if limit is not None and limit < size:
        raise MemoryError(f"{purpose} takes up to {size >> 20} MiB of address space")


def simulator_room(threads: int) -> int:
    """Bytes for numba's simulator with a block of so many threads."""
    arenas = min(threads, ARENAS_PER_CORE * (os.cpu_count() or 1)) + 1  # one is twice as large while it is made
    return SIMULATOR_ROOM + threads * STACK + arenas * ARENA


def _in_use() -> int | None:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
