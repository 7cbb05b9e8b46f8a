"""Layout for the formatter: blanks between tokens, and where to break what does not fit on a line.

Everything here is about one logical line: a statement, or a header up to its `{`, or a `}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilelang.syntax.lexing import Token

WIDTH = 110
INDENT = 4
MAX_INDENT = 60  # deeper than this nothing is broken any more: there is no room to gain

_OPEN = {"(", "[", "{"}
_CLOSE = {")", "]", "}"}
_VALUE_KINDS = {"name", "int", "float", "string"}
_VALUE_TEXTS = {")", "]", "true", "false", "None"}

# Binary operators by how loosely they bind: a long expression is broken at the loosest ones first.
_BREAKS: tuple[frozenset[str], ...] = (
    frozenset({"where", "else"}),
    frozenset({"or"}),
    frozenset({"and"}),
    frozenset({"==", "!=", "<", "<=", ">", ">="}),
    frozenset({"+:"}),
    frozenset({"|"}),
    frozenset({"^"}),
    frozenset({"&"}),
    frozenset({"<<", ">>"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "//", "%"}),
)


@dataclass(frozen=True)
class Word:
    """A token with what its place in the line decides.

    `blank`: a blank stands before it (unless it begins a line). `depth`: brackets around it; a bracket counts
    as outside of itself. `operator`: the text of a keyword or symbol, empty for a sign (`-x`) and others.
    """

    token: Token
    blank: bool
    depth: int
    operator: str

    @property
    def text(self) -> str:
        return self.token.text

    @property
    def width(self) -> int:
        return len(self.token.text) + self.blank


def words_of(tokens: Sequence[Token]) -> list[Word]:
    """The tokens of a whole logical line, with their surroundings looked at once."""
    words: list[Word] = []
    brackets: list[str] = []
    before: Word | None = None
    for token in tokens:
        is_mark = token.kind in ("symbol", "keyword")
        sign = token.text in ("-", "~") and is_mark and (before is None or not _ends_value(before.token))
        blank = before is not None and _blank_between(before, token, brackets[-1] if brackets else "")
        if is_mark and token.text in _CLOSE and brackets:
            brackets.pop()
        before = Word(token, blank, len(brackets), token.text if is_mark and not sign else "")
        words.append(before)
        if is_mark and token.text in _OPEN:
            brackets.append(token.text)
    return words


def _ends_value(token: Token) -> bool:
    return token.kind in _VALUE_KINDS or token.text in _VALUE_TEXTS


def _blank_between(before: Word, token: Token, opener: str) -> bool:
    """Does a blank stand between two neighbours? `opener` is the innermost bracket around both."""
    left, right = before.token.text, token.text
    if "comment" in (before.token.kind, token.kind):
        return True
    if left in ("(", "[") or right in (")", "]", ",", ";"):
        return False
    if right == ":":
        return left == ","  # v[None, :], but x: f32
    if left == "{" or (right == "}" and opener == "{"):
        return False  # a set of choices, or an empty block; other blocks are broken at their braces
    if not before.operator and left in ("-", "~"):
        return False  # a sign
    if "=" in (left, right) and opener == "(":
        return False  # axis=0
    if right in ("(", "["):  # a call or an index follows its name; a bracket that groups stands apart
        return not (before.token.kind == "name" or left in (")", "]"))
    return True


def join(words: Sequence[Word]) -> str:
    """The words on one line."""
    return "".join(" " * (word.blank and index > 0) + word.text for index, word in enumerate(words))


def wrap(words: Sequence[Word], indent: int) -> list[str]:
    """The words on few lines that fit into `WIDTH`, each with its indentation.

    Breaks inside the widest bracket pair if that does it, else before operators, the loosest first.
    """
    flat = " " * indent + join(words)
    if len(flat) <= WIDTH or indent > MAX_INDENT:
        return [flat]
    start, end = _widest_group(words)
    head, tail = " " * indent + join(words[: start + 1]), " " * indent + join(words[end:])
    bracket_does_it = max(len(head), len(tail)) <= WIDTH and _width(words[start:end]) * 2 > len(flat) - indent
    pieces = _split_at_operators(words)
    if len(pieces) > 1 and not (start >= 0 and bracket_does_it):
        return _fill(pieces, indent)
    if start >= 0:
        return [head, *_wrap_items(words[start + 1 : end], indent + INDENT), tail]
    return [flat]


def _wrap_items(words: Sequence[Word], indent: int) -> list[str]:
    """What stands in a pair of brackets: on one line if it fits, else one item a line."""
    flat = " " * indent + join(words)
    if len(flat) <= WIDTH:
        return [flat]
    return [line for item in _items(words) for line in wrap(item, indent)]


def fill_list(words: Sequence[Word], prefix: str, margin: int) -> list[str]:
    """A bracketed list behind `prefix`, filled, and aligned behind the bracket at `margin`.

    If an item does not fit that way, or the margin leaves little room, the list is broken like any other.
    """
    items = _items(words[1:-1])
    room = WIDTH - margin - 2  # the bracket before, the bracket behind
    if margin > WIDTH // 2 or any(_width(item) > room for item in items):
        lines = [prefix + words[0].text]
        lines += [line for item in items for line in wrap(item, INDENT)]
        return [*lines, words[-1].text]
    lines, line = [], prefix + words[0].text
    for index, item in enumerate(items):
        text = join(item)
        if index and len(line) + 1 + len(text) + (index == len(items) - 1) > WIDTH:
            lines.append(line)
            line = " " * (margin + 1) + text
        else:
            line += (" " if index else "") + text
    return [*lines, line + words[-1].text]


def _items(words: Sequence[Word]) -> list[Sequence[Word]]:
    """Cut after each comma outside brackets."""
    if not words:
        return []
    ends = [i + 1 for i, word in enumerate(words) if word.operator == "," and word.depth == words[0].depth]
    return _cut(words, ends)


def _width(words: Sequence[Word]) -> int:
    return sum(word.width for word in words)


def _widest_group(words: Sequence[Word]) -> tuple[int, int]:
    """Indices of the outermost bracket pair with most text in it; (-1, -1) if all are empty."""
    best, best_width, start = (-1, -1), 0, 0
    for index, word in enumerate(words):
        if word.depth != words[0].depth:
            continue
        if word.operator in _OPEN:
            start = index
        elif word.operator in _CLOSE and index > start + 1 and _width(words[start:index]) > best_width:
            best, best_width = (start, index), _width(words[start:index])
    return best


def _split_at_operators(words: Sequence[Word]) -> list[Sequence[Word]]:
    """Cut before each operator of the loosest kind there is outside brackets."""
    depth = words[0].depth
    for operators in _BREAKS:
        starts = [
            i
            for i, word in enumerate(words)
            if i and word.depth == depth and word.operator in operators and words[i - 1].text != "}"
        ]
        if starts:
            return _cut(words, starts)
    return [words]


def _cut(words: Sequence[Word], edges: Sequence[int]) -> list[Sequence[Word]]:
    edges = [0, *edges, len(words)]
    return [words[a:b] for a, b in pairwise(edges) if a < b]


def _fill(pieces: Sequence[Sequence[Word]], indent: int) -> list[str]:
    """As many pieces on each line as fit; lines after the first are indented once more."""
    lines: list[str] = []
    line: list[Word] = []
    for piece in pieces:
        at = indent if not lines else indent + INDENT
        if line and at + _width(line) + _width(piece) > WIDTH:
            lines += wrap(line, at)
            line = []
        line += piece
    return lines + wrap(line, indent + INDENT if lines else indent)
