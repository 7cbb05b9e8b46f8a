"""Finds `tile.lark`, and turns it into a lexer and a parse table.

Lark does this in about 0.1 s (measured; its import takes another 0.03 s), so the result is kept for the
life of the process but not on disk: Lark's cache file is a pickle, and loading a pickle that somebody else
may have written runs their code.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lark import Lark, Token
from lark.lexer import PatternStr

from tilelang.diagnostics import InternalError

# Kinds of lexeme that no rule mentions: Lark drops unused terminals unless it is told to keep them.
BAD_TERMINALS = ("BAD_NUMBER", "BAD_WORD", "OPEN_STRING", "SINGLE_QUOTED", "FOREIGN", "BAD_CHARACTER")


class _KeepBadTerminals:
    """Lark's hook between lexer and parser; used only for its list of terminals to keep."""

    always_accept = BAD_TERMINALS

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


def grammar_path(name: str = "tile.lark") -> Path:
    """The grammar file: beside the installed package, or else at the top of a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "grammar", package.parent / "grammar"):
        if (folder / name).is_file():
            return folder / name
    raise InternalError("syntax", f"the grammar {name} is neither in {package} nor beside it")


@cache
def load_grammar() -> Lark:
    """The LALR(1) parse table and the lexer of the language."""
    return Lark(
        grammar_path().read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",
        propagate_positions=True,
        postlex=_KeepBadTerminals(),
    )


@cache
def terminal_names() -> dict[str, str]:
    """From the text of a keyword or symbol to the name Lark gave its terminal: `";"` -> `"SEMICOLON"`."""
    return {t.pattern.value: t.name for t in load_grammar().terminals if isinstance(t.pattern, PatternStr)}


@cache
def terminal_texts() -> dict[str, str]:
    """The reverse of `terminal_names`."""
    return {name: text for text, name in terminal_names().items()}
