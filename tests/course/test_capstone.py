"""The capstone: its grader proved, and the whole of it on a compiler made of the learner's functions.

The solutions stand in for what a learner has written.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import course
import tilelang
from course.exercises import chapters
from course.puzzles import capstone
from course.puzzles.capstone import CAPSTONE
from course.puzzles.cases import cases
from course.puzzles.grading import FAILED, NOT_STARTED, PASSED, Verdict, grade, grade_capstone
from course.puzzles.judging import differs
from course.puzzles.stubs import stale, stub

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "course" / "kernels"


def graded(folder: Path, text: str) -> Verdict:
    path = folder / "attention.tile"
    path.write_text(text, encoding="utf-8")
    return grade(CAPSTONE, path)


def with_change(old: str, new: str) -> str:
    text = CAPSTONE.solution.read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, new)


# ------------------------------------------------------------------------------- all of it, on the learner's compiler


def test_the_capstone_passes_on_a_compiler_made_of_the_exercises() -> None:
    verdict, found = grade_capstone(CAPSTONE.solution, course.solutions())
    assert verdict.status == PASSED, verdict.message
    assert found.count == sum(len(chapter.exercises) for chapter in chapters()) > 70
    assert all(names == tuple(e.name for e in chapter.exercises) for chapter, names in found.mine.items())


@pytest.mark.parametrize("device", ["reference", "cpu", "model"])
@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention_is_right_on_a_compiler_made_of_the_exercises(device: str, causal: bool) -> None:
    rng = np.random.default_rng(13)
    q, k, v = (rng.standard_normal((2, 37, 24)).astype(np.float32) for _ in range(3))
    seen = np.tri(37, dtype=bool) if causal else np.ones((37, 37), bool)
    expected = capstone.attend(q, k, v, 0.2, seen, np.arange(2))
    with course.installed(source=course.solutions()) as mine:
        kernel = tilelang.load(KERNELS / "attention.tile")["attention"]
        found = kernel(q, k, v, 0.2, CAUSAL=causal, BM=16, BN=16, device=device)
    assert mine.count > 70
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_wrong_function_of_the_learner_takes_part_and_is_blamed(tmp_path: Path) -> None:
    chapter = next(c for c in chapters() if c.name == "ch12_launch_and_tune")
    text = (ROOT / "solutions" / f"{chapter.name}.py").read_text(encoding="utf-8")
    wrong = text.replace("def next_pow2(n: int) -> int:", "def next_pow2(n: int) -> int:\n    return 1\n", 1)
    assert wrong != text
    (tmp_path / f"{chapter.name}.py").write_text(wrong, encoding="utf-8")
    verdict, found = grade_capstone(CAPSTONE.solution, tmp_path)
    assert found.count == len(chapter.exercises)
    assert verdict.status == FAILED
    assert verdict.message.startswith("right on the compiler as it came, but not with your functions in it")


# -------------------------------------------------------------------------------------------- the grader


def test_the_stub_is_not_started(tmp_path: Path) -> None:
    assert graded(tmp_path, stub(CAPSTONE)).status == NOT_STARTED
    assert CAPSTONE not in stale()


PLANTED = {
    "no mask": (" <= place[:, None]", " < N + place[:, None] * 0", "what the last one of its block may see"),
    "own position not seen": ("<= place", "< place", "does not see its own position"),
    "no kept keys": ("rows + (N - M)", "rows", "it stands at N - M"),
    "heads interleaved": ("head // (H // G)", "head % G", r"group h // \(H // G\), not h % G"),
    "one group": ("head // (H // G)", "0", "every head uses the keys and values of group 0"),
    "no scale": (" * scale;", ";", "not multiplied by scale"),
    "stale weighted sum": ("acc * faded[:, None]", "acc", "weighted sum so far is not rescaled"),
    "stale total": ("total * faded", "total", "sum of exponentials so far is not rescaled"),
    "overflow": ("exp(seen - top[:, None])", "exp(seen)", "wrong values"),
    "reads what nobody sees": ("minimum(N, N - M + (program_id(0) + 1) * BM)", "N", "too much memory traffic"),
    "few queries": ("BM: {32,", "BM: {8,", "too much memory traffic(.|\n)*larger tiles help"),
    "last block left out": ("(program_id(0) + 1) * BM", "program_id(0) * BM", "wrong values"),
    "ragged width": ("WIDTH = next_pow2(D)", "WIDTH = 16", "wrong values"),
    "no semicolon": ("let head  = program_id(1);", "let head  = program_id(1)", r"error\[E01"),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_fails_and_is_named(mistake: str, tmp_path: Path) -> None:
    old, new, says = PLANTED[mistake]
    verdict = graded(tmp_path, with_change(old, new))
    assert verdict.status == FAILED
    assert "bug in the compiler" not in verdict.message
    assert re.search(says, verdict.message), verdict.message


RIGHT = {
    "small blocks, masked twice": [("BN: {32, 16, 64}", "BN: {16, 64}"),
                                   ("keys[None, :] <= place[:, None]",
                                    "keys[None, :] < N and not (keys[None, :] > place[:, None])")],
    "scale on the queries, group counted otherwise": [
        ("let query = q[head, rows, width];", "let query = (q[head, rows, width] as f32 * scale) as T;"),
        (" * scale;", ";"), ("head // (H // G)", "head * G // H")],
    "large blocks": [("BM: {32, 16, 64}", "BM: {64, 128}"), ("BN: {32, 16, 64}", "BN: {32}")],
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_another_right_kernel_passes(name: str, tmp_path: Path) -> None:
    text = CAPSTONE.solution.read_text(encoding="utf-8")
    for old, new in RIGHT[name]:
        assert old in text
        text = text.replace(old, new)
    verdict = graded(tmp_path, text)
    assert verdict.status == PASSED, verdict.message


def test_slips_are_wrong_somewhere() -> None:
    shapes = [case for case in cases(CAPSTONE) if case.kind in ("even", "ragged", "prime", "one")]
    wrong: dict[str, bool] = {}
    for said, slip in capstone.SLIPS:
        with np.errstate(all="ignore"):
            found = any(differs(slip(**case.inputs).astype(np.float32), case.expected).any() for case in shapes)
        wrong[said] = wrong.get(said, False) or found
    assert all(wrong.values()), wrong


def test_the_spec_agrees_with_a_loop() -> None:
    rng = np.random.default_rng(3)
    q, k, v = rng.standard_normal((4, 3, 5)), rng.standard_normal((2, 7, 5)), rng.standard_normal((2, 7, 5))
    found = capstone.attention(q, k, v, 0.5)
    for head in range(4):
        for i in range(3):
            keys, values = k[head // 2, : 7 - 3 + i + 1], v[head // 2, : 7 - 3 + i + 1]
            weights = np.exp(keys @ q[head, i] * 0.5)
            assert np.allclose(found[head, i], weights @ values / weights.sum())


def test_plain_pytest_shows_the_message_and_not_the_grader() -> None:
    command = [sys.executable, "-m", "pytest", "course/ch13_capstone", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert "1 passed" in done.stdout or "attention.tile" in done.stdout, done.stdout + done.stderr
    assert "def test_capstone" not in done.stdout and "Traceback" not in done.stdout + done.stderr
