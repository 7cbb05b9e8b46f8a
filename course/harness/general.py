"""For any chapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilelang.diagnostics import Diagnostic, Sink

Function = Callable[..., Any]


def with_sink(function: Function, *args: Any) -> tuple[Any, list[tuple[str, int, int]]]:
    """The value, and (code, start, end) of all that was reported to the sink, the function's last argument."""
    sink = Sink()
    value = function(*args, sink)
    return value, [_place(d) for d in sink.diagnostics]


def _place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    span = diagnostic.span
    return (diagnostic.code, span.start, span.end) if span is not None else (diagnostic.code, -1, -1)


def without_warnings(function: Function, *args: Any) -> Any:
    """The value, where what NumPy would warn of is an error: a division by 0, a conversion that is undefined."""
    import numpy as np

    with np.errstate(all="raise"):
        return function(*args)


def listed(function: Function, *args: Any) -> list[Any]:
    """All that an iterator gives."""
    return list(function(*args))
