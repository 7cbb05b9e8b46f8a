"""What the command line's tests share: a folder of their own, with a program in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

COPY = """\
kernel copy[BLOCK = 64](x: f32[N], out y: f32[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    y[i] = x[i];
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder is a new one, and the cache is inside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEC_CACHE_DIR", str(tmp_path / "cache"))
    yield tmp_path


@pytest.fixture
def program(folder: Path) -> str:
    """The name of a file with one kernel, `copy`."""
    Path("copy.tile").write_text(COPY)
    return "copy.tile"
