"""Python source -> compiled functions, by way of the on-disk cache.

numba keeps compiled code beside the file a function is defined in. So generated source, and the few functions of our
own that are compiled ahead (`cpu_driver`, ...), become files in the cache under a key of all that decides the
machine code: the text, the versions of everything that takes part, and this computer's processor.
"""

from __future__ import annotations

import hashlib
import linecache
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import llvmlite.binding
import numba

from tilelang.runtime import cache
from tilelang.runtime.address_space import COMPILE_ROOM, want_room

KIND = "cpu"
FILE = "kernel.py"

Build = Callable[[ModuleType, bool], object]
"""(module of the source, whether numba may use its cache) -> the compiled function; it has `cache_hits`"""


@lru_cache(maxsize=1)
def environment() -> tuple[str, ...]:
    """What decides the machine code beside the source: versions, the processor, and the words' own code."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("cpu*.py")):
        digest.update(path.read_bytes())
    features = llvmlite.binding.get_host_cpu_features().flatten()
    versions = (cache.compiler_version(), digest.hexdigest(), numba.__version__, llvmlite.__version__, sys.version)
    chosen = (numba.config.CPU_NAME or "", numba.config.CPU_FEATURES or "")  # type: ignore[attr-defined]
    return (*versions, llvmlite.binding.get_host_cpu_name(), features, *chosen)


def compile_source(text: str, build: Build) -> Any:
    """Compile a function of generated source; from the cache if it is there.

    Returns what `build` returns. Whatever is wrong with the cache, the result is right.
    """
    want_room(COMPILE_ROOM, "compiling a kernel")
    key = cache.key_of(text, *environment())
    folder = cache.entry(KIND, key)
    if folder is not None:
        try:
            return _with_cache(folder, key, text, build)
        except (OSError, EOFError, ValueError, cache.Unusable) as problem:
            cache.give_up(problem)
    return compile_uncached(text, build)


def compile_uncached(text: str, build: Build) -> Any:
    """Compile a function without the cache. numba lets nobody look into code that came from its cache."""
    key = cache.key_of(text)
    return build(_load(f"<tilec {key}>", key, text), False)


def _with_cache(folder: Path, key: str, text: str, build: Build) -> Any:
    path = cache.provide(folder, FILE, text)
    cache.drop_damaged(folder)
    function = build(_load(str(path), key, text), True)
    if not getattr(function, "cache_hits", 0):
        cache.record_sums(folder)
    return function


def _load(name: str, key: str, text: str) -> ModuleType:
    """Run a module's text; `name` is what numba takes for its file."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = ModuleType(f"tilec_{key[:16]}")
    module.__file__ = name
    sys.modules[module.__name__] = module
    exec(compile(text, name, "exec"), module.__dict__)
    return module


