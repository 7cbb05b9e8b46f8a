"""Mutated programs: whatever comes in, no exception comes out, and what still parses still formats safely."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.syntax.helpers import MATMUL, SOFTMAX
from tilelang.diagnostics import Sink, Source
from tilelang.syntax.format import format_source
from tilelang.syntax.lexing import read_source
from tilelang.syntax.parsing import parse

PROGRAMS = [SOFTMAX.encode(), MATMUL.encode()] + [
    p.read_bytes()
    for p in sorted((Path(__file__).parent.parent / "programs").glob("*.tile"))
    if p.stat().st_size < 700
]

FRAGMENTS = [
    b"{",
    b"}",
    b"(",
    b")",
    b"[",
    b"]",
    b";",
    b",",
    b":",
    b"else ",
    b"where ",
    b"if ",
    b"kernel ",
    b"\nkernel ",
    b"fn ",
    b"grid ",
    b"let ",
    b"=",
    b"+:",
    b'"',
    b"'",
    b"#",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    "≠".encode(),
    "𝒳".encode(),
    b"not ",
    b"-",
    b"as ",
    b"0x",
    b"1.",
    b".5",
    b"//",
    b"return",
    b"None",
    b"out ",
    b"&&",
    b"!",
]


def mutated(program: bytes, rng: random.Random) -> bytes:
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


@pytest.mark.parametrize("seed", range(8))
def test_mutated_programs(seed: int) -> None:
    rng = random.Random(seed)
    clean = 0
    for _ in range(300):
        sink = Sink()
        source = read_source(mutated(rng.choice(PROGRAMS), rng), "fuzz", sink)
        module = parse(source, sink)
        for found in sink.diagnostics:
            assert found.span is not None
            assert 0 <= found.span.start <= found.span.end <= len(source.text)
        if sink.diagnostics:
            continue
        clean += 1
        layout = format_source(source, Sink())
        assert parse(Source(layout), Sink()) == module
        assert format_source(Source(layout), Sink()) == layout
    assert clean > 10, "the mutations should leave some programs whole"


def test_random_characters() -> None:
    rng = random.Random(1)
    alphabet = "abkfn019.=+-*/%&|^~<>!()[]{};:,\"#'\\ \n\r\t\0é≠𝒳“\ud800"
    for _ in range(500):
        source = Source("".join(rng.choice(alphabet) for _ in range(rng.randrange(120))))
        parse(source, Sink())
        format_source(source, Sink())
