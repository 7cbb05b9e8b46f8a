"""Every `tilec` command that a kernel of the course shows in its header works as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tilelang.cli.main import run

ROOT = Path(__file__).parents[2]
LINES = [
    (path.name, line)
    for path in sorted((ROOT / "course" / "kernels").glob("*.tile"))
    for line in re.findall(r"^#\s+(tilec .*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
]


def test_every_kernel_shows_how_it_is_run() -> None:
    names = {path.name for path in (ROOT / "course" / "kernels").glob("*.tile")}
    assert names and names == {name for name, line in LINES if line.startswith("tilec run ")}


@pytest.mark.parametrize(("name", "line"), LINES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(LINES)])
def test_the_command_works(name: str, line: str, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(ROOT)
    _, *words = shlex.split(line)
    # Without compiling for a device; that devices agree on the kernels is tested elsewhere.
    status = run([*words, "--device", "reference"] if words[0] == "run" and "--device" not in words else words)
    out, err = capsys.readouterr()
    assert (status, err) == (0, ""), err
    assert f"{name.removesuffix('.tile')}" in line and out
