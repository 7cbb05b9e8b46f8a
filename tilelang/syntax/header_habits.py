"""Habits from Python, C, CUDA and Triton in headers: of files, of kernels and of fns. (`habits` has those in bodies.)

Each function takes an unexpected token, looks around it for one mistake, shown in its docstring, and gives the
message for it or None.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.diagnostics import Diagnostic
from tilelang.near import nearest
from tilelang.syntax.mistakes import ASSIGNMENTS, ITEM_STARTERS, Mistake, expected_but_found


def _in_header(m: Mistake, bracket: str) -> bool:
    """Inside the parentheses or square brackets of a header?"""
    return m.opener is not None and m.opener.text == bracket and not m.in_block


# --- the top level ---------------------------------------------------------------------------------

_TOP_LEVEL = {
    "__global__": "what is launched is a `kernel name(x: f32[N], out y: f32[N]) grid (...) { ... }`",
    "__device__": "a function is `fn name(a, b) { return ...; }`",
    "__host__": "a function is `fn name(a, b) { return ...; }`",
    "void": "what is launched is a `kernel name(...) grid (...) { ... }`, a function a `fn name(...) { ... }`",
    "static": "write `fn name(...) { ... }` or `const NAME = value;`",
    "inline": "write `fn name(...) { ... }`: every fn is inlined",
    "constexpr": "write `const NAME = value;`",
    "template": "metas take the place of template parameters: `kernel k[T: {f16, f32}, BLOCK: {64, 128}](...)`",
    "using": "a program is one file; there is nothing to import",
    "async": "leave it away: programs run side by side anyway",
}


def _top_level(m: Mistake) -> Diagnostic | None:
    """`kernal k(...)`, `__global__ void k(...)`, `A = 4;`, `y[i] = 1.0;` at the top level."""
    if "KERNEL" not in m.expected or m.token.kind not in ("name", "symbol") or m.text(-1) == "}":
        return None
    text, following = m.token.text, m.text(1)
    if text in _TOP_LEVEL:
        return expected_but_found(m, _TOP_LEVEL[text])
    if m.token.kind == "name" and following in ASSIGNMENTS:
        return expected_but_found(m, f"write `const {text} = ...;` for a constant")
    near = nearest(text, ITEM_STARTERS) if m.tokens[m.at + 1].kind == "name" else None
    if near is not None:
        return expected_but_found(m, f"did you mean `{near}`?")
    return expected_but_found(m, "statements stand in the body of a `kernel` or `fn`")


def _typed_const(m: Mistake) -> Diagnostic | None:
    """`const A: i32 = 4;`"""
    if m.token.text == ":" and m.text(-2) == "const":
        return expected_but_found(
            m, f"a constant takes the type of what it meets: write `const {m.text(-1)} = ...;`"
        )
    return None


def _name(m: Mistake) -> Diagnostic | None:
    """`kernel my-kernel(...)`, `kernel (...)`"""
    if m.token.text == "-" and m.text(-2) in ("kernel", "fn"):
        return expected_but_found(m, f"names are made of letters, digits and `_`: `{m.text(-1)}_{m.text(1)}`")
    if m.token.text == "(" and m.text(-1) in ("kernel", "fn"):
        return expected_but_found(m, f"a {m.text(-1)} has a name: `{m.text(-1)} name(...)`")
    return None


# --- parameters ------------------------------------------------------------------------------------

_MODES = ("out", "inout")
_NO_MODES = ("in", "const", "mut", "var", "let")


def _mode(m: Mistake) -> Diagnostic | None:
    """`y: out f32[N]`, `in x: f32[N]`, `const x: f32[N]`"""
    if not _in_header(m, "("):
        return None
    text = m.token.text
    if text in _MODES and m.text(-1) == ":":
        return expected_but_found(m, f"`{text}` stands before the name: `{text} {m.text(-2)}: ...`")
    word = text if text in _NO_MODES else m.text(-1)
    if (
        word in _NO_MODES
        and {"OUT", "COLON"} & m.expected
        and m.text(1 if word == text else 0) not in (":", ",", ")")
    ):
        return expected_but_found(
            m, f"leave `{word}` away: a parameter is only read, unless it says `out` or `inout`"
        )
    return None


def _untyped(m: Mistake) -> Diagnostic | None:
    """`kernel k(x, y)`"""
    if _in_header(m, "(") and m.token.text in (",", ")") and m.expected == {"COLON"}:
        name = m.text(-1)
        return expected_but_found(m, f"give it a type: `{name}: f32[N]` is a tensor, `{name}: f32` a scalar")
    return None


def _type_first(m: Mistake) -> Diagnostic | None:
    """`f32[N] x`, `float* x`, `int n` in place of `x: f32[N]`"""
    if not (_in_header(m, "(") and "COLON" in m.expected):
        return None
    if m.token.kind == "name" or m.token.text in ("[", "*", "&"):
        return expected_but_found(m, "the name stands first, then the type: `x: f32[N]`, `n: i32`")
    return None


def _type_shape(m: Mistake) -> Diagnostic | None:
    """`x: [N]f32`, `x: *f32`, `x: f32[N][M]`, `x: f32[:]`"""
    if _in_header(m, "(") and m.text(-1) == ":" and m.token.text in ("[", "*", "&"):
        return expected_but_found(
            m, "the element type stands first, then the dims: `x: f32[N]`; there are no pointers"
        )
    if _in_header(m, "(") and m.token.text == "[" and m.text(-1) == "]":
        return expected_but_found(m, "all dims stand in one pair of brackets: `x: f32[M, N]`")
    if _in_header(m, "[") and m.token.text == ":" and m.text(-1) in ("[", ","):
        return expected_but_found(m, "give every axis a name, which is then known as a number: `x: f32[N]`")
    return None


def _between_parameters(m: Mistake) -> Diagnostic | None:
    """`x: f32[N]; out y: f32[N]`, `x: f32[N] out y: f32[N]`, `x: f32[N] = 0`"""
    if not (_in_header(m, "(") and "COMMA" in m.expected and "RPAR" in m.expected):
        return None
    if m.token.text == ";" or m.token.text in _MODES:
        return expected_but_found(m, "a `,` stands between two parameters")
    if m.token.text == "=":
        return expected_but_found(
            m, "a parameter has no default value; a number known beforehand can be a meta, `k[B = 4](...)`"
        )
    return None


# --- metas and grid --------------------------------------------------------------------------------


def _metas(m: Mistake) -> Diagnostic | None:
    """`k[BLOCK](...)`, `k[BLOCK: 64](...)`, `k[BLOCK = {64, 128}](...)`, `k<B = 4>(...)`"""
    name = m.text(-1)
    if _in_header(m, "[") and m.expected == {"COLON", "EQUAL"}:
        return expected_but_found(
            m, f"give it a value or choices: `{name} = 64`, `{name}: {{64, 128}}`, `{name}: {{f16, f32}}`"
        )
    if _in_header(m, "[") and m.expected == {"LBRACE"} and m.text(-1) == ":":
        name = m.text(-2)
        few, one = ("{4, 8}", "4") if name == "warps" else ("{64, 128}", "64")
        return expected_but_found(
            m, f"choices stand in braces: `{name}: {few}`; for one value write `{name} = {one}`"
        )
    if _in_header(m, "[") and m.token.text == "{" and m.text(-1) == "=":
        name = m.text(-2)
        return expected_but_found(m, f"choices follow a `:`, as in `{name}: {{64, 128}}`")
    misplaced = m.token.text == "<" and m.text(-2) == "kernel"
    behind = m.token.text == "[" and m.text(-1) == ")" and m.opener is None
    if misplaced or behind:
        return expected_but_found(
            m, "metas stand in square brackets after the kernel's name: `kernel k[B = 4](...)`"
        )
    return None


def _grid(m: Mistake) -> Diagnostic | None:
    """`grid 1`, `grid [N]`, `grid = (1)`, `grid { ... }`"""
    if m.text(-1) == "grid" and m.expected == {"LPAR"}:
        return expected_but_found(
            m, "say in parentheses how many programs to launch: `grid (cdiv(N, BLOCK))`, `grid (1)`"
        )
    return None


HEADER_HABITS: tuple[Callable[[Mistake], Diagnostic | None], ...] = (
    _mode,
    _untyped,
    _type_shape,
    _type_first,
    _between_parameters,
    _metas,
    _grid,
    _name,
    _typed_const,
)
"""In the order they are tried; before all habits of bodies."""

LAST_HABITS = (_top_level,)
"""Tried when no other habit matches."""
