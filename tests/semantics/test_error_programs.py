"""Programs with one mistake each: `# error: E0312 words` is on the guilty line, and nothing else is reported.

The words, if any, must be in the message's title. `# warning: W0101` works the same.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.semantics.helpers import check
from tilelang.rendering import render_plain

FOLDER = Path(__file__).parents[1] / "programs" / "errors"
PROGRAMS = sorted(FOLDER.glob("*.tile"))
MARK = re.compile(r"# (?:error|warning): ([EW]\d{4}) ?(.*)")


def marks(text: str) -> list[tuple[str, int, str]]:
    """(code, line, words) of every mark."""
    lines = enumerate(text.splitlines(), start=1)
    return [(m[1], number, m[2]) for number, line in lines for m in [MARK.search(line)] if m]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_the_marked_lines_are_reported_and_no_others(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    expected = marks(text)
    assert expected, "every program here marks its mistakes"
    checked = check(text)
    messages = "\n".join(render_plain(d, checked.source) for d in checked.diagnostics)
    assert checked.found() == [(code, line) for code, line, _ in expected], messages
    for code, _, words in expected:
        titles = [d.title for d in checked.diagnostics if d.code == code]
        assert any(words in title for title in titles), messages


def test_every_code_of_names_and_types_has_a_program() -> None:
    """The codes that a program alone can have; what needs arguments is in test_specialize."""
    used = {code for path in PROGRAMS for code, _, _ in marks(path.read_text(encoding="utf-8"))}
    package = Path(__file__).parents[2] / "tilelang" / "semantics"
    named = {c for p in package.rglob("*.py") for c in re.findall(r'"([EW]\d{4})"', p.read_text(encoding="utf-8"))}
    at_launch = {c for c in named if c.startswith("E041")}
    assert named - at_launch == used
