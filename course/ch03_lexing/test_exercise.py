"""Graders of chapter 3."""

from __future__ import annotations

import unicodedata

from course.checking import check, fresh
from course.extra import KEYWORDS, SYMBOLS
from course.learner import Learner
from course.table import COURSE
from tilelang.diagnostics import Sink, Source, Span
from tilelang.syntax.lexing import lex

# --- integer_value ----------------------------------------------------------------------------------


def test_decimal_numbers(integer_value: Learner) -> None:
    for text, value in (("0", 0), ("7", 7), ("1_000", 1000), ("18446744073709551615", 2**64 - 1)):
        check(integer_value, text, gives=value, why="decimal digits, with `_` between them")


def test_hexadecimal_and_binary_numbers(integer_value: Learner) -> None:
    for text, value in (("0xff", 255), ("0XFF", 255), ("0xdead_beef", 0xDEADBEEF), ("0b101", 5), ("0b1111_0000", 240)):
        check(integer_value, text, gives=value, why="`0x` is base 16, `0b` base 2")


def test_any_number_in_any_base(integer_value: Learner) -> None:
    rng = fresh()
    for _ in range(20):
        value = rng.getrandbits(rng.choice((4, 20, 60)))
        for text in (f"{value:_}", f"{value:#x}", f"0x{value:_x}", f"{value:#b}", f"0b{value:_b}"):
            check(integer_value, text, gives=value, why="the same number, whatever the base")


# --- position ---------------------------------------------------------------------------------------


def _by_counting(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def test_lines_and_columns_count_from_1(position: Learner) -> None:
    at = position.via("on_source")
    check(at, "let a = 1;\nlet b = 2;\n", 0, gives=(1, 1), why="the first character is line 1, column 1")
    check(at, "let a = 1;\nlet b = 2;\n", 15, gives=(2, 5), why="the 15th character is on the second line")
    check(at, "", 0, gives=(1, 1), why="an empty text has a first place too")


def test_around_a_line_break(position: Learner) -> None:
    at = position.via("on_source")
    check(at, "ab\ncd", 2, gives=(1, 3), why="the line break belongs to the line that it ends")
    check(at, "ab\ncd", 3, gives=(2, 1), why="behind the line break a new line begins")
    check(at, "\n\n\n", 3, gives=(4, 1), why="empty lines count")


def test_every_offset_of_a_text(position: Learner) -> None:
    rng = fresh()
    text = "".join(rng.choice("ab\t \n\n") for _ in range(60))
    for offset in range(len(text) + 1):
        expected = _by_counting(text, offset)
        check(position.via("on_source"), text, offset, gives=expected, why="a tab is one column, as any character")


# --- string_value -----------------------------------------------------------------------------------


def test_quotes_go(string_value: Learner) -> None:
    check(string_value, '"abc"', gives="abc", why="the quotes are not part of the text")
    check(string_value, '""', gives="", why="an empty string")


def test_escapes(string_value: Learner) -> None:
    for text, value in ((r'"a\nb"', "a\nb"), (r'"\t"', "\t"), (r'"say \"hi\""', 'say "hi"'), (r'"\\"', "\\")):
        check(string_value, text, gives=value, why="the escapes are resolved")


def test_a_backslash_escapes_once(string_value: Learner) -> None:
    check(string_value, r'"\\n"', gives=r"\n", why="the second backslash belongs to the first: what follows is an n")
    check(string_value, r'"\\\n"', gives="\\\n", why="two backslashes are one, and then comes a line break")
    check(string_value, r'"\\\\t"', gives=r"\\t", why="four backslashes are two")


def test_unknown_escapes_and_other_characters(string_value: Learner) -> None:
    check(string_value, r'"a\qb"', gives="aqb", why="an unknown escape gives the character itself")
    check(string_value, '"größer ≤ 3"', gives="größer ≤ 3", why="any character may stand in a string")


# --- describe_character -----------------------------------------------------------------------------


def test_characters_that_can_be_seen(describe_character: Learner) -> None:
    for char in "é×≤“я漢":
        expected = f"`{char}` (U+{ord(char):04X}, {unicodedata.name(char)})"
        check(describe_character, char, gives=expected, why="it can be seen, so it is shown")


def test_characters_that_cannot_be_seen(describe_character: Learner) -> None:
    for char in " \u200b\u00a0\u202e\u2028\ufeff":
        expected = f"U+{ord(char):04X} ({unicodedata.name(char)})"
        check(describe_character, char, gives=expected, why="it cannot be seen: only its code point and name help")


def test_characters_without_a_name(describe_character: Learner) -> None:
    check(describe_character, "\x00", gives="U+0000", why="a control character has no name in Unicode's tables")
    check(describe_character, "\x1b", gives="U+001B", why="no name, so no brackets")
    check(describe_character, "\ud800", gives="U+D800", why="half a surrogate pair cannot be shown")


def test_a_character_that_is_seen_and_has_no_name(describe_character: Learner) -> None:
    tangut = map(chr, range(0x17000, 0x18D09))
    nameless = [char for char in tangut if char.isprintable() and not unicodedata.name(char, "")]
    for char in nameless[:2]:
        expected = f"`{char}` (U+{ord(char):04X})"
        check(describe_character, char, gives=expected, why="it can be seen, and Python knows no name: no comma")


def test_more_than_four_digits(describe_character: Learner) -> None:
    check(describe_character, "😀", gives="`😀` (U+1F600, GRINNING FACE)", why="the code point has five digits")
    check(describe_character, "A", gives="`A` (U+0041, LATIN CAPITAL LETTER A)", why="it has at least four digits")


# --- _check_integer ---------------------------------------------------------------------------------

HERE = Span(5, 9)
TOO_LARGE = ("0", [("E0009", 5, 9)])


def test_integers_that_fit_come_back(_check_integer: Learner) -> None:
    reported = _check_integer.via("with_sink")
    for text in ("0", "1_000", "0xff", "0b1", "18446744073709551615", "0xffff_ffff_ffff_ffff", "0b" + "1" * 64):
        check(reported, text, HERE, gives=(text, []), why="it fits in 64 bits, and stays as it is written")


def test_integers_that_do_not_fit(_check_integer: Learner) -> None:
    reported = _check_integer.via("with_sink")
    for text in ("18446744073709551616", "0x1_0000_0000_0000_0000", "0b1" + "0" * 64, "99999999999999999999"):
        check(reported, text, HERE, gives=TOO_LARGE, why="it needs more than 64 bits: E0009 at the span, and 0 instead")


def test_leading_zeros_are_nothing(_check_integer: Learner) -> None:
    reported = _check_integer.via("with_sink")
    text = "0x" + "0" * 100 + "ff"
    check(reported, text, HERE, gives=(text, []), why="leading zeros do not make a number large")
    text = "0b" + "0" * 5000 + "1"
    check(reported, text, HERE, gives=(text, []), why="leading zeros do not make a number large")


def test_only_digits_count(_check_integer: Learner) -> None:
    reported = _check_integer.via("with_sink")
    for prefix, digits in (("0b", 64), ("0B", 64), ("0x", 16), ("0X", 16)):
        text = prefix + "_".join("1" * digits)
        check(reported, text, HERE, gives=(text, []), why=f"{digits} digits fit in 64 bits, with `_` between them too")
    text = "0X" + "0" * 100 + "ff"
    check(reported, text, HERE, gives=(text, []), why="`0X` is a prefix as `0x` is")
    text = "0B" + "0" * 100 + "1"
    check(reported, text, HERE, gives=(text, []), why="`0B` is a prefix as `0b` is")


def test_a_very_long_integer(_check_integer: Learner) -> None:
    check(
        _check_integer.via("with_sink"), "9" * 5000, HERE, gives=TOO_LARGE, why="5000 digits are one mistake, no crash"
    )


# --- _check_string ----------------------------------------------------------------------------------


def test_strings_without_mistakes(_check_string: Learner) -> None:
    reported = _check_string.via("with_sink")
    for text in ('""', '"abc"', r'"\n\t\"\\"', r'"\\q"'):
        check(reported, text, Span(3, 3 + len(text)), gives=(text, []), why="all escapes in it are known")


def test_an_unknown_escape_is_marked(_check_string: Learner) -> None:
    reported = _check_string.via("with_sink")
    expected = (r'"a\qb"', [("E0006", 12, 14)])
    check(reported, r'"a\qb"', Span(10, 16), gives=expected, why="E0006 at the two characters of the escape")
    expected = (r'"\é"', [("E0006", 1, 3)])
    check(reported, r'"\é"', Span(0, 4), gives=expected, why="offsets count characters")


def test_every_unknown_escape_is_reported(_check_string: Learner) -> None:
    text = r'"\a \n \x41 \\x \0"'
    marks = [("E0006", 101 + at, 103 + at) for at in (0, 6, 15)]
    check(
        _check_string.via("with_sink"),
        text,
        Span(100, 100 + len(text)),
        gives=(text, marks),
        why="each one is reported, and `\\\\x` is a backslash and an x",
    )


# --- scan -------------------------------------------------------------------------------------------


def _lexed(text: str) -> list[tuple[str, str]]:
    return [(t.kind, t.text) for t in lex(Source(text), Sink())]


def test_words(scan: Learner) -> None:
    check(scan, "let x_1 = _y;", gives=_lexed("let x_1 = _y;"), why="names have letters, digits and `_`")
    check(scan, "format forx for", gives=_lexed("format forx for"), why="`format` is one name, not `for` and `mat`")
    check(scan, "", gives=[], why="nothing gives no tokens")


def test_numbers(scan: Learner) -> None:
    check(scan, "1_000+0xfF-0b10", gives=_lexed("1_000+0xfF-0b10"), why="a number goes on as far as it can")


def test_the_longest_symbol(scan: Learner) -> None:
    for text in (
        "i +: B",
        "a<<=b",
        "a < <= b",
        "a//=b",
        "v[:, None]",
        "x==y",
        "a+:b",
        "{a:b}",
        "a !=b",
        "a>>=1",
        "a/ /b",
    ):
        check(scan, text, gives=_lexed(text), why="of the symbols that fit, the longest")


def test_blanks_and_comments(scan: Learner) -> None:
    for text in ("  a\t\r\n b  ", "a # b c\nd", "# only a comment", "a # the end", "a #\n#\nb"):
        check(scan, text, gives=_lexed(text), why="blanks and comments only separate")


def test_random_texts(scan: Learner) -> None:
    rng = fresh()
    words = [*sorted(KEYWORDS), *SYMBOLS, "x", "acc", "B_1", "0", "64", "0x1f"]
    for _ in range(25):
        text = " ".join(rng.choice(words) for _ in range(rng.randint(1, 15)))
        check(scan, text, gives=_lexed(text), why="as the compiler's lexer sees it")


def test_a_whole_program(scan: Learner) -> None:
    text = (COURSE / "kernels" / "vector_add.tile").read_text(encoding="utf-8")
    check(scan, text, gives=_lexed(text), why="as the compiler's lexer sees course/kernels/vector_add.tile")
