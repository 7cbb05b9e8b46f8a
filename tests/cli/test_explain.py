"""`tilec explain`."""

from __future__ import annotations

import pytest

from tilelang.catalogue import codes, page
from tilelang.cli.main import run


@pytest.mark.parametrize("word", ["E0710", "e0710", "error[E0710]", "error[E0710]:", "[e0710]"])
def test_a_code_in_any_of_its_spellings(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", word]) == 0
    assert capsys.readouterr().out.rstrip() == page("E0710").text.rstrip()


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == codes()


@pytest.mark.parametrize("word", ["E0719", "E071", "softmax", "", "../../etc/passwd", "E0710\n", "\x1b[2J"])
def test_an_unknown_code_offers_others(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", word]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error[E0706]") and "\x1b" not in err
    if word.startswith("E071") and word.strip() == word:
        assert "did you mean E0710" in err
