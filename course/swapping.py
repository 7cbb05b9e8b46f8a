"""Putting another function in the place of one of the compiler's.

A function of the compiler may have been imported by name in a dozen modules, and may stand in tables (`RULES`,
`PASSES`). So not the names are changed but the function object itself: its code becomes a call of what took its
place. Whoever holds the function, from wherever, gets the new one, and one assignment puts the old one back.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Function = Callable[..., object]

_in_place: dict[str, Function] = {}
"""What is called instead, by target (`module:qualname`)."""


class ReferenceUsed(Exception):
    """A learner's function calls the very function of the compiler that it is to replace."""


def compiler_function(target: str) -> types.FunctionType:
    """The function object that a target names; of a property, its getter."""
    module, _, qualname = target.partition(":")
    found: object = importlib.import_module(module)
    for part in qualname.split("."):
        found = found.__dict__[part] if isinstance(found, type) else getattr(found, part)
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, functools.cached_property):
        found = found.func
    if not isinstance(found, types.FunctionType):
        raise TypeError(f"{target} is a {type(found).__name__}, not a plain function")
    return found


def copy_of(target: str) -> types.FunctionType:
    """The compiler's function as a separate object, which stays what it is when the original is swapped."""
    original = compiler_function(target)
    copy = types.FunctionType(original.__code__, original.__globals__, original.__name__, original.__defaults__)
    copy.__kwdefaults__ = original.__kwdefaults__
    return copy


def replacement(target: str) -> Function:
    """What stands in the place of a swapped function now; its code asks this at every call."""
    return _in_place[target]


@contextmanager
def swapped(target: str, new: Function) -> Iterator[None]:
    """Inside, every call of the compiler's function is a call of `new`."""
    function = compiler_function(target)
    before = function.__code__, function.__defaults__, function.__kwdefaults__
    already = _in_place.get(target)
    _in_place[target] = new
    function.__code__ = _call_of(target)
    function.__defaults__ = function.__kwdefaults__ = None
    try:
        yield
    finally:
        function.__code__, function.__defaults__, function.__kwdefaults__ = before
        if already is None:
            del _in_place[target]
        else:
            _in_place[target] = already


def _call_of(target: str) -> types.CodeType:
    """Code without parameters of its own that hands all it gets to the replacement."""
    text = (
        "def stand_in(*args, **kwargs):\n"
        "    from course.swapping import replacement\n"
        f"    return replacement({target!r})(*args, **kwargs)\n"
    )
    made: dict[str, Function] = {}
    exec(compile(text, f"<in place of {target}>", "exec"), made)
    return made["stand_in"].__code__  # type: ignore[attr-defined,no-any-return]
