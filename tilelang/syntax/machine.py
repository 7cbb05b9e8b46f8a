"""The LALR(1) machine: Lark's parse table and stacks, with the questions that error recovery asks of them.

The machine keeps a stack of states. Its table says for each state and next token whether to push the token
(shift), to replace the parts of a finished rule by its name (reduce), or that the token is wrong. Beside each
state stands a value: the token that was shifted, or the tree of the rule that was reduced.
(Aho, Lam, Sethi, Ullman: Compilers, section 4.7.)
"""

from __future__ import annotations

import lark
from lark.parsers.lalr_analysis import Shift

from tilelang.diagnostics import InternalError, Span
from tilelang.syntax.grammar import load_grammar, terminal_names
from tilelang.syntax.lexing import Token
from tilelang.syntax.mistakes import CLOSERS, OPENERS

_KIND_TERMINALS = {
    "name": "NAME",
    "int": "INT",
    "float": "FLOAT",
    "string": "STRING",
    "end": "$END",
    "error": "ERROR",
}


def terminal(token: Token) -> str:
    """The name of the grammar's terminal that `token` matches."""
    return _KIND_TERMINALS.get(token.kind) or terminal_names()[token.text]


class Machine:
    """One run of the machine."""

    def __init__(self) -> None:
        self._state = load_grammar().parse_interactive("").parser_state
        self._table = self._state.parse_conf.states

    def feed(self, token: Token) -> lark.Tree[lark.Token] | None:
        """Reduce as the token asks, then shift it. It must be one that `accepts` agrees to.

        Returns the finished tree at the end of the file (a token of kind `end`), else None.
        """
        span = token.span
        fed = lark.Token(terminal(token), token.text, start_pos=span.start, end_pos=span.end)
        return self._state.feed_token(fed, is_end=token.kind == "end")

    def pop(self) -> None:
        """Give up the topmost state and its value."""
        if not self._state.value_stack:
            raise InternalError("syntax", "the parser gave up its last state")
        self._state.value_stack.pop()
        self._state.state_stack.pop()

    def accepts(self, terminal_name: str) -> bool:
        """Would the machine, after the reductions that this terminal calls for, shift it? Changes nothing."""
        stack = self._state.state_stack
        height = len(stack)  # how much of the real stack is still in place
        pushed: list[int] = []  # states that the reductions would put on top of it
        while True:
            entry = self._table[pushed[-1] if pushed else stack[height - 1]].get(terminal_name)
            if entry is None:
                return False
            action, argument = entry
            if action is Shift:
                return True
            size = len(argument.expansion)
            from_pushed = min(size, len(pushed))
            del pushed[len(pushed) - from_pushed :]
            height -= size - from_pushed
            below = pushed[-1] if pushed else stack[height - 1]
            pushed.append(self._table[below][argument.origin.name][1])
            if terminal_name == "$END" and pushed[-1] == self._state.parse_conf.end_state:
                return True

    def expected(self) -> set[str]:
        """Names of all terminals that could come next."""
        row = self._table[self._state.state_stack[-1]]
        return {name for name in row if (name.isupper() or name == "$END") and self.accepts(name)}

    def open_brackets(self) -> list[Token]:
        """The brackets and blocks that are open, outermost first: those on the stack without a partner."""
        still_open: list[Token] = []
        for value in self._state.value_stack:
            if isinstance(value, lark.Token) and value in OPENERS:
                span = Span(value.start_pos or 0, value.end_pos or 0)
                still_open.append(Token("symbol", str(value), span))
            elif isinstance(value, lark.Token) and value in CLOSERS:
                still_open.pop()
        return still_open
