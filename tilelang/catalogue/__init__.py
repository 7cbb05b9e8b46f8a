"""The catalogue behind `tilec explain`: one page of Markdown for each code a diagnostic can have.

A page holds an explanation, a program that is wrong, the message it gets, and the program put right. The
pages are data of the package; tests run every page, so the messages in them are the ones users see.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from tilelang.diagnostics import InternalError
from tilelang.near import nearest

EXAMPLE_FILE = "example.tile"
"""The name under which a page's program is compiled."""


@dataclass(frozen=True)
class Example:
    """What a reader would try.

    `program` is the text of `example.tile`. `args` is what follows `tilec run example.tile`; without it the
    program is only checked. `console` holds command lines instead: `tilec ...`, of which the last one counts, and
    `python -c ...` to prepare a file. `script` is Python that uses `example.tile`, for mistakes in calls from there.
    """

    program: str = ""
    args: str | None = None
    console: tuple[str, ...] = ()
    script: str = ""


@dataclass(frozen=True)
class Page:
    """One page, taken apart; `text` is the whole page as written."""

    code: str
    title: str
    explanation: str
    wrong: Example
    message: str
    right: Example
    text: str


def codes() -> list[str]:
    """All codes that have a page, sorted."""
    names = (entry.name for entry in resources.files(__name__).iterdir())
    return sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))


@cache
def page(code: str) -> Page:
    """The page of `code`.

    Raises:
        KeyError: there is no such page (see `nearest_codes`).
        InternalError: the page is not in the format of the others.
    """
    if code not in codes():
        raise KeyError(code)
    return parse_page(code, resources.files(__name__).joinpath(f"{code}.md").read_text(encoding="utf-8"))


def nearest_codes(asked: str) -> list[str]:
    """Codes that `asked` may have meant: those that begin alike, then the nearest in spelling; at most five."""
    known = codes()
    alike = [c for length in (4, 3) for c in known if c[:length] == asked[:length].upper()]
    likely = [c for c in [nearest(asked, known)] if c is not None]
    return list(dict.fromkeys(alike + likely))[:5]


def page_path(code: str) -> Path:
    """Where the page is written in a checkout (an installed wheel has it there too, to be left alone)."""
    return Path(__file__).parent / f"{code}.md"


# ----------------------------------------------------------------------------------------------- parsing


def parse_page(code: str, text: str) -> Page:
    """Take a page apart; raises InternalError when it is not in the format."""
    sections = _sections(text)
    heading = sections.pop(0)
    prefix = f"# {code}: "
    first, _, explanation = heading.partition("\n")
    if not first.startswith(prefix):
        raise InternalError("catalogue", f"{code}.md must begin with `{prefix}` and a title")
    named = {s.partition("\n")[0].strip(): s.partition("\n")[2] for s in sections}
    if list(named) != ["## Wrong", "## Message", "## Right"]:
        raise InternalError("catalogue", f"{code}.md needs the sections Wrong, Message, Right, in order")
    message = _blocks(named["## Message"]).get("text")
    if message is None:
        raise InternalError("catalogue", f"{code}.md has no ```text block under Message")
    wrong, right = _example(code, named["## Wrong"]), _example(code, named["## Right"])
    title = first.removeprefix(prefix).strip()
    return Page(code, title, explanation.strip(), wrong, message.rstrip("\n"), right, text)


def _sections(text: str) -> list[str]:
    """The page cut before every `## ` that is not inside a fenced block."""
    sections: list[list[str]] = [[]]
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            sections.append([])
        sections[-1].append(line)
    return ["\n".join(s) for s in sections]


def _blocks(section: str) -> dict[str, str]:
    """The fenced blocks of a section, by the word after the fence."""
    blocks: dict[str, str] = {}
    kind: str | None = None
    for line in section.splitlines():
        if line.startswith("```"):
            kind = line[3:].strip() if kind is None else None
            if kind is not None:
                blocks[kind] = ""
        elif kind is not None:
            blocks[kind] += line + "\n"
    return blocks


def _example(code: str, section: str) -> Example:
    blocks = _blocks(section)
    lines = blocks.get("console", "").strip().splitlines()
    console = tuple(line.removeprefix("$ ") for line in lines)
    if not all(line.startswith(("$ tilec", "$ python -c ")) for line in lines):
        raise InternalError("catalogue", f"{code}.md: a console block has lines `$ tilec ...` or `$ python -c ...`")
    if "tile" not in blocks and not console:
        raise InternalError("catalogue", f"{code}.md: an example needs a ```tile or a ```console block")
    args = blocks.get("args")
    return Example(
        blocks.get("tile", ""), args.strip() if args is not None else None, console, blocks.get("python", "")
    )


def replace_message(text: str, message: str) -> str:
    """The page with the text block under Message replaced."""
    head, mark, tail = text.partition("## Message\n")
    before, fence, rest = tail.partition("```text\n")
    _, end, after = rest.partition("```\n")
    if not (mark and fence and end):
        raise InternalError("catalogue", "the page has no ```text block under Message")
    return f"{head}{mark}{before}{fence}{message}\n{end}{after}"
