"""Every code has a page, every page is used, and every page's examples do what the page says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilelang
from tilelang.catalogue import codes, nearest_codes, page, parse_page, replace_message
from tilelang.catalogue.__main__ import complaints, messages
from tilelang.diagnostics import InternalError

PACKAGE = Path(tilelang.__file__).parent
CODE = re.compile(r"[EW]\d{4}")


def codes_in(path: Path) -> set[str]:
    """The codes that stand as string literals of their own in a Python file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    literals = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return {text for text in literals if CODE.fullmatch(text)}


def codes_used() -> dict[str, str]:
    """Every code the compiler can report, with a file that does."""
    return {c: str(p.relative_to(PACKAGE)) for p in sorted(PACKAGE.rglob("*.py")) for c in codes_in(p)}


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The examples' compiled kernels and reports do not go into the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEC_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("code", codes())
def test_page_does_what_it_says(code: str) -> None:
    assert list(complaints(page(code))) == []


def test_every_code_has_a_page() -> None:
    known = set(codes())
    assert {c: where for c, where in codes_used().items() if c not in known} == {}


def test_every_page_has_its_code_in_use() -> None:
    used = codes_used()
    assert [c for c in codes() if c not in used] == []


@pytest.mark.parametrize("code", codes())
def test_page_is_written_for_a_reader(code: str) -> None:
    entry = page(code)
    assert 0 < len(entry.title) <= 90
    assert len(entry.explanation.split()) >= 15, "an explanation, not a repetition of the title"
    assert entry.wrong != entry.right


PAGE = """# E0999: title

Words.

## Wrong
```tile
## not a heading
```

## Message
```text
old
```

## Right
```tile
right
```
```args
x=1
```
"""


def test_a_page_is_taken_apart() -> None:
    entry = parse_page("E0999", PAGE)
    assert (entry.title, entry.explanation, entry.message) == ("title", "Words.", "old")
    assert entry.wrong.program == "## not a heading\n"
    assert entry.right.args == "x=1"


@pytest.mark.parametrize(
    "change",
    [
        ("# E0999", "# E0998"),
        ("## Message", "## Massage"),
        ("```text", "```"),
        ("```tile\nright", "```tiles\nright"),
        ("## Right", "### Right"),
    ],
)
def test_a_malformed_page_is_an_internal_error(change: tuple[str, str]) -> None:
    with pytest.raises(InternalError):
        parse_page("E0999", PAGE.replace(*change))


def test_the_message_is_replaced_and_nothing_else() -> None:
    assert replace_message(PAGE, "new\nlines") == PAGE.replace("old", "new\nlines")


def test_an_unknown_code_has_near_misses() -> None:
    known = codes()[0]
    assert known in nearest_codes(known[:-1] + "x")
    assert nearest_codes("") == []
    with pytest.raises(KeyError):
        page("E9999")


def test_messages_are_found_in_the_output() -> None:
    text = "error[E0001]: a\n --> f:1:1\n\nwarning[W0002]: b\n  = help: h\n\nerror[E0001]: c\n\n2 errors\n"
    assert messages(text) == {
        "E0001": "error[E0001]: a\n --> f:1:1",
        "W0002": "warning[W0002]: b\n  = help: h",
    }
