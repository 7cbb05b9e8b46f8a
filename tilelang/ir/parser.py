"""Text -> Kernel: the inverse of `tilelang.ir.printer`, whose docstring holds the grammar.

The text form serves tests, goldens and people who want to feed a pass by hand; no `.tile` author writes it.
So every mistake has the one code `E-IR`, and the first one ends the parse. An op's operands are values
defined earlier in the text, so parsing checks "defined once, and before use"; all else is the verifier's.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from tilelang.diagnostics import NOWHERE, CompileError, Diagnostic, Source, Span
from tilelang.dtypes import DTYPES, I64
from tilelang.ir.core import Attr, Block, Kernel, LocalType, Op, SharedType, TensorType, Type, Value
from tilelang.semantics.types import TileType

MALFORMED = "E-IR"
MAX_DEPTH = 250
"""Deepest nesting of blocks, and of tuples in an attribute, that the parser (a recursive one) follows."""

TOKEN = re.compile(
    r"""
    (?P<blank>    (?: \s | \#[^\n]* )+ )
  | (?P<value>    %[A-Za-z0-9_.]+ )
  | (?P<span>     @[0-9]+:[0-9]+ )
  | (?P<symbol>   @[A-Za-z_][A-Za-z0-9_.]* )
  | (?P<float>    -?(?: inf\b | nan\b | [0-9]+\.[0-9]+(?:e[+-]?[0-9]+)? | [0-9]+e[+-]?[0-9]+ ) )
  | (?P<int>      -?[0-9]+ )
  | (?P<name>     [A-Za-z_][A-Za-z0-9_.]* )
  | (?P<string>   "(?:[^"\\\n]|\\.)*" )
  | (?P<mark>     [(){}\[\],:=] )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    span: Span


def parse_kernel(text: str) -> Kernel:
    """Read one kernel back from its text.

    Raises:
        CompileError: the text is malformed; its one diagnostic has the place.
    """
    source = Source(text, "<ir>")
    parser = _Parser(source, _tokens(source))
    kernel = parser.kernel()
    parser.expect("end")
    return kernel


def _error(source: Source, title: str, span: Span, help: str = "") -> CompileError:
    return CompileError([Diagnostic(MALFORMED, title, span, help=help)], source)


def _tokens(source: Source) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(source.text):
        match = TOKEN.match(source.text, position)
        if match is None:
            char = source.text[position]
            raise _error(source, f"`{char}` does not belong in IR text", Span(position, position + 1))
        if match.lastgroup != "blank":
            tokens.append(Token(match.lastgroup or "", match.group(), Span(*match.span())))
        position = match.end()
    end = len(source.text)
    return [*tokens, Token("end", "", Span(end, end))]


class _Parser:
    """Recursive descent with two tokens of lookahead; one method for each rule of the grammar."""

    def __init__(self, source: Source, tokens: list[Token]):
        self.source = source
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.values: dict[str, Value] = {}

    # -- tokens

    def peek(self, ahead: int = 0) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def expect(self, kind: str, text: str | None = None) -> Token:
        """Take the next token, which must be of this kind (and have this text)."""
        token = self.peek()
        if token.kind != kind or (text is not None and token.text != text):
            wanted = f"`{text}`" if text is not None else KINDS[kind]
            raise self.error(f"expected {wanted}, found {_found(token)}", token.span)
        self.at += 1
        return token

    def sees(self, *texts: str) -> bool:
        token = self.peek()
        return token.text in texts and token.kind in ("mark", "name")

    def accept(self, *texts: str) -> bool:
        if self.sees(*texts):
            self.at += 1
            return True
        return False

    def error(self, title: str, span: Span, help: str = "") -> CompileError:
        return _error(self.source, title, span, help)

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH} levels", self.peek().span)

    # -- rules

    def kernel(self) -> Kernel:
        self.expect("name", "kernel")
        name = self.expect("symbol").text[1:]
        params = self.declarations()
        self.expect("name", "dims")
        self.expect("mark", "(")
        dims = []
        while not self.accept(")"):
            dims.append(self.define(self.expect("value"), TileType(I64)))
            self.separator(")")
        level = self.expect("name").text
        attrs = self.attrs()
        return Kernel(name, params, tuple(dims), self.block(), level, attrs)

    def block(self) -> Block:
        self.enter()
        args = self.declarations() if self.sees("(") else ()
        self.expect("mark", "{")
        ops = []
        while not self.accept("}"):
            ops.append(self.op())
        self.depth -= 1
        return Block(args, tuple(ops))

    def op(self) -> Op:
        declared = self.results()
        name = self.expect("name").text
        operands = self.operands()
        attrs = self.attrs()
        blocks: list[Block] = []
        while self.sees("(", "{", "else", "do"):
            if self.accept("else", "do") and not blocks:
                raise self.error("a first block has no `else` or `do` before it", self.peek(-1).span)
            blocks.append(self.block())
        results = tuple(self.define(token, type) for token, type in declared)
        return Op(name, operands, results, attrs, tuple(blocks), self.span())

    def results(self) -> list[tuple[Token, Type]]:
        """`%a: f32, %b: i32 =`; they come into being after the op, so its blocks cannot use them."""
        found: list[tuple[Token, Type]] = []
        if self.peek().kind != "value":
            return found
        while not self.accept("="):
            found.append(self.declaration())
            self.separator("=")
        return found

    def operands(self) -> tuple[Value, ...]:
        """`%a, %b`. A value followed by `:` is no operand but the first result of the next op."""
        found: list[Value] = []
        if self.peek().kind != "value" or self.peek(1).text == ":":
            return ()
        found.append(self.use())
        while self.accept(","):
            found.append(self.use())
        return tuple(found)

    def declarations(self) -> tuple[Value, ...]:
        """`(%a: f32, %b: i32)`"""
        self.expect("mark", "(")
        found = []
        while not self.accept(")"):
            found.append(self.define(*self.declaration()))
            self.separator(")")
        return tuple(found)

    def declaration(self) -> tuple[Token, Type]:
        token = self.expect("value")
        self.expect("mark", ":")
        return token, self.type()

    def type(self) -> Type:
        word = self.expect("name").text if self.sees(*STORAGE) else ""
        token = self.expect("name")
        dtype = DTYPES.get(token.text)
        if dtype is None:
            raise self.error(f"`{token.text}` is not an element type", token.span,
                             f"element types are {', '.join(DTYPES)}")
        extents = self.extents() if self.sees("[") else ()
        if word in ("in", "out", "inout"):
            return TensorType(dtype, extents, word)
        numbers = tuple(e for e in extents if isinstance(e, int))
        if len(numbers) < len(extents):
            raise self.error("only a tensor may have named extents", token.span)
        if not word:
            return TileType(dtype, numbers)
        if len(numbers) != 1:
            raise self.error(f"a {word} array has one extent", token.span)
        return LocalType(dtype, numbers[0]) if word == "local" else SharedType(dtype, numbers[0])

    def extents(self) -> tuple[int | str, ...]:
        self.expect("mark", "[")
        found: list[int | str] = []
        while not self.accept("]"):
            token = self.expect("value" if self.peek().kind == "value" else "int")
            found.append(token.text[1:] if token.kind == "value" else self.integer(token))
            self.separator("]")
        return tuple(found)

    def attrs(self) -> dict[str, Attr]:
        """`{key = attr, ...}`; a brace not followed by `key =` opens a block instead."""
        found: dict[str, Attr] = {}
        if not (self.sees("{") and self.peek(1).kind in ("name", "string") and self.peek(2).text == "="):
            return found
        self.expect("mark", "{")
        while not self.accept("}"):
            token = self.expect("string" if self.peek().kind == "string" else "name")
            key = self.string(token) if token.kind == "string" else token.text
            if key in found:
                raise self.error(f"attribute `{key}` is given twice", token.span)
            self.expect("mark", "=")
            found[key] = self.attr()
            self.separator("}")
        return found

    def attr(self) -> Attr:
        if self.accept("("):
            self.enter()
            items = []
            while not self.accept(")"):
                items.append(self.attr())
                self.separator(")")
            self.depth -= 1
            return tuple(items)
        token = self.peek()
        self.at += 1
        if token.kind == "int":
            return self.integer(token)
        if token.kind == "float":
            return float(token.text)
        if token.kind == "string":
            return self.string(token)
        if token.text in ("true", "false"):
            return token.text == "true"
        if token.text in DTYPES:
            return DTYPES[token.text]
        raise self.error(f"expected an attribute's value, found {_found(token)}", token.span)

    # -- leaves

    def span(self) -> Span:
        if self.peek().kind != "span":
            return NOWHERE
        start, end = self.expect("span").text[1:].split(":")
        return Span(int(start[-18:]), int(end[-18:]))

    def integer(self, token: Token) -> int:
        if len(token.text) > 40:
            raise self.error("this integer is too long", token.span)
        return int(token.text)

    def string(self, token: Token) -> str:
        try:
            return json.loads(token.text)
        except ValueError:
            title = "this string has a malformed escape or a control character"
            raise self.error(title, token.span) from None

    def separator(self, closing: str) -> None:
        """A comma, unless the list ends here."""
        if not self.sees(closing):
            self.expect("mark", ",")

    def define(self, token: Token, type: Type) -> Value:
        value = Value(token.text[1:], type)
        if value.name in self.values:
            raise self.error(f"{token.text} is defined twice", token.span)
        self.values[value.name] = value
        return value

    def use(self) -> Value:
        token = self.expect("value")
        value = self.values.get(token.text[1:])
        if value is None:
            raise self.error(f"{token.text} is not defined before this use", token.span)
        return value


STORAGE = ("in", "out", "inout", "local", "shared")

KINDS = {
    "value": "a value like `%x`",
    "symbol": "a kernel name like `@k`",
    "name": "a name",
    "int": "an integer",
    "string": "a string",
    "span": "a span",
    "end": "the end of the text",
    "mark": "a punctuation mark",
}


def _found(token: Token) -> str:
    return "the end of the text" if token.kind == "end" else f"`{token.text}`"
