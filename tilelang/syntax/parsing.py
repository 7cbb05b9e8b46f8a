"""Parsing: from tokens to the AST, going on after mistakes.

The LALR(1) machine (`machine`) says of each token whether it fits. This file feeds it one token at a time,
and decides what to do about those that do not fit:

1. *Insert*: if a `;`, a bracket or a comma is what is missing, say so and parse on as if it were there.
2. *Skip*: drop a token that cannot belong anywhere, such as a bracket that nothing opened.
3. *Panic*: give the statement up. Pop the stack back to a state where a statement may start, push the
   ERROR token in its place, and skip to the next `;`, block or `}`. (This is what yacc's `error` does.)

One mistake should give one message, so errors that follow directly from an earlier one stay silent.
"""

from __future__ import annotations

from dataclasses import replace

import lark

from tilelang.diagnostics import Diagnostic, Sink, Source, Span
from tilelang.syntax import ast
from tilelang.syntax.build_ast import build_ast
from tilelang.syntax.grammar import terminal_names
from tilelang.syntax.habits import explain
from tilelang.syntax.lexing import Token, lex
from tilelang.syntax.limits import MAX_ERRORS, MAX_NESTING
from tilelang.syntax.machine import Machine, terminal
from tilelang.syntax.mistakes import (
    BLOCK_STARTERS,
    CLOSERS,
    ITEM_STARTERS,
    OPENERS,
    STATEMENT_STARTERS,
    Mistake,
    missing_semicolon,
    unclosed,
    unmatched,
)


def parse(source: Source, sink: Sink) -> ast.Module:
    """The AST of a whole file. After mistakes (E00xx, E01xx): of those parts that could be made out."""
    found = Sink()
    module = build_ast(_parse_tree(source, found), found)
    for diagnostic in _without_echoes(found.diagnostics, source):
        sink.report(diagnostic)
    return module


def parse_tree(source: Source, sink: Sink) -> lark.Tree[lark.Token]:
    """The parse tree of a whole file: one node for each rule that matched. See `parse` for mistakes."""
    found = Sink()
    tree = _parse_tree(source, found)
    for diagnostic in _without_echoes(found.diagnostics, source):
        sink.report(diagnostic)
    return tree


def _parse_tree(source: Source, sink: Sink) -> lark.Tree[lark.Token]:
    tokens = lex(source, sink)
    if len(sink.diagnostics) >= MAX_ERRORS:  # the lexer gave up: the tokens are not the whole file
        return lark.Tree("start", [])
    return Parser(source, tokens, sink).run()


def _without_echoes(diagnostics: list[Diagnostic], source: Source) -> list[Diagnostic]:
    """Drop messages about grammar (E01xx) on lines where a token was malformed (E00xx): they only echo it.

    The rest in the order of the text, the first `MAX_ERRORS` of them.
    """
    malformed = {source.position(d.span.start)[0] for d in diagnostics if d.span and d.code.startswith("E00")}
    kept = [
        d
        for d in diagnostics
        if d.code.startswith("E00") or not d.span or source.position(d.span.start)[0] not in malformed
    ]
    kept.sort(key=lambda d: d.span.start if d.span else 0)
    if len(kept) > MAX_ERRORS:
        last = kept[MAX_ERRORS - 1]
        more = f"this is mistake number {MAX_ERRORS}: {len(kept) - MAX_ERRORS} more are not shown"
        kept[MAX_ERRORS - 1 :] = [replace(last, notes=(*last.notes, more))]
    return kept


class Parser:
    """One run over the tokens of one file."""

    def __init__(self, source: Source, tokens: list[Token], sink: Sink) -> None:
        self.source = source
        end = tokens[-1].span.end if tokens else 0
        self.tokens = [*tokens, Token("end", "", Span(end, end))]
        self.sink = sink
        self.machine = Machine()
        self.at = 0
        self.errors = 0
        self.depth = 0  # of open brackets and blocks
        self.last_error_at = -1  # index of the token at which the last error was found
        self.last_panic_at = -1
        self.broken_blocks: list[int] = []  # depths of open blocks whose header was given up

    def run(self) -> lark.Tree[lark.Token]:
        """Feed all tokens. The tree of what was understood; empty if the parser had to stop."""
        result: lark.Tree[lark.Token] | None = None
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if not self.machine.accepts(terminal(token)):
                self._recover(token)
            else:
                result = self._feed(token)
                self.at += 1
            if self.errors >= MAX_ERRORS or self._too_deep(token):
                break
        return result or lark.Tree("start", [])

    def _feed(self, token: Token) -> lark.Tree[lark.Token] | None:
        if token.kind == "symbol":
            self.depth += (token.text in OPENERS) - (token.text in CLOSERS)
            if token.text == "}" and self.broken_blocks and self.broken_blocks[-1] >= self.depth:
                self.broken_blocks.pop()
                self.last_error_at = self.at + 1  # if it is an `else`, that follows from the earlier mistake
        return self.machine.feed(token)

    # --- recovery ---

    def _too_deep(self, token: Token) -> bool:
        if self.depth <= MAX_NESTING:
            return False
        self.sink.error(
            "E0105",
            f"nested more than {MAX_NESTING} levels deep",
            token.span,
            notes=("brackets, blocks, unary operators and casts count",),
            help="give inner parts a name with `let`, or move them into a `fn`",
        )
        return True

    def _report(self, diagnostic: Diagnostic) -> None:
        """Report, unless the last error was at this same token already."""
        if self.last_error_at != self.at:
            self.errors += 1
            if self.errors == MAX_ERRORS:
                last = f"this is mistake number {MAX_ERRORS}: the rest of the file was not parsed"
                diagnostic = replace(diagnostic, notes=(*diagnostic.notes, last))
            self.sink.report(diagnostic)
        self.last_error_at = self.at

    def _recover(self, token: Token) -> None:
        brackets = self.machine.open_brackets()
        if self._skip_stray(token, brackets) or self._insert_missing(token, brackets):
            return
        mistake = self._mistake(brackets)
        self._report(explain(mistake))
        in_list = mistake.opener is not None and not (mistake.opener.text == "{" and mistake.in_block)
        between = token.kind in ("name", "int", "float", "string") or token.text in ("out", "inout")
        if in_list and "COMMA" in mistake.expected and between:
            self._feed(_virtual(",", self.tokens[self.at - 1]))  # `f(a b)`
        else:
            self._panic(brackets)

    def _mistake(self, brackets: list[Token]) -> Mistake:
        opener = brackets[-1] if brackets else None
        return Mistake(
            self.source, self.tokens, self.at, frozenset(self.machine.expected()), opener, self._in_block()
        )

    def _in_block(self) -> bool:
        """Inside the body of a kernel or `fn`? (A `{` in a kernel's header stands inside other brackets.)"""
        brackets = self.machine.open_brackets()
        return bool(brackets) and brackets[0].text == "{"

    def _starts_line(self) -> bool:
        """Is the current token the first of its line?"""
        if self.at == 0:
            return True
        between = self.source.text[self.tokens[self.at - 1].span.end : self.tokens[self.at].span.start]
        return "\n" in between or self.tokens[self.at].kind == "end"

    def _insert_missing(self, token: Token, brackets: list[Token]) -> bool:
        """Rule 1. True if a token was inserted, and the current one should be tried again."""
        if self.at == 0:
            return False
        previous = self.tokens[self.at - 1]
        begins = ("let", "var", "return", *ITEM_STARTERS)
        ends_statement = token.text == "}" or self._starts_line() or token.text in begins
        if ends_statement and self.machine.accepts("SEMICOLON"):
            self._report(missing_semicolon(previous))
            self._feed(_virtual(";", previous))
            return True
        if token.text != ":" and self.machine.accepts("LBRACE") and self._body_begins():
            self._report(explain(self._mistake(brackets)))
            self._feed(_virtual("{", previous))
            self._one_statement_body()
            return True
        return bool(brackets) and self._insert_closer(token, brackets, previous)

    def _one_statement_body(self) -> None:
        """A body that began without `{`: if there is no `}` for it either, it ends with its first statement."""
        braces = [t.text for t in self.tokens[self.at :]]
        open_blocks = sum(bracket.text == "{" for bracket in self.machine.open_brackets())
        if braces.count("}") - braces.count("{") >= open_blocks:
            self.at += self.tokens[self.at].text == ";"
            return
        while self.tokens[self.at].text != ";" and self.machine.accepts(terminal(self.tokens[self.at])):
            if self.depth > MAX_NESTING:
                return
            self._feed(self.tokens[self.at])
            self.at += 1
        if self.tokens[self.at].text != ";":
            return  # another mistake, for the usual recovery
        if self.machine.accepts("SEMICOLON"):
            self._feed(self.tokens[self.at])
        self.at += 1
        if self.machine.accepts("RBRACE"):
            self._feed(_virtual("}", self.tokens[self.at - 1]))

    def _body_begins(self) -> bool:
        """Does the body seem to begin here, without its `{`? If there is a `{` further on, it does not."""
        for token in self.tokens[self.at :]:
            if token.text in ("{", ";", "}") or token.kind == "end":
                return token.text == ";"
        return False

    def _insert_closer(self, token: Token, brackets: list[Token], previous: Token) -> bool:
        opener = brackets[-1]
        closer = OPENERS[opener.text]
        if not (self._must_end_bracket(token, closer) and self.machine.accepts(terminal_names()[closer])):
            return False
        self._report(unclosed(opener, token))
        self._feed(_virtual(closer, previous))
        if token.text in CLOSERS and not _is_open(CLOSERS[token.text], brackets[:-1]):
            self.at += 1  # `(a]`: the wrong bracket stood for the right one
        return True

    def _must_end_bracket(self, token: Token, closer: str) -> bool:
        """Can `token` only stand behind the `closer` of the innermost open bracket?"""
        if token.kind == "end":
            return True
        if closer == "}":
            return token.text in ITEM_STARTERS and self._column(token) == 1
        if token.text in STATEMENT_STARTERS:
            return self._starts_line()
        if token.text in ITEM_STARTERS:
            return self._starts_line()
        return token.text in (";", "{", "grid", *CLOSERS)

    def _skip_stray(self, token: Token, brackets: list[Token]) -> bool:
        """Rule 2. True if `token` was skipped."""
        closes_later = self._closes_later_in_line(brackets)
        if token.text in (")", "]") and brackets and brackets[-1].text != "{" and not closes_later:
            return False  # `(a]`: the wrong bracket, but a bracket is wanted
        stray = token.text in ("}", ";") and closes_later
        if token.text in CLOSERS and (stray or not _is_open(CLOSERS[token.text], brackets)):
            self._report(unmatched(token))
        elif token.text == ";" and (
            stray or self.at == 0 or self.tokens[self.at - 1].text in (";", "}", "{")
        ):
            self._report(explain(self._mistake(brackets)))
            if not self._in_block() and self.machine.accepts("COMMA"):
                self._feed(_virtual(",", self.tokens[self.at]))  # `k(x: f32[N]; y: f32[N])`
        else:
            return False
        self.at += 1
        return True

    def _closes_later_in_line(self, brackets: list[Token]) -> bool:
        """`x[a } + b]`, `x[a; b]`: the innermost bracket is not forgotten, only interrupted."""
        if not brackets or brackets[-1].text == "{":
            return False
        line_end = self.source.text.find("\n", self.tokens[self.at].span.end)
        depth = 0
        for token in self.tokens[self.at + 1 :]:
            if token.text in (";", "{", "}") or 0 <= line_end < token.span.start:
                return False
            if depth == 0 and token.text == OPENERS[brackets[-1].text]:
                return True
            depth += (token.text in OPENERS) - (token.text in CLOSERS)
        return False

    def _column(self, token: Token) -> int:
        return self.source.position(token.span.start)[1]

    def _panic(self, brackets: list[Token]) -> None:
        """Rule 3."""
        item_began = self._in_block()
        while not self.machine.accepts("ERROR"):
            item_began = True
            self.machine.pop()
        lost_brackets = len(brackets) - len(self.machine.open_brackets())
        self.depth -= lost_brackets
        start = self.at
        self._feed(Token("error", "", Span(self.tokens[start].span.start, self.tokens[start].span.start)))
        if self.last_panic_at == start and self.tokens[start].kind != "end":
            self.at += 1  # a second panic at the same token must make progress
        self.last_panic_at = start
        if item_began:
            self._skip_to_safety(lost_brackets)
        else:
            self._skip_to_item()

    def _skip_to_safety(self, depth: int) -> None:
        """Move on to where parsing can go on: behind a `;`, or at a block, a `}` or a keyword.

        `depth` counts the brackets that were open at the mistake: `{` inside those of a header begins a set.
        """
        in_block = self._in_block()
        if self.tokens[self.at].text in ("//", "/"):  # most likely a comment in the manner of C
            self._skip_line()
            return
        first = self.at
        while self.tokens[self.at].kind != "end":
            text = self.tokens[self.at].text
            if self.at > first and self._is_safe_start(in_block):
                return
            if text == ";":
                self.at += 1
                return
            if text == "{" and (in_block or depth <= 0 or self.tokens[self.at - 1].text == ")"):
                self.broken_blocks.append(self.depth)
                return
            if text == "}" and in_block:
                return
            depth += (text in OPENERS) - (text in CLOSERS)
            self.at += 1

    def _skip_to_item(self) -> None:
        """After something at the top level that is no item: all that follows up to the next item is lost."""
        while self.tokens[self.at].kind != "end":
            if self.tokens[self.at].text in ITEM_STARTERS and self._starts_line():
                return
            self.at += 1

    def _skip_line(self) -> None:
        self.at += 1
        while not self._starts_line():
            self.at += 1

    def _is_safe_start(self, in_block: bool) -> bool:
        """A keyword that begins a statement or an item, where such a thing is likely to begin."""
        text = self.tokens[self.at].text
        if text in ITEM_STARTERS:
            return not in_block or self._column(self.tokens[self.at]) == 1
        return in_block and text in STATEMENT_STARTERS and (self._starts_line() or text in BLOCK_STARTERS)


def _virtual(text: str, previous: Token) -> Token:
    """A token that is not in the text, right after one that is."""
    return Token("symbol", text, Span(previous.span.end, previous.span.end))


def _is_open(opener: str, brackets: list[Token]) -> bool:
    """Is a bracket of this kind open, within the innermost block?"""
    for bracket in reversed(brackets):
        if bracket.text == opener:
            return True
        if bracket.text == "{":
            return False
    return False
