"""Lexing: from characters to tokens.

The token shapes stand at the end of `grammar/tile.lark`. Lark's lexer cannot fail on them, because the
grammar also names every kind of malformed token; this file turns those into diagnostics and puts what the
author most likely meant in their place, so that the parser does not stumble over the same spot again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lark

from tilelang.diagnostics import NOWHERE, Sink, Source, Span
from tilelang.syntax import lexemes
from tilelang.syntax.dots import report_dot
from tilelang.syntax.grammar import load_grammar
from tilelang.syntax.limits import MAX_ERRORS, MAX_FILE_BYTES, MAX_TOKENS


@dataclass(frozen=True, slots=True)
class Token:
    """One word of the language.

    `kind` is `name`, `int`, `float`, `string`, `keyword`, `symbol`, or, when asked for, `comment`; `text` is
    as written, quotes and `#` included (for a malformed token that was mended: as it should have been).
    """

    kind: str
    text: str
    span: Span


_KINDS = {"NAME": "name", "INT": "int", "FLOAT": "float", "STRING": "string", "COMMENT": "comment"}


def read_source(origin: Path | str | bytes, name: str, sink: Sink) -> Source:
    """Decode a `.tile` file (a path, or its bytes): UTF-8, with or without a byte order mark.

    Undecodable bytes are reported and stand as U+FFFD in the result. A lone CR, the line end of old Macs,
    becomes LF.
    Raises OSError if a path cannot be read.
    """
    data = origin if isinstance(origin, bytes) else Path(origin).read_bytes()
    if len(data) > MAX_FILE_BYTES:
        _report_file_size(sink)
        return Source("", name)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        sink.error(
            "E0001", "this file is UTF-16, not UTF-8", Span(0, 0), help="save it as UTF-8 in your editor"
        )
        return Source("", name)
    # Each undecodable byte 0xNN becomes the lone surrogate U+DCNN, which no valid UTF-8 can produce.
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    text = re.sub(r"\r(?!\n)", "\n", text)
    for match in list(re.finditer("[\udc80-\udcff]+", text))[:MAX_ERRORS]:
        found = " ".join(f"0x{ord(char) - 0xDC00:02X}" for char in match.group()[:4])
        sink.error(
            "E0001",
            "this file is not valid UTF-8",
            Span(*match.span()),
            label=f"cannot decode {found}",
            help="save it as UTF-8 in your editor",
        )
    return Source(re.sub("[\udc80-\udcff]", "\ufffd", text), name)


def _report_file_size(sink: Sink) -> None:
    title = f"the file has more than {MAX_FILE_BYTES} bytes"
    sink.error("E0012", title, NOWHERE, help="split it into several files")


def lex(source: Source, sink: Sink, *, keep_comments: bool = False) -> list[Token]:
    """All tokens of `source` in order, without blanks, and without comments unless `keep_comments`.

    Malformed tokens are reported (E00xx), mended where the author's intent is plain, dropped where it is not.
    """
    if len(source.text.encode("utf-8", "surrogatepass")) > MAX_FILE_BYTES:
        _report_file_size(sink)
        return []
    _report_unprintable(source, sink)
    tokens: list[Token] = []
    errors_before = len(sink.diagnostics)
    for raw in _raw_tokens(source.text, keep_comments):
        mended = _checked(raw, source, sink)
        if mended is not None:
            tokens.append(mended)
        if len(tokens) > MAX_TOKENS:
            sink.error(
                "E0013",
                f"the program has more than {MAX_TOKENS} tokens",
                mended.span if mended else None,
                help="split it into several files",
            )
            return []
        if len(sink.diagnostics) - errors_before >= MAX_ERRORS:
            break
    return tokens


def _raw_tokens(text: str, keep_comments: bool) -> Iterator[lark.Token]:
    """Lark's tokens; with comments, the blanks come along, and `_checked` drops them."""
    return load_grammar().lex(text, dont_ignore=keep_comments)


def _report_unprintable(source: Source, sink: Sink) -> None:
    """NUL and lone surrogates are wrong in comments and strings too: other tools choke on them."""
    for match in list(lexemes.UNPRINTABLE.finditer(source.text))[:MAX_ERRORS]:
        sink.error(
            "E0002",
            f"{lexemes.describe_character(match.group())} is not allowed in a program",
            Span(*match.span()),
            help="delete it",
        )


def _checked(raw: lark.Token, source: Source, sink: Sink) -> Token | None:
    """The token for what Lark found, mended if it was malformed; None if there is nothing to keep."""
    start = raw.start_pos or 0
    span = Span(start, start + len(raw))
    if raw.type == "BLANKS":
        return None
    if raw == "." and raw.type == "BAD_CHARACTER":
        report_dot(source, span, sink, f"{lexemes.describe_character('.')} is not allowed here")
        return None
    if raw.type in lexemes.REPAIRS:
        mended = lexemes.REPAIRS[raw.type](str(raw), span, sink)
        return None if mended is None else Token(*mended, span)
    kind = _KINDS.get(raw.type)
    if kind is None:
        return Token("keyword" if raw[0].isalpha() else "symbol", str(raw), span)
    if kind in lexemes.CHECKS:
        text = lexemes.CHECKS[kind](str(raw), span, sink)
        return Token(kind, text, span)
    return Token(kind, str(raw), span)
