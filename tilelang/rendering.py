"""Diagnostics as text: the message, the source line, and the guilty characters marked.

    error[E0301]: `+` needs two shapes that broadcast
     --> softmax.tile:4:13
      |
    3 |     let v = x[row, cols];
      |             ------------ f32[64]
    4 |     let e = v + w;
      |             ^^^^^ f32[64] and f32[32]
      |
      = help: ...

The layout is rustc's. It is computed once, as lines of styled fragments; `render_plain` drops the styles and
`render_rich` turns them into colours, so a terminal and a file always show the same text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilelang.diagnostics import NOWHERE, Diagnostic, Source, Span

if TYPE_CHECKING:
    from rich.text import Text

TAB_WIDTH = 4
WINDOW = 100
"""Columns of a source line that are shown; a longer line is cut to the part around the mark."""
LEAD = 30
"""Columns kept before the mark in a line that is cut."""
LONGEST_BLOCK = 4
"""A marked span of more lines than this shows its first and last line only."""
LONGEST_REMARK = 800
"""Characters that are shown of a title, note or help: a program can make them endless."""

Fragment = tuple[str, str]
"""(style name, text); the style names are the keys of `STYLES`."""
Line = list[Fragment]

STYLES = {
    "plain": "",
    "error": "bold red",
    "warning": "bold yellow",
    "title": "bold",
    "gutter": "blue",
    "primary": "bold red",
    "secondary": "bold cyan",
    "note": "bold",
    "help": "bold green",
}


@dataclass(frozen=True)
class Mark:
    """Part of one source line to underline: 0-based character columns `start` up to, not including, `end`."""

    line: int
    start: int
    end: int
    text: str
    primary: bool


def render_plain(diagnostic: Diagnostic, source: Source | None = None) -> str:
    """The diagnostic as plain text, several lines, no newline at the end.

    `source` is what the spans point into; without it the message is shown without a place.
    """
    lines = layout(diagnostic, source)
    return "\n".join("".join(text for _, text in line).rstrip() for line in lines)


def render_rich(diagnostic: Diagnostic, source: Source | None = None) -> Text:
    """The same text as `render_plain`, coloured; print it with `soft_wrap=True` to keep the columns."""
    from rich.text import Text

    text = Text()
    for number, line in enumerate(layout(diagnostic, source)):
        if number:
            text.append("\n")
        while line and not line[-1][1].strip():
            line = line[:-1]
        for index, (style, part) in enumerate(line):
            text.append(part.rstrip() if index == len(line) - 1 else part, STYLES[style])
    return text


def layout(diagnostic: Diagnostic, source: Source | None = None) -> list[Line]:
    """The lines of a diagnostic, as styled fragments."""
    severity = "error" if diagnostic.is_error else "warning"
    lines: list[Line] = [
        [(severity, f"{severity}[{diagnostic.code}]"), ("title", f": {_one_line(diagnostic.title)}")]
    ]
    marks = _marks(diagnostic, source) if source is not None else []
    width = len(str(max((m.line for m in marks), default=0))) if marks else 1
    if source is not None and diagnostic.span is not None:
        place = _place(diagnostic.span, source)
        lines.append([("gutter", " " * width + "--> "), ("plain", place)])
    if source is not None and marks:
        lines += _snippet(source, marks, width)
    lines += _remarks(diagnostic, width, bool(marks))
    return lines


def printable(text: str, keep: str = "") -> str:
    """`text` with characters that would not show, or would move the cursor, written as escapes.

    Covers control characters (a terminal would obey them), invisible and right-to-left format characters
    (which can make a line look like another one), lone surrogates and unassigned code points.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep else _visible(c) for c in text)


def _visible(char: str) -> str:
    if char.isprintable() or char == " ":
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def _one_line(text: str) -> str:
    return printable(_shortened(" ".join(text.split("\n"))).replace("\t", " "))


def _shortened(line: str) -> str:
    """A line that quotes something endless, such as a list of a thousand extents, without its middle."""
    return line if len(line) <= LONGEST_REMARK else f"{line[: LONGEST_REMARK - 100]} … {line[-97:]}"


# ------------------------------------------------------------------------------------------------ places


def _place(span: Span, source: Source) -> str:
    """`file:line:column`, or the file alone when the span is nowhere."""
    name = printable(source.name)
    if span == NOWHERE and source.text:
        return name
    start, _ = _visible_span(span, source)
    line, column = source.position(start)
    return f"{name}:{line}:{column}"


def _visible_span(span: Span, source: Source) -> tuple[int, int]:
    """Offsets (start, end) of something to see: inside the text, never in the emptiness after its last line.

    A message about the end of the file ("`}` is missing") points just behind the last thing that was written.
    """
    size = len(source.text)
    start, end = max(0, min(span.start, size)), max(0, min(span.end, size))
    end = max(start, end)
    if start == size:
        start = end = len(source.text.rstrip())
    elif end > start:
        # The blank rest of the lines at the end of a span is not worth marking.
        end = max(start + 1, start + len(source.text[start:end].rstrip()))
    return start, end


def _marks(diagnostic: Diagnostic, source: Source) -> list[Mark]:
    """The underlines of all spans, in the order of their lines; on one line the primary one comes first."""
    if diagnostic.span is None or diagnostic.span == NOWHERE:
        return []
    marks = _marks_of(diagnostic.span, diagnostic.label, True, source)
    for other in diagnostic.others:
        if other.span != NOWHERE:
            marks += _marks_of(other.span, other.text, False, source)
    return sorted(marks, key=lambda m: (m.line, not m.primary))


def _marks_of(span: Span, text: str, primary: bool, source: Source) -> list[Mark]:
    start, end = _visible_span(span, source)
    first, column = source.position(start)
    last, last_column = source.position(max(start, end - 1))
    text = _one_line(text)
    if first == last:
        return [Mark(first, column - 1, max(last_column, column), text, primary)]
    marks = [Mark(first, column - 1, max(len(source.line(first)), column), "", primary)]
    middle = range(first + 1, last) if last - first < LONGEST_BLOCK else range(0)
    for number in middle:
        content = source.line(number)
        if content.strip():
            marks.append(Mark(number, _indent(content), len(content.rstrip()), "", primary))
    marks.append(Mark(last, _indent(source.line(last)), last_column, text, primary))
    return marks


def _indent(content: str) -> int:
    return len(content) - len(content.lstrip())


# ----------------------------------------------------------------------------------------------- snippet


def _snippet(source: Source, marks: list[Mark], width: int) -> list[Line]:
    bar: Line = [("gutter", " " * (width + 1) + "|")]
    lines: list[Line] = [bar]
    shown = 0
    for number in sorted({m.line for m in marks}):
        if shown and number == shown + 2:
            lines.append(_source_line(shown + 1, width, Window(source.line(shown + 1), 0)))
        elif shown and number > shown + 2:
            lines.append([("gutter", "...")])
        here = [m for m in marks if m.line == number]
        window = Window(source.line(number), here[0].start)
        lines.append(_source_line(number, width, window))
        lines += [_underline(mark, width, window) for mark in here]
        shown = number
    return lines


def _source_line(number: int, width: int, window: Window) -> Line:
    return [("gutter", f"{number:>{width}} | "), ("plain", window.text)]


def _underline(mark: Mark, width: int, window: Window) -> Line:
    style, sign = ("primary", "^") if mark.primary else ("secondary", "-")
    start, end = window.columns(mark.start, mark.end)
    return [
        ("gutter", " " * (width + 1) + "| "),
        ("plain", " " * start),
        (style, sign * max(1, end - start) + (f" {mark.text}" if mark.text else "")),
    ]


class Window:
    """The part of a source line that is shown, and where each of its characters stands on the screen.

    Attributes:
        text: what is printed: tabs expanded, odd characters escaped, `…` where the line is cut.
    """

    def __init__(self, line: str, focus: int):
        """`focus` is the 0-based character column that must be visible."""
        focus = min(focus, len(line))
        self.first = 0
        if len(line) > WINDOW or _width(line) > WINDOW:
            self.first = _step_back(line, focus)
        before = "…" if self.first else ""
        self.text, self._starts = before, [len(before)]
        column = len(before)
        for index in range(self.first, len(line)):
            cell = _cell(line[index], column)
            if column + _width(cell) > WINDOW:
                self.text += "…"
                break
            self.text += cell
            column += _width(cell)
            self._starts.append(column)

    def columns(self, start: int, end: int) -> tuple[int, int]:
        """Screen columns of the characters `start` up to, not including, `end`, cut to the window."""
        return self._column(start), self._column(end)

    def _column(self, index: int) -> int:
        inside = max(0, index - self.first)
        beyond = inside - (len(self._starts) - 1)
        return self._starts[min(inside, len(self._starts) - 1)] + (1 if beyond > 0 else 0)


def _step_back(line: str, focus: int) -> int:
    """The first character to show so that at most `LEAD` columns stand before `focus`.

    If the line ends soon after the focus, more of its beginning is shown instead.
    """
    rest = _width(line[focus : focus + WINDOW])
    budget = max(LEAD, WINDOW - 2 - rest)
    first = focus
    while first > 0 and budget > 0:
        budget -= _width(_cell(line[first - 1], 0))
        first -= 1
    return first


def _cell(char: str, column: int) -> str:
    """What is printed for one character that stands at screen column `column`."""
    if char == "\t":
        return " " * (TAB_WIDTH - column % TAB_WIDTH)
    return _visible(char)


def _width(text: str) -> int:
    """Screen columns of `text`: East Asian wide characters take two, combining marks none."""
    return len(text) if text.isascii() else sum(_char_width(c) for c in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


# ----------------------------------------------------------------------------------------------- remarks


def _remarks(diagnostic: Diagnostic, width: int, placed: bool) -> Iterator[Line]:
    """The `= note:` and `= help:` lines. A label that has no place to stand becomes a note."""
    remarks = [("note", note) for note in diagnostic.notes]
    if diagnostic.label and not placed:
        remarks.insert(0, ("note", diagnostic.label))
    if diagnostic.help:
        remarks.append(("help", diagnostic.help))
    if remarks and placed:
        yield [("gutter", " " * (width + 1) + "|")]
    for style, text in remarks:
        first, *rest = text.split("\n")
        yield [("gutter", " " * (width + 1) + "= "), (style, f"{style}: "), ("plain", _shown(first))]
        for more in rest:
            yield [("plain", " " * (width + 3 + len(style) + 2) + _shown(more))]


def _shown(text: str) -> str:
    return printable(_shortened(text).replace("\t", " " * TAB_WIDTH))
