"""How the graders are proved: wrong answers that must fail, and right ones that must pass.

A wrong answer is the solution with a piece of its text changed, or a text of its own. Each has a pattern that the
grader's message must match, so that it names the mistake and does not merely fail.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course.table import Chapter, Exercise


@dataclass(frozen=True)
class Wrong:
    """`old` becomes `new` in the solution; without `old`, `new` is the whole function."""

    mistake: str
    old: str
    new: str
    says: str


@dataclass(frozen=True)
class Proof:
    """`right`: other ways to write it, each a whole function, perhaps with imports and helpers before it."""

    wrong: tuple[Wrong, ...]
    right: tuple[str, ...]


def change(mistake: str, old: str, new: str, says: str) -> Wrong:
    return Wrong(mistake, old, new, says)


def text(mistake: str, new: str, says: str) -> Wrong:
    return Wrong(mistake, "", new, says)


@cache
def _solution(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def parts(chapter: Chapter, exercise: Exercise) -> tuple[str, str, str]:
    """The solution file in three: before the function, the function, behind it."""
    whole = _solution(chapter.solution)
    node = next(n for n in ast.parse(whole).body if isinstance(n, ast.FunctionDef) and n.name == exercise.name)
    lines = whole.split("\n")
    start, end = node.lineno - 1, int(node.end_lineno or 0)
    return "\n".join(lines[:start]) + "\n", "\n".join(lines[start:end]), "\n" + "\n".join(lines[end:])


def with_function(chapter: Chapter, exercise: Exercise, function: str) -> str:
    """The solution file with another text in the function's place."""
    before, _, after = parts(chapter, exercise)
    return before + function.strip("\n") + "\n" + after


def wrong_text(chapter: Chapter, exercise: Exercise, wrong: Wrong) -> str:
    """The file of a wrong answer. Raises ValueError if what is to be changed is not there."""
    if not wrong.old:
        return with_function(chapter, exercise, wrong.new)
    function = parts(chapter, exercise)[1]
    if wrong.old not in function:
        raise ValueError(f"{exercise.name}, {wrong.mistake}: {wrong.old!r} is not in the solution")
    return with_function(chapter, exercise, function.replace(wrong.old, wrong.new))


# --------------------------------------------------------------------------------------- wrong in any exercise

FIRST_ONLY = """{right}


_kept = []


def {name}(*args, **keywords):
    if not _kept:
        _kept.append(_right(*args, **keywords))
    return _kept[0]
"""
OWN_TYPE = """class Odd:
    pass


def {name}(*args, **keywords):
    return Odd()
"""
ALIASED = """import sys

import {module}

home = sys.modules["{module}"]


def {name}(*args, **keywords):
    return home.{called}(*args, **keywords)
"""
NO_VALUE = "Odd|no plain value|AttributeError|TypeError|not iterable|found|expected"


def planted_everywhere(chapter: Chapter, exercise: Exercise) -> list[Wrong]:
    """Wrong answers that can be made for every exercise."""
    name, module = exercise.name, exercise.module
    right = parts(chapter, exercise)[1].replace(f"def {name}(", "def _right(", 1)
    called = f"{exercise.owner}.{name}" if exercise.owner else name
    direct = f"from {module} import {exercise.owner or name}\n"
    direct += f"\n\n{name} = {called}" if exercise.owner else ""
    head = f"def {name}(*args, **keywords):\n"
    taken = "from the compiler|does not define|not a function that this file defines"
    return [
        text("right on the first input only", FIRST_ONLY.format(right=right, name=name), "expected|raise"),
        text("returns its input", f"{head}    return args[0] if args else None", "expected|found|no plain value"),
        text("returns a type of its own", OWN_TYPE.format(name=name), NO_VALUE),
        text("an exception", f"{head}    return 1 // 0", "ZeroDivisionError"),
        text("the reference itself", direct, taken),
        text(
            "the reference under another name",
            ALIASED.format(module=module, name=name, called=called),
            f"compiler's own {name}",
        ),
        text("the solution file", f"import solutions\n\n\n{head}    return None", "imports solutions"),
        text("leaves", f"{head}    raise SystemExit(0)", "SystemExit"),
        text("boasts", f"{head}    print('all tests passed')\n    return None", "expected|found|raise"),
    ]
