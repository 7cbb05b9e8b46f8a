"""`tilec course` and plain pytest, on a copy of the course in which a learner has begun to work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOOK_UP = "return next((s.names[name] for s in reversed(scopes) if name in s.names), None)"
WRONG_SWAP = "return sorted(a) == sorted(b) and a != b"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the course needs, with the compiler in it, and two functions of chapter 5 written."""
    root = tmp_path_factory.mktemp("clone")
    for name in ("course", "solutions", "tilelang", "grammar"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", ".progress"))
    (root / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    file = root / "course" / "ch05_names" / "exercise.py"
    stub = subprocess.run(
        [sys.executable, "-c", "from course.exercises import *; from course.generating import exercise_text;"
         "[c.file.write_text(exercise_text(c)) for c in chapters()]"], cwd=root, check=True,
    )  # fmt: skip
    assert stub.returncode == 0
    text = file.read_text()
    for body in (LOOK_UP, WRONG_SWAP):
        text = text.replace("raise NotImplementedError", body, 1)
    file.write_text(text)
    return root


def tilec(checkout: Path, line: str) -> tuple[int, str, str]:
    words = line.split()
    script = "import sys; from tilelang.cli.main import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=checkout, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(checkout)},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_grading_tells_which_file_and_what_is_wrong(checkout: Path) -> None:
    status, out, err = tilec(checkout, "course grade ch05")
    assert (status, err) == (1, "")
    assert out.startswith("graded: course/ch05_names/exercise.py\n")
    assert re.search(r"^look_up +passed +4 of 4 tests$", out, re.MULTILINE)
    assert re.search(r"^_is_swap +failed +\d of 4 tests$", out, re.MULTILINE)
    assert re.search(r"^nearest +not started +still the stub$", out, re.MULTILINE)
    assert "_is_swap('abc', 'cba')" in out and "a and c are not neighbours" in out
    assert "1 of 6 exercises of ch05 pass" in out and "tilec course hint ch05 _is_swap" in out


def test_the_list_shows_progress(checkout: Path) -> None:
    tilec(checkout, "course grade ch05")
    status, out, _ = tilec(checkout, "course")
    assert status == 0 and "ch05  Names  (1 of 6 done)" in out
    assert re.search(r"look_up +warm-up +done", out) and re.search(r"_is_swap +warm-up +not right yet", out)
    assert re.search(r"nearest +core +not started", out)


def test_hints_come_in_steps(checkout: Path) -> None:
    said = [tilec(checkout, "course hint ch06 wider")[1] for _ in range(4)]
    assert [re.match(r"wider, hint (\d) of 3", s).group(1) for s in said] == ["1", "2", "3", "3"]  # type: ignore[union-attr]
    assert "solutions/ch06_types_and_shapes.py" in said[2]
    assert "integer_value, hint 1 of" in tilec(checkout, "course hint lexing")[1]


def test_reset_keeps_a_copy(checkout: Path) -> None:
    file = checkout / "course" / "ch07_tile_ir" / "exercise.py"
    text = file.read_text().replace("raise NotImplementedError", "return 7", 2)
    file.write_text(text)
    status, out, _ = tilec(checkout, "course reset ch07 reachable")
    copy = checkout / re.search(r"what was there is in (\S+)", out).group(1)  # type: ignore[union-attr]
    assert status == 0 and copy.read_text() == text
    assert file.read_text() == text.replace("return 7", "raise NotImplementedError", 1)
    file.write_text("broken (")
    status, _, err = tilec(checkout, "course reset ch07 reachable")
    assert status == 1 and "E0743" in err and file.read_text() == "broken ("
    assert tilec(checkout, "course reset ch07")[0] == 0
    assert file.read_text().count("raise NotImplementedError") == 8


def test_results_as_data(checkout: Path) -> None:
    status, out, _ = tilec(checkout, "course grade ch05 --json -")
    found = json.loads(out)
    assert status == 1 and found["points"] == 1 and found["max_points"] == 1 + 1 + 2 + 2 + 2 + 3
    by_name = {e["name"]: e for e in found["exercises"]}
    assert (by_name["look_up"]["status"], by_name["declare"]["status"]) == ("passed", "not started")
    assert len(found["file_sha256"]) == len(found["grader_sha256"]) == 64
    tilec(checkout, "course grade ch05 --gradescope results.json")
    scope = json.loads((checkout / "results.json").read_text())
    assert [t["score"] for t in scope["tests"]] == [1, 0, 0, 0, 0, 0]
    assert "SHA-256" in scope["output"] and "neighbours" in scope["tests"][1]["output"]


def test_another_file_is_graded_and_is_nobodys_progress(checkout: Path) -> None:
    (checkout / "mine.py").write_text("def look_up(scopes, name):\n    return None\n")
    status, out, _ = tilec(checkout, "course grade ch05 look_up --file mine.py")
    assert status == 1 and out.startswith("graded: mine.py")
    status, out, _ = tilec(checkout, "course grade ch05 look_up --file solutions/ch05_names.py")
    assert status == 1 and "is the reference: there is nothing to grade in it" in out
    assert tilec(checkout, "course grade ch05 look_up")[0] == 0


def test_running_with_what_is_done(checkout: Path) -> None:
    tilec(checkout, "course grade ch05")
    line = "course/kernels/vector_add.tile N=8 --device reference"
    for command in (f"run {line} --mine", f"course run {line}"):
        status, out, err = tilec(checkout, command)
        assert (status, err) == (0, ""), err
        assert "names          yours: look_up (1 of 6)" in out and "types          the compiler's own" in out
        assert "left out until they pass: _is_swap (tilec course grade ch05)" in out
        assert " on reference" in out
    status, out, _ = tilec(checkout, f"run {line} --mine-from solutions")
    assert status == 0 and "the compiler's own" not in out


def test_a_function_that_fails_in_the_compiler_is_named(checkout: Path) -> None:
    folder = checkout / "broken"
    folder.mkdir(exist_ok=True)
    (folder / "ch08_optimizing.py").write_text("def find(self, key):\n    return self.nothing\n")
    line = f"run course/kernels/vector_add.tile N=8 --device reference --mine-from {folder}"
    status, _, err = tilec(checkout, line)
    assert status == 1 and "E0745" in err and "your `find` raised AttributeError" in err and "line 2" in err
    (folder / "ch08_optimizing.py").write_text(
        "def find(self, key):\n    return next(iter(self.scopes[0].values()), None)\n"
    )
    status, _, err = tilec(checkout, line)
    assert status == 1 and "E0745" in err and "with your functions in it the compiler failed" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("line", "code"),
    [("course grade ch99", "E0741"), ("course hint ch05 lookup", "E0742"), ("course grade ch05 --file no.py", "E0743"),
     ("course --in nosuch", "E0740"), ("course grade", "E0704"), ("course grades", "E0705"),
     ("run x.tile --mine-from nosuch", "E0744")],
)  # fmt: skip
def test_wrong_command_lines(checkout: Path, line: str, code: str) -> None:
    status, _, err = tilec(checkout, line)
    assert status in (1, 2) and code in err and "Traceback" not in err


def test_plain_pytest_reads_well(checkout: Path) -> None:
    # Where CI or BUILD_NUMBER is set, pytest's own closing summary repeats each message whole.
    plain = {k: v for k, v in os.environ.items() if k not in ("CI", "BUILD_NUMBER")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "course/ch05_names"], cwd=checkout,
        capture_output=True, text=True, timeout=120, env={**plain, "PYTHONPATH": str(checkout)},
    )  # fmt: skip
    out = done.stdout
    assert done.returncode == 1
    assert "ch05 look_up                  passed  4 of 4 tests" in out
    assert "ch05 nearest                  not started" in out
    assert out.count("nearest is not started") == 1, "said once, not by each of its tests"
    assert "a and c are not neighbours" in out and "site-packages" not in out and "def test_" not in out


# --------------------------------------------------------------------------------------- kernels to write

COPY = "let i = program_id(0) * BLOCK +: BLOCK; y[i] = x[i]; }\n"


def write_kernel(checkout: Path, name: str, body: str) -> Path:
    path = checkout / "course" / "puzzles" / name
    path.write_text(path.read_text().replace("    # Your code.\n}\n", body))
    return path


def test_a_puzzle_is_graded_listed_and_reset(checkout: Path) -> None:
    assert re.search(r"^      01_copy +not started$", tilec(checkout, "course")[1], re.MULTILINE)
    path = write_kernel(checkout, "01_copy.tile", COPY)
    assert re.search(r"^      01_copy +not graded$", tilec(checkout, "course list")[1], re.MULTILINE)
    status, out, err = tilec(checkout, "course grade puzzles/copy")
    assert (status, err) == (0, "") and out.startswith("graded: course/puzzles/01_copy.tile\n")
    assert re.search(r"^01_copy +passed$", out, re.MULTILINE)
    shown = tilec(checkout, "course")[1]
    assert re.search(r"^      01_copy +done$", shown, re.MULTILINE) and "Kernels to write  (1 of 24 done)" in shown
    path.write_text(path.read_text().replace("x[i]", "x[i + 1]"))
    status, out, _ = tilec(checkout, "course grade course/puzzles/01_copy.tile")
    assert status == 1 and "off by one" in out and "tilec course hint puzzles/01_copy" in out
    assert re.search(r"^      01_copy +not right yet$", tilec(checkout, "course")[1], re.MULTILINE)
    status, out, _ = tilec(checkout, "course reset puzzles/01")
    kept = re.search(r"what was there is in (\S+)", out)
    assert status == 0 and kept and "x[i + 1]" in (checkout / kept.group(1)).read_text()
    assert path.read_text().endswith("    # Your code.\n}\n")


def test_hints_for_puzzles_come_in_steps(checkout: Path) -> None:
    said = [tilec(checkout, "course hint puzzles/rotary")[1] for _ in range(4)]
    assert [re.match(r"20_rotary, hint (\d) of 3", s).group(1) for s in said] == ["1", "2", "3", "3"]  # type: ignore[union-attr]
    assert "solutions/puzzles/20_rotary.tile" in said[2]
    assert "attention, hint 1 of 3" in tilec(checkout, "course hint capstone")[1]


def test_the_capstone_is_graded_on_the_learners_compiler(checkout: Path, tmp_path: Path) -> None:
    tilec(checkout, "course grade ch05 look_up")
    status, out, err = tilec(checkout, "course grade ch13")
    assert (status, err) == (1, "") and re.search(r"^  names +yours: look_up \(1 of 6\)$", out, re.MULTILINE)
    assert "the body of `attention` in attention.tile is empty" in out
    solution = checkout / "solutions" / "ch13_capstone" / "attention.tile"
    mine = tmp_path / "mine.tile"
    mine.write_text(solution.read_text())
    status, out, _ = tilec(checkout, f"course grade ch13 --file {mine}")
    assert status == 0 and re.search(r"^attention +passed$", out, re.MULTILINE)
    status, _, err = tilec(checkout, f"course grade ch13 --file {solution}")
    assert status == 1 and "error[E0743]" in err and "is the solution, not yours" in err


def test_results_of_puzzles_as_data(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    status, shown, _ = tilec(checkout, f"course grade puzzles/02 --json - --gradescope {out}")
    found = json.loads(shown)
    assert status == 1 and (found["points"], found["max_points"]) == (0, 1)
    assert found["puzzles"][0]["name"] == "puzzles/02_scale" and found["puzzles"][0]["status"] == "not started"
    assert json.loads(out.read_text())["tests"][0]["status"] == "failed"


@pytest.mark.parametrize(("line", "code", "says"), [
    ("course grade puzzles/sofmax", "E0742", "did you mean `puzzles/softmax`?"),
    ("course grade puzzles/12 matmul", "E0742", "leave the second word out"),
    ("course reset puzzles", "E0742", "name one, as in puzzles/12"),
    ("course grade puzzles --file nowhere.tile", "E0742", "name one, as in puzzles/12"),
    ("course grade puzzles/12 --file nowhere.tile", "E0743", "there is no file `nowhere.tile`"),
])  # fmt: skip
def test_mistakes_with_puzzles(checkout: Path, line: str, code: str, says: str) -> None:
    status, out, err = tilec(checkout, line)
    assert status != 0 and out == "" and f"error[{code}]" in err and says in err
