"""Values in words, for the messages of graders."""

from __future__ import annotations

import difflib
import enum
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tilelang.diagnostics import NOWHERE, Diagnostic, Sink, Source, Span
from tilelang.dtypes import DType

LONGEST = 1500


def show(value: Any) -> str:
    """The value as one would write it; long ones are cut."""
    text = _show(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _show(value: Any) -> str:
    from tilelang.ir.core import Kernel, Op, Value
    from tilelang.ir.printer import print_kernel, print_op
    from tilelang.semantics.extents import Sym
    from tilelang.semantics.resolving import Scope
    from tilelang.semantics.types import TileType

    if isinstance(value, Kernel):
        return print_kernel(value).rstrip("\n")
    if isinstance(value, Op):
        return print_op(value)
    if isinstance(value, (DType, Sym, TileType, Value)):
        return f"{value}"
    if isinstance(value, np.ndarray):
        return f"array({np.array2string(value, threshold=40, separator=', ')}, {value.dtype})"
    if isinstance(value, np.generic):
        return f"{value.dtype}({value})"
    if isinstance(value, Span):
        return f"Span({value.start}, {value.end})"
    if isinstance(value, Source):
        return repr(value.text)
    if isinstance(value, Sink):
        return _show(value.diagnostics)
    if isinstance(value, Diagnostic):
        return f"{value.code}: {value.title}"
    if isinstance(value, Scope):
        return f"Scope({', '.join(value.names)})"
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, str) and value.count("\n") > 1:
        return value.rstrip("\n")
    return _container(value)


def _container(value: Any) -> str:
    if isinstance(value, tuple):
        inside = ", ".join(map(_show, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, list):
        return f"[{', '.join(map(_show, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_show, value)))}}}" if value else f"{type(value).__name__}()"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_show(k)}: {_show(v)}' for k, v in value.items())}}}"
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in fields(value) if f.repr}
        shown = [f"{name}={_show(part)}" for name, part in parts.items() if type(part) is not Span or part != NOWHERE]
        return f"{type(value).__name__}({', '.join(shown)})"
    return repr(value)


def difference(expected: str, found: str) -> str:
    """Where two long texts differ, line by line: `-` is expected, `+` was found."""
    lines = list(difflib.unified_diff(expected.split("\n"), found.split("\n"), "expected", "found", lineterm="", n=2))
    return "\n".join("    " + line for line in lines[2:60])
