"""Hostile texts through check, fmt and compile; `python -m tests.fuzzing.hostile` tries many more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fuzzing.hostile import attack, outcome, smallest
from tests.fuzzing.long_run import LongRun
from tests.fuzzing.mutations import ROOT, corpus, hostile

TEXTS, SHARDS = 400, 8

WORKER = """
import os, sys, time
from tests.fuzzing.long_run import say
first, count, seed = map(int, sys.argv[1:4])
for number in range(first, first + count):
    say(begin=number)
    if number == 3:
        os._exit(9)
    if number == 5:
        time.sleep(60)
    if number == 8:
        say(failed=number, text="wrong", input="x")
    say(end=["fine"])
"""


@pytest.mark.parametrize("shard", range(SHARDS))
def test_hostile_texts(shard: int) -> None:
    for seed in range(shard, TEXTS, SHARDS):
        _, text = outcome(hostile(seed))
        assert not text, f"seed {seed}: {text}\n{hostile(seed)!a}"


def test_they_come_far() -> None:
    """An attack that the parser always refuses says nothing of the later stages."""
    kinds = {outcome(hostile(seed))[0] for seed in range(40)}
    assert {"refused by the parser", "refused by the checker"} <= kinds
    assert attack((ROOT / "course/kernels/softmax.tile").read_bytes()) == "compiled"


def test_a_failing_text_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.fuzzing import hostile as module

    def failing(data: bytes) -> str:
        if b"kernel" in data and b"}" in data:
            raise KeyError("both")
        return "fine"

    monkeypatch.setattr(module, "attack", failing)
    data = corpus()[0][0]
    assert sorted(smallest(data, outcome(data)[0])) == sorted(b"kernel}")


def test_a_long_run_outlives_its_workers_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "attacker.py").write_text(WORKER)
    root = str(Path(__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{root}")
    log = tmp_path / "log.jsonl"
    first = LongRun("attacker", log, 100, piece=5, patience=3)
    assert first.run(4) == 1
    again = LongRun("attacker", log, 100, piece=5, patience=3)
    assert (again.next, again.failed) == (4, 1)
    assert again.run(10) == 3
    failed = [e for e in map(json.loads, log.read_text().splitlines()) if "failed" in e]
    assert [(e["seed"], e["failed"]) for e in failed] == [(103, 3), (105, 5), (108, 8)]
    assert again.counts["fine"] == 8
