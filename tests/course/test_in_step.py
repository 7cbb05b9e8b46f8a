"""Stubs and solutions are what the compiler's functions say; examples in docstrings are true; the table is sound."""

from __future__ import annotations

import ast
import doctest
import importlib
import types
from pathlib import Path

import pytest

from course.exercises import chapters, find_chapter, functions, has_work, is_stub, main, out_of_step, outline
from course.generating import TableError, code, definition, exercise_text, solution_text, stub_docstring
from course.grading import tests_of as graders_of
from course.hints import hints_of
from course.puzzles.table import PUZZLES
from course.table import Chapter, Exercise

ROOT = Path(__file__).resolve().parents[2]

ALL = [(chapter, exercise) for chapter in chapters() for exercise in chapter.exercises]
NAMES = [f"{chapter.short}-{exercise.name}" for chapter, exercise in ALL]
each_exercise = pytest.mark.parametrize(("chapter", "exercise"), ALL, ids=NAMES)
each_chapter = pytest.mark.parametrize("chapter", chapters(), ids=lambda c: c.short)


def test_nothing_is_out_of_step() -> None:
    """Not strictly: what stands in a stub's body is the learner's. `python -m course.exercises check` is strict."""
    assert out_of_step(strict=False) == [], "run `python -m course.exercises build`"


@each_chapter
def test_stubs_and_solutions_of_a_chapter(chapter: Chapter) -> None:
    stubs, solutions = functions(exercise_text(chapter)), functions(solution_text(chapter))
    names = [e.name for e in chapter.exercises]
    assert list(stubs) == list(solutions) == names
    assert all(is_stub(node) for node in stubs.values())
    for name in names:
        assert ast.dump(stubs[name].args) == ast.dump(solutions[name].args), name
        assert (stubs[name].returns is None) == (solutions[name].returns is None)
        assert all(a.annotation is not None for a in stubs[name].args.args), f"{name}: every parameter has a type"


@each_exercise
def test_the_solution_is_the_compilers_function(chapter: Chapter, exercise: Exercise) -> None:
    solution, original = functions(solution_text(chapter))[exercise.name], definition(exercise)
    assert [ast.dump(s) for s in solution.body] == [ast.dump(s) for s in original.body]


@each_exercise
def test_examples_in_docstrings_are_true(chapter: Chapter, exercise: Exercise) -> None:
    text = stub_docstring(exercise)
    module = types.ModuleType("solution")
    exec(compile(chapter.solution.read_text(encoding="utf-8"), str(chapter.solution), "exec"), module.__dict__)
    names = {**_everything(exercise), **vars(module)}
    test = doctest.DocTestParser().get_doctest(text, names, exercise.name, None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)
    assert test.examples


def _everything(exercise: Exercise) -> dict[str, object]:
    """What an example may use besides the solution's own names: the words of the front half, and of its module."""
    found: dict[str, object] = {}
    for name in (
        "tilelang.dtypes", "tilelang.diagnostics", "tilelang.syntax.lexing", "tilelang.syntax.layout",
        "tilelang.syntax.build_expressions", "tilelang.semantics.definitions", "tilelang.semantics.resolving",
        "tilelang.semantics.extents", "tilelang.semantics.types", "tilelang.semantics.typed", "tilelang.ir.core",
        "tilelang.semantics.extents", "tilelang.codegen.names", "tilelang.codegen.cpu_coords", exercise.module,
    ):  # fmt: skip
        found |= {k: v for k, v in vars(importlib.import_module(name)).items() if not k.startswith("__")}
    from tilelang.semantics import typed
    from tilelang.syntax import ast as syntax_tree

    return found | {"ast": syntax_tree, "typed": typed, "np": importlib.import_module("numpy")}


@each_exercise
def test_every_exercise_has_hints_that_end_at_the_solution(chapter: Chapter, exercise: Exercise) -> None:
    hints = hints_of(chapter, exercise)
    assert len(hints) >= 2
    assert f"solutions/{chapter.name}.py" in hints[-1]
    assert all(hint.strip() and len(hint) < 400 for hint in hints)


@each_chapter
def test_every_exercise_is_graded_by_more_than_its_example(chapter: Chapter) -> None:
    assert all(len(tests) >= 2 for tests in graders_of(chapter).values())


@each_chapter
def test_graders_do_without_pytest(chapter: Chapter) -> None:
    """`tilec course grade` works in an installation without the development tools."""
    for path in chapter.graders:
        modules = [n.names[0].name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Import)]
        assert "pytest" not in modules


def test_chapters_are_found_by_every_name() -> None:
    for word in ("ch05", "05", "5", "names", "ch05_names", "course/ch05_names/", "CH05"):
        chapter = find_chapter(word)
        assert chapter is not None and chapter.number == 5, word
    assert find_chapter("ch99") is None and find_chapter("") is None


def test_mistakes_in_the_table_are_told() -> None:
    for target, says in (
        ("tilelang.dtypes:nosuch", "there is no `nosuch`"),
        ("tilelang.dtypes:DType", "is no function"),
        ("tilelang.syntax.grammar:load_grammar", "is decorated"),
    ):
        with pytest.raises(TableError, match=says):
            code(Exercise(target, "core"))
    twice = Chapter(99, "x", "X", "x", (Exercise("tilelang.dtypes:wider", "core"),) * 2)
    with pytest.raises(TableError, match="two exercises of one name"):
        exercise_text(twice)


def test_the_outline_of_a_file_leaves_out_bodies() -> None:
    one = 'def f(a: int) -> int:\n    """Doc."""\n    raise NotImplementedError\n\n\nX = 1\n'
    two = one.replace("raise NotImplementedError", "b = a\n    return b")
    assert outline(one) == outline(two)
    assert outline(one) != outline(one.replace("Doc", "Dog"))
    assert outline(one) != outline(one.replace("X = 1", "X = 2"))


def test_building_leaves_a_learners_work_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Chapter, "file", property(lambda self: tmp_path / f"{self.name}.py"))
    monkeypatch.setattr(Chapter, "solution", property(lambda self: tmp_path / "solutions" / f"{self.name}.py"))
    assert main(["build"]) == 0
    assert main(["check"]) == 0
    chapter = chapters()[0]
    work = chapter.file.read_text().replace("raise NotImplementedError", "return 0", 1)
    chapter.file.write_text(work)
    assert has_work(chapter)
    assert main(["build"]) == 0 and chapter.file.read_text() == work
    assert "left alone, it holds work" in capsys.readouterr().out
    assert main(["check"]) == 1 and out_of_step(strict=False) == []
    chapter.file.write_text("def broken(:\n")
    assert has_work(chapter)
    assert main(["check"]) == 1 and str(chapter.file) in out_of_step(strict=False)
    assert main([]) == 2 and main(["bild"]) == 2


def test_the_readme_counts_right() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{sum(len(chapter.exercises) for chapter in chapters())} exercises in" in readme
    assert f"{len(PUZZLES)} puzzles in" in readme
