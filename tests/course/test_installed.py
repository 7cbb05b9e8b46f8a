"""The learner's functions in the compiler: every stage, in any mix, and nothing stays behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import course
import tilelang
from course import progress
from course.exercises import chapters, find_chapter
from course.generating import exercise_text
from course.swapping import ReferenceUsed, compiler_function, copy_of, swapped
from course.table import COURSE, SOLUTIONS, Chapter
from tilelang.ir.numerics import BY_VALUE, floor_divide
from tilelang.passes import PASSES
from tilelang.semantics.operators import wider as imported_by_name

KERNELS = COURSE / "kernels"


def names() -> Chapter:
    found = find_chapter("names")
    assert found is not None
    return found


def softmax(device: str) -> np.ndarray:
    x = np.linspace(-3, 3, 4 * 100, dtype=np.float32).reshape(4, 100)
    return np.asarray(tilelang.load(KERNELS / "softmax.tile")["softmax"](x, device=device))


def attention(device: str) -> np.ndarray:
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((2, 20, 16)).astype(np.float32) for _ in range(3))
    kernel = tilelang.load(KERNELS / "attention.tile")["attention"]
    return np.asarray(kernel(q, k, v, 0.25, device=device, BM=16, BN=16, CAUSAL=True))


# --------------------------------------------------------------------------------------- one function


def test_a_function_is_swapped_wherever_it_was_imported() -> None:
    from tilelang.dtypes import F16, F32

    assert imported_by_name(F16, F32) == F32
    with swapped("tilelang.dtypes:wider", lambda a, b: "mine"):
        assert imported_by_name(F16, F32) == "mine"
        assert compiler_function("tilelang.dtypes:wider")(F16, F32) == "mine"
    assert imported_by_name(F16, F32) == F32


def test_a_function_in_a_table_is_swapped_too() -> None:
    seven = np.array([7], np.int32)
    with swapped("tilelang.ir.numerics:floor_divide", lambda a, b: a):
        assert BY_VALUE["floordiv"](seven, seven)[0] == 7
    assert BY_VALUE["floordiv"](seven, seven)[0] == 1
    with swapped("tilelang.passes.licm:licm", lambda kernel: "mine"):
        assert dict(PASSES)["licm"]("kernel") == "mine"  # type: ignore[arg-type]


def test_it_is_put_back_after_an_exception_and_when_nested() -> None:
    target = "tilelang.ir.numerics:floor_divide"
    with pytest.raises(KeyError), swapped(target, lambda a, b: 1):
        with swapped(target, lambda a, b: 2):
            assert floor_divide(None, None) == 2  # type: ignore[arg-type, comparison-overlap]
        assert floor_divide(None, None) == 1  # type: ignore[arg-type, comparison-overlap]
        raise KeyError
    assert floor_divide(np.array([7]), np.array([2]))[0] == 3


def test_keywords_defaults_methods_and_generators() -> None:
    from tilelang.diagnostics import Source
    from tilelang.ir.memory_access import locate
    from tilelang.semantics.walking import declarations

    original = copy_of("tilelang.ir.memory_access:locate")
    with swapped("tilelang.ir.memory_access:locate", original):
        assert locate(np.zeros(3), (np.array([5]),), None, (False,), trusting=True).valid.tolist() == [False]
        assert locate(np.zeros(3), (np.array([1]),), None, (True,)).valid.tolist() == [True]
    assert locate.__defaults__ == (False,)
    with swapped("tilelang.diagnostics:Source.position", lambda self, offset: (offset, len(self.text))):
        assert Source("abc").position(9) == (9, 3)
    assert Source("abc").position(2) == (1, 3)
    with swapped("tilelang.semantics.walking:declarations", lambda block: iter("xy")):
        assert list(declarations(None)) == ["x", "y"]  # type: ignore[arg-type]


def test_what_is_no_function_cannot_be_swapped() -> None:
    with pytest.raises(TypeError, match="not a plain function"):
        compiler_function("tilelang.dtypes:DType")


def test_the_reference_used_error_is_no_part_of_ordinary_use() -> None:
    assert issubclass(ReferenceUsed, Exception)


# --------------------------------------------------------------------------------------- whole chapters


@pytest.mark.parametrize("device", ["reference", "cpu", "model"])
def test_the_solutions_stand_in_for_the_whole_compiler(device: str) -> None:
    expected = softmax(device)
    with course.installed(source=SOLUTIONS) as mine:
        assert mine.count == sum(len(c.exercises) for c in chapters()) >= 40
        np.testing.assert_array_equal(softmax(device), expected)


def test_attention_on_the_solutions() -> None:
    expected = attention("reference")
    with course.installed(source=SOLUTIONS):
        np.testing.assert_array_equal(attention("reference"), expected)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda c: c.short)
def test_each_chapter_by_itself(chapter: Chapter) -> None:
    expected = softmax("reference")
    with course.installed(chapter.short, source=SOLUTIONS) as mine:
        assert list(mine.mine) == [chapter] and mine.count == len(chapter.exercises)
        np.testing.assert_array_equal(softmax("reference"), expected)


def test_stubs_leave_the_compilers_functions_in_place(tmp_path: Path) -> None:
    for chapter in chapters():
        (tmp_path / f"{chapter.name}.py").write_text(exercise_text(chapter), encoding="utf-8")
    expected = softmax("reference")
    with course.installed(source=tmp_path) as mine:
        assert mine.count == 0 and "the compiler's own" in str(mine)
        np.testing.assert_array_equal(softmax("reference"), expected)


def test_a_learners_function_is_really_called(tmp_path: Path) -> None:
    text = exercise_text(names()).replace("raise NotImplementedError", "raise RuntimeError('mine')", 1)
    (tmp_path / f"{names().name}.py").write_text(text, encoding="utf-8")
    with course.installed("ch05", source=tmp_path) as mine:
        assert mine.mine[names()] == ("look_up",)
        assert "yours: look_up (1 of 6)" in str(mine)
        with pytest.raises(RuntimeError, match="mine"):
            softmax("reference")


def test_an_unfinished_function_of_the_same_file_is_the_compilers(tmp_path: Path) -> None:
    chapter = find_chapter("ch06")
    assert chapter is not None
    text = exercise_text(chapter)
    body = "    return None if None in map(wider, dtypes, dtypes) else sorted(dtypes, key=lambda d: d.bits)[-1]"
    stub = text.index("raise NotImplementedError", text.index("def common_dtype"))
    text = text[:stub].rstrip(" ") + body + text[stub + len("raise NotImplementedError") :]
    (tmp_path / f"{chapter.name}.py").write_text(text, encoding="utf-8")
    with course.installed("types_and_shapes", source=tmp_path) as mine:
        assert mine.count == 1
        assert softmax("reference").shape == (4, 100)


def test_what_cannot_be_installed_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(course.CourseError, match="there is no chapter 'ch99'"), course.installed("ch99"):
        pass
    with pytest.raises(course.CourseError, match="there is no folder"), course.installed(source=tmp_path / "no"):
        pass
    file = tmp_path / f"{names().name}.py"
    file.write_text("def look_up(:\n", encoding="utf-8")
    with (
        pytest.raises(course.CourseError, match=r"ch05_names.py, line 1 is no Python"),
        course.installed(source=tmp_path),
    ):
        pass
    file.write_text("1 / 0\n\n\ndef look_up(scopes, name):\n    return None\n", encoding="utf-8")
    with (
        pytest.raises(course.CourseError, match="cannot be loaded: ZeroDivisionError"),
        course.installed(source=tmp_path),
    ):
        pass


def test_only_what_is_done_goes_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy of a chapter: a right function, a wrong one, and one that is written but was never graded."""
    from course.grading import grade
    from course.table import Chapter as Table

    monkeypatch.setattr(progress, "FOLDER", tmp_path / ".progress")
    monkeypatch.setattr(Table, "file", property(lambda self: tmp_path / f"{self.name}.py"))
    for chapter in chapters():
        chapter.file.write_text(exercise_text(chapter), encoding="utf-8")
    text = names().file.read_text(encoding="utf-8")
    bodies = [
        "return next((s.names[name] for s in reversed(scopes) if name in s.names), None)",
        "return sorted(a) == sorted(b)",
        "return iter(())",
    ]
    for body in bodies:
        text = text.replace("raise NotImplementedError", body, 1)
    names().file.write_text(text, encoding="utf-8")
    progress.record(names(), [r for name in ("look_up", "_is_swap") for r in grade(names(), only=name)])
    states = progress.statuses(names())
    assert [states[n] for n in ("look_up", "_is_swap", "declarations", "nearest")] == [
        progress.DONE, progress.FAILED, progress.WRITTEN, progress.NOT_STARTED,
    ]  # fmt: skip
    with course.installed(only_done=True) as mine:
        assert mine.mine[names()] == ("look_up",)
        assert mine.left_out[names()] == ("_is_swap", "declarations")
    names().file.write_text(text.replace("reversed(scopes)", "scopes"), encoding="utf-8")
    assert progress.statuses(names())["look_up"] == progress.WRITTEN, "a changed function must be graded again"


def test_solutions_is_the_folder_of_solutions() -> None:
    assert course.solutions() == SOLUTIONS
