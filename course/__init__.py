"""The course: chapters with exercises that are functions of the compiler, kernels, puzzles, notebooks.

    import course

    with course.installed("ch05"):          # the compiler now runs on your functions of chapter 5
        ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course.installing import CourseError, Installed, installed, solutions

__all__ = ["CourseError", "Installed", "installed", "solutions"]


def __getattr__(name: str) -> object:
    """Import at first use (PEP 562), so that `python -m course.exercises` finds its module not yet there."""
    if name not in __all__:
        raise AttributeError(f"module 'course' has no attribute {name!r}")
    from course import installing

    return getattr(installing, name)
