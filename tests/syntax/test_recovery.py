"""Mistakes: the code and the place of each, and that one mistake gives one message."""

from __future__ import annotations

import re

import pytest

from tests.syntax.helpers import KERNEL, MATMUL, SOFTMAX, in_kernel, mistakes
from tilelang.diagnostics import Sink, Source
from tilelang.syntax.grammar import terminal_texts
from tilelang.syntax.lexing import lex
from tilelang.syntax.parsing import parse, parse_tree

# (body of a kernel with the marked part in ⟦⟧, code, words that the message or its help must hold)
CASES = [
    ("let a = 1⟦⟧", "E0102", "add `;`"),
    ("let a = 1⟦⟧\n let b = 2;", "E0102", "`;`"),
    ("let a = 1⟦⟧ let b = 2;", "E0102", "`;`"),
    ("return⟦⟧", "E0102", "`;`"),
    ("let b = ⟦(⟧2;", "E0103", "`)`"),
    ("let b = f(1, x⟦[⟧2);", "E0103", "`]`"),
    ("let b = f⟦(⟧1];", "E0103", "`)`"),
    ("while ⟦(⟧a { y[0] = 1; }", "E0103", "`)`"),
    ("let b = ⟦[⟧1, 2;\n let c = 3;", "E0103", "`]`"),
    ("let a = x[0]⟦]⟧;", "E0104", "closes nothing"),
    ("let a = x[0 ⟦}⟧ + 1];", "E0104", "closes nothing"),
    ("let a = b < c < d;", "E0106", "a < b and b < c"),
    ("let a = 1 + x[i] ⟦else 0⟧;", "E0107", "parentheses"),
    ("let a = (x[i]) ⟦else 0⟧;", "E0107", "parentheses"),
    ("let a = b ⟦where m⟧;", "E0107", "read"),
    ("f(y[i], 1) ⟦where m⟧;", "E0107", "read"),
    ("y[i] = x[i] ⟦where m⟧ else 0;", "E0108", "mask the read or the store"),
    ("⟦1 + 2⟧;", "E0109", "drops"),
    ("⟦a == b⟧;", "E0109", "write `=`"),
    ("⟦f(x)⟧ = 3;", "E0110", "cannot assign"),
    ("y[i] ⟦where m⟧ = 3;", "E0110", "at its end"),
    ("for i in ⟦x⟧ { }", "E0111", "range"),
    ("for i in ⟦f(3)⟧ { }", "E0111", "range"),
    ("for i in ⟦range()⟧ { }", "E0112", "0"),
    ("for i in ⟦range(1, 2, 3, 4)⟧ { }", "E0112", "4"),
    ("let ⟦in⟧ = 3;", "E0114", "keyword"),
    ("⟦out⟧ = 3;", "E0114", "keyword"),
    ("⟦elif⟧ x { }", "E0115", "else if"),
    ("⟦print⟧ x;", "E0115", "print("),
    ("⟦break⟧;", "E0115", "while"),
    ("let a = ⟦True⟧;", "E0115", "`true`"),
    ("if a⟦:⟧\n y[0] = 1;", "E0115", "braces"),
    ("let a = x[0⟦:⟧3];", "E0115", "+:"),
    ("let a = b ⟦if⟧ c else d;", "E0115", "select"),
    ("let a = [b ⟦for⟧ b in range(3)];", "E0115", "loop"),
    ("let a = ⟦lambda⟧ b: b;", "E0115", "fn"),
    ("let q⟦:⟧ f32 = 3;", "E0115", "as f32"),
    ("⟦i32⟧ q = 3;", "E0115", "let q"),
    ("⟦int⟧ q = 3;", "E0115", "let"),
    ("⟦//⟧ hello there\n let a = 1;", "E0115", "#"),
    ("⟦/⟧* hello *​/ let a = 1;".replace("\u200b", ""), "E0115", "#"),
    ("let a = ⟦f(x)⟧[0];", "E0116", "let t"),
    ("let a = x[⟦[i, j]⟧, k];", "E0117", "x[[i, j]]"),
    ("let a = f(b=1, ⟦2⟧);", "E0118", "positional"),
    ("let a = f(b=1, ⟦b⟧=2);", "E0118", "twice"),
    ("let a = ⟦x[]⟧;", "E0119", "index"),
    ("let a = x[i] where m ⟦where n⟧;", "E0120", "and"),
    ("let a = x[i] else 0 ⟦where m⟧;", "E0120", "before"),
    ("⟦a, x[i]⟧ = f(b);", "E0121", "each"),
    ("⟦a, b⟧ += f(c);", "E0121", "each"),
    ("⟦const⟧ A = 3;", "E0124", "let"),
    ("⟦fn⟧ g() { }", "E0124", "top level"),
    ("let a = 1;⟦;⟧", "E0125", "delete"),
    ("if a { }⟦;⟧", "E0125", "delete"),
    ("let a = x ⟦**⟧ 2;", "E0008", "pow"),
    ("if ⟦!⟧a { }", "E0008", "not"),
    ("x⟦++⟧;", "E0008", "+= 1"),
    ("x--⟦;⟧", "E0101", "-= 1"),
    ("let a = ⟦+⟧b;", "E0101", "sign"),
    ("let a = f(b ⟦c⟧);", "E0101", "`,`"),
    ("let a = f(x)⟦(⟧y);", "E0101", "called"),
    ("let a = (1⟦,⟧ 2);", "E0101", "tuples"),
    ("if a ⟦=⟧ b { y[0] = 1; }", "E0101", "=="),
    ("let a ⟦==⟧ 3;", "E0101", "`=`"),
    ("let a = ⟦None⟧;", "E0101", "None"),
    ("let a = ⟦;⟧", "E0101", "an expression"),
    ("let ⟦=⟧ 3;", "E0101", "a name"),
    ("if ⟦{⟧ }", "E0101", "an expression"),
    ("⟦else⟧ { }", "E0101", "a statement"),
]


@pytest.mark.parametrize(("body", "code", "words"), CASES)
def test_one_mistake_one_message(body: str, code: str, words: str) -> None:
    marked = KERNEL.format(body)
    text = marked.replace("⟦", "").replace("⟧", "")
    found = mistakes(text)
    assert [d.code for d in found] == [code], found
    assert words in " ".join([found[0].title, found[0].label, found[0].help, *found[0].notes])
    if "⟦" in marked:
        start = marked.index("⟦")
        assert found[0].span is not None
        assert (found[0].span.start, found[0].span.end) == (start, marked.index("⟧") - 1)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("def f(x):\n  return x\n", ["E0115"]),
        ("import numpy as np\nkernel k() grid (1) { }", ["E0115"]),
        ("let a = 3;", ["E0124"]),
        ("hello", ["E0101"]),
        ("}", ["E0104"]),
        ("kernel k(x: f32[N] grid (1) { }", ["E0103"]),
        ("kernel k(x: f32[N]) { }", ["E0122"]),
        ("kernel k(x: f32) grid () { }", ["E0113"]),
        ("kernel k(x: f32) grid (1, 2, 3, 4) { }", ["E0113"]),
        ("kernel k(x: f32[]) grid (1) { }", ["E0119"]),
        ("kernel k[B: {}](x: f32) grid (1) { }", ["E0119"]),
        ("kernel k[B: {64 128}](x: f32) grid (1) { let a = ; }", ["E0101", "E0101"]),
        ("kernel k(out: f32[N]) grid (1) { }", ["E0114"]),
        ("kernel k(x f32) grid (1) { }", ["E0101"]),
        ("kernel k() grid 1 { }", ["E0101"]),
        ("kernel k() grid (1) {", ["E0103"]),
        ("kernel k() grid (1) { if a { \nkernel j() grid (1) { }", ["E0103"]),
        ("fn f(a: f32[N]) { }", ["E0101"]),
        ("fn f(a) -> f32 { }", ["E0008"]),
        ("const A = 3\nconst B = 4;", ["E0102"]),
        ("const = 3;\nconst B = ;\nfn () { }\nkernel k() grid (1) { ( }", ["E0101"] * 4),
    ],
)
def test_top_level(text: str, codes: list[str]) -> None:
    assert [d.code for d in mistakes(text)] == codes


def test_all_mistakes_of_a_file_are_reported_in_order() -> None:
    text = KERNEL.format(
        "let a = ;\n if b c { let = 3; } else { f( ; }\n 1 + 2;\n let z = 1"
    ) + KERNEL.format("y[0] = ;")
    found = mistakes(text)
    assert [d.code for d in found] == ["E0101", "E0101", "E0101", "E0103", "E0109", "E0102", "E0101"]
    starts = [d.span.start for d in found if d.span]
    assert starts == sorted(starts)


def test_what_is_sound_survives() -> None:
    sink = Sink()
    module = parse(Source("const A = ;\n" + SOFTMAX + KERNEL.format("let a = ;\n let b = 2;") + MATMUL), sink)
    assert [k.name.text for k in module.kernels] == ["softmax", "k", "matmul"]
    assert len(module.kernels[1].body.body) == 1
    assert len(sink.diagnostics) == 2


def test_mistakes_inside_a_block_with_a_broken_header_are_found() -> None:
    assert in_kernel("for k rang(3) { let a = ; }") == ["E0101", "E0101"]
    assert in_kernel("if { let a = ; } else if b { let c = ; } else { let d = ; }")[0] == "E0101"


def test_a_brace_too_many_is_reported_once() -> None:
    found = mistakes(KERNEL.format("if a { y[0] = 1; } }\n y[1] = 2;\n for k in range(3) { y[k] = 1; }"))
    assert [d.code for d in found] == ["E0101"]
    assert "one `}` before it is too many" in found[0].help


def test_malformed_tokens_do_not_echo_as_syntax_errors() -> None:
    assert in_kernel("let a = ? ? ?;") == ["E0003"] * 3
    assert in_kernel("print(“hi”);") == ["E0003", "E0003"]


@pytest.mark.parametrize("text", [SOFTMAX, MATMUL])
def test_no_terminal_name_reaches_the_user(text: str) -> None:
    """Delete, double, and swap each token in turn: no message may speak of RPAR or __ANON_7."""
    tokens = lex(Source(text), Sink())[:: 1 if text is SOFTMAX else 3]
    names = {name for name in terminal_texts() if not name.isalpha() or name not in {"IN", "AS", "OR", "IF"}}
    internal = re.compile(
        "|".join(rf"\b{re.escape(name)}\b" for name in [*names, "NAME", "INT", "FLOAT", "STRING", "END"])
    )
    for token in tokens:
        start, end = token.span.start, token.span.end
        for changed in (
            text[:start] + text[end:],
            text[:end] + " " + text[start:],
            text[:start] + " ) " + text[end:],
        ):
            for found in mistakes(changed):
                words = " ".join(
                    [found.title, found.label, found.help, *found.notes, *(o.text for o in found.others)]
                )
                words = re.sub(r"`[^`]*`", "", words)
                assert not internal.search(words), words
                assert "$" not in words


def test_single_token_mistakes_seldom_cascade() -> None:
    """Deleting any one token of the two examples gives at most three messages, and nearly always one."""
    counts = []
    for text in (SOFTMAX, MATMUL):
        for token in lex(Source(text), Sink()):
            counts.append(len(mistakes(text[: token.span.start] + " " + text[token.span.end :])))
    assert max(counts) <= 3
    assert sum(c > 1 for c in counts) < 0.15 * len(counts)


def test_parse_tree_reports_the_same_syntax_errors() -> None:
    sink = Sink()
    tree = parse_tree(Source(KERNEL.format("let a = ;")), sink)
    assert tree.data == "start"
    assert [d.code for d in sink.diagnostics] == ["E0101"]
