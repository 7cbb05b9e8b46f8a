"""Chapter 3."""

# ruff: noqa: E501  (pieces of the solutions, as they stand there)

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "integer_value": Proof(
        (
            change("decimal only", ", 0)", ")", r"base 16|base 2|same number"),
            change("underscores kept and base 16", '.replace("_", ""), 0)', ", 16)", r"decimal|between"),
            text(
                "binary forgotten",
                """
def integer_value(text):
    text = text.replace('_', '')
    return int(text, 16 if 'x' in text else 10)
""",
                r"base 2",
            ),
            text(
                "capitals forgotten",
                """
def integer_value(text):
    text = text.replace('_', '')
    return int(text[2:], 16) if text.startswith('0x') else int(text[2:], 2) if text.startswith('0b') else int(text)
""",
                r"0XFF",
            ),
            text(
                "a float on the way",
                """
def integer_value(text):
    text = text.replace('_', '')
    return int(float(text)) if text.isdigit() else int(text, 0)
""",
                r"18446744073709551615",
            ),
        ),
        (
            """
def integer_value(text):
    digits = text.lower().split("_")
    joined = "".join(digits)
    if joined.startswith("0x"):
        return int(joined, 16)
    return int(joined, 2) if joined.startswith("0b") else int(joined)
""",
            """
def integer_value(text):
    base = {"0x": 16, "0b": 2}.get(text[:2].lower(), 10)
    value = 0
    for char in text[2:] if base != 10 else text:
        if char != "_":
            value = value * base + int(char, 16)
    return value
""",
        ),
    ),
    "position": Proof(
        (
            change("columns from 0", "self.line_starts[line] + 1", "self.line_starts[line]", r"column 1"),
            change("lines from 0", "return line + 1", "return line", r"line 1"),
            change(
                "the break begins the next line",
                "bisect_right(self.line_starts, offset)",
                "bisect_right(self.line_starts, offset + 1)",
                r"belongs to the line|column 1|second line|line break",
            ),
            text(
                "the start of a line belongs to the line before",
                """
from bisect import bisect_left


def position(self, offset):
    line = max(bisect_left(self.line_starts, offset) - 1, 0)
    return line + 1, offset - self.line_starts[line] + 1
""",
                r"a new line begins",
            ),
            text(
                "tabs are eight wide",
                """
def position(self, offset):
    before = self.text[:offset]
    line = before.split('\\n')[-1]
    return before.count('\\n') + 1, len(line.expandtabs(8)) + 1
""",
                r"a tab is one column",
            ),
        ),
        (
            """
def position(self, offset):
    before = self.text[:offset]
    return before.count("\\n") + 1, len(before) - before.rfind("\\n")
""",
            """
def position(self, offset):
    number = 0
    for index, start in enumerate(self.line_starts):
        if start <= offset:
            number = index
    return number + 1, 1 + offset - self.line_starts[number]
""",
        ),
    ),
    "string_value": Proof(
        (
            change("the quotes kept", "text[1:-1]", "text", r"quotes are not part"),
            text(
                "one after the other",
                """
def string_value(text):
    inside = text[1:-1]
    for key, value in _ESCAPES.items():
        inside = inside.replace('\\\\' + key, value)
    return inside
""",
                r"belongs to the first|backslash",
            ),
            change(
                "unknown ones kept",
                "_ESCAPES.get(m.group(1), m.group(1))",
                "_ESCAPES.get(m.group(1), m.group())",
                r"unknown escape",
            ),
            text(
                "Python's escapes",
                """
import ast


def string_value(text):
    return ast.literal_eval(text)
""",
                r"unknown escape|aqb",
            ),
            text(
                "ASCII only",
                """
def string_value(text):
    return text[1:-1].encode('ascii', 'replace').decode('unicode_escape')
""",
                r"any character|unknown",
            ),
            text(
                "nothing resolved",
                """
def string_value(text):
    return text[1:-1]
""",
                r"escapes are resolved",
            ),
        ),
        (
            """
def string_value(text):
    result, escaped = [], False
    for char in text[1:-1]:
        if escaped:
            result.append(_ESCAPES.get(char, char))
        elif char != "\\\\":
            result.append(char)
        escaped = not escaped and char == "\\\\"
    return "".join(result)
""",
            """
def string_value(text):
    inside, out = text[1 : len(text) - 1], ""
    while inside:
        if inside[0] == "\\\\":
            out, inside = out + _ESCAPES.get(inside[1], inside[1]), inside[2:]
        else:
            out, inside = out + inside[0], inside[1:]
    return out
""",
        ),
    ),
    "describe_character": Proof(
        (
            change("blanks shown", " and not char.isspace()", "", r"cannot be seen"),
            change(
                "everything shown",
                'if char.isprintable() and not char.isspace() else ""',
                "",
                r"cannot be seen|no name|U\+",
            ),
            change("two digits", ":04X", ":02X", r"U\+00"),
            change("small letters", ":04X", ":04x", r"U\+00"),
            change(
                "an empty bracket", "f\"{code}{' (' + name + ')' if name else ''}\"", 'f"{code} ({name})"', r"no name"
            ),
            change(
                "nothing shown",
                'f"`{char}` " if char.isprintable() and not char.isspace() else ""',
                '""',
                r"it can be seen",
            ),
            change("no default name", 'unicodedata.name(char, "")', "unicodedata.name(char)", r"ValueError"),
        ),
        (
            """
def describe_character(char):
    code = "U+" + format(ord(char), "X").zfill(4)
    try:
        name = unicodedata.name(char)
    except ValueError:
        name = ""
    if char.isspace() or not char.isprintable():
        return f"{code} ({name})" if name else code
    return f"`{char}` ({code}, {name})" if name else f"`{char}` ({code})"
""",
            """
def describe_character(char):
    known = [p for p in ("U+%04X" % ord(char), unicodedata.name(char, "")) if p]
    visible = char.isprintable() and char.strip() != ""
    if visible:
        return "`" + char + "` (" + ", ".join(known) + ")"
    return known[0] if len(known) == 1 else f"{known[0]} ({known[1]})"
""",
        ),
    ),
    "_check_integer": Proof(
        (
            change("blanks between digits counted", 'text.replace("_", "")', "text", "with `_` between them"),
            change("no look at the digits first", 'len(digits.lstrip("0")) <= 64 and ', "", r"5000|ValueError"),
            change("leading zeros counted", '.lstrip("0")', "", r"leading zeros"),
            change("the largest refused", "<= MAX_INTEGER", "< MAX_INTEGER", r"fits in 64 bits"),
            change("the limit of i64", "<= MAX_INTEGER", "<= MAX_INTEGER // 2", r"fits in 64 bits"),
            change("not mended", 'return "0"', "return text", r"0 instead"),
            change("the wrong code", '"E0009"', '"E0010"', r"E0009"),
            text(
                "nothing reported",
                """
def _check_integer(text, span, sink):
    return text if len(text) < 70 and integer_value(text) <= MAX_INTEGER else '0'
""",
                r"E0009|leading",
            ),
        ),
        (
            """
def _check_integer(text, span, sink):
    base = 16 if text[:2].lower() == "0x" else 2 if text[:2].lower() == "0b" else 10
    digits = text if base == 10 else text[2:]
    value = 0
    for char in digits:
        if char != "_":
            value = min(value * base + int(char, base), MAX_INTEGER + 1)
    if value > MAX_INTEGER:
        sink.error("E0009", "too large", span)
        return "0"
    return text
""",
            """
import re


def _check_integer(text, span, sink):
    shown = re.sub("^0[xXbB]", "", text.replace("_", "")).lstrip("0")
    fits = len(shown) <= 64
    if fits:
        fits = integer_value(text) < MAX_INTEGER + 1
    if not fits:
        sink.error("E0009", f"more than {MAX_INTEGER}", span, help="use a float")
    return text if fits else "0"
""",
        ),
    ),
    "_check_string": Proof(
        (
            change(
                "from the start of the text", "span.start + match.start()", "match.start()", r"at the two characters"
            ),
            change("one character", "start + 2", "start + 1", r"two characters"),
            change("the whole string", "Span(start, start + 2)", "span", r"two characters"),
            change(
                "the first only", "    return text", "            return text\n    return text", r"each one is reported"
            ),
            text(
                "backslashes counted twice",
                """
def _check_string(text, span, sink):
    for at in range(len(text) - 1):
        if text[at] == chr(92) and text[at + 1] not in _ESCAPES:
            sink.error('E0006', 'unknown', Span(span.start + at, span.start + at + 2))
    return text
""",
                r"known|backslash",
            ),
            change("mended", "    return text", "    return string_value(text)", r"found"),
        ),
        (
            """
def _check_string(text, span, sink):
    at = 1
    while at < len(text) - 1:
        if text[at] == "\\\\":
            if text[at + 1] not in _ESCAPES:
                sink.error("E0006", "unknown escape", Span(span.start + at, span.start + at + 2))
            at += 1
        at += 1
    return text
""",
            """
def _check_string(text, span, sink):
    found = [m for m in re.finditer(r"\\\\.", text) if m.group()[1] not in _ESCAPES]
    for match in found:
        sink.error("E0006", f"no escape {match.group()}", Span(match.start() + span.start, match.end() + span.start))
    return text
""",
        ),
    ),
    "scan": Proof(
        (
            change(
                "the first symbol that fits",
                "max((s for s in SYMBOLS if text.startswith(s, at)), key=len)",
                "min((s for s in SYMBOLS if text.startswith(s, at)), key=len)",
                r"longest",
            ),
            change(
                "no keywords", '"keyword" if text[at:end] in KEYWORDS else "name"', '"name"', r"names have|expected"
            ),
            change(
                "a comment needs a line end",
                "at = end if end >= 0 else len(text)",
                "at = end if end >= 0 else at + 1",
                r"comments only separate",
            ),
            change(
                "a comment to the end",
                "at = end if end >= 0 else len(text)",
                "at = len(text)",
                r"comments only separate",
            ),
            change(
                "digits alone",
                'while end < len(text) and (text[end].isalnum() or text[end] == "_"):\n                end += 1\n            tokens.append(("int"',
                'while end < len(text) and text[end].isdigit():\n                end += 1\n            tokens.append(("int"',
                r"as far as it can",
            ),
            change(
                "no underscore in front",
                'elif char.isalpha() or char == "_":',
                "elif char.isalpha():",
                r"ValueError|names have",
            ),
            text(
                "split at blanks",
                """
def scan(text):
    return [('keyword' if w in KEYWORDS else 'int' if w[0].isdigit() else 'name' if w[0].isalpha() else 'symbol', w) for w in text.split()]
""",
                r"names have|goes on|longest",
            ),
        ),
        (
            """
import re

PATTERN = re.compile(
    r"(?P<skip>\\s+|#[^\\n]*)|(?P<name>[A-Za-z_]\\w*)|(?P<int>[0-9]\\w*)|(?P<symbol>"
    + "|".join(re.escape(s) for s in sorted(SYMBOLS, key=len, reverse=True)) + ")"
)


def scan(text):
    tokens = []
    for match in PATTERN.finditer(text):
        kind = match.lastgroup
        if kind == "name" and match.group() in KEYWORDS:
            kind = "keyword"
        if kind != "skip":
            tokens.append((kind, match.group()))
    return tokens
""",
            """
def scan(text):
    found = []
    for line in text.split("\\n"):
        line = line.partition("#")[0]
        while line := line.strip():
            size = 1
            if line[0].isalnum() or line[0] == "_":
                while line[size : size + 1].isalnum() or line[size : size + 1] == "_":
                    size += 1
                word = line[:size]
                found.append(("int" if word[0].isdigit() else "keyword" if word in KEYWORDS else "name", word))
            else:
                size = next(n for n in (3, 2, 1) if line[:n] in SYMBOLS and len(line[:n]) == n)
                found.append(("symbol", line[:size]))
            line = line[size:]
    return found
""",
        ),
    ),
}
