"""Tokens: their kinds, their places, and what is said of malformed ones."""

from __future__ import annotations

import pytest

from tilelang.diagnostics import Sink, Source
from tilelang.syntax.lexemes import float_value, integer_value, string_value
from tilelang.syntax.lexing import lex, read_source


def lexed(text: str) -> list[tuple[str, str]]:
    sink = Sink()
    tokens = lex(Source(text), sink)
    assert sink.diagnostics == []
    return [(t.kind, t.text) for t in tokens]


def errors(text: str) -> list[tuple[str, str]]:
    """(code, marked text) of each error."""
    sink = Sink()
    lex(Source(text), sink)
    return [(d.code, text[d.span.start : d.span.end]) for d in sink.diagnostics]


def test_kinds() -> None:
    assert lexed('kernel kernels 12 1.5 "a" +: # c') == [
        ("keyword", "kernel"),
        ("name", "kernels"),
        ("int", "12"),
        ("float", "1.5"),
        ("string", '"a"'),
        ("symbol", "+:"),
    ]


@pytest.mark.parametrize(
    "word",
    [
        "kernel",
        "fn",
        "const",
        "let",
        "var",
        "for",
        "in",
        "while",
        "if",
        "else",
        "return",
        "grid",
        "out",
        "inout",
        "where",
        "and",
        "or",
        "not",
        "true",
        "false",
        "as",
        "None",
    ],
)
def test_keywords(word: str) -> None:
    assert lexed(word) == [("keyword", word)]
    assert lexed(word + "_") == [("name", word + "_")]


@pytest.mark.parametrize("word", ["range", "max", "cuda", "f32", "inf", "_", "__class__", "none", "Kernel"])
def test_ordinary_names(word: str) -> None:
    assert lexed(word) == [("name", word)]


@pytest.mark.parametrize(
    "op",
    [
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "&",
        "|",
        "^",
        "~",
        "<<",
        ">>",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "=",
        "+=",
        "-=",
        "*=",
        "/=",
        "//=",
        "%=",
        "&=",
        "|=",
        "^=",
        "<<=",
        ">>=",
        "+:",
        ":",
        ";",
    ],
)
def test_longest_symbol_wins(op: str) -> None:
    assert lexed(f"a{op}b") == [("name", "a"), ("symbol", op), ("name", "b")]


def test_symbols_without_blanks() -> None:
    assert [t for _, t in lexed("a[i+:4]//=-b")] == ["a", "[", "i", "+:", "4", "]", "//=", "-", "b"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("12", 12),
        ("1_000", 1000),
        ("0xff", 255),
        ("0XF_F", 255),
        ("0b101", 5),
        ("0B1_0", 2),
        ("18446744073709551615", 2**64 - 1),
        ("0x0000000000000000000000000000000001", 1),
    ],
)
def test_integers(text: str, value: int) -> None:
    assert lexed(text) == [("int", text)]
    assert integer_value(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0", 1.0),
        ("1e-5", 1e-5),
        ("1E+5", 1e5),
        ("0.5", 0.5),
        ("1_0.2_5e1_0", 10.25e10),
        ("00.5", 0.5),
        ("1e308", 1e308),
        ("1e-400", 0.0),
    ],
)
def test_floats(text: str, value: float) -> None:
    assert lexed(text) == [("float", text)]
    assert float_value(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "1.",
        ".5",
        "1_",
        "1__0",
        "0x",
        "0xfg",
        "0b12",
        "12abc",
        "1e",
        "1e5x",
        "007",
        "1.2.3",
        "0..4",
        "1.x",
        "1é",
        "1f",
    ],
)
def test_malformed_numbers_are_one_token(text: str) -> None:
    assert errors(f"{text} + 1") == [("E0004", text)]


def test_exponent_needs_no_blank_before_plus() -> None:
    assert lexed("0xe+1") == [("int", "0xe"), ("symbol", "+"), ("int", "1")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("18446744073709551616", "E0009"),
        ("0x1_0000_0000_0000_0000", "E0009"),
        ("9" * 100_000, "E0009"),
        ("1e309", "E0010"),
        ("9" * 400 + ".0", "E0010"),
        ("a" * 256, "E0011"),
    ],
)
def test_too_large(text: str, code: str) -> None:
    assert errors(text) == [(code, text)]


def test_longest_name() -> None:
    assert lexed("a" * 255) == [("name", "a" * 255)]


def test_strings() -> None:
    text = r'"a\n\t\"\\ # kernel 𝒳 été"'
    assert lexed(text) == [("string", text)]
    assert string_value(text) == 'a\n\t"\\ # kernel 𝒳 été'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"abc', [("E0005", '"abc')]),
        ('"abc\n"x"', [("E0005", '"abc')]),
        ('"abc\\', [("E0005", '"abc\\')]),
        ('"abc\\"', [("E0005", '"abc\\"')]),
        (r'"\q" "\z"', [("E0006", r"\q"), ("E0006", r"\z")]),
        ("'a b'", [("E0007", "'a b'")]),
        ("'a", [("E0007", "'a")]),
    ],
)
def test_bad_strings(text: str, expected: list[tuple[str, str]]) -> None:
    assert errors(text) == expected


def test_comments_hold_anything() -> None:
    assert lexed("a # kernel \" ' 𝒳 “ ; { ( 1.\nb") == [("name", "a"), ("name", "b")]
    kept = lex(Source("a # x\r\n# y"), Sink(), keep_comments=True)
    assert [(t.kind, t.text) for t in kept] == [("name", "a"), ("comment", "# x"), ("comment", "# y")]


@pytest.mark.parametrize(
    ("text", "mended", "named"),
    [
        ("a − b", "-", "MINUS SIGN"),
        ("a × b", "*", "MULTIPLICATION SIGN"),
        ("a ≤ b", "<=", "LESS-THAN OR EQUAL TO"),
        ("a ≠ b", "!=", "NOT EQUAL TO"),
        ("a && b", "and", "&&"),
        ("a || b", "or", "||"),
        ("a <> b", "!=", "<>"),
    ],
)
def test_look_alikes_are_mended(text: str, mended: str, named: str) -> None:
    sink = Sink()
    tokens = lex(Source(text), sink)
    assert [t.text for t in tokens] == ["a", mended, "b"]
    assert len(sink.diagnostics) == 1
    assert named in sink.diagnostics[0].title
    assert mended in sink.diagnostics[0].help


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("größe", "ö"),
        ("été", "é"),
        ("x → y", "→"),
        ("𝒳", "𝒳"),
        ("a\u00a0b", "\u00a0"),
        ("a\u200bb", "\u200b"),
        ("१", "१"),
        ("a ? b", "?"),
        ("x.y", "."),
        ("\u2028", "\u2028"),
        ("\x0b", "\x0b"),
    ],
)
def test_other_characters(text: str, marked: str) -> None:
    assert errors(text) == [("E0003", marked)]


def test_a_curly_quoted_string_gives_no_flood() -> None:
    assert [code for code, _ in errors("print(“hi”, x);")] == ["E0003", "E0003"]


@pytest.mark.parametrize("bad", ["\0", "\ud800", "\udfff"])
@pytest.mark.parametrize("text", ["a {} b", "# {}", '"{}"'])
def test_unprintable_is_refused_everywhere_once(text: str, bad: str) -> None:
    assert [code for code, _ in errors(text.format(bad))] == ["E0002"]


def test_columns_count_characters() -> None:
    source = Source('"𝒳é" a')
    (_, a) = lex(source, Sink())
    assert source.position(a.span.start) == (1, 6)


# --- reading files ---


def test_read_bom_crlf_and_cr() -> None:
    sink = Sink()
    source = read_source(b"\xef\xbb\xbfa;\r\nb;\rc;", "x.tile", sink)
    assert (source.text, source.name, sink.diagnostics) == ("a;\r\nb;\nc;", "x.tile", [])


def test_read_path(tmp_path) -> None:
    path = tmp_path / "x.tile"
    path.write_bytes("# é".encode())
    assert read_source(path, "x", Sink()).text == "# é"
    with pytest.raises(OSError, match="missing"):
        read_source(tmp_path / "missing", "x", Sink())


def test_invalid_utf8_is_located() -> None:
    sink = Sink()
    source = read_source(b"# \xc3\xa9\xff\xfe x \x80", "x", sink)
    assert source.text == "# é\ufffd\ufffd x \ufffd"
    assert [(d.code, d.span.start, d.span.end, d.label) for d in sink.diagnostics] == [
        ("E0001", 3, 5, "cannot decode 0xFF 0xFE"),
        ("E0001", 8, 9, "cannot decode 0x80"),
    ]


def test_replacement_character_of_the_author_is_no_error() -> None:
    sink = Sink()
    read_source("# \ufffd".encode(), "x", sink)
    assert sink.diagnostics == []


def test_utf16() -> None:
    sink = Sink()
    read_source("const A = 1;".encode("utf-16"), "x", sink)
    assert [d.code for d in sink.diagnostics] == ["E0001"]
    assert "UTF-16" in sink.diagnostics[0].title
