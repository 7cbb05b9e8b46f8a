"""An op's attributes with the type they must have; the verifier has checked that they have it."""

from __future__ import annotations

from tilelang.diagnostics import InternalError
from tilelang.ir.core import Op


def int_attr(op: Op, key: str) -> int:
    value = op.attrs[key]
    if not isinstance(value, int):
        raise _wrong(op, key, "an integer")
    return value


def ints_attr(op: Op, key: str) -> tuple[int, ...]:
    values = op.attrs[key]
    if not isinstance(values, tuple):
        raise _wrong(op, key, "a tuple of integers")
    return tuple(value for value in values if isinstance(value, int))


def number_attr(op: Op, key: str) -> int | float | bool:
    value = op.attrs[key]
    if not isinstance(value, (int, float)):
        raise _wrong(op, key, "a number")
    return value


def str_attr(op: Op, key: str) -> str:
    value = op.attrs[key]
    if not isinstance(value, str):
        raise _wrong(op, key, "a string")
    return value


def _wrong(op: Op, key: str, wanted: str) -> InternalError:
    return InternalError("ir", f"attribute {key} of {op.name} is {op.attrs[key]!r}, not {wanted}")
