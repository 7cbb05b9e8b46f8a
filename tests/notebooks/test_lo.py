"""The grammar of the toy language of chapter 2."""

from __future__ import annotations

from pathlib import Path

import lark
import pytest

GRAMMAR = (Path(__file__).parents[2] / "grammar" / "lo.lark").read_text(encoding="utf-8")
PARSER = lark.Lark(GRAMMAR, parser="lalr", start="program")


@pytest.mark.parametrize(("text", "count"), [
    ("", 0), (" \n\t ", 0), ("O = 2 + 3; L = 5 * 2;", 2), ("L=1-1;L=1/0;\r\nO = 9 * 9 ;", 3), ("O\n=\n0\n+\n0\n;", 1),
])
def test_programs(text: str, count: int) -> None:
    assert len(PARSER.parse(text).children) == count


@pytest.mark.parametrize("text", [
    "X = 1 + 1;", "O = 1 + 1", "O = 12 + 1;", "O = 1 + 1 + 1;", "O = 1;", "o = 1 + 1;", "O = L + 1;", "O = (1 + 1);",
    "O = 1 % 1;", ";", "O 1 + 1;", "O = -1 + 1;", "1 + 1;", "OL = 1 + 1;",
])
def test_no_programs(text: str) -> None:
    with pytest.raises(lark.UnexpectedInput):
        PARSER.parse(text)


def test_four_rules() -> None:
    assert {str(rule.origin.name) for rule in PARSER.rules if not rule.origin.name.startswith("__")} == {
        "program", "statement", "result", "operation"}
