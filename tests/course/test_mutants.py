"""A mutant of each exercise's solution fails its grader; `python -m tests.fuzzing.mutants` tries them all."""

from __future__ import annotations

import ast
import zlib
from collections import Counter
from pathlib import Path

import pytest

from course.exercises import chapters
from course.table import Chapter, Exercise
from tests.fuzzing.mutants import equivalent, mutants_of, named, verdict
from tests.fuzzing.mutations_of_python import mutants

ALL = [(chapter, exercise) for chapter in chapters() for exercise in chapter.exercises]


@pytest.mark.parametrize(("chapter", "exercise"), ALL, ids=lambda part: getattr(part, "name", ""))
def test_a_mutant_is_killed(chapter: Chapter, exercise: Exercise, tmp_path: Path) -> None:
    wrong = [m for m in mutants_of(chapter, exercise) if (named(chapter, exercise), m.change) not in equivalent()]
    mutant = wrong[zlib.crc32(exercise.name.encode()) % len(wrong)]
    assert verdict(chapter, exercise, mutant, tmp_path), mutant.change


def test_every_equivalent_mutant_is_one_and_has_a_reason() -> None:
    exercises = {name for name, _ in equivalent()}
    made = Counter((named(c, e), m.change) for c, e in ALL if named(c, e) in exercises for m in mutants_of(c, e))
    for place, reason in equivalent().items():
        assert made[place] == 1 and len(reason) > 10, place  # two with one change could not be told apart


FUNCTION = '''
def f(a: int = 3, *, b=1) -> int:
    """Words with 1 + 1 in them."""
    for i in range(a):
        if i < b and i:
            b += max(i, 2)
    return b
'''


def test_mutations_leave_annotations_and_docstrings_alone() -> None:
    function = ast.parse(FUNCTION).body[0]
    assert isinstance(function, ast.FunctionDef)
    made = list(mutants(function))
    assert len({m.text for m in made}) == len(made) > 12
    for mutant in made:
        assert "Words with 1 + 1 in them." in mutant.text and "-> int" in mutant.text
        ast.parse(mutant.text)
    changes = " ".join(m.change for m in made)
    for piece in ("i <= b", "i < b or i", "b -= max", "min(i, 2)", "max(i, 3)", "range(a + 1)", "not (i"):
        assert piece in changes


WORDING = """
def f(sink, a, span):
    again = a > 1
    title = "twice" if again else "late"
    if a > 7:
        sink.error("E0120", title, span, help="no" if again else "")
    return None
"""


def test_mutations_leave_the_words_of_messages_alone() -> None:
    function = ast.parse(WORDING).body[0]
    assert isinstance(function, ast.FunctionDef)
    new_lines = [line for m in mutants(function) for line in m.change.split(" | ") if line.startswith("+ ")]
    deciding = ("+ if a", "+ if not a", "+ sink.error(", "+ pass")
    assert new_lines and all(line.startswith(deciding) for line in new_lines), new_lines
