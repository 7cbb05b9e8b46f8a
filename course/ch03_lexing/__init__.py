"""Chapter 3: from characters to tokens."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.syntax.lexemes:integer_value",
        "warm-up",
        example="""
        >>> integer_value("1_000"), integer_value("0xff"), integer_value("0b101")
        (1000, 255, 5)
        """,
        hints=(
            "Take the `_` out first.",
            "`int(text, 0)` tells the base from the prefix.",
        ),
    ),
    Exercise(
        "tilelang.diagnostics:Source.position",
        "warm-up",
        task=(
            "`self.line_starts` is the sorted list of the offsets at which lines begin; its first element "
            "is 0."
        ),
        example=r"""
        >>> position(Source("let a = 1;\nlet b = 2;\n"), 15)
        (2, 5)
        """,
        hints=(
            "The line is the last one that starts at or before the offset.",
            "`bisect_right(starts, offset)` is the number of starts up to and including the offset.",
            "Lines and columns both count from 1.",
        ),
    ),
    Exercise(
        "tilelang.syntax.lexemes:string_value",
        "core",
        task=(
            "The escapes are in `_ESCAPES`, by the character behind the backslash. An unknown escape was "
            "reported before; here it gives the character itself."
        ),
        example=r"""
        >>> string_value(r'"a\tb"')
        'a\tb'
        """,
        hints=(
            "The quotes are the first and the last character.",
            "Replacing one escape after the other goes wrong: in `\\\\\\\\n` the second backslash belongs "
            "to the first.",
            "`re.sub` goes from left to right and never looks at a character twice; its replacement may be "
            "a function.",
        ),
    ),
    Exercise(
        "tilelang.syntax.lexemes:describe_character",
        "core",
        task=(
            "`U+00D7` is the code point in at least four hexadecimal digits. A character that can be seen "
            "stands in front, between backticks: `` `×` (U+00D7, MULTIPLICATION SIGN) ``; one that cannot "
            "is left out: `U+200B (ZERO WIDTH SPACE)`. A character without a name has no comma and no "
            "empty brackets."
        ),
        example="""
        >>> describe_character("é")
        '`é` (U+00E9, LATIN SMALL LETTER E WITH ACUTE)'
        """,
        hints=(
            "`unicodedata.name(char, \"\")` is the name, or the empty string.",
            "`char.isprintable()` is true for a blank, which cannot be seen: ask `isspace()` too.",
            "There are four cases: seen or not, with a name or without.",
        ),
    ),
    Exercise(
        "tilelang.syntax.lexemes:_check_integer",
        "core",
        task=(
            "Give the text back if the number is at most `MAX_INTEGER`. Else report E0009 at `span` with "
            "`sink.error(code, title, span)` and give back `\"0\"`, with which parsing goes on. Beware of "
            "a megabyte of digits: Python refuses to convert more than 4300 decimal ones, so look at their "
            "number first."
        ),
        example="""
        >>> _check_integer("0xff", Span(0, 4), Sink())
        '0xff'
        """,
        hints=(
            "`integer_value(text)` is the number, where it is safe to ask for it.",
            "What fits has at most 64 digits in any base, leading zeros apart.",
            "Strip `_`, a prefix `0x` or `0b`, and leading zeros before you count.",
        ),
    ),
    Exercise(
        "tilelang.syntax.lexemes:_check_string",
        "core",
        task=(
            "Report E0006 for each backslash that is not followed by a key of `_ESCAPES`, at the two "
            "characters of the escape: `span` is where the whole string stands, its opening quote first. "
            "The text comes back as it is."
        ),
        example=r"""
        >>> sink = Sink()
        >>> _ = _check_string(r'"a\qb"', Span(10, 16), sink)
        >>> sink.diagnostics[0].span
        Span(start=12, end=14)
        """,
        hints=(
            "`re.finditer(r\"\\\\(.)\", text)` finds the escapes from left to right, each backslash once.",
            "`match.start()` counts from the start of the text; the source's offset is that plus "
            "`span.start`.",
        ),
    ),
    Exercise(
        "course.extra:scan",
        "hard",
        task=(
            "Write the lexer by hand. Numbers are whole ones here: decimal, `0x`, `0b`, with `_`. Where "
            "several symbols fit, the longest is meant: `+:` is one token and `<<=` is one. `KEYWORDS` and "
            "`SYMBOLS` hold the language's. The kinds are `name`, `keyword`, `int` and `symbol`."
        ),
        example="""
        >>> scan("let i = 0x1f +: B; # rows")[3:]
        [('int', '0x1f'), ('symbol', '+:'), ('name', 'B'), ('symbol', ';')]
        """,
        hints=(
            "Keep an index `at`, look at the character there, and decide by it what begins.",
            "For a name, go on as long as the next character is a letter, a digit or `_`; then ask whether "
            "it is a keyword. `format` is a name although `for` is a keyword: that is why the longest "
            "match comes first.",
            "For symbols: `max((s for s in SYMBOLS if text.startswith(s, at)), key=len)`.",
            "A comment ends at a line break or at the end of the text, whichever comes.",
        ),
    ),
)

CHAPTER = Chapter(3, "lexing", "Lexing", "tokens", EXERCISES)
