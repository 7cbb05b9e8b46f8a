"""Chapter 4."""

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "_is_open": Proof(
        (
            change(
                "blocks do not hide",
                '        if bracket.text == "{":\n            return False\n',
                "",
                r"outside of the innermost block",
            ),
            change("from the outside in", "reversed(brackets)", "brackets", r"inside|outside"),
            text(
                "the block hides itself",
                """
def _is_open(opener, brackets):
    for bracket in reversed(brackets):
        if bracket.text == '{':
            return False
        if bracket.text == opener:
            return True
    return False
""",
                r"block itself",
            ),
            text(
                "the innermost only",
                """
def _is_open(opener, brackets):
    return bool(brackets) and brackets[-1].text == opener
""",
                r"further out",
            ),
            change("open by default", "    return False", "    return True", r"there is no|nothing is open|outside"),
        ),
        (
            """
def _is_open(opener, brackets):
    texts = [b.text for b in brackets]
    if "{" in texts:
        last = len(texts) - 1 - texts[::-1].index("{")
        texts = texts[last:]
    return opener in texts
""",
            """
def _is_open(opener, brackets):
    if not brackets:
        return False
    if brackets[-1].text == opener:
        return True
    return brackets[-1].text != "{" and _is_open(opener, brackets[:-1])
""",
        ),
    ),
    "describe": Proof(
        (
            change(
                "the end unnamed",
                '    if token.kind == "end":\n        return "the end of the file"\n',
                "",
                r"the end has no text",
            ),
            change(
                "strings shown", '    if token.kind == "string":\n        return "a string"\n', "", r"of no interest"
            ),
            change(
                "not cut", "token.text if len(token.text) <= 30 else token.text[:29] + '…'", "token.text", r"31 are cut"
            ),
            change("cut too early", "<= 30", "< 30", r"30 characters are shown"),
            change("one too many", "[:29]", "[:30]", r"31 are cut"),
            change("keywords like names", "the keyword `", "`", r"named as one"),
        ),
        (
            """
def describe(token):
    match token.kind:
        case "end":
            return "the end of the file"
        case "keyword":
            return "the keyword `" + token.text + "`"
        case "string":
            return "a string"
    shown = token.text
    if len(shown) > 30:
        shown = shown[:29] + "…"
    return "`" + shown + "`"
""",
            """
def describe(token):
    text = token.text[:29] + (token.text[29:] if len(token.text) < 31 else "…")
    words = {"end": "the end of the file", "string": "a string", "keyword": f"the keyword `{token.text}`"}
    return words.get(token.kind, f"`{text}`")
""",
        ),
    ),
    "left_spine": Proof(
        (
            change("outside in", "nodes[::-1]", "nodes", r"inside out"),
            change("the right side", "node = node.left", "node = node.right", r"leftmost|left side"),
            text(
                "recursive",
                """
def left_spine(expr):
    if not isinstance(expr.left, ast.Binary):
        return expr.left, [expr]
    first, nodes = left_spine(expr.left)
    return first, [*nodes, expr]
""",
                r"RecursionError",
            ),
            change("the outermost left out", "node: ast.Expr = expr\n", "node: ast.Expr = expr.left\n", r"inside out"),
            text(
                "one level",
                """
def left_spine(expr):
    return expr.left, [expr]
""",
                r"inside out",
            ),
        ),
        (
            """
def left_spine(expr):
    path = [expr]
    while isinstance(path[-1].left, ast.Binary):
        path.append(path[-1].left)
    first = path[-1].left
    path.reverse()
    return first, path
""",
            """
from collections import deque


def left_spine(expr):
    nodes = deque()
    while type(expr) is ast.Binary:
        nodes.appendleft(expr)
        expr = expr.left
    return (expr, list(nodes))
""",
        ),
    ),
    "_split_at_operators": Proof(
        (
            change("tightest first", "in _BREAKS:", "in reversed(_BREAKS):", r"binds more loosely"),
            change("brackets opened", "and word.depth == depth ", "", r"in brackets|one piece"),
            change(
                "at the first only", "return _cut(words, starts)", "return _cut(words, starts[:1])", r"one kind|clauses"
            ),
            change(
                "behind the operator",
                "return _cut(words, starts)",
                "return _cut(words, [s + 1 for s in starts])",
                r"more loosely|binds",
            ),
            text(
                "all operators",
                """
def _split_at_operators(words):
    every = frozenset().union(*_BREAKS)
    starts = [i for i, w in enumerate(words) if i and w.depth == words[0].depth and w.operator in every]
    return _cut(words, starts) if starts else [words]
""",
                r"more loosely",
            ),
            change("signs cut", "word.operator in operators", "word.text in operators", r"sign is part"),
            change("nothing where there is none", "return [words]", "return []", r"one piece|part of its number"),
        ),
        (
            """
def _split_at_operators(words):
    level = {op: n for n, ops in enumerate(_BREAKS) for op in ops}
    here = [(level[w.operator], i) for i, w in enumerate(words)
            if i > 0 and w.operator in level and w.depth == words[0].depth and words[i - 1].text != "}"]
    if not here:
        return [words]
    loosest = min(here)[0]
    return _cut(words, [i for n, i in here if n == loosest])
""",
            """
def _split_at_operators(words):
    for kind in _BREAKS:
        pieces, piece = [], [words[0]]
        for before, word in zip(words, words[1:]):
            if word.operator in kind and word.depth == words[0].depth and before.text != "}":
                pieces.append(piece)
                piece = []
            piece.append(word)
        if pieces:
            return [*pieces, piece]
    return [words]
""",
        ),
    ),
    "_attach_to_read": Proof(
        (
            change(
                "a second mask wins",
                "read.mask is None and read.other is None",
                "read.other is None",
                r"the first stays",
            ),
            change("any order", "read.mask is None and read.other is None", "read.mask is None", r"comes before"),
            change(
                "a second else wins",
                " and read.other is None:\n        return replace(read, other",
                ":\n        return replace(read, other",
                r"second `else`",
            ),
            change("swapped", "replace(read, mask=clause.value", "replace(read, other=clause.value", r"goes into mask"),
            change("no span", ", span=read.span.to(clause.span))", ")", r"span"),
            change("another code", '"E0120"', '"E0107"', r"E0120"),
            change(
                "nothing is left of it",
                "    return read",
                "    return None",
                r"AttributeError|the first stays|TypeError",
            ),
        ),
        (
            """
def _attach_to_read(self, clause, read):
    field = {"where": "mask", "else": "other"}[clause.keyword]
    late = clause.keyword == "where" and read.other is not None
    if getattr(read, field) is not None or late:
        self.sink.error("E0120", "this clause cannot stand here", clause.span)
        return read
    return replace(read, **{field: clause.value}, span=Span(read.span.start, clause.span.end))
""".replace("\n\ndef", "\n\ndef").replace("def _attach", "from tilelang.diagnostics import Span\n\n\ndef _attach", 1),
            """
def _attach_to_read(self, clause, read):
    span = read.span.to(clause.span)
    match (clause.keyword, read.mask, read.other):
        case ("where", None, None):
            return replace(read, mask=clause.value, span=span)
        case ("else", _, None):
            return replace(read, other=clause.value, span=span)
    self.sink.error("E0120", f"`{clause.keyword}` again, or too late", clause.span)
    return read
""",
        ),
    ),
    "climb": Proof(
        (
            change("to the right", "BINDING[operator] + 1", "BINDING[operator]", r"associate to the left"),
            change(
                "no precedence", "climb(rest[1:], BINDING[operator] + 1)", "climb(rest[1:], 12)", r"tighter operator"
            ),
            change("loosest ignored", ">= loosest", ">= 1", r"binds? tighter|tighter operator|associate"),
            change("not like minus", '3 if first.text == "not" else 12', "12", r"whole comparison"),
            change("minus like not", '3 if first.text == "not" else 12', "3", r"next to them"),
            change("the bracket not closed", "rest = rest[1:]  # the `)`", "rest = rest", r"brackets come first"),
            change(
                "the rest lost",
                "return left, rest",
                "return left, rest[:0]",
                r"handed back|left over|brackets|IndexError|takes its operands",
            ),
            change(
                "brackets are loose",
                "left, rest = climb(rest)\n",
                "left, rest = climb(rest, 12)\n",
                r"brackets come first",
            ),
        ),
        (
            """
def climb(tokens, loosest=1):
    at = 0

    def atom():
        nonlocal at
        token = tokens[at]
        at += 1
        if token.text == "(":
            inner = expression(1)
            at += 1
            return inner
        if token.text == "not":
            return ast.Unary("not", expression(3))
        if token.text in "-~":
            return ast.Unary(token.text, expression(12))
        return ast.IntLit(int(token.text)) if token.kind == "int" else ast.Name(token.text)

    def expression(least):
        nonlocal at
        left = atom()
        while at < len(tokens) and BINDING.get(tokens[at].text, 0) >= least:
            op = tokens[at].text
            at += 1
            left = ast.Binary(op, left, expression(BINDING[op] + 1))
        return left

    tree = expression(loosest)
    return tree, tokens[at:]
""",
            """
def climb(tokens, loosest=1):
    tokens = list(tokens)
    first = tokens.pop(0)
    if first.kind in ("name", "int"):
        left = ast.Name(first.text) if first.kind == "name" else ast.IntLit(int(first.text))
    elif first.text == "(":
        left, tokens = climb(tokens)
        tokens = list(tokens)[1:]
    else:
        operand, tokens = climb(tokens, {"not": 3}.get(first.text, 12))
        left = ast.Unary(first.text, operand)
    while True:
        if not tokens or tokens[0].text not in BINDING or BINDING[tokens[0].text] < loosest:
            return left, list(tokens)
        op, *tokens = tokens
        right, tokens = climb(tokens, BINDING[op.text] + 1)
        left = ast.Binary(op.text, left, right)
""",
        ),
    ),
    "accepts": Proof(
        (
            change(
                "one reduction is enough",
                "        pushed.append(self._table[below][argument.origin.name][1])\n",
                "        return True\n",
                r"reduced until|order|accepts",
            ),
            change(
                "only what is shifted at once",
                "if action is Shift:\n            return True",
                "if action is not Shift:\n            return False\n        return True",
                r"reduced|empty",
            ),
            change(
                "too few taken off", "height -= size - from_pushed", "height -= size", r"IndexError|KeyError|expected"
            ),
            change(
                "the end is not seen", " and pushed[-1] == self._state.parse_conf.end_state", " and False", r"\$END|end"
            ),
            text(
                "really done",
                """
def accepts(self, terminal_name):
    stack = self._state.state_stack
    while True:
        entry = self._table[stack[-1]].get(terminal_name)
        if entry is None:
            return False
        action, argument = entry
        if action is Shift:
            return True
        size = len(argument.expansion)
        if size:
            del stack[-size:]
        stack.append(self._table[stack[-1]][argument.origin.name][1])
        if terminal_name == '$END' and stack[-1] == self._state.parse_conf.end_state:
            return True
""",
                r"asking changed the machine|asking twice|reduced|expected",
            ),
            text(
                "the row alone",
                """
def accepts(self, terminal_name):
    return terminal_name in self._table[self._state.state_stack[-1]]
""",
                r"reduced|expected",
            ),
        ),
        (
            """
def accepts(self, terminal_name):
    stack = list(self._state.state_stack)
    while (entry := self._table[stack[-1]].get(terminal_name)) is not None:
        action, rule = entry
        if action is Shift:
            return True
        size = len(rule.expansion)
        del stack[len(stack) - size :]
        stack.append(self._table[stack[-1]][rule.origin.name][1])
        if terminal_name == "$END" and stack[-1] == self._state.parse_conf.end_state:
            return True
    return False
""",
            """
def accepts(self, terminal_name):
    def ask(stack):
        action, rule = self._table[stack[-1]].get(terminal_name, (None, None))
        if action is None or action is Shift:
            return action is Shift
        left = stack[: len(stack) - len(rule.expansion)]
        state = self._table[left[-1]][rule.origin.name][1]
        ended = terminal_name == "$END" and state == self._state.parse_conf.end_state
        return ended or ask([*left, state])

    return ask(tuple(self._state.state_stack))
""",
        ),
    ),
}
