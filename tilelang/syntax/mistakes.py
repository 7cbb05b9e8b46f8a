"""The wording of syntax errors: the unexpected token, and "expected ..., found ..." in a reader's words."""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.diagnostics import Diagnostic, Label, Source, Span
from tilelang.syntax.grammar import terminal_texts
from tilelang.syntax.lexing import Token

OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {")": "(", "]": "[", "}": "{"}
ITEM_STARTERS = ("kernel", "fn", "const")
BLOCK_STARTERS = ("for", "while")
STATEMENT_STARTERS = ("let", "var", "for", "while", "if", "return")


@dataclass(frozen=True)
class Mistake:
    """An unexpected token and what surrounds it. `opener` is the innermost open bracket or block."""

    source: Source
    tokens: list[Token]
    at: int
    expected: frozenset[str]
    opener: Token | None
    in_block: bool

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def text(self, offset: int) -> str:
        """The text of the token `offset` places from the wrong one; empty beyond the ends."""
        index = self.at + offset
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def statement(self) -> list[str]:
        """The texts of the tokens of this statement that stand before the wrong one."""
        start = self.at
        while start > 0 and self.tokens[start - 1].text not in (";", "{", "}"):
            start -= 1
        return [token.text for token in self.tokens[start : self.at]]


def missing_semicolon(previous: Token) -> Diagnostic:
    return Diagnostic(
        "E0102",
        "this statement does not end in `;`",
        Span(previous.span.end, previous.span.end),
        label="expected `;` here",
        help="add `;`",
    )


def unclosed(opener: Token, found: Token) -> Diagnostic:
    return Diagnostic(
        "E0103",
        f"this `{opener.text}` is never closed",
        opener.span,
        others=(Label(found.span, f"expected `{OPENERS[opener.text]}` before {describe(found)}"),),
        help=f"add `{OPENERS[opener.text]}`",
    )


def unmatched(token: Token) -> Diagnostic:
    return Diagnostic(
        "E0104",
        f"this `{token.text}` closes nothing",
        token.span,
        help=f"delete it, or add the `{CLOSERS[token.text]}` that it closes",
    )


def describe(token: Token) -> str:
    """The token in words, for "found ..."."""
    if token.kind == "end":
        return "the end of the file"
    if token.kind == "keyword":
        return f"the keyword `{token.text}`"
    if token.kind == "string":
        return "a string"
    return f"`{token.text if len(token.text) <= 30 else token.text[:29] + '…'}`"


def expected_but_found(mistake: Mistake, help: str = "") -> Diagnostic:
    """The message for when nothing more particular is known."""
    wanted = describe_expected(mistake.expected)
    token = mistake.token
    span = token.span if token.kind != "end" else Span(token.span.end, token.span.end)
    return Diagnostic("E0101", f"expected {wanted}, found {describe(token)}", span, help=help)


# --- "expected ...": terminals in words ---------------------------------------------------------------

_EXPRESSION_STARTS = {"NAME", "INT", "FLOAT", "STRING", "true", "false", "(", "[", "-", "~", "not"}
_OPERATORS = {
    "or", "and", "==", "!=", "<", "<=", ">", ">=", "+:", "|", "^", "&", "<<", ">>",
    "+", "-", "*", "/", "//", "%",
    "as", "where", "else", "[", "(",
}  # fmt: skip
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>="}


def describe_expected(expected: frozenset[str]) -> str:
    """Words for a set of terminals; what belongs together is named once: "an expression", "a statement"."""
    texts = terminal_texts()
    left = {texts.get(name, name) for name in expected} - {"ERROR"}
    words: list[str] = []
    if {"let", "return"} <= left:
        words.append("a statement")
        left -= {*_EXPRESSION_STARTS, *STATEMENT_STARTERS}
    elif {"NAME", "INT", "-"} <= left:
        words.append("an expression")
        left -= {*_EXPRESSION_STARTS, "None", ":"}
    elif {"+", "*"} <= left:
        left -= _OPERATORS
        if left >= ASSIGNMENTS:
            left -= ASSIGNMENTS if ";" in left else ASSIGNMENTS - {"="}
    if "kernel" in left:
        words.append("`kernel`, `fn` or `const`")
        left -= {*ITEM_STARTERS, "$END"}
    if "NAME" in left:
        words.append("a name")
    words += sorted(f"`{text}`" for text in left - {"NAME", "INT", "FLOAT", "STRING", "$END"})
    if not words:
        return "an operator" if "$END" not in left else "the end of the file"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
