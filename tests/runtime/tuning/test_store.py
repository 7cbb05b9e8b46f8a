"""Results on disk: all or nothing, and never trusted further than they can be checked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from tilelang.runtime import cache
from tilelang.runtime.tuning import store
from tilelang.runtime.tuning.store import Answer, Question

ASKED = Question("copy", "c0de", "znver3, 2 threads", (("x", "f32"),), (("N", 200),), (("x", 0),), (("UP", False),))
ANSWER = Answer({"BLOCK": 128, "SCALE": 0.5}, 1e-3, 2e-3, "measurement", "2026-01-31T12:00:00+00:00", 3, "copy.tile")


def kept() -> Path:
    path = store.keep(ASKED, ANSWER)
    assert path is not None
    return path


def test_what_is_kept_is_found(folder: Path) -> None:
    assert store.find(ASKED) is None and not folder.exists()
    path = kept()
    assert store.find(ASKED) == ANSWER
    assert store.find(replace(ASKED, switches=(("UP", 0),))) is None, "0 is not false"
    for where in (folder, folder / store.KIND, path.parent):
        assert where.stat().st_mode & 0o777 == 0o700
    assert list(store.find(ASKED).metas) == ["BLOCK", "SCALE"]  # type: ignore[union-attr]


@pytest.mark.parametrize("change", [
    {"kernel": "copy2"}, {"code": "c0df"}, {"device": "znver3, 4 threads"}, {"dtypes": (("x", "f16"),)},
    {"dims": (("N", 201),)}, {"layout": (("x", -1),)}, {"switches": ()}])
def test_each_part_of_the_question_counts(change: dict) -> None:
    kept()
    assert store.find(replace(ASKED, **change)) is None


def test_another_version_of_the_compiler_asks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    kept()
    monkeypatch.setattr(cache, "compiler_version", lambda: "99.0")
    assert store.find(ASKED) is None


def test_a_newer_result_replaces_an_older_one() -> None:
    kept()
    store.keep(ASKED, replace(ANSWER, metas={"BLOCK": 64}))
    assert store.find(ASKED).metas == {"BLOCK": 64}  # type: ignore[union-attr]
    assert len(list(store.entries())) == 1


DAMAGES = {
    "empty": b"", "half": None, "no JSON": b"{", "no UTF-8": b"\xff\xfe", "a list": b"[1]", "null": b"null",
    "deep": b"[" * 200_000, "huge": b" " * (store.LARGEST_FILE + 1),
    "no answer": b'{"question": {}}', "numbers": b'{"question": 1, "answer": 2}',
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_result_is_none(damage: str) -> None:
    path = kept()
    path.write_bytes(path.read_bytes()[:100] if DAMAGES[damage] is None else DAMAGES[damage])  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.find(ASKED) is None and list(store.entries()) == []
    kept()
    assert store.find(ASKED) == ANSWER


@pytest.mark.parametrize(("part", "name", "value"), [
    ("answer", "metas", {"BLOCK": "128"}), ("answer", "metas", {"BLOCK": True}), ("answer", "metas", [1]),
    ("answer", "metas", {"BLOCK": None}), ("answer", "seconds", "fast"), ("answer", "by", 3), ("answer", "tried", None),
    ("question", "dims", [["N"]]), ("question", "dims", 7), ("question", "kernel", 1),
])  # fmt: skip
def test_values_of_the_wrong_kind_are_damage(part: str, name: str, value: object) -> None:
    path = kept()
    data = json.loads(path.read_text())
    data[part][name] = value
    path.write_text(json.dumps(data))
    assert store.find(ASKED) is None


def test_a_result_for_something_else_is_not_used_in_its_place() -> None:
    """Whoever copies a file over another's folder changes nothing."""
    path = kept()
    other = store.keep(replace(ASKED, dims=(("N", 300),)), replace(ANSWER, metas={"BLOCK": 1}))
    assert other is not None
    path.write_bytes(other.read_bytes())
    assert store.find(ASKED) is None


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_others_can_write_is_not_read(what: str) -> None:
    path = kept()
    (path if what == "file" else path.parent).chmod(0o777)
    with pytest.warns(cache.CacheWarning, match="a tuning result is not used: others can write"):
        assert store.find(ASKED) is None


def test_what_belongs_to_somebody_else_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    kept()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.warns(cache.CacheWarning, match="belongs to another user"):
        assert store.find(ASKED) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_in_its_place_does_not_hang() -> None:
    path = kept()
    path.unlink()
    os.mkfifo(path, 0o600)
    assert store.find(ASKED) is None


def test_a_full_disk_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "write", full)
    with pytest.warns(cache.CacheWarning, match="No space left"):
        assert store.keep(ASKED, ANSWER) is None


KILLED = """
import os, signal
from tests.runtime.tuning.test_store import ASKED, ANSWER
from tilelang.runtime.tuning import store
from dataclasses import replace
os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
store.keep(ASKED, replace(ANSWER, metas={"BLOCK": 64}))
"""
WRITER = """
import sys
from tests.runtime.tuning.test_store import ASKED, ANSWER
from tilelang.runtime.tuning import store
from dataclasses import replace
for turn in range(200):
    store.keep(ASKED, replace(ANSWER, metas={"BLOCK": int(sys.argv[1])}))
    assert store.find(ASKED).metas["BLOCK"] in (1, 2, 3)
print("done")
"""


def python(script: str, *words: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.Popen([sys.executable, "-c", script, *words], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.mark.parametrize("before", [True, False])
def test_a_process_that_is_killed_while_it_writes(before: bool) -> None:
    if before:
        kept()
    killed = python(KILLED)
    killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert store.find(ASKED) == (ANSWER if before else None)
    assert len(list(store.entries())) == before
    kept()
    assert store.find(ASKED) == ANSWER


def test_processes_that_write_at_once() -> None:
    writers = [python(WRITER, str(number)) for number in (1, 2, 3)]
    outputs = [writer.communicate(timeout=300)[0] for writer in writers]
    assert outputs == ["done\n"] * 3
    assert store.find(ASKED).metas["BLOCK"] in (1, 2, 3)  # type: ignore[union-attr]


def test_forgetting() -> None:
    kept()
    store.keep(replace(ASKED, kernel="other"), ANSWER)
    found = {question.kernel: folder for question, _, folder in store.entries()}
    assert sorted(found) == ["copy", "other"]
    assert store.forget([found["other"]]) == 1 and store.forget([found["other"]]) == 0
    assert store.find(ASKED) == ANSWER
    assert cache.clear() == 1 and store.find(ASKED) is None
