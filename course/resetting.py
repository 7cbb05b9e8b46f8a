"""Beginning anew: the stubs are written again, and what was there is kept."""

from __future__ import annotations

from pathlib import Path

from course.exercises import functions
from course.generating import exercise_text
from course.progress import keep_copy
from course.table import Chapter


def reset_chapter(chapter: Chapter, name: str = "") -> Path | None:
    """Write the stubs of a chapter, or only that of the exercise `name`; the path of the copy of what was there.

    Raises:
        OSError: a file cannot be written; then nothing is changed.
        ValueError: one function is to be reset, and the file is no Python, or does not have it.
    """
    stubs = exercise_text(chapter)
    text = stubs if not name else _with_stub(chapter, name, stubs)
    copy = keep_copy(chapter.file, chapter.name)
    chapter.file.write_text(text, encoding="utf-8", newline="\n")
    return copy


def _with_stub(chapter: Chapter, name: str, stubs: str) -> str:
    """The learner's file with one function as it was in the beginning."""
    try:
        text = chapter.file.read_text(encoding="utf-8")
        node = functions(text)[name]
    except (SyntaxError, OSError):
        raise ValueError(f"{chapter.file} is no Python text: one function of it cannot be found") from None
    except KeyError:
        raise ValueError(f"{chapter.file} has no function `{name}`") from None
    stub = functions(stubs)[name]
    lines = text.split("\n")
    fresh = stubs.split("\n")[stub.lineno - 1 : stub.end_lineno]
    return "\n".join([*lines[: node.lineno - 1], *fresh, *lines[node.end_lineno :]])
