"""Mutants of every exercise's solution against the grader: `python -m tests.fuzzing.mutants`.

A grader that lets a mutant pass would let a learner's mistake pass, unless the mutant means the same as the solution.
Those that were looked at and found to mean the same stand in `equivalent.txt`, each with the reason.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from course.exercises import chapters
from course.grading import FAILED, grade_exercise
from course.table import Chapter, Exercise
from tests.course.proving import parts, with_function
from tests.fuzzing.mutations_of_python import Mutant, mutants

SECONDS = 4.0
"""For one call. A right answer's takes hundredths of a second; an endless loop is a common mutant."""
EQUIVALENT = Path(__file__).parent / "equivalent.txt"


@cache
def equivalent() -> dict[tuple[str, str], str]:
    """(exercise, change) -> why the mutant means the same. The file says how they are written."""
    found: dict[tuple[str, str], str] = {}
    for entry in EQUIVALENT.read_text(encoding="utf-8").split("\n\n"):
        if entry.strip() and not entry.startswith("#"):
            head, _, reason = entry.strip().partition("\n")
            exercise, _, change = head.partition(": ")
            found[exercise, change] = reason.strip()
    return found


def named(chapter: Chapter, exercise: Exercise) -> str:
    return f"{chapter.short} {exercise.name}"


def mutants_of(chapter: Chapter, exercise: Exercise) -> list[Mutant]:
    """All mutants of the solution."""
    function = ast.parse(parts(chapter, exercise)[1]).body[0]
    assert isinstance(function, ast.FunctionDef)
    return list(mutants(function))


def verdict(chapter: Chapter, exercise: Exercise, mutant: Mutant, folder: Path) -> str:
    """What the grader says of the mutant, the first test's words; empty if it lets it pass."""
    file = folder / "exercise.py"
    file.write_text(with_function(chapter, exercise, mutant.text), encoding="utf-8")
    result = grade_exercise(chapter, exercise, file, seconds=SECONDS, until_first=True)
    return ": ".join(result.messages[0]) if result.status == FAILED else ""


def run(log: Path, only: str, every: int) -> Iterator[tuple[str, Mutant, bool]]:
    """One mutant in `every`, and whether it survives; those in the log are not graded again."""
    known = {}
    if log.exists():
        entries = map(json.loads, log.read_text(encoding="utf-8").splitlines())
        known = {(e["exercise"], e["text"]): e["survives"] for e in entries}
    with tempfile.TemporaryDirectory() as folder, log.open("a", encoding="utf-8") as file:
        for chapter in chapters():
            for exercise in chapter.exercises:
                name = named(chapter, exercise)
                for mutant in mutants_of(chapter, exercise)[::every] if only in name else ():
                    if (name, mutant.text) not in known:
                        says = verdict(chapter, exercise, mutant, Path(folder))
                        known[name, mutant.text] = not says
                        entry = {"exercise": name, "change": mutant.change, "survives": not says, "says": says,
                                 "text": mutant.text}  # fmt: skip
                        file.write(json.dumps(entry) + "\n")
                        file.flush()
                    yield name, mutant, known[name, mutant.text]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing.mutants", description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="part of `ch05 nearest`, to run some exercises alone")
    parser.add_argument("--every", type=int, default=1, help="grade one mutant in so many, for a quick look")
    parser.add_argument("--log", type=Path, default=Path(tempfile.gettempdir()) / "tile-mutants.jsonl")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for name, mutant, alive in run(options.log, options.only, options.every):
        same = alive and (name, mutant.change) in equivalent()
        counts["equivalent" if same else "survived" if alive else "killed"] += 1
        if alive and not same:
            print(f"{name}: {mutant.change}", flush=True)
    wrong = counts["killed"] + counts["survived"]
    rate = 100 * counts["killed"] / wrong if wrong else 100
    print(f"{counts.total()} mutants: {counts['killed']} killed, {counts['survived']} survived, "
          f"{counts['equivalent']} equivalent; {rate:.1f} % of those that are wrong are killed")  # fmt: skip
    return 1 if rate < 95 else 0


if __name__ == "__main__":
    sys.exit(main())
