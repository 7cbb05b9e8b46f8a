"""Want of memory, by whichever name it comes: an array too large, or a library that has no room to be loaded."""

from __future__ import annotations

import errno

from tilelang.runtime.address_space import address_space

NO_ROOM = ("failed to map segment", "cannot allocate memory")
"""What the system's loader says, whoever asked for the library."""
NOT_LOADED = "could not find/load shared object"
"""What llvmlite says; the library may as well be missing."""


def wants_memory(error: BaseException) -> bool:
    """Is it for want of memory that this was raised, or what it was raised from?"""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        seen.append(cause)
        if isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno == errno.ENOMEM):
            return True
        said = str(cause).lower() if isinstance(cause, (ImportError, OSError)) else ""
        if any(words in said for words in NO_ROOM) or (NOT_LOADED in said and address_space() is not None):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
