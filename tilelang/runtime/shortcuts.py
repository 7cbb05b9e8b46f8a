"""The short way for a call like one that went well before: same types, shapes, strides and settings, other numbers.

What was found out about the earlier call then holds for this one too, except for what depends on where the arrays
lie (overlaps) and on the numbers. This saves three quarters of the time that a launch takes in Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilelang.runtime.launch import Plan
from tilelang.semantics.signature import Signature

SHORTCUTS = 1024
"""How many calls are remembered; when there are more, all are forgotten."""

NUMBERS = (int, float, bool)


@dataclass(frozen=True)
class Shortcut:
    """A call that went well. `names`: the parameter of each argument, in the order given; metas and dims are None.

    `pairs`: the arguments, by place, of which one is written, so they must lie apart. `left_out`: the outputs to
    allocate. `outputs`: the names of all outputs, in order.
    """

    plan: Plan
    names: tuple[str | None, ...]
    pairs: tuple[tuple[int, int], ...]
    left_out: tuple[tuple[str, tuple[int, ...], np.dtype], ...]
    outputs: tuple[str, ...]


def likeness(
    params: frozenset[str], device: str, tuned: bool, args: Sequence[object], keywords: Mapping[str, object]
) -> tuple[object, ...] | None:
    """A key that like calls have in common; None for a call with anything but plain arrays and numbers in it.

    The layout is part of it: shape, strides and flags (aligned, writeable) decide most of what is checked.
    """
    if type(device) is not str or type(tuned) is not bool:
        return None
    key: list[object] = [device, tuned, len(args)]
    for value in args:
        kind = type(value)
        if kind is np.ndarray:
            key += (value.dtype, value.shape, value.strides, value.flags.num)  # type: ignore[attr-defined]
        elif kind in NUMBERS:
            key.append(kind)
        else:
            return None
    for name, value in keywords.items():
        kind = type(value)
        if kind is np.ndarray:
            key += (name, value.dtype, value.shape, value.strides, value.flags.num)  # type: ignore[attr-defined]
        elif kind in NUMBERS or kind is str:
            # A parameter's number may change; a meta's or dim's is what the kernel is compiled for. The type belongs
            # to it: True, 1 and 1.0 are equal in Python and not in the language.
            key += (name, kind) if name in params else (name, kind, value)
        else:
            return None
    return tuple(key)


def remember(
    signature: Signature, plan: Plan, given: Sequence[str | None], left_out: Mapping[str, np.ndarray]
) -> Shortcut:
    """The shortcut for a call whose arguments went to the parameters `given`."""
    modes = {p.name: p.mode for p in signature.params if p.dims is not None}
    places = [(place, name) for place, name in enumerate(given) if name in modes]
    pairs = tuple(
        (i, j) for i, a in places for j, b in places if i < j and (modes[a or ""], modes[b or ""]) != ("in", "in")
    )
    allocated = tuple((name, array.shape, array.dtype) for name, array in left_out.items())
    outputs = tuple(name for name, mode in modes.items() if mode != "in")
    return Shortcut(plan, tuple(given), pairs, allocated, outputs)
