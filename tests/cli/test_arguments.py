"""The words of `tilec run`."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilelang.cli.arguments import (
    File,
    Generator,
    Number,
    Shape,
    parse_destinations,
    parse_number,
    parse_settings,
    parse_words,
)
from tilelang.cli.faults import Fault


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", Number(0.5)),
        ("-3", Number(-3)),
        ("1_000", Number(1000)),
        ("0xff", Number(255)),
        ("0b101", Number(5)),
        ("1e-3", Number(0.001)),
        ("-inf", Number(-math.inf)),
        ("true", Number(True)),
        ("(4,5)", Shape((4, 5))),
        ("(4, 5,)", Shape((4, 5))),
        ("4,5", Shape((4, 5))),
        ("(7)", Shape((7,))),
        ("randn(4,5)", Generator("randn", (4, 5), "randn(4,5)")),
        ("randn( M , 5, f16 )", Generator("randn", ("M", 5, "f16"), "randn( M , 5, f16 )")),
        ("ones()", Generator("ones", (), "ones()")),
        ("full(3, -0.5)", Generator("full", (3, -0.5), "full(3, -0.5)")),
        ("in.npy", File("in.npy")),
        ("dir/in", File("dir/in")),
        ("in.npz", File("in.npz")),
        ("in.npz:key", File("in.npz", "key")),
        ("a=b.npy", File("a=b.npy")),
        ("a:b.npz:k:l", File("a:b.npz", "k:l")),
    ],
)
def test_values(text: str, value: object) -> None:
    parsed = parse_words([f"x={text}"])["x"]
    assert parsed == value and type(getattr(parsed, "value", None)) is type(getattr(value, "value", None))


def test_nan_is_a_number() -> None:
    value = parse_number("nan")
    assert isinstance(value, float) and math.isnan(value)


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("x", "E0720"),
        ("=3", "E0720"),
        ("x=", "E0720"),
        ("3=x", "E0720"),
        ("x y=3", "E0720"),
        ("é=3", "E0720"),
        ("x=softmax", "E0720"),
        ("x=007", "E0720"),
        ("x=,", "E0720"),
        ("x=()", "E0720"),
        ("x=1__0", "E0720"),
        ("x=" + "9" * 5000, "E0720"),
        ("x=rnadn(3)", "E0722"),
        ("x=__import__(3)", "E0722"),
        ("x=randn(3", "E0720"),
        ("x=randn(3,,4)", "E0723"),
        ("x=randn((3,4))", "E0723"),
        ("x=randn(os.system)", "E0723"),
        ("x=randn(3)+1", "E0720"),
    ],
)
def test_words_that_are_refused(word: str, code: str) -> None:
    with pytest.raises(Fault) as caught:
        parse_words([word])
    assert caught.value.diagnostics[0].code == code and caught.value.status == 2


def test_a_slip_in_a_generator_is_named() -> None:
    for word in ("x=rnadn(3)", "x=rnadn"):
        with pytest.raises(Fault) as caught:
            parse_words([word])
        assert "randn" in caught.value.diagnostics[0].help


@pytest.mark.parametrize("parse", [parse_words, parse_settings, parse_destinations])
def test_a_name_given_twice(parse) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Fault) as caught:
        parse(["x=1.npy", "x=2.npy"])
    assert caught.value.diagnostics[0].code == "E0721"


def test_settings_are_numbers_and_names() -> None:
    settings = parse_settings(["BLOCK=0x40", "EPS=1e-3", "CAUSAL=true", "T=f16"])
    assert settings == {"BLOCK": 64, "EPS": 1e-3, "CAUSAL": True, "T": "f16"}


@given(st.text(max_size=30))
def test_any_word_is_read_or_refused(text: str) -> None:
    for parse in (parse_words, parse_settings, parse_destinations):
        for word in (text, f"x={text}", f"x=randn({text})"):
            try:
                parse([word])
            except Fault as fault:
                assert fault.diagnostics[0].code.startswith("E072")


def test_reading_words_needs_no_numpy() -> None:
    script = "import sys, tilelang.cli.arguments; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0
