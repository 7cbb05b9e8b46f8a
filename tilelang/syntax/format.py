"""The formatter: one way to lay out a program.

It works on tokens, not on the AST: it only decides what blanks and line breaks stand between them, so
it can neither lose a comment nor change what the program means. What it keeps of the author's own layout:
blank lines (at most one at a time), whether a comment stands behind a line or on its own, comments aligned
in a column, and the line breaks of a statement with comments inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tilelang.diagnostics import InternalError, Sink, Source
from tilelang.syntax.layout import INDENT, WIDTH, Word, fill_list, join, words_of, wrap
from tilelang.syntax.lexing import Token, lex
from tilelang.syntax.parsing import parse

_ALIGN_AT_MOST = 12  # names that differ more than this in length are not padded to the same width


@dataclass(frozen=True)
class Line:
    """A logical line: a statement, a header with its `{`, a `}`, or a comment on its own."""

    tokens: tuple[Token, ...]
    depth: int
    blank_before: bool
    trailing: Token | None = None
    rendered: tuple[str, ...] = field(default=())

    @property
    def is_comment(self) -> bool:
        return self.tokens[0].kind == "comment"


def format_source(source: Source, sink: Sink) -> str:
    """The program, laid out. A program with syntax errors (reported to `sink`) comes back as it is.

    Formatting what is formatted changes nothing; the AST and the comments stay as they were.
    """
    found = Sink()
    parse(source, found)
    if found.diagnostics:
        for diagnostic in found.diagnostics:
            sink.report(diagnostic)
        return source.text
    tokens = lex(source, Sink(), keep_comments=True)
    lines = [_render(line, source) for line in _logical_lines(tokens, source)]
    lines = _align_comments(_align_values(lines), source)
    text = "".join("\n" * line.blank_before + "\n".join(line.rendered) + "\n" for line in lines)
    _check_same_tokens(tokens, text)
    first_end = re.search("\r?\n", source.text)
    return text.replace("\n", "\r\n") if first_end and first_end.group() == "\r\n" else text


def _check_same_tokens(tokens: Sequence[Token], text: str) -> None:
    """The formatter overwrites people's files: make sure, each time, that it changed blanks only."""
    after = lex(Source(text), Sink(), keep_comments=True)
    if [t.text.rstrip() for t in tokens] != [t.text.rstrip() for t in after]:
        raise InternalError("format", "formatting would have changed the program", text)


# --- from tokens to logical lines -----------------------------------------------------------------------


def _line_ends_between(source: Source, left: Token, right: Token) -> int:
    return len(re.findall("\r\n|\r|\n", source.text[left.span.end : right.span.start]))


def _logical_lines(tokens: Sequence[Token], source: Source) -> Iterator[Line]:
    """Cut the file at every `;`, block brace and comment that ends a line."""
    start, depth, brackets = 0, 0, 0
    pending: Line | None = None  # held back until it is known whether a comment trails it
    for index, token in enumerate(tokens):
        if token.kind == "comment" and index == start:
            if (
                pending
                and not pending.trailing
                and not pending.is_comment
                and not _line_ends_between(source, tokens[index - 1], token)
            ):
                pending, start = replace(pending, trailing=token), index + 1
                continue
        elif token.kind == "symbol":
            brackets += (token.text in "([") - (token.text in ")]")
        is_mark = token.kind == "symbol" and brackets == 0
        if is_mark and token.text == "}" and index == start:
            depth -= 1
        if not (_ends_line(tokens, index, start) if is_mark else token.kind == "comment" and index == start):
            continue
        if pending:
            yield pending
        blank = start > 0 and _line_ends_between(source, tokens[start - 1], tokens[start]) > 1
        after_brace = pending is not None and pending.tokens[-1].text == "{"
        before_brace = tokens[start].text == "}"
        pending = Line(
            tuple(tokens[start : index + 1]), depth, blank and not after_brace and not before_brace
        )
        depth += token.text == "{" and is_mark
        start = index + 1
    if pending:
        yield pending


def _ends_line(tokens: Sequence[Token], index: int, start: int) -> bool:
    """Does the `;`, `{` or `}` at `index`, outside brackets, end the logical line that began at `start`?"""
    text = tokens[index].text
    following = next((t.text for t in tokens[index + 1 :] if t.kind != "comment"), "")
    if text == "{":
        return not (index + 1 < len(tokens) and tokens[index + 1].text == "}")
    if text == "}":
        return following != "else"
    return text == ";"


# --- rendering one logical line -------------------------------------------------------------------------


def _render(line: Line, source: Source) -> Line:
    indent = line.depth * INDENT
    words = words_of(line.tokens)
    if line.is_comment:
        rendered = [" " * indent + line.tokens[0].text.rstrip()]
    elif any(token.kind == "comment" for token in line.tokens):
        rendered = _render_commented(words, indent, source)
    elif line.tokens[0].text == "kernel":
        rendered = _render_kernel_header(words)
    else:
        rendered = wrap(words, indent)
    return replace(line, rendered=tuple(rendered))


def _render_commented(words: Sequence[Word], indent: int, source: Source) -> list[str]:
    """Keep the author's line breaks; indent each line by the brackets it stands in."""
    edges = [
        i for i in range(1, len(words)) if _line_ends_between(source, words[i - 1].token, words[i].token)
    ]
    lines: list[str] = []
    for a, b in zip([0, *edges], [*edges, len(words)], strict=True):
        levels = words[a].depth
        if a > 0 and levels == 0 and words[0].text != "}" and words[a].text not in (")", "]", "{", "}"):
            levels = 1  # a statement that goes on
        lines.append(" " * (indent + levels * INDENT) + _join_with_comment(words[a:b]))
    return lines


def _join_with_comment(words: Sequence[Word]) -> str:
    *code, last = words
    if last.token.kind != "comment":
        return join(words)
    return (join(code) + "  " if code else "") + last.text.rstrip()


def _render_kernel_header(words: Sequence[Word]) -> list[str]:
    """`kernel name[metas](params) grid (axes) {`: on one line, or the grid and the `{` on their own.

    If the part before the grid is still too long, the parameters go below the metas.
    """
    flat = join(words)
    if len(flat) <= WIDTH:
        return [flat]
    top = [i for i, word in enumerate(words) if word.depth == 0]
    grid = next(i for i in top if words[i].operator == "grid")
    body = next(i for i in top if words[i].operator == "{")
    lines = [join(words[:grid])]
    if len(lines[0]) > WIDTH:
        params = next(i for i in top if words[i].operator == "(")
        margin = len(join(words[:2]))
        lines = fill_list(words[2:params] or words[2:grid], join(words[:2]), margin)
        if params > 2:
            lines += fill_list(words[params:grid], " " * margin, margin)
    return [*lines, *wrap(words[grid:body], INDENT), join(words[body:])]


# --- alignment ------------------------------------------------------------------------------------------


def _runs(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Ranges of lines of the same depth with no blank line and no comment of its own between them."""
    start = 0
    for index in range(1, len(lines) + 1):
        ends = index == len(lines) or lines[index].blank_before or lines[index].depth != lines[start].depth
        if ends or lines[index].is_comment or lines[index - 1].is_comment:
            yield start, index
            start = index


def _align_values(lines: Sequence[Line]) -> list[Line]:
    """Put the `=` of neighbouring `let` and `var` statements in one column."""
    result = list(lines)
    for start, end in _runs(lines):
        block: list[int] = []
        for index in range(start, end + 1):
            if (
                index < end
                and lines[index].tokens[0].text in ("let", "var")
                and len(lines[index].rendered) == 1
            ):
                block.append(index)
                continue
            _align_block(result, block)
            block = []
    return result


def _align_block(lines: list[Line], block: list[int]) -> None:
    at = {index: lines[index].rendered[0].index(" = ") for index in block}
    if not at or max(at.values()) - min(at.values()) > _ALIGN_AT_MOST:
        return
    column = max(at.values())
    if any(len(lines[index].rendered[0]) + column - at[index] > WIDTH for index in block):
        return
    for index in block:
        text = lines[index].rendered[0]
        padded = text[: at[index]] + " " * (column - at[index]) + text[at[index] :]
        lines[index] = replace(lines[index], rendered=(padded,))


def _align_comments(lines: Sequence[Line], source: Source) -> list[Line]:
    """Put the comments behind neighbouring lines in one column: the author's if there is one."""
    result = list(lines)
    for start, end in _runs(lines):
        block = [i for i in range(start, end) if lines[i].trailing]
        if not block:
            continue
        nearest = max(len(lines[i].rendered[-1]) for i in block) + 2
        columns = {_author_column(lines[i], source) for i in block}
        column = max(nearest, columns.pop()) if len(columns) == 1 and len(block) > 1 else nearest
        for i in block:
            code, comment = lines[i].rendered[-1], lines[i].trailing
            text = code.ljust(column) + (comment.text.rstrip() if comment else "")
            result[i] = replace(lines[i], rendered=(*lines[i].rendered[:-1], text))
    return result


def _author_column(line: Line, source: Source) -> int:
    """0-based column of the comment behind a line; -1 if tabs make it a matter of opinion."""
    if line.trailing is None:
        return -1
    start = line.trailing.span.start
    before = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    return -1 if "\t" in before else len(before)
