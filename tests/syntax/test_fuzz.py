"""Mutated programs: whatever comes in, no exception comes out, and what still parses still formats safely."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzzing.mutations import changed_bytes
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

@pytest.mark.parametrize("seed", range(8))
def test_mutated_programs(seed: int) -> None:
    rng = random.Random(seed)
    clean = 0
    for _ in range(300):
        sink = Sink()
        source = read_source(changed_bytes(rng.choice(PROGRAMS), rng), "fuzz", sink)
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
