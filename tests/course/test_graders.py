"""The graders are proved: stubs are not started, right answers pass, wrong ones fail and say why."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from course.exercises import chapters
from course.generating import exercise_text
from course.grading import FAILED, NOT_STARTED, PASSED, Result, grade_exercise
from course.table import Chapter, Exercise
from tests.course.proving import Proof, planted_everywhere, with_function, wrong_text

ALL = [(chapter, exercise) for chapter in chapters() for exercise in chapter.exercises]
NAMES = [f"{chapter.short}-{exercise.name}" for chapter, exercise in ALL]
each_exercise = pytest.mark.parametrize(("chapter", "exercise"), ALL, ids=NAMES)


def proof_of(chapter: Chapter, exercise: Exercise) -> Proof:
    return _proofs(chapter.short)[exercise.name]


@cache
def _proofs(short: str) -> dict[str, Proof]:
    found: dict[str, Proof] = {}
    for path in sorted((Path(__file__).parent / "proofs").glob(f"{short}*.py")):
        found |= importlib.import_module(f"tests.course.proofs.{path.stem}").PROOFS
    return found


def graded(folder: Path, chapter: Chapter, exercise: Exercise, text: str) -> Result:
    file = folder / "exercise.py"
    file.write_text(text, encoding="utf-8")
    return grade_exercise(chapter, exercise, file, until_first=True)


@each_exercise
def test_the_stub_is_not_started(chapter: Chapter, exercise: Exercise, tmp_path: Path) -> None:
    result = graded(tmp_path, chapter, exercise, exercise_text(chapter))
    assert (result.status, result.passed) == (NOT_STARTED, 0)
    assert "not started" in result.messages[0][1]


@each_exercise
def test_the_solution_passes(chapter: Chapter, exercise: Exercise) -> None:
    result = grade_exercise(chapter, exercise, chapter.solution, may_be_reference=True)
    assert result.status == PASSED, result.messages
    assert result.total >= 2


@each_exercise
def test_other_right_answers_pass(chapter: Chapter, exercise: Exercise, tmp_path: Path) -> None:
    proof = proof_of(chapter, exercise)
    assert len(proof.right) >= 2
    for right in proof.right:
        result = graded(tmp_path, chapter, exercise, with_function(chapter, exercise, right))
        assert result.status == PASSED, f"{right}\n{result.messages}"


@each_exercise
def test_wrong_answers_fail_and_the_message_names_the_mistake(
    chapter: Chapter, exercise: Exercise, tmp_path: Path
) -> None:
    proof = proof_of(chapter, exercise)
    assert len(proof.wrong) >= 4
    wrong_verdicts = []
    for wrong in (*proof.wrong, *planted_everywhere(chapter, exercise)):
        try:
            text = wrong_text(chapter, exercise, wrong)
        except ValueError as error:
            wrong_verdicts.append(str(error))
            continue
        result = graded(tmp_path, chapter, exercise, text)
        said = "\n".join(message for _, message in result.messages)
        if result.status != FAILED or not re.search(wrong.says, said):
            wrong_verdicts.append(f"{wrong.mistake}: {result.status}, must say {wrong.says!r}\n{said}")
    assert wrong_verdicts == [], "\n\n".join(wrong_verdicts)


def test_every_chapter_from_3_to_12_has_exercises_from_warm_up_to_hard() -> None:
    assert [c.number for c in chapters()] == list(range(3, 13))
    assert len(ALL) >= 40
    for chapter in chapters():
        levels = [e.level for e in chapter.exercises]
        assert len(levels) >= 2 and "warm-up" in levels and "hard" in levels, chapter.name
        assert levels == sorted(levels, key=("warm-up", "core", "hard").index), f"{chapter.name}: easy ones first"
