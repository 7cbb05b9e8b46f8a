"""Mistakes that people make out of habit, most often from Python or C, and what to write instead.

The parser knows only that a token does not fit. Each function here looks at the tokens around it for one
mistake, shown in its docstring, and gives the message for it or None.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.diagnostics import Diagnostic
from tilelang.syntax.header_habits import HEADER_HABITS, LAST_HABITS
from tilelang.syntax.mistakes import (
    ASSIGNMENTS,
    ITEM_STARTERS,
    STATEMENT_STARTERS,
    Mistake,
    expected_but_found,
)


def _habit(mistake: Mistake, title: str, help: str, offset: int = 0) -> Diagnostic:
    return Diagnostic("E0115", title, mistake.tokens[mistake.at + offset].span, help=help)


_FOREIGN_WORDS = {
    "def": "write `fn name(...) { ... }`, or `kernel` for what is launched",
    "func": "write `fn name(...) { ... }`", "function": "write `fn name(...) { ... }`",
    "elif": "write `else if`", "elseif": "write `else if`",
    "print": 'write `print("text", value);`', "assert": 'write `assert(condition, "text");`',
    "import": "a program is one file; there is nothing to import",
    "from": "a program is one file; there is nothing to import",
    "mut": "write `var` for a variable that changes", "lambda": "write a `fn` at the top level",
    "int": "write `let name = value;`, with `as i32` for the type",
    "float": "write `let name = value;`, with `as f32` for the type",
    "double": "write `let name = value;`, with `as f64` for the type",
    "auto": "write `let name = value;`",
    "do": "write `while condition { ... }`",
    "shared": "the compiler decides where a tile lives: `let s = zeros([64], f32);`",
    "__shared__": "the compiler decides where a tile lives: `let s = zeros([64], f32);`",
    "struct": "there are scalars and tiles only", "class": "there are scalars and tiles only",
}  # fmt: skip


def _foreign_word(m: Mistake) -> Diagnostic | None:
    """`def f(x):`, `elif c {`, `print x;`, `int x = 3;`: a keyword of another language."""
    for offset in (0, -1):
        index = m.at + offset
        if index < 0 or m.tokens[index].kind != "name" or m.tokens[index].text not in _FOREIGN_WORDS:
            continue
        if offset == -1 and m.token.text in ("(", "=", ";", ",", ")"):
            continue
        if offset == 0 and (m.in_block or m.opener is not None):
            continue
        word = m.tokens[index].text
        return _habit(m, f"`{word}` is not a word of this language", _FOREIGN_WORDS[word], offset)
    return None


def _typed_declaration(m: Mistake) -> Diagnostic | None:
    """`f32 x = 1.0;`"""
    if (
        m.in_block
        and m.token.kind == "name"
        and m.text(1) == "="
        and m.at > 0
        and m.tokens[m.at - 1].kind == "name"
    ):
        return _habit(
            m,
            "a variable is declared with `let` or `var`, not with its type",
            f"write `let {m.token.text} = ... as {m.text(-1)};`",
            -1,
        )
    return None


def _annotated_let(m: Mistake) -> Diagnostic | None:
    """`let x: f32 = 1.0;`"""
    in_brackets = m.opener is not None and m.opener.text != "{"
    if m.token.text == ":" and m.text(-2) in ("let", "var", ",") and not in_brackets:
        return _habit(
            m,
            "a variable has the type of its value and takes no annotation",
            f"write `let {m.text(-1)} = ... as {m.text(1) or 'f32'};`",
        )
    return None


def _colon_block(m: Mistake) -> Diagnostic | None:
    """`if c:`"""
    if m.token.text == ":" and "LBRACE" in m.expected:
        return _habit(m, "a block stands in braces", "write `{ ... }` in place of `:` and indentation")
    return None


def _slice(m: Mistake) -> Diagnostic | None:
    """`x[0:16]`"""
    if m.token.text == ":" and m.opener is not None and m.opener.text == "[" and m.in_block:
        return _habit(m, "there are no slices", "write `start +: length` for a tile of indices")
    return None


def _equals(m: Mistake) -> Diagnostic | None:
    """`if a = b {`, `let a == b;`, `let a = b = c;`, and `return` without its `;`"""
    if m.token.text in ASSIGNMENTS and "PLUS" in m.expected and "SEMICOLON" in m.expected:
        earlier = m.statement()
        if "return" in earlier:
            return expected_but_found(m, "a `return` without a value ends in `;`")
        if ASSIGNMENTS.intersection(earlier):
            return expected_but_found(m, "one statement gives one value: end it with `;` and write another")
    if m.token.text == "=" and "PLUS" in m.expected:
        return expected_but_found(m, "to compare, write `==`")
    if m.token.text == "==" and "EQUAL" in m.expected:
        return expected_but_found(m, "to give a value, write `=`")
    return None


def _ternary(m: Mistake) -> Diagnostic | None:
    """`a if c else b`"""
    if m.token.text == "if" and "PLUS" in m.expected:
        return _habit(m, "an `if` is a statement, not a value", "write `select(condition, a, b)`")
    return None


def _tuple(m: Mistake) -> Diagnostic | None:
    """`let p = (1, 2);`, `let (a, b) = f(x);`, `a, b = c, d;`"""
    if m.token.text == "(" and m.text(-1) in ("let", "var", "for"):
        return expected_but_found(m, f"leave the parentheses away: `{m.text(-1)} {m.text(1)}, ...`")
    if m.token.text == "," and "SEMICOLON" in m.expected and "PLUS" in m.expected:
        return expected_but_found(m, "one value stands here: write a statement for each, ending in `;`")
    if m.token.text == "," and m.opener is not None and m.opener.text == "(" and "RPAR" in m.expected:
        return expected_but_found(
            m, "there are no tuples: write `let a, b = f(x);` for several values, `[a, b]` for a shape"
        )
    return None


def _comprehension(m: Mistake) -> Diagnostic | None:
    """`[i for i in range(4)]`"""
    if m.token.text == "for" and m.opener is not None and m.opener.text in "([" and "PLUS" in m.expected:
        return _habit(
            m, "there are no comprehensions", "write a loop, or an index tile `0 +: N` and arithmetic on it"
        )
    return None


def _shaped_fn_parameter(m: Mistake) -> Diagnostic | None:
    """`fn f(a: f32[N])`"""
    if m.token.text == "[" and m.text(-2) == ":" and m.expected == {"COMMA", "RPAR"}:
        return expected_but_found(m, "a `fn` takes tiles of any shape: name the element type only")
    return None


def _c_comment(m: Mistake) -> Diagnostic | None:
    """`// words` and `/* words */` where a statement or an item would begin."""
    begins = m.expected & {"LET", "KERNEL"} or m.text(-1) in (";", "{", "}")
    if begins and (m.token.text == "//" or (m.token.text == "/" and m.text(1) == "*")):
        return _habit(m, "comments begin with `#`", "write `#`; `//` is division that rounds down")
    return None


def _prefix(m: Mistake) -> Diagnostic | None:
    """`+x`, `x--`, `not` in the wrong place."""
    if m.token.text == "+" and "MINUS" in m.expected and "INT" in m.expected:
        return expected_but_found(m, "leave the `+` away: there is no sign but `-`")
    if m.text(-1) == "-" and m.text(-2) == "-":
        return expected_but_found(m, f"to count down, write `{m.text(-3) or 'x'} -= 1`")
    if m.token.text == "None":
        return expected_but_found(m, "`None` stands only between index brackets: `v[:, None]`")
    return None


_CAST_NAMES = ("bool", "int", "long", "float", "double", "half", "char", "unsigned", "i32", "i64", "f16", "f32", "f64")
_CASTS = {"int": "i32", "long": "i64", "float": "f32", "double": "f64", "half": "f16", "char": "i8", "unsigned": "u32"}


def _c_cast(m: Mistake) -> Diagnostic | None:
    """`(float)x`"""
    if [m.text(-3), m.text(-1)] == ["(", ")"] and m.text(-2) in _CAST_NAMES and m.token.text not in (";", ")"):
        return expected_but_found(m, f"convert with `as`: `{m.token.text} as {_CASTS.get(m.text(-2), m.text(-2))}`")
    return None


def _python_words(m: Mistake) -> Diagnostic | None:
    """`where(c, a, b)`, `f"..."`, `a is b`, an `else` without its `if`, `fn(a) { ... }` as a value."""
    text, starts = m.token.text, "MINUS" in m.expected and "INT" in m.expected
    if text == "where" and starts:
        return expected_but_found(m, "to choose between values write `select(condition, a, b)`")
    if m.token.kind == "string" and m.text(-1) in ("f", "r", "b"):
        return expected_but_found(m, 'a string takes no prefix: `print("text", value)`')
    if text == "is" and "PLUS" in m.expected:
        return expected_but_found(m, "to compare, write `==`")
    if text == "else" and "LET" in m.expected:
        return expected_but_found(m, "an `else` stands right behind the `}` of an `if`")
    if text == "fn" and starts and "LET" not in m.expected:
        return expected_but_found(m, "a `fn` is declared at the top level, with a name, and called by it")
    return None


def _braceless(m: Mistake) -> Diagnostic | None:
    """`if (c) y[0] = 1.0;`, `fn f(x) return x;`, `kernel k() grid (1);`"""
    after_grid = m.expected == {"LBRACE"} and m.token.text == ";"
    if "LBRACE" in m.expected and (after_grid or m.token.kind in ("name", "keyword")):
        return expected_but_found(m, "a body stands in braces, even one statement: `{ ... }`")
    return None


def _empty_statement(m: Mistake) -> Diagnostic | None:
    if m.token.text == ";" and m.text(-1) in (";", "}", "{", ""):
        return Diagnostic(
            "E0125",
            "this `;` ends nothing",
            m.token.span,
            help="delete it: a block takes no `;` after its `}`",
        )
    return None


def _reserved(m: Mistake) -> Diagnostic | None:
    """`let in = 3;`, `kernel grid(...)`, a parameter called `out`."""
    expects_name = "NAME" in m.expected and "INT" not in m.expected
    token = m.token
    begins = token.text in (*ITEM_STARTERS, *STATEMENT_STARTERS) and m.text(1) not in ASSIGNMENTS
    if token.kind == "keyword" and expects_name and not begins:
        return Diagnostic(
            "E0114", f"`{token.text}` is a keyword, not a name", token.span, help="choose another name"
        )
    if token.kind == "keyword" and "LET" in m.expected and m.text(1) in ASSIGNMENTS:
        return Diagnostic(
            "E0114", f"`{token.text}` is a keyword, not a name", token.span, help="choose another name"
        )
    if token.text == ":" and m.text(-1) in ("out", "inout") and expects_name:
        return Diagnostic(
            "E0114",
            f"`{m.text(-1)}` is a keyword, not a name",
            m.tokens[m.at - 1].span,
            help=f"choose another name, or write `{m.text(-1)} name: ...`",
        )
    return None


def _misplaced(m: Mistake) -> Diagnostic | None:
    """A `kernel`, `fn` or `const` in a block; a statement at the top level."""
    text = m.token.text
    if text in ITEM_STARTERS and m.in_block and "LET" in m.expected:
        return Diagnostic(
            "E0124",
            f"`{text}` stands only at the top level of a file",
            m.token.span,
            help="write `let` for a constant" if text == "const" else "move it out of this block",
        )
    if "KERNEL" in m.expected and text in ("let", "var"):
        return Diagnostic(
            "E0124",
            f"`{text}` stands only in the body of a `kernel` or `fn`",
            m.token.span,
            help="write `const NAME = value;` at the top level",
        )
    if "KERNEL" in m.expected and text in STATEMENT_STARTERS:
        return Diagnostic(
            "E0124",
            f"`{text}` stands only in the body of a `kernel` or `fn`",
            m.token.span,
            help="move it into a `kernel` or `fn`; maybe a `}` too many stands above",
        )
    return None


def _missing_grid(m: Mistake) -> Diagnostic | None:
    if m.token.text == "{" and "GRID" in m.expected:
        return Diagnostic(
            "E0122",
            "this kernel has no grid",
            m.token.span,
            label="expected `grid (...)` before this",
            help="say how many programs to launch: `grid (cdiv(N, BLOCK))`, or `grid (1)`",
        )
    return None


def _after_last_brace(m: Mistake) -> Diagnostic | None:
    """`} y[0] = 1; }`: statements behind the `}` that closed the kernel."""
    if "KERNEL" in m.expected and m.text(-1) == "}":
        return expected_but_found(m, "if this belongs to the body above, one `}` before it is too many")
    return None


def _call_of_call(m: Mistake) -> Diagnostic | None:
    if m.token.text == "(" and m.text(-1) in (")", "]") and "PLUS" in m.expected:
        return expected_but_found(m, "only a name can be called; put an operator here if a product is meant")
    return None


def _between(m: Mistake) -> Diagnostic | None:
    """Two values side by side: `f(a b)`, `a b`."""
    if m.token.kind in ("name", "int", "float", "string") and "PLUS" in m.expected:
        inside = m.opener is not None and m.opener.text != "{"
        return expected_but_found(
            m,
            "put a `,` or an operator between the two"
            if inside
            else "end the statement before it with `;`, or put an operator between the two",
        )
    return None


_HABITS: tuple[Callable[[Mistake], Diagnostic | None], ...] = (
    *HEADER_HABITS,
    _c_cast,
    _python_words,
    _foreign_word,
    _typed_declaration,
    _annotated_let,
    _colon_block,
    _slice,
    _equals,
    _ternary,
    _tuple,
    _comprehension,
    _shaped_fn_parameter,
    _c_comment,
    _prefix,
    _empty_statement,
    _reserved,
    _misplaced,
    _missing_grid,
    _after_last_brace,
    _call_of_call,
    _braceless,
    _between,
    *LAST_HABITS,
)


def explain(mistake: Mistake) -> Diagnostic:
    """The message for a token that does not fit: the first habit that matches, or the plain expectation."""
    for habit in _HABITS:
        found = habit(mistake)
        if found is not None:
            return found
    return expected_but_found(mistake)
