"""What a grader is written with: `check` calls a learner's function and compares, strictly.

    check(broadcast_shapes, (8, 1), (4,), gives=(8, 4), why="an extent of 1 stretches")

An answer must have the type that is asked for, not only an equal value: `True` is not 1, a list is no tuple, 0.0 is
not -0.0, and a NaN equals a NaN.
"""

from __future__ import annotations

import math
import os
import random
import re
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from course.learner import Learner, Raised, Wrong, shown_call
from course.showing import difference, show

NOTHING = object()


def fresh() -> random.Random:
    """Random numbers that nobody has seen before; `COURSE_SEED=7` repeats a run."""
    return random.Random(int(os.environ["COURSE_SEED"])) if os.environ.get("COURSE_SEED") else random.Random()


def check(function: Learner, *args: Any, gives: Any = NOTHING, raises: str = "", says: str = "", why: str = "",
          **keywords: Any) -> Any:
    """Call the function; Wrong if it does not give the value, or does not raise what it should.

    `raises` is an exception's name, or the code of the diagnostic it carries (`E0303`); `says` a regular expression
    for its message. Without `gives` and `raises` any value will do; the value is returned.
    """
    found = function(*args, **keywords)
    call = shown_call(function, args, keywords)
    if raises:
        _check_raised(call, found, raises, says, why)
        return found
    if isinstance(found, Raised) or (gives is not NOTHING and mismatch(gives, found)):
        expected = "a value" if gives is NOTHING else show(gives)
        raise Wrong(_verdict(function, call, expected, found, why, mismatch(gives, found)))
    return found


def _check_raised(call: str, found: Any, raises: str, says: str, why: str) -> None:
    if not isinstance(found, Raised):
        raise Wrong(_text(call, f"an exception, {raises}", show(found), why))
    codes = [d.code for d in found.diagnostics]
    if raises != found.kind and raises not in codes:
        raise Wrong(_text(call, f"an exception, {raises}", str(found), why))
    said = found.message + "\n" + "\n".join(f"{d.title}\n{d.help}" for d in found.diagnostics)
    if says and not re.search(says, said):
        raise Wrong(_text(call, f"a message like {says!r}", said, why))


def _verdict(function: Learner, call: str, expected: str, found: Any, why: str, how: str) -> str:
    shown = str(found) if isinstance(found, Raised) else show(found)
    if "\n" in expected and not isinstance(found, Raised):
        text = f"{call}\n  is not what was expected (- expected, + found)\n{difference(expected, shown)}"
        text += f"\n  why       {why}" if why else ""
    else:
        text = _text(call, expected, shown, why)
    if how and not how.startswith("another ") and not isinstance(found, Raised):
        text += f"\n  note      {how}"
    printed = function.printed().strip()
    if printed:
        text += "\n  printed   " + "\n            ".join(printed.split("\n")[:8])
    return text


def _text(call: str, expected: str, found: str, why: str) -> str:
    pad = "\n            "
    lines = [call, f"  expected  {expected.replace(chr(10), pad)}", f"  found     {found.replace(chr(10), pad)}"]
    return "\n".join(lines + ([f"  why       {why}"] if why else []))


# --------------------------------------------------------------------------------------- comparing


def same(expected: Any, found: Any) -> bool:
    """Equal in type and value, down to the last part."""
    return not mismatch(expected, found)


def mismatch(expected: Any, found: Any) -> str:
    """In what way a value is not the expected one, in words; empty if it is."""
    if expected is NOTHING:
        return ""
    if type(expected) is not type(found):
        return f"{_article(found)}, where {_article(expected)} is asked for"
    if isinstance(expected, np.ndarray):
        return _array_mismatch(expected, found)
    if isinstance(expected, (tuple, list)):
        if len(expected) != len(found):
            return f"{len(found)} elements, not {len(expected)}"
        return _first(mismatch(a, b) for a, b in zip(expected, found, strict=True))
    if isinstance(expected, dict):
        if list(expected) != list(found) and set(expected) != set(found):
            return "other keys"
        return _first(mismatch(value, found[key]) for key, value in expected.items())
    if is_dataclass(expected) and not isinstance(expected, type):
        compared = [f.name for f in fields(expected) if f.compare]
        return _first(mismatch(getattr(expected, name), getattr(found, name)) for name in compared)
    if isinstance(expected, float):
        return "" if _same_float(expected, found) else "another number"
    try:
        return "" if bool(expected == found) else "another value"
    except Exception as error:  # a comparison of the learner's making
        return f"a value that cannot be compared: {error}"


def _article(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _first(texts: Any) -> str:
    return next((text for text in texts if text), "")


def _same_float(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def _array_mismatch(expected: np.ndarray, found: np.ndarray) -> str:
    if expected.dtype != found.dtype:
        return f"elements of {found.dtype}, not {expected.dtype}"
    if expected.shape != found.shape:
        return f"shape {found.shape}, not {expected.shape}"
    a, b = expected, found
    equal = (a == b) & (np.signbit(a) == np.signbit(b)) if a.dtype.kind == "f" else a == b
    if a.dtype.kind == "f":
        equal |= np.isnan(a) & np.isnan(b)
    if equal.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~np.atleast_1d(equal))[0])
    return f"first at element {place}: expected {np.atleast_1d(a)[place]}, found {np.atleast_1d(b)[place]}"
