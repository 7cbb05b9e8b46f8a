"""The parts of the puzzles' graders: what stops a kernel, poison, cases, slips, hints, stubs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tilelang
from course.puzzles import specs, table
from course.puzzles.__main__ import main
from course.puzzles.capstone import CAPSTONE
from course.puzzles.cases import ABOUT, Case, arena, cases, embed, is_poison
from course.puzzles.grading import FAILED, NOT_STARTED, grade
from course.puzzles.hints import Pattern, likely_cause
from course.puzzles.judging import check_surroundings, check_values, differs
from course.puzzles.nudges import NUDGES
from course.puzzles.running import Attempt, Outcome, Wrong
from course.puzzles.slips import SLIPS
from course.puzzles.stubs import stale, stub
from course.puzzles.table import PUZZLES, Puzzle, find

ROOT = Path(__file__).resolve().parents[2]
COPY = find("01")
HEADER = "kernel copy[BLOCK: {64}](x: f32[N], out y: f32[N]) grid (cdiv(N, BLOCK)) "
INDEX = "let i = program_id(0) * BLOCK +: BLOCK; "


def message(tmp_path: Path, text: str | bytes, puzzle: Puzzle = COPY) -> str:
    """What the grader says about a wrong kernel."""
    path = tmp_path / puzzle.file.name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    verdict = grade(puzzle, path)
    assert verdict.status == FAILED
    return verdict.message


# ------------------------------------------------------------------------------------- what stops a kernel


def test_a_syntax_error_is_told_in_the_compilers_words(tmp_path: Path) -> None:
    said = message(tmp_path, HEADER + "{\n    let i = program_id(0) * BLOCK +: BLOCK\n    y[i] = x[i];\n}")
    assert re.search(r"error\[E01\d\d\]", said) and "01_copy.tile:2:" in said and ";" in said


def test_all_errors_of_a_file_are_told(tmp_path: Path) -> None:
    said = message(tmp_path, HEADER + "{\n    y[j] = x[i];\n}")
    assert len(re.findall(r"error\[E02\d\d\]", said)) == 2


def test_a_failed_assert_names_the_program(tmp_path: Path) -> None:
    said = message(tmp_path, HEADER + "{ " + INDEX + 'assert(program_id(0) < 3, "only three"); y[i] = x[i]; }')
    assert "error[E0590]: assert failed: only three" in said and "false in program (3)" in said and "N=2048" in said


@pytest.mark.parametrize("loop", ["while N > 0 { y[i] = x[i]; }", "for k in range(0, 2_000_000_000) { y[i] = x[i]; }"])
def test_an_endless_loop_is_stopped(tmp_path: Path, loop: str) -> None:
    said = message(tmp_path, HEADER + "{ " + INDEX + loop + " }")
    assert "does not come to an end" in said and "N=2048" in said


def test_a_kernel_that_would_take_hours_is_stopped(tmp_path: Path) -> None:
    vast = HEADER.replace("cdiv(N, BLOCK)", "N").replace("{64}", "{1048576}")
    said = message(tmp_path, vast + "{ let i = 0 +: BLOCK; y[i] = x[i]; }")
    assert "too much work for N=2048" in said and "2,048 programs with tiles of 1,048,576 elements" in said
    slow = HEADER.replace("cdiv(N, BLOCK)", "1").replace("{64}", "{1048576}")
    said = message(tmp_path, slow + "{ let i = 0 +: BLOCK; for k in range(0, 15000) { y[i] = x[i]; } }")
    assert "does not come to an end" in said


def test_changed_parameters_are_told(tmp_path: Path) -> None:
    said = message(tmp_path, "kernel copy(y: f32[N], out x: f32[N]) grid (1) { x[0] = y[0]; }")
    assert "expected: (x: f32[N], out y: f32[N])" in said and "found:    (y: f32[N], out x: f32[N])" in said


def test_a_renamed_kernel_is_told_in_the_compilers_words(tmp_path: Path) -> None:
    said = message(tmp_path, HEADER.replace("copy", "kopy") + "{ y[0] = x[0]; }")
    assert "error[E0701]: there is no kernel `copy`" in said and "did you mean `kopy`?" in said


@pytest.mark.parametrize("text", ["", b"\xff\xfe\x00", "# a comment\n", "\x00" * 100, "(" * 5000])
def test_a_file_that_is_no_program_is_told(tmp_path: Path, text: str | bytes) -> None:
    assert "error[E" in message(tmp_path, text)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    assert "01_copy.tile cannot be read: No such file" in grade(COPY, tmp_path / "01_copy.tile").message
    assert "cannot be read: Is a directory" in grade(COPY, tmp_path).message


def test_a_begun_body_that_stores_nothing_is_no_longer_the_stub(tmp_path: Path) -> None:
    said = message(tmp_path, HEADER + "{ " + INDEX + "let v = x[i]; }")
    assert "found nothing: never written" in said and "nothing is stored to `y` at all" in said


def test_a_kernel_for_one_shape_only_is_found_out(tmp_path: Path) -> None:
    said = message(tmp_path, HEADER + "{ " + INDEX + "y[i] = select(N == 2048, x[i], 0.0); }")
    assert "wrong values for N=1500" in said and "right for: even shapes\n" in said


def test_a_kernel_right_on_small_shapes_only_fails_on_the_model(tmp_path: Path) -> None:
    said = message(tmp_path, HEADER + "{ " + INDEX + "y[i] = select(N < 4096, x[i], 0.0); }")
    assert "wrong values for N=4096 (on the machine model)" in said


def test_what_a_kernel_prints_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "01_copy.tile"
    path.write_text(HEADER + "{ " + INDEX + 'print("v", i); y[i] = x[i]; }')
    assert grade(COPY, path).status == "passed"
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------------------------- poison and surroundings


def test_no_arithmetic_gives_poison() -> None:
    with np.errstate(all="ignore"):
        zero = np.zeros(1, np.float32)
        made = np.concatenate([zero / zero, np.float32([np.inf]) - np.inf, np.sqrt(zero - 1), [np.nan], -(zero / zero)])
    assert not is_poison(made.astype(np.float32)).any()


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 3, 4), (1, 1)])
def test_an_embedded_array_knows_its_surroundings(strided: bool, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    made = embed(values, strided)
    assert np.array_equal(made.view, values)
    outside = made.outside()
    assert np.count_nonzero(~outside) == values.size and is_poison(made.whole)[outside].all()
    assert sorted(made.whole[~outside]) == sorted(values.ravel())


def right_outcome(case: Case) -> Outcome:
    outcome = Outcome(case, arena(case), {n: x.copy() for n, x in case.inputs.items() if isinstance(x, np.ndarray)})
    outcome.arena.view[...] = case.expected
    return outcome


def test_a_write_beside_the_output_is_seen() -> None:
    case = next(case for case in cases(find("05")) if case.kind == "views")
    outcome = right_outcome(case)
    check_values([outcome])
    check_surroundings([outcome])
    outcome.arena.whole[3, 4] = 7.5
    with pytest.raises(Wrong, match=r"1 elements beside z were written, for M=40, N=150(.|\n)*element \(3, 4\).*7\.5"):
        check_surroundings([outcome])


def test_a_changed_input_is_seen() -> None:
    case = next(case for case in cases(COPY) if case.kind == "special")
    outcome = right_outcome(case)
    check_surroundings([outcome])
    outcome.before["x"][5] += 1
    with pytest.raises(Wrong, match="the input x was changed"):
        check_surroundings([outcome])


def test_poison_is_never_right() -> None:
    case = next(case for case in cases(COPY) if case.kind == "special")
    expected = np.full(4, np.nan, np.float32)
    assert not differs(np.full(4, np.nan, np.float32), expected).any()
    assert differs(arena(case).view[:4], expected).all()


# ------------------------------------------------------------------------------------------ cases and specs


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_cases_cover_every_kind_and_are_the_same_every_time(puzzle: Puzzle) -> None:
    first, second = list(cases(puzzle)), list(cases(puzzle))
    kinds = {case.kind for case in first}
    assert kinds >= {"even", "ragged", "prime", "one", "views", "alone"} and kinds <= set(ABOUT)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a.expected, b.expected, equal_nan=a.expected.dtype.kind == "f")
    assert all(case.expected.size for case in first) and all(case.expected.flags.c_contiguous for case in first)
    if puzzle.special:
        ends = [case.expected for case in first if case.kind == "special"]
        assert not all(np.isfinite(expected).all() for expected in ends)


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_no_output_is_what_a_lazy_kernel_would_give(puzzle: Puzzle) -> None:
    """Not zero, not constant, not one of the inputs (but for the copy)."""
    for case in cases(puzzle):
        if case.kind == "even":
            assert np.unique(case.expected).size >= 4
            arrays = [x for x in case.inputs.values() if isinstance(x, np.ndarray)]
            same = [x.shape == case.expected.shape and np.array_equal(x, case.expected) for x in arrays]
            assert not any(same) or puzzle is COPY


def test_specs_agree_with_slower_ways() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal(20), rng.standard_normal(4)
    assert np.allclose(specs.conv1d(x, w), np.correlate(np.pad(x, (0, 3)), w, "valid"))
    image, taps = rng.standard_normal((6, 7)), rng.standard_normal((2, 3))
    slow = [[sum(taps[s, t] * image[i + s, j + t] for s in range(2) for t in range(3) if i + s < 6 and j + t < 7)
             for j in range(7)] for i in range(6)]  # fmt: skip
    assert np.allclose(specs.conv2d(image, taps), slow)
    points = rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))
    turn = np.exp(1j * rng.standard_normal((3, 4)))
    turned = points * turn
    found = specs.rotary(turn.real, turn.imag, np.hstack([points.real, points.imag]))
    assert np.allclose(found, np.hstack([turned.real, turned.imag]))
    scores, label = rng.standard_normal((5, 6)), np.array([0, 5, 2, 2, 1])
    surprise = -np.log(specs.softmax(scores))
    assert np.allclose(specs.cross_entropy(scores, label), [surprise[i, n] for i, n in enumerate(label)])
    packed, a = np.array([[0x2F]], np.uint8), np.array([[10.0, 1.0]])
    assert specs.packed_matmul(packed, a, np.array([2.0])) == 2 * (10 * (15 - 8) + 1 * (2 - 8))


def test_the_gradient_is_that_of_the_forward_pass() -> None:
    rng = np.random.default_rng(2)
    x, y, dz, step = rng.standard_normal((4, 5)), rng.standard_normal(5), rng.standard_normal((4, 5)), 1e-6
    slope = (specs.mul_relu(x + step, y) - specs.mul_relu(x - step, y)) / (2 * step)
    assert np.allclose(specs.mul_relu_backward(x, y, dz), slope * dz, atol=1e-6)


# ------------------------------------------------------------------------------------------ slips and hints


@pytest.mark.parametrize("name", SLIPS)
def test_slips_run_on_every_shape_and_are_wrong_somewhere(name: str) -> None:
    shapes = [case for case in cases(find(name)) if case.kind in ("even", "ragged", "prime", "one")]
    wrong: dict[str, bool] = {}  # some tile of the slip makes a difference; the larger ones hold these shapes whole
    for said, slip in SLIPS[name]:
        with np.errstate(all="ignore"):
            found = [(slip(**case.inputs).astype(np.float32), case.expected) for case in shapes]
        wrong[said] = wrong.get(said, False) or any(differs(*pair).any() for pair in found)
    assert all(wrong.values()), wrong


def test_a_slip_that_changes_nothing_explains_nothing() -> None:
    """Only the last of one tile is all of it: that must not be said of what is right but for large inputs."""
    puzzle = find("22")
    runs = [(case, case.expected) for case in cases(puzzle)]
    large = next(case for case, _ in runs if case.kind == "large")
    found = np.full_like(large.expected, np.nan)
    kinds = {case.kind: case is not large for case, _ in runs}
    said = likely_cause(Pattern(found, large.expected, np.isnan(found), large, kinds, runs))
    assert "subtract the maximum" in said


def hint(found: np.ndarray, puzzle: str = "01", kind: str = "even") -> str:
    """The likely cause if `found` is the result of the first case of a kind, and all others are right."""
    runs = list(cases(find(puzzle)))
    case = next(case for case in runs if case.kind == kind)
    found = np.resize(found, case.expected.shape).astype(case.expected.dtype)
    kinds = {other.kind: other.kind != kind for other in runs}
    wrong = differs(found, case.expected)
    return likely_cause(Pattern(found, case.expected, wrong, case, kinds, [(case, found)]))


def expected(puzzle: str, kind: str = "even") -> np.ndarray:
    return next(case for case in cases(find(puzzle)) if case.kind == kind).expected


def test_hints_tell_patterns_apart() -> None:
    product = expected("12")
    assert "0.5 times what it should be" in hint(product / 2, "12")
    assert "every element of `c` is 0" in hint(np.zeros(1), "12")
    assert "filled in the order of its transpose" in hint(np.ascontiguousarray(product.T), "12")
    assert "constant along axis 0" in hint(np.broadcast_to(product[:1], product.shape), "12")
    late = product.copy()
    late[:, 112:] = 1
    assert "along axis 1 all before 112 is right" in hint(late, "12")
    late[:, 32:] = 1
    assert "along axis 1 the first 32 are right" in hint(late, "12")
    late[3, 5] = np.nan
    assert "NaN comes of" in hint(late, "12")
    lone = product.copy()
    lone[7, 9] += 1
    assert hint(lone, "12") == ""


def test_a_square_result_turned_is_recognised() -> None:
    puzzle = find("12")
    case = Case(puzzle, "even", {"M": 8, "N": 8, "K": 8}, puzzle.make(np.random.default_rng(0), M=8, N=8, K=8))
    found = np.ascontiguousarray(case.expected.T)
    wrong = differs(found, case.expected)
    said = likely_cause(Pattern(found, case.expected, wrong, case, {"even": False}, [(case, found)]))
    assert "holds the right result transposed" in said


# ------------------------------------------------------------------------------------------ files and commands


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_solutions_and_stubs_are_clean(puzzle: Puzzle, tmp_path: Path) -> None:
    assert tilelang.load(puzzle.solution).warnings == ()
    text = stub(puzzle)
    assert text.endswith("{\n    # Your code.\n}\n") and text.count("\n#") > 5
    solution = puzzle.solution.read_text(encoding="utf-8")
    assert solution.startswith(text.removesuffix("    # Your code.\n}\n"))
    assert max(map(len, solution.splitlines())) <= 120


def test_the_files_in_the_folder_are_stubs_of_the_solutions() -> None:
    assert stale() == []


def test_stubs_are_written_but_not_over_a_learners_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "HERE", tmp_path)
    run = CliRunner()
    assert "01_copy" in run.invoke(main, ["check"]).output
    COPY.file.write_text(COPY.solution.read_text(encoding="utf-8"), encoding="utf-8")
    assert run.invoke(main, ["write"]).output.count("wrote") == len(PUZZLES) - 1
    assert grade(COPY).status == "passed" and grade(find("02")).status == NOT_STARTED
    assert run.invoke(main, ["check"]).exit_code == 0
    find("02").file.write_text(stub(find("02")).replace("Scale", "scale"), encoding="utf-8")
    assert run.invoke(main, ["check"]).output.startswith("Error: missing, or not the stub of the solution: 02_scale\n")
    assert run.invoke(main, ["reset", "copy"]).output == "wrote 01_copy.tile\n"
    assert grade(COPY).status == NOT_STARTED
    missing = run.invoke(main, ["reset", "99"])
    assert missing.exit_code == 2 and "there is no puzzle '99'" in missing.output


def test_the_command_tells_how_far_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "HERE", tmp_path)
    run = CliRunner()
    run.invoke(main, ["write"])
    COPY.file.write_text(COPY.solution.read_text(encoding="utf-8"), encoding="utf-8")
    find("02").file.write_text("kernel scale(", encoding="utf-8")
    lines = run.invoke(main, []).output.splitlines()
    assert lines[0].split() == ["01_copy", "passed"] and lines[2].split() == ["03_broadcast_add", "not", "started"]
    assert re.match(r"02_scale +failed: error\[E01\d\d\]", lines[1]) and lines[-1] == "1 of 24 solved"
    passed, failed = run.invoke(main, ["grade", "copy"]), run.invoke(main, ["grade", "02"])
    assert passed.exit_code == 0 and passed.output == "01_copy passed\n"
    assert failed.exit_code == 1 and "02_scale.tile:1:" in failed.output


@pytest.mark.parametrize("name", ["12", "matmul", "12_matmul", "12_matmul.tile"])
def test_a_puzzle_is_found_by_number_and_name(name: str) -> None:
    assert find(name).name == "12_matmul"
    assert find("3") is find("03") is find("broadcast_add")


def test_the_readme_lists_every_puzzle() -> None:
    readme = (ROOT / "course/puzzles/README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d\d) \| (\w+) \|", readme, re.M)
    assert [f"{number}_{name}" for number, name in listed] == [puzzle.name for puzzle in PUZZLES]


def test_pytest_shows_the_message_and_not_the_grader() -> None:
    command = ["-m", "pytest", "course/puzzles", "-q", "-p", "no:cacheprovider", "-k", "01_copy or 17_histogram"]
    command = [sys.executable, *command]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert shown.returncode in (0, 1), shown.stdout + shown.stderr
    assert "2 passed" in shown.stdout or ".tile" in shown.stdout
    assert "def test_puzzle" not in shown.stdout and "Traceback" not in shown.stdout + shown.stderr


# -------------------------------------------------------------------------------------------------- traffic


def moved(tmp_path: Path, body: str, header: str = HEADER) -> list[tuple[int, str, int, int]]:
    """(line, tensor, bytes moved, bytes wanted) of a copy of 4096 f32 by 64 programs."""
    path = tmp_path / "01_copy.tile"
    path.write_text(header + "{ " + INDEX + "\n" + body + "\n}", encoding="utf-8")
    lines = Attempt(COPY, path).measure()[1].lines
    return sorted((line.number, line.tensor, line.moved, line.wanted) for line in lines)


def test_each_place_moves_its_sectors_once(tmp_path: Path) -> None:
    once = 4 * 4096
    assert moved(tmp_path, "y[i] = x[i];") == [(2, "x", once, once), (2, "y", once, once)]
    twice = "for k in range(0, 10) { y[i] = x[i] + k as f32; }"
    assert moved(tmp_path, twice) == [(2, "x", once, once), (2, "y", once, once)]


def test_an_odd_start_takes_a_sector_more_for_each_program(tmp_path: Path) -> None:
    (_, tensor, sectors, wanted), _ = moved(tmp_path, "y[i] = x[i + 1];")
    assert (tensor, sectors, wanted) == ("x", (64 * 9 - 1) * 32, 4 * 4095)  # the last one begins no ninth sector


def test_two_places_are_counted_apart_and_so_are_tensors(tmp_path: Path) -> None:
    lines = moved(tmp_path, "y[i] = x[i];\ny[i] = x[i + 8];")
    assert [line[:2] for line in lines] == [(2, "x"), (2, "y"), (3, "x"), (3, "y")]
    assert [line[2] for line in lines] == [16384, 16384, 16384 - 32, 16384]


def test_strides_waste_sectors(tmp_path: Path) -> None:
    (_, _, sectors, wanted), _ = moved(tmp_path, "y[i] = x[i * 8];")
    assert sectors == 8 * wanted


def test_a_program_apart_is_counted_apart(tmp_path: Path) -> None:
    (_, _, sectors, _), _ = moved(tmp_path, "y[i] = x[0];")
    assert sectors == 64 * 32


def test_every_puzzle_has_hints() -> None:
    assert list(NUDGES) == [*(puzzle.name for puzzle in PUZZLES), CAPSTONE.name]
    assert all(len(hint) > 20 for pair in NUDGES.values() for hint in pair)
