"""Spans and positions, and what a diagnostic looks like as text."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilelang.diagnostics import NOWHERE, CompileError, Diagnostic, Label, Sink, Source, Span
from tilelang.rendering import WINDOW, Window, printable, render_plain, render_rich

TEXT = """\
kernel double(x: f32[N], out y: f32[N]) grid (1) {
    let v = x[0 +: 64];
    let w = 0 +: 32;
    y[w] = v + w;
}
"""


def span_of(text: str, part: str) -> Span:
    start = text.index(part)
    return Span(start, start + len(part))


def show(text: str, part: str, **fields: object) -> list[str]:
    diagnostic = Diagnostic("E0999", "title", span_of(text, part), **fields)  # type: ignore[arg-type]
    return render_plain(diagnostic, Source(text, "f.tile")).split("\n")


def marked(lines: list[str]) -> str:
    """The columns of the one source line shown that stand above the `^` marks."""
    at = next(i for i, line in enumerate(lines) if set("^") <= set(line))
    first, last = lines[at].index("^"), lines[at].rindex("^")
    columns: list[str] = []
    for char in lines[at - 1]:
        if unicodedata.combining(char):
            columns[-1] += char
        else:
            columns += [char, ""] if unicodedata.east_asian_width(char) in "WF" else [char]
    return "".join(columns[first : last + 1])


# ---------------------------------------------------------------------------------------------- layout


def test_a_whole_message() -> None:
    diagnostic = Diagnostic(
        "E0999",
        "`+` needs two shapes that broadcast",
        span_of(TEXT, "v + w"),
        label="f32[64] and i32[32]",
        others=(Label(span_of(TEXT, "0 +: 64"), "64 columns"),),
        notes=("expected: equal extents\nor extents of 1", "found: 64 and 32"),
        help="cut `v` to 32 elements",
    )
    assert render_plain(diagnostic, Source(TEXT, "double.tile")) == (
        "error[E0999]: `+` needs two shapes that broadcast\n"
        " --> double.tile:4:12\n"
        "  |\n"
        "2 |     let v = x[0 +: 64];\n"
        "  |               ------- 64 columns\n"
        "3 |     let w = 0 +: 32;\n"
        "4 |     y[w] = v + w;\n"
        "  |            ^^^^^ f32[64] and i32[32]\n"
        "  |\n"
        "  = note: expected: equal extents\n"
        "          or extents of 1\n"
        "  = note: found: 64 and 32\n"
        "  = help: cut `v` to 32 elements"
    )


def test_a_warning_says_so() -> None:
    assert render_plain(Diagnostic("W0101", "unused `v`")) == "warning[W0101]: unused `v`"


def test_without_a_source_there_is_no_place_and_the_label_is_kept() -> None:
    diagnostic = Diagnostic("E0999", "title", Span(3, 4), label="why", help="mend")
    assert render_plain(diagnostic, None) == "error[E0999]: title\n  = note: why\n  = help: mend"


def test_lines_far_apart_are_joined_by_dots() -> None:
    text = "a\nb\nc\nd\n"
    lines = show(text, "a", others=(Label(span_of(text, "d"), "too"),))
    assert lines[3:] == ["1 | a", "  | ^", "...", "4 | d", "  | - too"]


def test_two_marks_on_one_line_have_a_row_each_primary_first() -> None:
    text = "let aa = bb;"
    lines = show(text, "bb", label="here", others=(Label(span_of(text, "aa"), "there"),))
    assert lines[3:] == ["1 | let aa = bb;", "  |          ^^ here", "  |     -- there"]


def test_the_gutter_is_as_wide_as_the_longest_line_number() -> None:
    text = "x\n" * 99 + "y"
    assert show(text, "y") == ["error[E0999]: title", "   --> f.tile:100:1", "    |", "100 | y", "    | ^"]


def test_a_span_of_several_lines_marks_each() -> None:
    text = "f(\n  a,\n\n  b)\n"
    assert show(text, "f(\n  a,\n\n  b)", label="call")[3:] == [
        "1 | f(", "  | ^^", "2 |   a,", "  |   ^^", "3 |", "4 |   b)", "  |   ^^ call",
    ]  # fmt: skip


def test_a_long_block_shows_its_ends() -> None:
    text = "{\n" + "  a;\n" * 20 + "}\n"
    lines = show(text, text.rstrip(), label="block")
    assert lines[3:] == [" 1 | {", "   | ^", "...", "22 | }", "   | ^ block"]


# ---------------------------------------------------------------------------------- odd places in a text


@pytest.mark.parametrize("span", [Span(0, 0), Span(0, 1), Span(7, 9)])
def test_an_empty_source(span: Span) -> None:
    rendered = render_plain(Diagnostic("E0999", "nothing", span, label="here"), Source("", "f.tile"))
    assert rendered.split("\n")[1] == " --> f.tile:1:1"
    assert "here" in rendered


@pytest.mark.parametrize("start", [9, 10, 99])
def test_the_end_of_the_file_is_shown_behind_the_last_text(start: int) -> None:
    diagnostic = Diagnostic("E0999", "`}` is missing", Span(start, start))
    rendered = render_plain(diagnostic, Source("a {\nb;\n\n\n", "f"))
    assert rendered.split("\n")[1:] == [" --> f:2:3", "  |", "2 | b;", "  |   ^"]


def test_nowhere_is_not_the_first_character() -> None:
    lines = render_plain(Diagnostic("E0999", "t", NOWHERE, label="l"), Source("abc", "f")).split("\n")
    assert lines == ["error[E0999]: t", " --> f", "  = note: l"]


def test_an_empty_span_gets_one_caret() -> None:
    source = Source("ab cd", "f")
    assert render_plain(Diagnostic("E0999", "t", Span(2, 2)), source).split("\n")[-1] == "  |   ^"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_endings_do_not_show(ending: str) -> None:
    text = ending.join(["ab", "cd", "ef"])
    lines = show(text, "cd" + ending)
    assert lines[1:] == [" --> f.tile:2:1", "  |", "2 | cd", "  | ^^"]
    assert "\r" not in "".join(show(text, ending))


@pytest.mark.parametrize(
    "text",
    [
        "\tx\ty + z;",
        "let 名前 = y + z;",
        "'e\u0301' y + z",
        "a\u200bb y + z",
        "\U0001f600\U0001f600 y + z",
        "\x1b[2J y + z",
        "\u202e y + z",
        "a\rb y + z",
        "\x00 y + z",
    ],
)
def test_marks_stand_under_what_they_mark(text: str) -> None:
    assert marked(show(text, "y + z")) == "y + z"


@pytest.mark.parametrize("before", [0, 10, 95, 101, 5_000, 100_000])
@pytest.mark.parametrize("after", [0, 10, 95, 101, 100_000])
def test_long_lines_are_cut_around_the_mark(before: int, after: int) -> None:
    lines = show("a" * before + "MARK" + "b" * after, "MARK")
    assert marked(lines) == "MARK"
    assert all(len(line) <= WINDOW + 8 for line in lines)
    assert ("…" in lines[3]) == (before + after + 4 > WINDOW)


def test_a_mark_longer_than_the_window_is_cut() -> None:
    lines = show("x" * 100_000, "x" * 100_000)
    assert lines[3].endswith("…") and len(lines[4]) <= len(lines[3])


# ------------------------------------------------------------------------------------- terminal safety


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\u202ex", "\\u{202e}x"),
        ("\u200b", "\\u{200b}"),
        ("\ud800", "\\u{d800}"),
        ("été 名 \U0001f600", "été 名 \U0001f600"),
    ],
)
def test_what_would_not_show_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_every_field_is_escaped() -> None:
    bad = "\x1b[2J\u202e"
    diagnostic = Diagnostic(
        "E0999", bad, Span(0, 1), label=bad, others=(Label(Span(1, 2), bad),), notes=(bad,), help=bad
    )
    for source in (Source(bad, bad), None):
        assert not {"\x1b", "\u202e"} & set(render_plain(diagnostic, source))


ANY_TEXT = st.text(st.characters(codec=None) | st.sampled_from("\n\r\t \u0301名\x1b"), max_size=60)


@given(ANY_TEXT, st.integers(-3, 70), st.integers(-3, 70), ANY_TEXT)
def test_any_span_in_any_text_renders(text: str, start: int, end: int, words: str) -> None:
    others = (Label(Span(end, start), words),)
    diagnostic = Diagnostic("E0999", words, Span(start, end), words, others, (words,))
    rendered = render_plain(diagnostic, Source(text, "f"))
    assert all(c.isprintable() or c in "\n " for c in rendered)
    rendered.encode("utf-8")
    assert render_rich(diagnostic, Source(text, "f")).plain == rendered


@given(ANY_TEXT.filter(lambda t: "\n" not in t), st.integers(0, 60))
def test_a_window_holds_its_focus(line: str, focus: int) -> None:
    start, end = Window(line, focus).columns(focus, focus + 1)
    assert 0 <= start <= end <= WINDOW + 1


def test_colours_on_a_terminal_leave_the_text_alone() -> None:
    from rich.console import Console

    diagnostic = Diagnostic("E0999", "[bold]not markup[/]", span_of(TEXT, "v + w"), "label", help="h")
    source, out = Source(TEXT, "f"), io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=20)
    console.print(render_rich(diagnostic, source), soft_wrap=True)
    assert "\x1b[" in out.getvalue()
    assert render_rich(diagnostic, source).plain == render_plain(diagnostic, source)


# -------------------------------------------------------------------------------- sources, sinks, errors


def test_positions_are_one_based_and_count_characters() -> None:
    source = Source("aé\n\U0001f600b\n")
    assert [source.position(o) for o in range(6)] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert [source.line(n) for n in (1, 2, 3)] == ["aé", "\U0001f600b", ""]


def test_a_sink_keeps_each_diagnostic_once_and_warnings_do_not_fail() -> None:
    sink = Sink()
    for _ in range(2):
        sink.error("W0101", "unused", Span(0, 1))
    assert len(sink.diagnostics) == 1 and not sink.failed
    sink.error("E0101", "wrong", Span(0, 1))
    assert sink.failed


def test_a_compile_error_reads_as_its_diagnostics() -> None:
    error = CompileError([Diagnostic("E0101", "one"), Diagnostic("E0102", "two")], Source("x"))
    assert str(error) == "error[E0101]: one\nerror[E0102]: two"


def test_an_endless_remark_is_shown_without_its_middle() -> None:
    endless = ", ".join(str(extent) for extent in range(5000))
    found = Diagnostic("E0309", f"a tile [{endless}]", notes=(f"it is [{endless}]", "short"), help=f"not [{endless}]")
    lines = render_plain(found).splitlines()
    assert [len(line) < 830 for line in lines] == [True] * 4
    assert "1, 2, 3" in lines[0] and " … " in lines[0] and lines[0].endswith("4999]")
