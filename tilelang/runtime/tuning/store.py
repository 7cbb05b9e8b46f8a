"""Tuning results on disk, for later launches.

    <cache folder>/tuned/91c0.../best.json      the folder's name is a hash of all that the result holds for

A result holds for one kernel (its text with the fns and consts that it uses, comments aside), the element types and
dims of one launch, which axis of each array has neighbours in memory, the metas that say what is computed, the device,
and the compiler's version. Nothing is guessed: other dims, or another device, have no result until they are tuned.

Reading trusts nobody. A file that is damaged, that others can write to, or that is not about what its folder's name
says, counts as not there; the next tuning writes it anew. Writing is all or nothing (`cache.write`), so a process that
is killed leaves the old result or the new one, and two that write at once leave one of theirs.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tilelang.runtime import cache

KIND = "tuned"
FILE = "best.json"
FORMAT = 1
LARGEST_FILE = 1 << 16
"""Bytes. A result takes a few hundred."""

Tunable = int | float
"""The value of a meta that is tuned."""

Pairs = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Question:
    """What a result holds for. `code`: the kernel's text, as a hash. `layout`: per array the axis of stride 1, or -1.

    `switches`: metas that are not tuned, with their values (of an element type the name). All pairs are sorted by name.
    """

    kernel: str
    code: str
    device: str
    dtypes: Pairs
    dims: Pairs
    layout: Pairs
    switches: Pairs

    @property
    def key(self) -> str:
        return cache.key_of(KIND, str(FORMAT), cache.compiler_version(), _as_json(asdict(self)))


@dataclass(frozen=True)
class Answer:
    """A result: the tuned metas' values, and how they were found.

    `seconds`, `default_seconds`: of one launch with these metas and with the default ones (None if those failed).
    `by`: "measurement" or "model". `when`: date and time with the zone. `file`: of the program, for people.
    """

    metas: Mapping[str, Tunable]
    seconds: float
    default_seconds: float | None
    by: str
    when: str
    tried: int
    file: str = ""


def is_there() -> bool:
    """Is there any result at all? Most launches need no more than this answer."""
    root = cache.cache_root()
    return root is not None and (root / KIND).is_dir()


def find(question: Question) -> Answer | None:
    """The result for this, if there is one that can be trusted."""
    root = cache.cache_root()
    if root is None:
        return None
    found = _read(root / KIND / question.key)
    return found[1] if found is not None and found[0] == question else None


def keep(question: Question, answer: Answer) -> Path | None:
    """Write a result; its file, or None if there is no cache to write to (a warning has said why)."""
    folder = cache.entry(KIND, question.key)
    if folder is None:
        return None
    content = {"format": FORMAT, "question": asdict(question), "answer": asdict(answer)}
    try:
        cache.write(folder / FILE, _as_json(content) + "\n")
    except OSError as problem:
        cache.give_up(problem)
        return None
    return folder / FILE


def entries() -> Iterator[tuple[Question, Answer, Path]]:
    """All results that can be read, those of one kernel side by side."""
    root = cache.cache_root()
    folders = sorted((root / KIND).glob("*")) if root is not None else []
    found = [(*read, folder) for folder in folders if (read := _read(folder)) is not None]
    yield from sorted(found, key=lambda entry: (entry[1].file, entry[0].kernel, str(entry[0].dims), entry[0].device))


def forget(folders: Iterator[Path] | list[Path]) -> int:
    """Delete these results; how many there were."""
    count = 0
    for folder in folders:
        count += folder.is_dir()
        shutil.rmtree(folder, ignore_errors=True)  # another process may be deleting it too
    return count


# ------------------------------------------------------------------------------------ reading and writing


def _as_json(data: object) -> str:
    return json.dumps(data, indent=1)


def _read(folder: Path) -> tuple[Question, Answer] | None:
    """What an entry holds; None if it is not there, damaged, or not this user's alone."""
    path = folder / FILE
    try:
        if not path.exists():
            return None
        for owned in (folder.parent.parent, folder.parent, folder, path):
            cache.check_owner(owned)
        data = json.loads(_content(path))
        return _question(data["question"]), _answer(data["answer"])
    except cache.Unusable as problem:
        warnings.warn(f"a tuning result is not used: {problem}", cache.CacheWarning, stacklevel=2)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass  # damaged, or gone since: as if it had never been there
    return None


def _content(path: Path) -> str:
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
        raise ValueError("not a result")
    return path.read_text(encoding="utf-8")


def _question(data: dict) -> Question:
    pairs = {name: tuple((str(key), value) for key, value in data[name])
             for name in ("dtypes", "dims", "layout", "switches")}
    return Question(_text(data["kernel"]), _text(data["code"]), _text(data["device"]), **pairs)


def _answer(data: dict) -> Answer:
    metas = {str(name): _number(value) for name, value in data["metas"].items()}
    slower = data["default_seconds"]
    return Answer(metas, float(data["seconds"]), None if slower is None else float(slower), _text(data["by"]),
                  _text(data["when"]), int(data["tried"]), _text(data["file"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _number(value: object) -> Tunable:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("tuned metas are numbers")
    return value
