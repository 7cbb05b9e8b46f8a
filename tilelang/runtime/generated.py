"""Generated source -> the function it defines."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable


def define(source: str, function: str) -> Callable:
    """Run generated module text and return one of its functions.

    The text is registered with `linecache` under a name made from its hash, so tracebacks and numba's messages can
    show its lines, and two kernels are never taken for one.
    """
    name = f"<tilec {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    module: dict[str, object] = {"__name__": name}
    exec(compile(source, name, "exec"), module)
    return module[function]  # type: ignore[return-value]
