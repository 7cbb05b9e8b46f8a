"""The on-disk cache: one folder for each thing that was compiled, named by a hash of all that decides it.

    <user cache folder>/tilec/cpu/3f2a.../kernel.py          the generated source, a real file
                                          __pycache__/...    what numba made of it
                                          sums.json          SHA-256 of those

The cache is a convenience and never an error: if it cannot be used, everything is compiled again, and one warning
says why. Two processes may write an entry at once, since every file is written aside and moved into place. A file
that does not have the recorded sum is deleted and made again. Machine code is loaded only from folders and files that
belong to the user and that nobody else can write to.

`TILEC_CACHE_DIR` names another folder; empty, it turns the cache off.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path

VARIABLE = "TILEC_CACHE_DIR"
SUMS = "sums.json"
PRIVATE = 0o700


class CacheWarning(UserWarning):
    """The on-disk cache cannot be used."""


class Unusable(Exception):
    """The cache, or an entry, must not or cannot be used; the message says why."""


_gave_up: list[str] = []
"""Why the cache is not used any more in this process; the first reason only."""


def give_up(problem: object) -> None:
    """Do without the cache from now on, and say so, once."""
    if not _gave_up:
        _gave_up.append(str(problem))
        warnings.warn(f"tilec works without its on-disk cache: {problem}", CacheWarning, stacklevel=3)


def cache_root() -> Path | None:
    """The cache's folder, whether it exists or not; None if it is turned off."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return _expanded(Path(chosen)) if chosen else None
    import platformdirs

    return Path(platformdirs.user_cache_dir("tilec", appauthor=False))


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # `~name` of nobody: an ordinary folder name, as in a shell
        return path


def key_of(*parts: str) -> str:
    """A name for what these parts decide together."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part};".encode())
    return digest.hexdigest()[:40]


@lru_cache(maxsize=1)
def compiler_version() -> str:
    """The compiler's version, a part of every key; empty if it is used from a folder and not installed."""
    try:
        return metadata.version("tile-course")
    except metadata.PackageNotFoundError:
        return ""


def entry(kind: str, key: str) -> Path | None:
    """The folder of an entry, made if it is not there; None if there is no cache to use.

    `kind` is a plain folder name ("cpu"); all folders on the way are the user's alone.
    """
    root = cache_root()
    if root is None or _gave_up:
        return None
    try:
        for folder in (root, root / kind, root / kind / key):
            _private_folder(folder, parents=folder == root)
        return root / kind / key
    except (OSError, Unusable) as problem:
        give_up(problem)
        return None


def _private_folder(folder: Path, *, parents: bool) -> None:
    if not folder.is_dir():
        folder.mkdir(mode=PRIVATE, parents=parents, exist_ok=True)
    check_owner(folder)
    if not os.access(folder, os.W_OK):
        raise Unusable(f"{folder} is not writable")


def check_owner(path: Path) -> None:
    """Refuse what another user owns or can write to, and links.

    Raises:
        Unusable: it is not this user's alone.
    """
    if not hasattr(os, "getuid"):
        return  # Windows: a user's folder is protected by its access list
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        status = path.stat()
    if status.st_uid != os.getuid():
        raise Unusable(f"{path} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unusable(f"others can write to {path}")


def write(path: Path, text: str) -> None:
    """Write a file so that no reader ever sees half of it."""
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def provide(folder: Path, name: str, text: str) -> Path:
    """The file `name` of an entry, with this text; rewritten if it has another."""
    path = folder / name
    if not path.exists() or path.read_text(encoding="utf-8", errors="replace") != text:
        write(path, text)
    check_owner(path)
    return path


# ------------------------------------------------------------------------------------ compiled files


def drop_damaged(folder: Path) -> None:
    """Delete compiled files whose sum is not the recorded one, or that have none."""
    try:
        sums = json.loads((folder / SUMS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        sums = {}
    known = sums if isinstance(sums, dict) else {}
    found = {path.name: path for path in _compiled(folder)}
    intact = all(name in found for name in known)
    for name, path in found.items():
        check_owner(path)
        intact = intact and known.get(name) == _sum(path)
    if not intact:  # an index and its data belong together
        for path in found.values():
            path.unlink(missing_ok=True)


def record_sums(folder: Path) -> None:
    """Note the sums of an entry's compiled files, after they were written."""
    write(folder / SUMS, json.dumps({path.name: _sum(path) for path in _compiled(folder)}))


def _compiled(folder: Path) -> Iterator[Path]:
    """numba's index and data files of an entry."""
    for path in sorted((folder / "__pycache__").glob("*")):
        if path.suffix in (".nbi", ".nbc"):
            yield path


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def clear() -> int:
    """Delete the whole cache; the number of entries it had."""
    root = cache_root()
    if root is None or not root.is_dir():
        return 0
    check_owner(root)
    entries = [e for kind in root.iterdir() if kind.is_dir() for e in kind.iterdir()]
    shutil.rmtree(root)
    return len(entries)

