"""What a name can mean."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tilelang.diagnostics import Span


class Role(StrEnum):
    """The kinds of names of values. The texts are used in messages."""

    BUILTIN = "built-in constant"
    CONST = "const"
    META = "meta"
    DIM = "dim"
    TENSOR = "tensor"
    SCALAR = "scalar parameter"
    LET = "let"
    VAR = "var"
    LOOP = "loop variable"
    FN_PARAM = "parameter of a fn"


@dataclass(frozen=True, eq=False)
class Definition:
    """One place that introduces a name. Compared by identity: two blocks may define the same name."""

    role: Role
    name: str
    span: Span
