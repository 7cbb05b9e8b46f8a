"""Has a learner's code left the process as it found it? One that patches the compiler would spoil what comes after.

    before = state()
    ...                      the learner's code
    if changed(before): start another process

What is looked at: the names of the compiler's, the course's and the built-in modules, the attributes of their classes
and the code of their functions. New names are no change: modules fill some of theirs when they are first asked for.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

PACKAGES = {"tilelang", "course", "builtins"}

State = dict[tuple[str, str], object]


def state() -> State:
    """All that must stay the same object, by module and name."""
    return {place: value for name, module in sorted(sys.modules.items())
            if name.partition(".")[0] in PACKAGES for place, value in _parts(name, module)}


def changed(before: State) -> bool:
    """Is something another object now, or gone?"""
    now = state()
    return any(place not in now or now[place] is not value for place, value in before.items())


def _parts(module: str, within: object) -> Iterator[tuple[tuple[str, str], object]]:
    yield (module, ""), within
    for name, value in list(vars(within).items()) if within is not None else ():
        yield (module, name), value
        yield from _of_value(module, name, value)


def _of_value(module: str, name: str, value: object) -> Iterator[tuple[tuple[str, str], object]]:
    if isinstance(value, types.FunctionType):
        yield (module, f"{name}()"), value.__code__
    elif isinstance(value, type) and value.__module__ == module:
        for attribute, part in list(vars(value).items()):
            yield (module, f"{name}.{attribute}"), part
            if isinstance(part, types.FunctionType):
                yield (module, f"{name}.{attribute}()"), part.__code__
