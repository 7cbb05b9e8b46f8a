"""Values are forgotten after their last use, inside loops and branches too, and never before."""

from __future__ import annotations

import numpy as np
import pytest

from tilelang.diagnostics import InternalError
from tilelang.ir.attrs import int_attr, ints_attr, number_attr, str_attr
from tilelang.ir.batch import Frame
from tilelang.ir.core import Op
from tilelang.ir.interpreter import interpret
from tilelang.ir.liveness import last_uses
from tilelang.ir.parser import parse_kernel

KERNEL = """kernel @k(%s: f32) dims(%n) tile {
  %a: f32 = neg %s
  %b: f32 = neg %a
  %unused: f32 = neg %b
  %c: f32 = for %n, %n, %n, %b (%k: i64, %x: f32) {
    %d: f32 = add %x, %b
    %e: f32 = neg %d
    %f: f32 = add %e, %a
    yield %f
  }
  %g: f32 = neg %c
}"""


def test_deaths() -> None:
    body = parse_kernel(KERNEL).body
    deaths = last_uses(body)
    outer = {number: set(names) for number, names in deaths[id(body)].items()}
    # %a and %b are used inside the loop (op 3), so they live until it ends; parameters never die.
    assert outer == {2: {"unused"}, 3: {"a", "b"}, 4: {"c", "g"}}
    inner = {number: set(names) for number, names in deaths[id(body.ops[3].blocks[0])].items()}
    assert inner == {0: {"x"}, 1: {"d"}, 2: {"e"}, 3: {"f"}}


def test_a_long_chain_keeps_few_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 tiles, one after another: at no time are more than a few of them alive."""
    sizes: list[int] = []
    define = Frame.define

    def watched(frame: Frame, value, array: np.ndarray) -> None:
        define(frame, value, array)
        sizes.append(len(frame.values))

    monkeypatch.setattr(Frame, "define", watched)
    lines = ["%v0: f32[64] = const {value = 1.0}"]
    lines += [f"%v{i + 1}: f32[64] = neg %v{i}" for i in range(200)]
    interpret(parse_kernel("kernel @k() dims() tile {\n" + "\n".join(lines) + "\n}"), {}, {}, (2,))
    assert len(sizes) == 201 and max(sizes) <= 3


def test_attributes_of_the_wrong_type_are_internal_errors() -> None:
    op = Op("x", attrs={"a": "text", "b": 1, "c": (1, 2)})
    assert (str_attr(op, "a"), int_attr(op, "b"), ints_attr(op, "c"), number_attr(op, "b")) == (
        "text",
        1,
        (1, 2),
        1,
    )
    for read, key in ((int_attr, "a"), (str_attr, "b"), (ints_attr, "b"), (number_attr, "c")):
        with pytest.raises(InternalError, match=f"attribute {key} of x"):
            read(op, key)
