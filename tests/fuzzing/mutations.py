"""Hostile text: corpus files with bytes or words changed, words strung together, and random bytes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

from tilelang.diagnostics import Sink, Source
from tilelang.syntax.lexing import Token, lex

ROOT = Path(__file__).resolve().parents[2]
LARGE = 700
"""Bytes; a larger file is taken less often, for it takes longer."""

FRAGMENTS = [
    *(b"{", b"}", b"(", b")", b"[", b"]", b";", b",", b":", b"else ", b"where ", b"if ", b"kernel ", b"\nkernel "),
    *(b"fn ", b"grid ", b"let ", b"=", b"+:", b'"', b"'", b"#", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf"),
    *("≠".encode(), "𝒳".encode(), b"not ", b"-", b"as ", b"0x", b"1.", b".5", b"//", b"return", b"None", b"out "),
    *(b"&&", b"!", b"while ", b"+= ", b"atomic_add(", b"inf", b"program_id(0)", b"1_000", b"\\", b"\xe2\x80\xa8"),
]
WORDS = {
    "int": ["0", "1", "2", "3", "7", "16", "255", "256", "2147483648", "18446744073709551615", "0xff", "9" * 30],
    "float": ["0.0", "1.5", "1e38", "1e-45", "1e999", "inf", "nan"],
    "name": ["x", "y", "p", "N", "T", "f16", "bf16", "f32", "f64", "i8", "i32", "u64", "bool", "max", "sum", "dot",
             "range", "zeros", "cat", "reshape", "program_id", "select", "atomic_add", "cumsum", "warps"],
    "keyword": ["let", "var", "for", "while", "if", "else", "return", "kernel", "fn", "const", "where", "as", "None",
                "not", "and", "or", "in", "out", "inout", "true", "grid"],
    "symbol": [*list("+-*/%&|^~<>=()[]{},;:"), "+:", "//", "<<", ">>", "==", "!=", "<=", ">=", "+=", "//="],
    "string": ['"text"', '""'],
}  # fmt: skip
"""What may stand for a word of each kind."""


@cache
def corpus() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Every program of the tests and of the course, the small ones and the large."""
    folders = ("tests/programs", "course")
    found = [path.read_bytes() for folder in folders for path in sorted((ROOT / folder).rglob("*.tile"))]
    return tuple(f for f in found if len(f) <= LARGE), tuple(f for f in found if len(f) > LARGE)


def hostile(seed: int) -> bytes:
    """The hostile text of this number."""
    rng = Random(seed)
    small, large = corpus()
    program = rng.choice(large if rng.randrange(30) == 0 else small)
    how = rng.randrange(20)
    if how < 6:
        return changed_bytes(program, rng)
    if how < 18:
        return changed_words(program, rng)
    return word_soup(rng) if how == 18 else rng.randbytes(rng.randrange(80))


def changed_bytes(program: bytes, rng: Random) -> bytes:
    """Bytes deleted, put in, replaced or copied, once or many times."""
    data = bytearray(program)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8, 30])):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(4):
            case 0:
                del data[at : at + rng.choice([1, 1, 2, 5, 40])]
            case 1:
                data[at:at] = rng.choice(FRAGMENTS)
            case 2:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 3:
                start = rng.randrange(len(data) + 1)
                data[at:at] = data[start : start + rng.choice([3, 20, 100])]
    return bytes(data)


def changed_words(program: bytes, rng: Random) -> bytes:
    """Near misses: a few words changed for others, most of them for words that may stand there."""
    source = Source(program.decode("utf-8", "replace"))
    tokens = _tokens(source.text)
    if not tokens:
        return changed_bytes(program, rng)
    words = [token.text for token in tokens]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at, other = rng.randrange(len(words)), rng.randrange(len(words))
        match rng.randrange(12):
            case 0:
                words[at] = ""
            case 1:
                words[at], words[other] = words[other], words[at]
            case 2:
                words[at] = f"{words[at]} {words[other]}"
            case 3:
                words[at] = f"{words[at]} {words[at]}"
            case 4 | 5 | 6 | 7 | 8:
                same = [t.text for t in tokens if t.kind == tokens[at].kind]
                words[at] = rng.choice(same)
            case _:
                words[at] = rng.choice(WORDS.get(tokens[at].kind, WORDS["name"]))
    return _joined(source.text, tokens, words).encode("utf-8", "replace")


@cache
def _tokens(text: str) -> list[Token]:
    return lex(Source(text), Sink())


def _joined(text: str, tokens: list[Token], words: list[str]) -> str:
    """The text with these words in the tokens' places."""
    pieces, end = [], 0
    for token, word in zip(tokens, words, strict=True):
        pieces += [text[end : token.span.start], word]
        end = token.span.end
    return "".join([*pieces, text[end:]])


def word_soup(rng: Random) -> bytes:
    """Words of the language in no order."""
    every = [word for words in WORDS.values() for word in words]
    return " ".join(rng.choice(every) for _ in range(rng.randrange(40))).encode()
